"""Operations that work element by element: functions, arithmetic, activations, comparisons, bounds."""

from __future__ import annotations

OPERATIONS = """
log             input                     torch.log .log
log2            input                     torch.log2 .log2
log10           input                     torch.log10 .log10
log1p           input                     torch.log1p .log1p S.log1p
xlogy           input,other               torch.xlogy .xlogy S.xlogy
xlog1py         input,other               S.xlog1py
entr            input                     S.entr
exp             input                     torch.exp .exp
exp2            input                     torch.exp2 .exp2 S.exp2
expm1           input                     torch.expm1 .expm1 S.expm1
sqrt            input                     torch.sqrt .sqrt
rsqrt           input                     torch.rsqrt .rsqrt
square          input                     torch.square .square
reciprocal      input                     torch.reciprocal .reciprocal
pow             input,exponent            torch.pow .pow torch.float_power .float_power
abs             input                     torch.abs torch.absolute .abs .absolute
neg             input                     torch.neg torch.negative .neg .negative
sign            input                     torch.sign torch.sgn .sign .sgn
add             input,other,alpha         torch.add .add
sub             input,other,alpha         torch.sub torch.subtract .sub .subtract
rsub            input,other               torch.rsub .rsub
mul             input,other               torch.mul torch.multiply .mul .multiply
div             input,other,rounding_mode torch.div torch.divide torch.true_divide .div .divide .true_divide
floor_divide    input,other               torch.floor_divide .floor_divide
remainder       input,other               torch.remainder .remainder torch.fmod .fmod
addcdiv         input,tensor1,tensor2     torch.addcdiv .addcdiv
addcmul         input,tensor1,tensor2     torch.addcmul .addcmul
lerp            input,end,weight          torch.lerp .lerp
sin             input                     torch.sin .sin
cos             input                     torch.cos .cos
tan             input                     torch.tan .tan
asin            input                     torch.asin torch.arcsin .asin .arcsin
acos            input                     torch.acos torch.arccos .acos .arccos
atan            input                     torch.atan torch.arctan .atan .arctan
atan2           input,other               torch.atan2 torch.arctan2 .atan2 .arctan2
sinh            input                     torch.sinh .sinh
cosh            input                     torch.cosh .cosh
tanh            input                     torch.tanh .tanh F.tanh
asinh           input                     torch.asinh torch.arcsinh .asinh .arcsinh
acosh           input                     torch.acosh torch.arccosh .acosh .arccosh
atanh           input                     torch.atanh torch.arctanh .atanh .arctanh
erf             input                     torch.erf .erf S.erf
erfc            input                     torch.erfc .erfc S.erfc
erfinv          input                     torch.erfinv .erfinv S.erfinv
ndtr            input                     S.ndtr
log_ndtr        input                     S.log_ndtr
ndtri           input                     S.ndtri
logit           input,eps                 torch.logit .logit S.logit
lgamma          input                     torch.lgamma .lgamma S.gammaln
digamma         input                     torch.digamma .digamma S.digamma
sigmoid         input                     torch.sigmoid F.sigmoid .sigmoid S.expit
logsigmoid      input                     F.logsigmoid
softplus        input,beta,threshold      F.softplus
relu            input,inplace             torch.relu F.relu .relu
relu6           input,inplace             F.relu6
leaky_relu      input,negative_slope      F.leaky_relu
elu             input,alpha               F.elu
selu            input                     torch.selu F.selu
celu            input,alpha               torch.celu F.celu
gelu            input,approximate         F.gelu
silu            input,inplace             F.silu
mish            input                     F.mish
hardtanh        input,min_val,max_val     F.hardtanh
hardsigmoid     input                     F.hardsigmoid
hardswish       input                     F.hardswish
softsign        input                     F.softsign
floor           input                     torch.floor .floor
ceil            input                     torch.ceil .ceil
round           input                     torch.round .round
trunc           input                     torch.trunc .trunc torch.fix
frac            input                     torch.frac .frac
clamp           input,min,max             torch.clamp torch.clip .clamp .clip
clamp_min       input,min                 torch.clamp_min .clamp_min
clamp_max       input,max                 torch.clamp_max .clamp_max
maximum         input,other               torch.maximum torch.fmax .maximum .fmax
minimum         input,other               torch.minimum torch.fmin .minimum .fmin
where           condition,input,other     torch.where
masked_fill     input,mask,value          torch.masked_fill .masked_fill
masked_scatter  input,mask,source         torch.masked_scatter .masked_scatter
masked_select   input,mask                torch.masked_select .masked_select
nan_to_num      input,nan,posinf,neginf   torch.nan_to_num .nan_to_num
isnan           input                     torch.isnan .isnan
isinf           input                     torch.isinf .isinf
isfinite        input                     torch.isfinite .isfinite
isclose         input,other               torch.isclose .isclose
eq              input,other               torch.eq .eq
ne              input,other               torch.ne .ne torch.not_equal .not_equal
gt              input,other               torch.gt .gt torch.greater .greater
ge              input,other               torch.ge .ge torch.greater_equal .greater_equal
lt              input,other               torch.lt .lt torch.less .less
le              input,other               torch.le .le torch.less_equal .less_equal
logical_not     input                     torch.logical_not .logical_not torch.bitwise_not .bitwise_not
logical_and     input,other               torch.logical_and .logical_and torch.bitwise_and .bitwise_and
logical_or      input,other               torch.logical_or .logical_or torch.bitwise_or .bitwise_or
"""
