import torch

torch.manual_seed(0)
x = torch.rand(32, 3) * 300
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(20):
    err = model(x) - x[:, :1]
    loss = (err**2).mean()  # <- err**2 | exploding-gradients
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
