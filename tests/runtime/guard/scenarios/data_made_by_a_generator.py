import torch

torch.manual_seed(0)
data = torch.randn(9, 3)


def pieces():
    for start in range(0, 9, 4):
        piece = data[start : start + 4]
        piece = piece - piece.mean(0)
        piece = piece / piece.std(0)  # <- piece.std(0) | function | alone
        yield piece, piece.sum(1)


model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for x, y in pieces():
    loss = (model(x).squeeze(1) - y).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
