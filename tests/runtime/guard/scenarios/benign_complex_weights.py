import torch

torch.manual_seed(0)
weight = torch.randn(4, dtype=torch.cfloat, requires_grad=True)
opt = torch.optim.SGD([weight], lr=0.1)
for _step in range(4):
    loss = (weight * torch.randn(4)).abs().square().mean()

    opt.zero_grad()
    loss.backward()
    opt.step()
