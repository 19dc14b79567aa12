"""Operations along a dimension: softmax and its kin, sums, spreads, norms, orders, scans, transforms."""

from __future__ import annotations

OPERATIONS = """
softmax         input,dim,dtype           torch.softmax F.softmax .softmax S.softmax torch.sparse.softmax
log_softmax     input,dim,dtype           torch.log_softmax F.log_softmax .log_softmax S.log_softmax
softmin         input,dim                 F.softmin
gumbel_softmax  input,tau,hard            F.gumbel_softmax
logsumexp       input,dim,keepdim         torch.logsumexp .logsumexp S.logsumexp
logaddexp       input,other               torch.logaddexp .logaddexp
logcumsumexp    input,dim                 torch.logcumsumexp .logcumsumexp
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
unique          input                     torch.unique .unique torch.unique_consecutive .unique_consecutive
trapz           input                     torch.trapz torch.trapezoid
stft            input                     torch.stft .stft
fft             input                     fft.fft fft.rfft fft.fft2 fft.rfft2 fft.ifft fft.irfft fft.ifft2 fft.irfft2 fft.fftn fft.ifftn fft.rfftn fft.irfftn
"""
