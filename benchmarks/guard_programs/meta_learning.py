"""MAML-like inner step with functional_call and vmap over tasks."""
import torch
from torch import nn
from torch.func import functional_call, grad, vmap

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 1))
outer = torch.optim.Adam(model.parameters(), lr=1e-3)


def task_loss(params, x, y):
    pred = functional_call(model, params, (x,))
    return ((pred - y) ** 2).mean().sqrt()  # <- ((pred - y) ** 2).mean().sqrt() | backward


def adapted_loss(params, xs, ys, xq, yq):
    g = grad(task_loss)(params, xs, ys)
    fast = {k: params[k] - 0.1 * g[k] for k in params}
    return task_loss(fast, xq, yq)


for it in range(6):
    amplitude = torch.rand(4, 1, 1) + 0.1
    xs = torch.rand(4, 10, 1) * 4
    ys = amplitude * torch.sin(xs)
    if it == 4:
        with torch.no_grad():
            model[2].weight.zero_()
            model[2].bias.zero_()
        ys[1] = 0.0
    params = dict(model.named_parameters())
    losses = vmap(adapted_loss, in_dims=(None, 0, 0, 0, 0))(params, xs, ys, xs, ys)
    loss = losses.mean()
    outer.zero_grad()
    loss.backward()
    outer.step()
    print(it, f"{loss.item():.4f}")
