import torch

torch.manual_seed(0)
weights = {"w": torch.randn(3, 2, requires_grad=True)}
squares = {"w": torch.zeros(3, 2)}


def update():
    for name, one in weights.items():
        squares[name] = 0.9 * squares[name] + 0.1 * one.grad.square()
        root = squares[name].sqrt()
        one.data = one.data - 0.1 * one.grad / root  # <- 0.1 * one.grad / root | function
        one.grad = None


step = 0
while step < 3:
    x = torch.randn(4, 3) * torch.tensor([1.0, 0.0, 1.0])
    loss = (x @ weights["w"]).square().mean()
    loss.backward()
    update()
    step += 1
