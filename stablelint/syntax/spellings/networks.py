"""What networks are made of and trained by: layers, losses, initialisation, gradients."""

from __future__ import annotations

OPERATIONS = """
linear          input,weight,bias         F.linear +floating +trained +narrowed +grow
conv1d          input,weight,bias,stride,padding F.conv1d torch.conv1d +floating +trained +saves-operand +narrowed +grow
conv2d          input,weight,bias,stride,padding F.conv2d torch.conv2d +floating +trained +saves-operand +narrowed +grow
conv3d          input,weight,bias,stride,padding F.conv3d torch.conv3d +floating +trained +saves-operand +narrowed +grow
convolution     input,weight,bias         torch.convolution +floating +trained +saves-operand +grow
embedding       input,weight,padding_idx,max_norm F.embedding +floating +trained
dropout         input,p,training,inplace  F.dropout torch.dropout +may-alias +floating +acts
layer_norm      input,normalized_shape,weight,bias,eps F.layer_norm torch.layer_norm +floating +widened +real
batch_norm      input,running_mean        F.batch_norm torch.batch_norm +acts
group_norm      input,num_groups          F.group_norm torch.group_norm +widened
normalize       input,p,dim,eps           F.normalize +floating +extent +widened
cosine_similarity x1,x2,dim,eps           F.cosine_similarity torch.cosine_similarity +floating +extent +widened +real
cdist           x1,x2,p                   torch.cdist +floating +exact +widened +real
pairwise_distance x1,x2,p,eps             F.pairwise_distance +widened +real
scaled_dot_product_attention query,key,value,attn_mask,dropout_p F.scaled_dot_product_attention +narrowed
avg_pool1d      input,kernel_size,stride,padding,ceil_mode,count_include_pad F.avg_pool1d +mean-pool
avg_pool2d      input,kernel_size,stride,padding,ceil_mode,count_include_pad,divisor_override F.avg_pool2d +mean-pool
adaptive_avg_pool2d input,output_size     F.adaptive_avg_pool2d +mean-pool
max_pool2d      input                     F.max_pool2d torch.max_pool2d +max-pool
adaptive_max_pool1d input,output_size     F.adaptive_max_pool1d torch.adaptive_max_pool1d +max-pool
adaptive_max_pool2d input,output_size     F.adaptive_max_pool2d +max-pool
adaptive_max_pool3d input,output_size     F.adaptive_max_pool3d +max-pool
interpolate     input,size                F.interpolate
unfold          input,kernel_size,dilation,padding F.unfold
grid_sample     input,grid                F.grid_sample
one_hot         input,num_classes         F.one_hot +whole +exact
cross_entropy   input,target,weight,size_average,ignore_index,reduce,reduction,label_smoothing F.cross_entropy +floating +loss +of-classes +widened +real
nll_loss        input,target,weight,size_average,ignore_index,reduce,reduction F.nll_loss +loss +of-classes +widened +real
binary_cross_entropy input,target,weight,size_average,reduce,reduction F.binary_cross_entropy +loss +real
binary_cross_entropy_with_logits input,target,weight,size_average,reduce,reduction,pos_weight F.binary_cross_entropy_with_logits +loss +widened +real
kl_div          input,target,size_average,reduce,reduction,log_target F.kl_div torch.kl_div +loss +widened +real
mse_loss        input,target,size_average,reduce,reduction F.mse_loss +floating +loss +distance +exact +widened +real +grow
l1_loss         input,target,size_average,reduce,reduction F.l1_loss +floating +loss +distance +exact +widened +real
smooth_l1_loss  input,target,size_average,reduce,reduction,beta F.smooth_l1_loss +loss +distance +exact +widened +real
huber_loss      input,target,reduction,delta F.huber_loss +loss +distance +exact +widened +real +recent
ctc_loss        input,target,input_lengths,target_lengths,blank,reduction,zero_infinity F.ctc_loss torch.ctc_loss +loss
gaussian_nll_loss input,target,var,full,eps,reduction F.gaussian_nll_loss +loss +widened
poisson_nll_loss input,target             F.poisson_nll_loss +loss +widened +floating
backward        input                     .backward +acts
parameter       data                      torch.nn.Parameter torch.nn.parameter.Parameter +may-alias +trained +acts
checkpoint      function                  torch.utils.checkpoint.checkpoint +copy +may-alias +acts
clip_grad_norm_ parameters,max_norm       torch.nn.utils.clip_grad_norm_ torch.nn.utils.clip_grad_norm torch.nn.utils.clip_grad.clip_grad_norm_
clip_grad_value_ parameters,clip_value    torch.nn.utils.clip_grad_value_ torch.nn.utils.clip_grad.clip_grad_value_
set_detect_anomaly mode                   torch.autograd.set_detect_anomaly torch.autograd.detect_anomaly torch.autograd.anomaly_mode.set_detect_anomaly +acts
trunc_normal_   tensor,mean,std           torch.nn.init.trunc_normal_
init_normal_    tensor,mean,std           torch.nn.init.normal_
init_uniform_   tensor,a,b                torch.nn.init.uniform_
init_constant_  tensor,val                torch.nn.init.constant_
init_xavier     tensor,gain               torch.nn.init.xavier_uniform_ torch.nn.init.xavier_normal_
torch_load      f,map_location            torch.load +acts
"""

# `nn` classes that apply one operation: class, operation, parameters of the constructor in order.
MODULES = """
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
Conv1d linear_module in_channels,out_channels
Conv2d linear_module in_channels,out_channels
Conv3d linear_module in_channels,out_channels
ConvTranspose1d linear_module in_channels,out_channels
ConvTranspose2d linear_module in_channels,out_channels
Embedding linear_module num_embeddings,embedding_dim
RNN layer_output input_size,hidden_size,num_layers,nonlinearity,bias,batch_first,dropout,bidirectional
GRU layer_output input_size,hidden_size,num_layers,bias,batch_first,dropout,bidirectional
LSTM layer_output input_size,hidden_size,num_layers,bias,batch_first,dropout,bidirectional,proj_size
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
