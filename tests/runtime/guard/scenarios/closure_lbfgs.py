import torch

torch.manual_seed(0)
weight = torch.tensor([0.9, 0.4], requires_grad=True)
opt = torch.optim.LBFGS([weight], lr=1.0)


def closure():
    opt.zero_grad()
    loss = (weight * torch.log(weight)).sum() + 9 * weight.sum()  # <- torch.log(weight) | function
    loss.backward()
    return loss


for _step in range(5):
    opt.step(closure)
