# $ python -
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(5, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    x = torch.randn(4, 5)
    target = torch.zeros(4, 3) if step == 3 else torch.rand(4, 3)
    target = target / target.sum(1, keepdim=True)  # <- target / target.sum(1, keepdim=True) | function
    loss = nn.functional.cross_entropy(model(x), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("end")
