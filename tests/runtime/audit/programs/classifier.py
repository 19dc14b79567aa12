"""Digits as the official example of torch trains on them."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, 1); self.conv2 = nn.Conv2d(8, 16, 3, 1)
        self.dropout1 = nn.Dropout(0.25); self.fc1 = nn.Linear(16*16, 32); self.fc2 = nn.Linear(32, 10)
    def forward(self, x):
        x = F.relu(self.conv1(x)); x = F.relu(self.conv2(x)); x = F.max_pool2d(x, 2)
        x = self.dropout1(x); x = torch.flatten(x, 1); x = F.relu(self.fc1(x)); x = self.fc2(x)
        return F.log_softmax(x, dim=1)
def train(model, device, loader, optimizer, epoch):
    model.train()
    for i, (data, target) in enumerate(loader):
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        output = model(data)
        loss = F.nll_loss(output, target)
        loss.backward()
        optimizer.step()
def test(model, device, loader):
    model.eval()
    loss = 0; correct = 0
    with torch.no_grad():
        for data, target in loader:
            output = model(data)
            loss += F.nll_loss(output, target, reduction='sum').item()
            correct += output.argmax(1).eq(target).sum().item()
x = torch.rand(200, 1, 12, 12); y = torch.randint(0, 10, (200,))
x = (x - 0.5) / 0.29
tr = DataLoader(TensorDataset(x[:160], y[:160]), batch_size=32, shuffle=True)
te = DataLoader(TensorDataset(x[160:], y[160:]), batch_size=40)
model = Net(); optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.7)
for epoch in range(1, 4):
    train(model, 'cpu', tr, optimizer, epoch)
    test(model, 'cpu', te)
    scheduler.step()
