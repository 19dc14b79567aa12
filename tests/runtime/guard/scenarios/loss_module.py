import torch
from torch import nn

torch.manual_seed(0)


class FocalLoss(nn.Module):
    def forward(self, logits, y):
        p = logits.sigmoid()
        bce = y * p.log() + (1 - y) * (1 - p).log()  # <- (1 - p).log() | loss
        return -bce.mean()


model = nn.Linear(4, 1)
criterion = FocalLoss()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    x = torch.randn(8, 4)
    y = torch.ones(8, 1)
    with torch.no_grad():
        model.weight.abs_()
    if step == 3:
        x = x.abs() * 1e3
    opt.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    opt.step()
