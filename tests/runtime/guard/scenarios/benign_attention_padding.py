import torch
from torch import nn

torch.manual_seed(0)
layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
opt = torch.optim.Adam(layer.parameters())
for _step in range(3):
    x = torch.randn(2, 5, 8)
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    loss = layer(x, src_key_padding_mask=padding).square().mean()

    opt.zero_grad()
    loss.backward()
    opt.step()
