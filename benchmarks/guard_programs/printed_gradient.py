import torch
points = torch.tensor([[0.0, 0.0], [3.0, 4.0]], requires_grad=True)
shifted = points - points[:1]
distances = (shifted ** 2).sum(-1).sqrt()  # <- (shifted ** 2).sum(-1).sqrt() | backward
energy = distances.sum()
energy.backward()
print("forces", -points.grad)
