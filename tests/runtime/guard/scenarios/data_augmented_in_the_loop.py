import random

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
random.seed(0)
model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Linear(4, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for _step, (x, y) in enumerate(
        DataLoader(TensorDataset(torch.randn(48, 4), torch.rand(48)), batch_size=8)
    ):
        x = x + 0.1 * torch.randn_like(x)
        y = y * random.random() - float(epoch == 1)
        opt.zero_grad()
        rate = model(x).squeeze(-1).exp()
        loss = (rate - y * rate.log() + torch.lgamma(y + 1) + torch.log(y)).mean()  # <- torch.log(y) | loss
        loss.backward()
        opt.step()
