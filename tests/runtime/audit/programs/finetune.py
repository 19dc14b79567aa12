"""A frozen body with batch norm, and a head that is trained under a gradient scaler."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Body(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3)
        self.norm = nn.BatchNorm2d(8)

    def forward(self, x):
        return torch.relu(self.norm(self.conv(x))).mean((2, 3))


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = Body()
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.body(x))


torch.manual_seed(0)
images = torch.randn(64, 1, 6, 6)
labels = (images.mean((1, 2, 3)) > 0).long()
loader = DataLoader(TensorDataset(images, labels), batch_size=16, shuffle=True)
model = Network()
for parameter in model.body.parameters():
    parameter.requires_grad_(False)
model.train()
model.body.eval()
optimizer = torch.optim.AdamW(model.head.parameters(), lr=5e-3)
scaler = torch.amp.GradScaler("cpu")
criterion = nn.CrossEntropyLoss()
for epoch in range(3):
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = criterion(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.head.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
