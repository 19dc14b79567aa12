"""Making, rearranging, selecting and casting tensors, and asking for their sizes."""

from __future__ import annotations

OPERATIONS = """
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
fill_diagonal_  input,value               .fill_diagonal_
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
eye             n,m                       torch.eye
arange          start,end,step            torch.arange
linspace        start,end,steps           torch.linspace
logspace        start,end,steps           torch.logspace
meshgrid        tensors                   torch.meshgrid
numel           input                     .numel torch.numel .nelement
size            input,dim                 .size
dim             input                     .dim .ndimension
ndim            input                     .ndimension
is_floating_point input                   torch.is_floating_point .is_floating_point
finfo           type                      torch.finfo
iinfo           type                      torch.iinfo
"""
