"""Operations that work element by element: functions, arithmetic, activations, comparisons, bounds."""

from __future__ import annotations

OPERATIONS = """
log             input                     torch.log .log +log +singular +floating +saves-operand +widened
log2            input                     torch.log2 .log2 +log +singular +floating +saves-operand +widened
log10           input                     torch.log10 .log10 +log +singular +floating +saves-operand +widened
log1p           input                     torch.log1p .log1p S.log1p +odd +floating +saves-operand +widened
xlogy           input,other               torch.xlogy .xlogy S.xlogy +floating +saves-operand +real +recent
xlog1py         input,other               S.xlog1py +saves-operand +real
entr            input                     S.entr +saves-operand +real
exp             input                     torch.exp .exp +floating +saves-result +widened +exponential +weigh
exp2            input                     torch.exp2 .exp2 S.exp2 +floating +saves-result +exponential +weigh
expm1           input                     torch.expm1 .expm1 S.expm1 +odd +floating +saves-result +widened +exponential
sqrt            input                     torch.sqrt .sqrt +singular +floating +saves-result
rsqrt           input                     torch.rsqrt .rsqrt +singular +floating +saves-result +widened
square          input                     torch.square .square +keep-sort +saves-operand +grow +widened
reciprocal      input                     torch.reciprocal .reciprocal +singular +floating +saves-result +widened
pow             input,exponent            torch.pow .pow torch.float_power .float_power +keep-sort +saves-operand +promote +widened +of-arrays +grow
abs             input                     torch.abs torch.absolute .abs .absolute +keep-sort +saves-operand +real-part +of-arrays
neg             input                     torch.neg torch.negative .neg .negative +keep-sort +linear +scale
sign            input                     torch.sign torch.sgn .sign .sgn +keep-sort
add             input,other,alpha         torch.add .add +commute +keep-sort +promote +linear +arithmetic +of-arrays +grow
sub             input,other,alpha         torch.sub torch.subtract .sub .subtract +keep-sort +promote +linear +arithmetic +of-arrays +grow
rsub            input,other,alpha         torch.rsub .rsub +keep-sort +linear +promote +grow
mul             input,other               torch.mul torch.multiply .mul .multiply +commute +keep-sort +promote +linear +arithmetic +scale +of-arrays +grow
div             input,other,rounding_mode torch.div torch.divide torch.true_divide .div .divide .true_divide +floating +promote +linear +arithmetic +scale +of-arrays
floor_divide    input,other               torch.floor_divide .floor_divide +promote +keep-sort
remainder       input,other               torch.remainder .remainder +promote +keep-sort
fmod            input,other               torch.fmod .fmod +promote +keep-sort
addcdiv         input,tensor1,tensor2     torch.addcdiv .addcdiv +promote
addcmul         input,tensor1,tensor2     torch.addcmul .addcmul +promote +grow +keep-sort
lerp            input,end,weight          torch.lerp .lerp +promote
angle           input                     torch.angle .angle +saves-operand +real-part +real
hypot           input,other               torch.hypot .hypot +floating +saves-result +saves-operand +real
sin             input                     torch.sin .sin +wave +odd +floating +saves-operand +extent
cos             input                     torch.cos .cos +wave +floating +saves-operand +extent
tan             input                     torch.tan .tan +odd +floating +saves-result +widened
asin            input                     torch.asin torch.arcsin .asin .arcsin +odd +floating +saves-operand +widened
acos            input                     torch.acos torch.arccos .acos .arccos +floating +saves-operand +widened
atan            input                     torch.atan torch.arctan .atan .arctan +odd +floating +saves-operand +extent
atan2           input,other               torch.atan2 torch.arctan2 .atan2 .arctan2 +floating +saves-operand +extent +real
sinh            input                     torch.sinh .sinh +odd +floating +saves-operand +widened +exponential
cosh            input                     torch.cosh .cosh +floating +saves-operand +widened +exponential
tanh            input                     torch.tanh .tanh F.tanh +odd +floating +saves-result +extent
asinh           input                     torch.asinh torch.arcsinh .asinh .arcsinh +floating +saves-operand +recent
acosh           input                     torch.acosh torch.arccosh .acosh .arccosh +floating +saves-operand +recent
atanh           input                     torch.atanh torch.arctanh .atanh .arctanh +floating +saves-operand +recent
erf             input                     torch.erf .erf S.erf +odd +floating +saves-operand +saturate +real
erfc            input                     torch.erfc .erfc S.erfc +floating +saves-operand +saturate +real
erfinv          input                     torch.erfinv .erfinv S.erfinv +floating +saves-operand +widened +real
ndtr            input                     S.ndtr +saturate +real
log_ndtr        input                     S.log_ndtr +saves-result +saves-operand +saturate +real +recent
ndtri           input                     S.ndtri +saves-result +real
logit           input,eps                 torch.logit .logit S.logit +floating +saves-operand +real +recent
lgamma          input                     torch.lgamma .lgamma S.gammaln +singular +floating +saves-operand +real
digamma         input                     torch.digamma .digamma S.digamma +singular +floating +saves-operand +real
sigmoid         input                     torch.sigmoid F.sigmoid .sigmoid S.expit +floating +saves-result +saturate +weigh
logsigmoid      input                     F.logsigmoid +floating +saves-operand +saturate +real
softplus        input,beta,threshold      F.softplus +floating +saves-operand +saturate +widened +real
relu            input,inplace             torch.relu F.relu .relu +rectify +keep-sort +saves-result +exact
relu6           input,inplace             F.relu6 +rectify +saves-operand +exact +keep-sort
leaky_relu      input,negative_slope,inplace F.leaky_relu +floating +saves-operand +real
elu             input,alpha,inplace       F.elu +floating +saves-operand +real
selu            input,inplace             torch.selu F.selu +saves-operand +real
celu            input,alpha,inplace       torch.celu F.celu +saves-operand +real
gelu            input,approximate         F.gelu +floating +saves-operand +real
silu            input,inplace             F.silu +floating +saves-operand
mish            input,inplace             F.mish +saves-operand +real
hardtanh        input,min_val,max_val,inplace F.hardtanh +saves-operand +exact +keep-sort
hardsigmoid     input,inplace             F.hardsigmoid +saves-operand +saturate +real
hardswish       input,inplace             F.hardswish +saves-operand +extent +real
softsign        input                     F.softsign +odd +saves-operand +floating
floor           input                     torch.floor .floor +keep-sort
ceil            input                     torch.ceil .ceil +keep-sort
round           input                     torch.round .round +of-arrays +keep-sort
trunc           input                     torch.trunc .trunc torch.fix +keep-sort
frac            input                     torch.frac .frac
clamp           input,min,max             torch.clamp torch.clip .clamp .clip +promote +bound +raise +keep-sort +saves-operand
clamp_min       input,min                 torch.clamp_min .clamp_min +promote +bound +raise +keep-sort +saves-operand
clamp_max       input,max                 torch.clamp_max .clamp_max +promote +bound +keep-sort +saves-operand
maximum         input,other               torch.maximum torch.fmax .maximum .fmax +commute +bound +raise +keep-sort +saves-operand
minimum         input,other               torch.minimum torch.fmin .minimum .fmin +commute +bound +keep-sort +saves-operand
where           condition,input,other     torch.where +promote +replace +keep-sort
masked_fill     input,mask,value          torch.masked_fill .masked_fill +replace +keep-sort +into
masked_scatter  input,mask,source         torch.masked_scatter .masked_scatter +into +keep-sort
nan_to_num      input,nan,posinf,neginf   torch.nan_to_num .nan_to_num +replace +keep-sort +saves-operand +recent
isnan           input                     torch.isnan .isnan +finite-test
isinf           input                     torch.isinf .isinf +finite-test
isfinite        input                     torch.isfinite .isfinite +finite-test
isposinf        input                     torch.isposinf .isposinf +finite-test
isneginf        input                     torch.isneginf .isneginf +finite-test
isclose         input,other               torch.isclose .isclose +truth +exact
eq              input,other               torch.eq .eq +compare +commute +exact
ne              input,other               torch.ne .ne torch.not_equal .not_equal +compare +commute +exact
gt              input,other               torch.gt .gt torch.greater .greater +compare +exact
ge              input,other               torch.ge .ge torch.greater_equal .greater_equal +compare +exact
lt              input,other               torch.lt .lt torch.less .less +compare +exact
le              input,other               torch.le .le torch.less_equal .less_equal +compare +exact
logical_not     input                     torch.logical_not .logical_not +logic +exact
logical_and     input,other               torch.logical_and .logical_and +logic +commute +exact
logical_or      input,other               torch.logical_or .logical_or +logic +commute +exact
bitwise_not     input                     torch.bitwise_not .bitwise_not +whole
bitwise_and     input,other               torch.bitwise_and .bitwise_and +whole
bitwise_or      input,other               torch.bitwise_or .bitwise_or +whole
"""
