"""Operations along a dimension: softmax and its kin, sums, spreads, norms, orders, scans, transforms."""

from __future__ import annotations

OPERATIONS = """
softmax         input,dim,dtype           torch.softmax F.softmax .softmax S.softmax torch.sparse.softmax +row +floating +saves-result +saturate +widened +real +weigh
log_softmax     input,dim,dtype           torch.log_softmax F.log_softmax .log_softmax S.log_softmax +row +floating +saves-result +saturate +widened +real
softmin         input,dim                 F.softmin +row +floating +saves-result +saturate +widened +real
gumbel_softmax  input,tau,hard            F.gumbel_softmax +row +saves-result +saturate +real +acts +widened
logsumexp       input,dim,keepdim         torch.logsumexp .logsumexp S.logsumexp +reduce +floating +saves-result +saves-operand +widened +weigh
logaddexp       input,other               torch.logaddexp .logaddexp +saves-operand +weigh +recent
logcumsumexp    input,dim                 torch.logcumsumexp .logcumsumexp +running +saves-result +saves-operand +recent
sum             input,dim,keepdim,dtype   torch.sum .sum torch.nansum .nansum +total +reduce +keep-sort +long +add-up +widened +of-arrays +grow
mean            input,dim,keepdim,dtype   torch.mean .mean +total +reduce +floating +of-arrays +grow
nanmean         input,dim,keepdim,dtype   torch.nanmean .nanmean +total +reduce
prod            input,dim,keepdim,dtype   torch.prod .prod +reduce +keep-sort +long +saves-result +saves-operand +widened +of-arrays +grow +multiply
var             input,dim,unbiased,keepdim,correction torch.var .var +spread +reduce +floating +saves-operand +exact +real +of-arrays
std             input,dim,unbiased,keepdim,correction torch.std .std +spread +reduce +floating +saves-operand +saves-result +exact +real +of-arrays
std_mean        input,dim,unbiased,keepdim,correction torch.std_mean +several +saves-result +saves-operand
var_mean        input,dim,unbiased,keepdim,correction torch.var_mean +several +saves-operand
norm            input,p,dim,keepdim,dtype torch.norm .norm +norm +reduce +floating +saves-result +saves-operand +exact +add-up +widened +real +grow
vector_norm     input,ord,dim,keepdim,dtype L.vector_norm L.norm +norm +reduce +floating +saves-result +saves-operand +exact +add-up +real +grow +widened +recent
matrix_norm     input,ord,dim,keepdim     L.matrix_norm +saves-result +saves-operand +real +widened
max             input,dim,keepdim         torch.max .max +extreme +rank +reduce +several +keep-sort +of-arrays
min             input,dim,keepdim         torch.min .min +extreme +rank +reduce +several +keep-sort +of-arrays
amax            input,dim,keepdim         torch.amax .amax +extreme +rank +reduce +keep-sort +saves-result +saves-operand
amin            input,dim,keepdim         torch.amin .amin +extreme +rank +reduce +keep-sort +saves-result +saves-operand
aminmax         input,dim,keepdim         torch.aminmax .aminmax +several +saves-operand +keep-sort
median          input,dim,keepdim         torch.median .median torch.nanmedian .nanmedian +reduce +several +keep-sort
quantile        input,q,dim,keepdim       torch.quantile .quantile torch.nanquantile .nanquantile +reduce
cumsum          input,dim                 torch.cumsum .cumsum +running +keep-sort +long +widened +of-arrays +grow
cumprod         input,dim                 torch.cumprod .cumprod +running +keep-sort +long +saves-result +saves-operand +widened +of-arrays +grow +multiply
cummax          input,dim                 torch.cummax .cummax +several +places +saves-operand +keep-sort
argmax          input,dim,keepdim         torch.argmax .argmax +rank +reduce +whole +exact +of-arrays
argmin          input,dim,keepdim         torch.argmin .argmin +rank +reduce +whole +exact +of-arrays
argsort         input,dim,descending      torch.argsort .argsort +rank +whole
sort            input,dim,descending      torch.sort .sort +pick +rank +several +places +of-arrays +keep-sort
topk            input,k,dim               torch.topk .topk +pick +rank +several +places +keep-sort
count_nonzero   input,dim                 torch.count_nonzero .count_nonzero +reduce +whole +exact +add-up
nonzero         input                     torch.nonzero .nonzero +whole +exact
any             input,dim,keepdim         torch.any .any +reduce +truth +exact +of-arrays
all             input,dim,keepdim         torch.all .all +reduce +truth +exact +of-arrays
bincount        input,weights,minlength   torch.bincount .bincount +whole +exact
histc           input,bins,min,max        torch.histc .histc +exact
unique          input                     torch.unique .unique torch.unique_consecutive .unique_consecutive +several +keep-sort
trapz           input                     torch.trapz torch.trapezoid +widened +floating
stft            input                     torch.stft .stft
fft             input                     fft.fft fft.rfft fft.fft2 fft.rfft2 fft.ifft fft.ifft2 fft.fftn fft.ifftn fft.rfftn +saves-operand
irfft           input                     fft.irfft fft.irfft2 fft.irfftn +real-part +real
"""
