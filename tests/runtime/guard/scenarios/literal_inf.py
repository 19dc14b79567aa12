import torch

torch.manual_seed(0)
weight = torch.ones(4, requires_grad=True)
opt = torch.optim.SGD([weight], lr=0.1)
for step in range(3):
    noise = torch.full((4,), 1.0) if step < 1 else torch.full((4,), float("inf"))
    opt.zero_grad()
    loss = (weight * noise - noise).sum()  # <- weight * noise - noise | function
    loss.backward()
    opt.step()
