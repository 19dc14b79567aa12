import torch

torch.manual_seed(0)
ratio = lambda a, b: a / (b - b.mean())  # noqa: E731  # <- a / (b - b.mean()) | function
weight = torch.ones(3, requires_grad=True)
opt = torch.optim.SGD([weight], lr=0.1)
for step in range(4):
    opt.zero_grad()
    b = torch.randn(3) if step < 2 else torch.ones(3)
    loss = ratio(weight, b).sum()
    loss.backward()
    opt.step()
