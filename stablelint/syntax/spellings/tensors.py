"""Making, rearranging, selecting and casting tensors, and asking for their sizes."""

from __future__ import annotations

OPERATIONS = """
diagonal        input,offset,dim1,dim2    torch.diagonal .diagonal L.diagonal +pick +alias +keep-sort
diag            input,diagonal            torch.diag .diag +keep-sort
diag_embed      input                     torch.diag_embed .diag_embed +exact +keep-sort
tril            input,diagonal            torch.tril .tril +exact +keep-sort
triu            input,diagonal            torch.triu .triu +exact +keep-sort
cat             tensors,dim               torch.cat torch.concat torch.concatenate +join +keep-sort
stack           tensors,dim               torch.stack +join +keep-sort
hstack          tensors                   torch.hstack +join +keep-sort
vstack          tensors                   torch.vstack +join +keep-sort
chunk           input,chunks,dim          torch.chunk .chunk +pick +alias +keep-sort
split           input,split_size,dim      torch.split .split +pick +alias +keep-sort
unbind          input,dim                 torch.unbind .unbind +pick +alias +keep-sort
view            input                     .view .view_as .reshape .reshape_as torch.reshape +layout +alias +keep-sort +of-arrays
complex         real,imag                 torch.complex torch.polar
as_complex      input                     torch.view_as_complex +alias
cfloat          input                     .cfloat .cdouble .chalf
as_real         input                     torch.view_as_real +alias +real-part +real
real            input                     torch.real +real-part +may-alias +keep-sort
imag            input                     torch.imag +real-part
permute         input                     .permute torch.permute .adjoint +layout +alias +keep-sort
transpose       input,dim0,dim1           .transpose torch.transpose .swapaxes torch.swapaxes .t +layout +alias +keep-sort +of-arrays
flatten         input                     .flatten .ravel torch.ravel torch.flatten +layout +may-alias +keep-sort +of-arrays
unflatten       input                     .unflatten torch.unflatten +layout +alias +keep-sort
squeeze         input,dim                 .squeeze torch.squeeze +layout +alias +keep-sort +of-arrays
unsqueeze       input,dim                 .unsqueeze torch.unsqueeze +layout +alias +keep-sort
expand          input                     .expand .expand_as torch.broadcast_to .broadcast_to +layout +alias +keep-sort
repeat          input                     .repeat torch.tile .tile einops.repeat +layout +keep-sort
repeat_interleave input,repeats,dim       .repeat_interleave torch.repeat_interleave +layout +keep-sort
rearrange       input                     einops.rearrange +layout +may-alias +keep-sort
reduce          input,pattern,reduction   einops.reduce
progress        input                     tqdm.tqdm tqdm.auto.tqdm tqdm.std.tqdm tqdm.notebook.tqdm rich.progress.track fastprogress.progress_bar
trange          stop                      tqdm.trange tqdm.auto.trange tqdm.std.trange tqdm.notebook.trange
contiguous      input                     .contiguous +copy +may-alias +keep-sort
clone           input                     .clone torch.clone +copy +keep-sort
detach          input                     .detach +copy +alias +cut +keep-sort
variable        input,requires_grad       torch.autograd.Variable +copy +alias +cut +keep-sort
cpu             input                     .cpu +device +may-alias +keep-sort
cuda            input                     .cuda +device +may-alias +keep-sort
numpy           input                     .numpy +may-alias
item            input                     .item +given +of-arrays
tolist          input                     .tolist +of-arrays
requires_grad_  input,requires_grad       .requires_grad_ +copy +alias +acts
flip            input                     .flip torch.flip +layout +keep-sort
roll            input                     .roll torch.roll fft.fftshift fft.ifftshift +layout +keep-sort
movedim         input                     .movedim torch.movedim +layout +alias +keep-sort
narrow          input,dim,start,length    .narrow torch.narrow +pick +alias +keep-sort
select          input,dim,index           .select torch.select +pick +alias +keep-sort
gather          input,dim,index           .gather torch.gather +pick +keep-sort
take_along_dim  input,index,dim           .take_along_dim torch.take_along_dim +pick +keep-sort
index_select    input,dim,index           .index_select torch.index_select +pick +keep-sort
masked_select   input,mask                torch.masked_select .masked_select +pick +saves-operand +keep-sort
scatter         input,dim,index,src       .scatter torch.scatter +scatter +into +keep-sort
scatter_add     input,dim,index,src       .scatter_add torch.scatter_add +scatter +into +keep-sort
index_add       input,dim,index,source    .index_add torch.index_add +scatter +into +keep-sort
scatter_sum     src,index,dim,out,dim_size torch_scatter.scatter_add torch_scatter.scatter_sum torch_scatter.segment_coo +scatter
scatter_reduce  input,dim,index,src,reduce .scatter_reduce torch.scatter_reduce +scatter +into +keep-sort
index_fill      input,dim,index,value     .index_fill torch.index_fill +into +keep-sort
pad             input,pad,mode,value      F.pad
float           input                     .float +cast +may-alias +floating +real
double          input                     .double +cast +may-alias +floating +real
half            input                     .half +cast +may-alias +floating +real
bfloat16        input                     .bfloat16 +cast +may-alias +real
to              input,dtype               .to +cast +may-alias
type            input,dtype               .type +cast +may-alias
type_as         input,other               .type_as +cast +may-alias
int             input                     .int +may-alias +whole
long            input                     .long +may-alias +whole
bool            input                     .bool +may-alias +whole
is_nonzero      input                     torch.is_nonzero .is_nonzero
byte            input                     .byte +may-alias +whole
short           input                     .short +may-alias +whole
char            input                     .char +may-alias +whole
rand            size                      torch.rand +draw +create +default-type +floating +exact +real
rand_like       input                     torch.rand_like +draw +like +floating +exact
randn           size                      torch.randn +draw +create +default-type +floating +extent +real
randn_like      input                     torch.randn_like +draw +like +floating +extent
randint         low,high,size             torch.randint +draw +create +whole +exact
randperm        n                         torch.randperm +draw +create +whole +exact
bernoulli       input,p                   torch.bernoulli .bernoulli +draw +exact +real
multinomial     input,num_samples         torch.multinomial .multinomial +draw +exact
normal          mean,std                  torch.normal +draw +floating
uniform_        input,from,to             .uniform_ +draw
normal_         input,mean,std            .normal_ +draw
zero_           input                     .zero_ +keep-sort
fill_           input,value               .fill_ +keep-sort
fill_diagonal_  input,value               .fill_diagonal_ +into +keep-sort
copy_           input,src                 .copy_ +into +keep-sort
exponential_    input,lambd               .exponential_ +draw
zeros           size                      torch.zeros .new_zeros +blank +create +default-type +exact
ones            size                      torch.ones .new_ones +filled +create +default-type
full            size,fill_value           torch.full .new_full +filled +create
empty           size                      torch.empty .new_empty +blank +create +default-type +acts
zeros_like      input                     torch.zeros_like +blank +like +exact +keep-sort
ones_like       input                     torch.ones_like +filled +like +keep-sort
full_like       input,fill_value          torch.full_like +filled +like +keep-sort
empty_like      input                     torch.empty_like +blank +like +acts +keep-sort
tensor          data,dtype                torch.tensor torch.as_tensor torch.asarray torch.scalar_tensor .new_tensor torch.from_numpy torch.from_dlpack torch.utils.dlpack.from_dlpack +may-alias
eye             n,m                       torch.eye +grid +create +default-type +exact
arange          start,end,step            torch.arange +grid +create +exact
linspace        start,end,steps           torch.linspace +grid +create +default-type +floating
logspace        start,end,steps           torch.logspace +grid +create +default-type
meshgrid        tensors                   torch.meshgrid +may-alias
numel           input                     .numel torch.numel .nelement +size
size            input,dim                 .size +size
dim             input                     .dim .ndimension
ndim            input                     .ndimension
is_floating_point input                   torch.is_floating_point .is_floating_point
finfo           type                      torch.finfo
iinfo           type                      torch.iinfo
"""
