import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Embedding(10, 4), nn.Flatten(), nn.Linear(12, 1)).half()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(4):
    tokens = torch.randint(0, 5, (6, 3))
    loss = model(tokens).float().pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # <- optimizer.step() | optimizer
    print("step", step)
