import torch
from torch.func import functional_call, grad_and_value

torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
params = {k: v.detach() for k, v in net.named_parameters()}
data = torch.randn(40, 3)
data[30:] = 0.0
target = data.sum(1)


def objective(p, x, y):
    out = functional_call(net, p, (x,)).squeeze(1)
    size = x.pow(2).sum(1).sqrt()
    scaled = (out - y) / size  # <- (out - y) / size | function
    return scaled.pow(2).mean()


step = grad_and_value(objective)
for epoch in range(3):
    for i in range(0, 40, 10):
        grads, value = step(params, data[i : i + 10], target[i : i + 10])
        params = {k: v - 0.01 * grads[k] for k, v in params.items()}
        print(epoch, i, value.item())
