import torch
from torch import nn
from torch.optim import Optimizer

torch.manual_seed(0)


class Adafactorish(Optimizer):
    def __init__(self, params, lr=1e-3, beta=0.99):
        super().__init__(params, dict(lr=lr, beta=beta))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["v"] = torch.zeros_like(p)
                v = state["v"]
                v.mul_(group["beta"]).addcmul_(p.grad, p.grad, value=1 - group["beta"])
                update = p.grad / v.sqrt()  # <- p.grad / v.sqrt() | function
                p.add_(update, alpha=-group["lr"])


model = nn.Sequential(nn.Embedding(20, 6), nn.Flatten(), nn.Linear(18, 4))
optimizer = Adafactorish(model.parameters(), 1e-3)
for step in range(4):
    ids = torch.randint(0, 20, (16, 3))
    loss = nn.functional.cross_entropy(model(ids), torch.randint(0, 4, (16,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
