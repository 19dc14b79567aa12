import math

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
best, patience = float("inf"), 2
history = torch.full((6,), float("nan"))
for epoch in range(6):
    model.train()
    for _ in range(3):
        x = torch.randn(16, 3)
        loss = nn.functional.smooth_l1_loss(model(x), x.prod(-1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        x = torch.randn(16, 3)
        history[epoch] = nn.functional.mse_loss(model(x), x.prod(-1, keepdim=True))
    plateau.step(history[epoch])
    if history[epoch] < best:
        best, patience = history[epoch].item(), 2
    else:
        patience -= 1
    if not patience:
        break
print(history.nanmean().item() > 0, math.isfinite(best), history)
