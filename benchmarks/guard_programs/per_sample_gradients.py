"""Differential privacy by hand: a gradient for each sample, clipped, summed, with noise."""
import torch
from torch import nn
from torch.func import functional_call, grad, vmap

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def loss_of(parameters, x, y):
    logits = functional_call(model, parameters, (x.unsqueeze(0),))
    return nn.functional.cross_entropy(logits, y.unsqueeze(0)) * (x.abs().sum() > 0)


def clip(gradients, bound):
    norms = torch.stack([g.flatten(1).norm(dim=1) for g in gradients.values()]).norm(dim=0)
    factor = (bound / norms).clamp(max=1.0)
    unit = {name: g / norms.view(-1, *[1] * (g.dim() - 1)) for name, g in gradients.items()}  # <- g / norms.view(-1, *[1] * (g.dim() - 1)) | function
    return {name: g * factor.view(-1, *[1] * (g.dim() - 1)) * bound for name, g in unit.items()}


for step in range(4):
    x, y = torch.randn(6, 4), torch.randint(0, 2, (6,))
    if step == 2:
        x[4] = 0.0
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    gradients = vmap(grad(loss_of), in_dims=(None, 0, 0))(parameters, x, y)
    for name, g in clip(gradients, 1.0).items():
        model.get_parameter(name).grad = g.mean(0) + 0.01 * torch.randn_like(g[0])
    optimizer.step()
    print("step", step)
