import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1, bias=False)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cpu")
for step in range(5):
    x = torch.randn(8, 4)
    if step == 3:
        x[2] = 0.0
    opt.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        z = model(x).float()
        loss = (z / z.abs()).mean() + z.mean()  # <- z / z.abs() | loss
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()
