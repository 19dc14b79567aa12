import torch
from torch import nn

torch.manual_seed(0)


class Windows:
    def __init__(self, length, size):
        self.series = torch.sin(torch.arange(length) / 7).unsqueeze(1) * torch.tensor([1.0, 3.0])
        self.series[48:56, 1] = 2.0
        self.size = size

    def __iter__(self):
        for start in range(0, len(self.series) - self.size, self.size):
            window = self.series[start : start + self.size]
            low, high = window.amin(0), window.amax(0)
            scaled = (window - low) / (high - low)  # <- (window - low) / (high - low) | function
            yield scaled[:-1].flatten(), scaled[-1]


net = nn.Sequential(nn.Linear(14, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(2):
    for x, y in Windows(96, 8):
        loss = nn.functional.l1_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, float(loss.detach()))
