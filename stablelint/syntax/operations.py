"""Which spelling means which operation.

One row an operation: canonical name, its parameters in order, its spellings. A spelling that starts with a dot is
a tensor method (its in-place form with a trailing underscore is understood); `F.`, `S.`, `L.` and `fft.` stand for
`torch.nn.functional.`, `torch.special.`, `torch.linalg.` and `torch.fft.`. Rules, ranges and messages speak only of
canonical names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

_TABLE = """
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
softmax         input,dim,dtype           torch.softmax F.softmax .softmax S.softmax torch.sparse.softmax
log_softmax     input,dim,dtype           torch.log_softmax F.log_softmax .log_softmax S.log_softmax
softmin         input,dim                 F.softmin
gumbel_softmax  input,tau,hard            F.gumbel_softmax
logsumexp       input,dim,keepdim         torch.logsumexp .logsumexp S.logsumexp
logaddexp       input,other               torch.logaddexp .logaddexp
logcumsumexp    input,dim                 torch.logcumsumexp .logcumsumexp
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
sum             input,dim,keepdim,dtype   torch.sum .sum torch.nansum .nansum
mean            input,dim,keepdim,dtype   torch.mean .mean
nanmean         input,dim,keepdim,dtype   torch.nanmean .nanmean
prod            input,dim,keepdim,dtype   torch.prod .prod
var             input,dim,unbiased,keepdim,correction torch.var .var
std             input,dim,unbiased,keepdim,correction torch.std .std
std_mean        input,dim,unbiased,keepdim,correction torch.std_mean
var_mean        input,dim,unbiased,keepdim,correction torch.var_mean
norm            input,p,dim,keepdim,dtype torch.norm .norm
vector_norm     input,ord,dim,keepdim,dtype L.vector_norm L.norm
matrix_norm     input,ord,dim,keepdim     L.matrix_norm
max             input,dim,keepdim         torch.max .max
min             input,dim,keepdim         torch.min .min
amax            input,dim,keepdim         torch.amax .amax
amin            input,dim,keepdim         torch.amin .amin
aminmax         input,dim,keepdim         torch.aminmax .aminmax
median          input,dim,keepdim         torch.median .median torch.nanmedian
quantile        input,q,dim,keepdim       torch.quantile .quantile
cumsum          input,dim                 torch.cumsum .cumsum
cumprod         input,dim                 torch.cumprod .cumprod
cummax          input,dim                 torch.cummax .cummax
argmax          input,dim,keepdim         torch.argmax .argmax
argmin          input,dim,keepdim         torch.argmin .argmin
argsort         input,dim,descending      torch.argsort .argsort
sort            input,dim,descending      torch.sort .sort
topk            input,k,dim               torch.topk .topk
count_nonzero   input,dim                 torch.count_nonzero .count_nonzero
nonzero         input                     torch.nonzero .nonzero
any             input,dim,keepdim         torch.any .any
all             input,dim,keepdim         torch.all .all
bincount        input,weights,minlength   torch.bincount .bincount
histc           input,bins,min,max        torch.histc .histc
unique          input                     torch.unique .unique
matmul          input,other               torch.matmul .matmul torch.mm .mm torch.bmm .bmm torch.dot .dot torch.mv .mv torch.inner .inner L.matmul
outer           input,other               torch.outer .outer torch.ger .ger
einsum          equation,input,other      torch.einsum
linear          input,weight,bias         F.linear
conv1d          input,weight,bias         F.conv1d torch.conv1d
conv2d          input,weight,bias         F.conv2d torch.conv2d
conv3d          input,weight,bias         F.conv3d torch.conv3d
embedding       input,weight              F.embedding
dropout         input,p,training          F.dropout torch.dropout
layer_norm      input,normalized_shape,weight,bias,eps F.layer_norm torch.layer_norm
batch_norm      input,running_mean        F.batch_norm torch.batch_norm
group_norm      input,num_groups          F.group_norm torch.group_norm
normalize       input,p,dim,eps           F.normalize
cosine_similarity x1,x2,dim,eps           F.cosine_similarity torch.cosine_similarity
cdist           x1,x2,p                   torch.cdist
pairwise_distance x1,x2,p,eps             F.pairwise_distance
scaled_dot_product_attention query,key,value F.scaled_dot_product_attention
avg_pool1d      input                     F.avg_pool1d
avg_pool2d      input                     F.avg_pool2d
adaptive_avg_pool2d input,output_size     F.adaptive_avg_pool2d
max_pool2d      input                     F.max_pool2d torch.max_pool2d
adaptive_max_pool1d input,output_size     F.adaptive_max_pool1d torch.adaptive_max_pool1d
adaptive_max_pool2d input,output_size     F.adaptive_max_pool2d
adaptive_max_pool3d input,output_size     F.adaptive_max_pool3d
interpolate     input,size                F.interpolate
unfold          input,kernel_size         F.unfold
grid_sample     input,grid                F.grid_sample
one_hot         input,num_classes         F.one_hot
cross_entropy   input,target,weight,size_average,ignore_index,reduce,reduction,label_smoothing F.cross_entropy
nll_loss        input,target,weight,size_average,ignore_index,reduce,reduction F.nll_loss
binary_cross_entropy input,target,weight,size_average,reduce,reduction F.binary_cross_entropy
binary_cross_entropy_with_logits input,target,weight,size_average,reduce,reduction,pos_weight F.binary_cross_entropy_with_logits
kl_div          input,target,size_average,reduce,reduction,log_target F.kl_div torch.kl_div
mse_loss        input,target,size_average,reduce,reduction F.mse_loss
l1_loss         input,target,size_average,reduce,reduction F.l1_loss
smooth_l1_loss  input,target,size_average,reduce,reduction,beta F.smooth_l1_loss
huber_loss      input,target,reduction,delta F.huber_loss
ctc_loss        input,target,input_lengths,target_lengths,blank,reduction,zero_infinity F.ctc_loss torch.ctc_loss
gaussian_nll_loss input,target,var,full,eps,reduction F.gaussian_nll_loss
poisson_nll_loss input,target             F.poisson_nll_loss
eigh            input                     L.eigh torch.symeig
eigvalsh        input                     L.eigvalsh
eig             input                     L.eig
svd             input,full_matrices       L.svd torch.svd .svd
svdvals         input                     L.svdvals
qr              input                     L.qr torch.qr .qr
cholesky        input                     L.cholesky torch.cholesky .cholesky
cholesky_inverse input                    torch.cholesky_inverse
det             input                     L.det torch.det .det
logdet          input                     torch.logdet .logdet
slogdet         input                     L.slogdet torch.slogdet .slogdet
inverse         input                     L.inv torch.inverse .inverse
pinverse        input                     L.pinv torch.pinverse .pinverse
solve           input,other               L.solve
trace           input                     torch.trace .trace
diagonal        input,offset,dim1,dim2    torch.diagonal .diagonal L.diagonal
diag            input                     torch.diag .diag
diag_embed      input                     torch.diag_embed .diag_embed
tril            input,diagonal            torch.tril .tril
triu            input,diagonal            torch.triu .triu
cat             tensors,dim               torch.cat torch.concat torch.concatenate
stack           tensors,dim               torch.stack
hstack          tensors                   torch.hstack
vstack          tensors                   torch.vstack
chunk           input,chunks,dim          torch.chunk .chunk
split           input,split_size,dim      torch.split .split
unbind          input,dim                 torch.unbind .unbind
view            input                     .view .view_as .reshape .reshape_as torch.reshape torch.view_as_real torch.view_as_complex
permute         input                     .permute torch.permute
transpose       input,dim0,dim1           .transpose torch.transpose .swapaxes torch.swapaxes .t .adjoint
flatten         input                     .flatten torch.flatten
unflatten       input                     .unflatten torch.unflatten
squeeze         input,dim                 .squeeze torch.squeeze
unsqueeze       input,dim                 .unsqueeze torch.unsqueeze
expand          input                     .expand .expand_as torch.broadcast_to .broadcast_to
repeat          input                     .repeat torch.tile .tile
repeat_interleave input,repeats,dim       .repeat_interleave torch.repeat_interleave
contiguous      input                     .contiguous
clone           input                     .clone torch.clone
detach          input                     .detach
cpu             input                     .cpu
cuda            input                     .cuda
numpy           input                     .numpy
item            input                     .item
tolist          input                     .tolist
requires_grad_  input                     .requires_grad_
flip            input                     .flip torch.flip
roll            input                     .roll torch.roll fft.fftshift fft.ifftshift
movedim         input                     .movedim torch.movedim
narrow          input                     .narrow torch.narrow
select          input,dim,index           .select torch.select
gather          input,dim,index           .gather torch.gather
take_along_dim  input,index,dim           .take_along_dim torch.take_along_dim
index_select    input,dim,index           .index_select torch.index_select
scatter         input,dim,index,src       .scatter torch.scatter
scatter_add     input,dim,index,src       .scatter_add torch.scatter_add
index_add       input,dim,index,source    .index_add torch.index_add
scatter_sum     src,index,dim,out,dim_size torch_scatter.scatter_add torch_scatter.scatter_sum torch_scatter.segment_coo
scatter_reduce  input,dim,index,src,reduce .scatter_reduce torch.scatter_reduce
index_fill      input,dim,index,value     .index_fill torch.index_fill
pad             input,pad,mode,value      F.pad
float           input                     .float
double          input                     .double
half            input                     .half
bfloat16        input                     .bfloat16
to              input,dtype               .to
type            input,dtype               .type
type_as         input,other               .type_as
int             input                     .int
long            input                     .long
bool            input                     .bool
byte            input                     .byte
floor           input                     torch.floor .floor
ceil            input                     torch.ceil .ceil
round           input                     torch.round .round
trunc           input                     torch.trunc .trunc torch.fix
frac            input                     torch.frac .frac
rand            size                      torch.rand
rand_like       input                     torch.rand_like
randn           size                      torch.randn
randn_like      input                     torch.randn_like
randint         low,high,size             torch.randint
randperm        n                         torch.randperm
bernoulli       input                     torch.bernoulli .bernoulli
multinomial     input,num_samples         torch.multinomial .multinomial
normal          mean,std                  torch.normal
uniform_        input,from,to             .uniform_
normal_         input,mean,std            .normal_
zero_           input                     .zero_
fill_           input,value               .fill_
copy_           input,src                 .copy_
exponential_    input,lambd               .exponential_
zeros           size                      torch.zeros .new_zeros
ones            size                      torch.ones .new_ones
full            size,fill_value           torch.full .new_full
empty           size                      torch.empty .new_empty
zeros_like      input                     torch.zeros_like
ones_like       input                     torch.ones_like
full_like       input,fill_value          torch.full_like
empty_like      input                     torch.empty_like
tensor          data,dtype                torch.tensor torch.as_tensor torch.scalar_tensor .new_tensor torch.from_numpy
eye             n                         torch.eye
arange          start,end,step            torch.arange
linspace        start,end,steps           torch.linspace
logspace        start,end,steps           torch.logspace
meshgrid        tensors                   torch.meshgrid
stft            input                     torch.stft .stft
fft             input                     fft.fft fft.rfft fft.fft2 fft.rfft2 fft.ifft fft.irfft fft.ifft2 fft.irfft2 fft.fftn fft.ifftn fft.rfftn fft.irfftn
numel           input                     .numel torch.numel .nelement
size            input,dim                 .size
dim             input                     .dim .ndimension
ndim            input                     .ndimension
is_floating_point input                   torch.is_floating_point .is_floating_point
backward        input                     .backward
trapz           input                     torch.trapz torch.trapezoid
finfo           type                      torch.finfo
iinfo           type                      torch.iinfo
parameter       data                      torch.nn.Parameter torch.nn.parameter.Parameter
checkpoint      function                  torch.utils.checkpoint.checkpoint
clip_grad_norm_ parameters,max_norm       torch.nn.utils.clip_grad_norm_ torch.nn.utils.clip_grad_norm torch.nn.utils.clip_grad.clip_grad_norm_
clip_grad_value_ parameters,clip_value    torch.nn.utils.clip_grad_value_ torch.nn.utils.clip_grad.clip_grad_value_
set_detect_anomaly mode                   torch.autograd.set_detect_anomaly torch.autograd.detect_anomaly torch.autograd.anomaly_mode.set_detect_anomaly
trunc_normal_   tensor,mean,std           torch.nn.init.trunc_normal_
init_normal_    tensor,mean,std           torch.nn.init.normal_
init_uniform_   tensor,a,b                torch.nn.init.uniform_
init_constant_  tensor,val                torch.nn.init.constant_
init_xavier     tensor,gain               torch.nn.init.xavier_uniform_ torch.nn.init.xavier_normal_
torch_load      f,map_location            torch.load
"""

_PREFIXES = {
    "F.": "torch.nn.functional.",
    "S.": "torch.special.",
    "L.": "torch.linalg.",
    "fft.": "torch.fft.",
}

# `nn` modules that apply one operation: class, operation, constructor parameters in order.
_MODULES = """
Softmax softmax dim
Softmin softmin dim
LogSoftmax log_softmax dim
Softmax2d softmax
Sigmoid sigmoid
LogSigmoid logsigmoid
Tanh tanh
ReLU relu inplace
ReLU6 relu6 inplace
LeakyReLU leaky_relu negative_slope
ELU elu alpha
SELU selu
CELU celu alpha
GELU gelu approximate
SiLU silu inplace
Mish mish
Softplus softplus beta,threshold
Softsign softsign
Hardtanh hardtanh min_val,max_val
Hardsigmoid hardsigmoid
Hardswish hardswish
Dropout dropout p
Dropout1d dropout p
Dropout2d dropout p
Identity identity
Flatten flatten
Linear linear_module in_features,out_features,bias
LazyLinear linear_module out_features,bias
Bilinear linear_module
Conv1d linear_module
Conv2d linear_module
Conv3d linear_module
ConvTranspose1d linear_module
ConvTranspose2d linear_module
Embedding linear_module
LayerNorm norm_module normalized_shape,eps
BatchNorm1d norm_module num_features,eps
BatchNorm2d norm_module num_features,eps
BatchNorm3d norm_module num_features,eps
GroupNorm norm_module num_groups,num_channels,eps
RMSNorm norm_module normalized_shape,eps
InstanceNorm2d norm_module num_features,eps
CrossEntropyLoss cross_entropy weight,size_average,ignore_index,reduce,reduction,label_smoothing
NLLLoss nll_loss weight,size_average,ignore_index,reduce,reduction
BCELoss binary_cross_entropy weight,size_average,reduce,reduction
BCEWithLogitsLoss binary_cross_entropy_with_logits weight,size_average,reduce,reduction,pos_weight
KLDivLoss kl_div size_average,reduce,reduction,log_target
MSELoss mse_loss size_average,reduce,reduction
L1Loss l1_loss size_average,reduce,reduction
SmoothL1Loss smooth_l1_loss size_average,reduce,reduction,beta
HuberLoss huber_loss reduction,delta
CTCLoss ctc_loss blank,reduction,zero_infinity
GaussianNLLLoss gaussian_nll_loss full,eps,reduction
CosineSimilarity cosine_similarity dim,eps
PairwiseDistance pairwise_distance p,eps
"""


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation and the names of its parameters, in order."""

    name: str
    parameters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModuleOperation:
    """An `nn` class that applies `operation`; `parameters` are its constructor's, in order."""

    operation: str
    parameters: tuple[str, ...]


@cache
def _operations() -> tuple[dict[str, Operation], dict[str, Operation], dict[str, Operation]]:
    functions: dict[str, Operation] = {}
    methods: dict[str, Operation] = {}
    canonical: dict[str, Operation] = {}
    for row in _TABLE.strip().splitlines():
        name, parameters, *spellings = row.split()
        operation = Operation(name, tuple(parameters.split(",")))
        canonical[name] = operation
        for spelling in spellings:
            if spelling.startswith("."):
                methods.setdefault(spelling[1:], operation)
                continue
            for prefix, full in _PREFIXES.items():
                if spelling.startswith(prefix):
                    spelling = full + spelling.removeprefix(prefix)
                    break
            functions[spelling] = operation
    return functions, methods, canonical


@cache
def _modules() -> dict[str, ModuleOperation]:
    table: dict[str, ModuleOperation] = {}
    for row in _MODULES.strip().splitlines():
        name, operation, *parameters = row.split()
        table[f"torch.nn.{name}"] = ModuleOperation(
            operation, tuple(parameters[0].split(",")) if parameters else ()
        )
    return table


def function(qualified_name: str) -> Operation | None:
    """The operation that a fully qualified function stands for (`torch.log_` is the in-place `torch.log`)."""
    functions = _operations()[0]
    found = functions.get(qualified_name)
    if found is None and qualified_name.endswith("_") and qualified_name.startswith("torch."):
        found = functions.get(qualified_name[:-1])
    return found


def method(name: str) -> tuple[Operation, bool] | None:
    """The operation of a tensor method, and whether the spelling is in-place."""
    methods = _operations()[1]
    if name in methods:
        return methods[name], name.endswith("_")
    if name.endswith("_") and not name.endswith("__") and name[:-1] in methods:
        return methods[name[:-1]], True
    return None


def canonical(name: str) -> Operation | None:
    """The operation of that canonical name."""
    return _operations()[2].get(name)


def module(qualified_name: str) -> ModuleOperation | None:
    """The operation that an instance of an `nn` class applies."""
    return _modules().get(qualified_name.replace("torch.nn.modules.", "torch.nn."))


def spellings() -> Iterator[tuple[str, str]]:
    """Every spelling in the tables (a qualified function or class, or a bare method), and its operation."""
    functions, methods, _ = _operations()
    for table in (functions, methods):
        yield from ((spelling, operation.name) for spelling, operation in table.items())
    yield from ((spelling, found.operation) for spelling, found in _modules().items())


# Operations that rearrange, copy or cast and leave every element's value as it was.
VIEWS = frozenset(
    "view permute transpose flatten unflatten squeeze unsqueeze expand repeat repeat_interleave contiguous clone detach "
    "cpu cuda float double half bfloat16 to type type_as requires_grad_ flip roll movedim identity checkpoint".split()
)
# Casts among the views: they keep values up to rounding.
CASTS = {"float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16"}
# Selections of some elements of the operand.
SELECTIONS = frozenset(
    "index narrow select gather take_along_dim index_select masked_select chunk split unbind diagonal topk sort".split()
)
