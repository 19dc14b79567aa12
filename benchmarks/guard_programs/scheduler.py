import torch
from torch import nn

warmup, total = 4, 4
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


def rate(step):
    if step < warmup:
        return (step + 1) / warmup
    return float(torch.tensor(total - step) / torch.tensor(total - warmup))  # 0 / 0 as soon as the warm-up is over


schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
for step in range(7):
    x = torch.randn(8, 4)
    loss = (model(x) - x.sum(-1, keepdim=True)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # <- optimizer.step() | optimizer
    schedule.step()
    print(step)
