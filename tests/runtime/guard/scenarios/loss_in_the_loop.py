import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
model = nn.Linear(4, 3)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
data = TensorDataset(torch.randn(40, 4), torch.randint(0, 3, (40,)))
data.tensors[0][17] *= 1e5
for _epoch in range(2):
    for x, y in DataLoader(data, batch_size=8, shuffle=True):
        opt.zero_grad()
        p = model(x).softmax(-1)
        loss = -torch.log(p[torch.arange(8), y]).mean()  # <- torch.log(p[torch.arange(8), y]) | loss
        loss.backward()
        opt.step()
