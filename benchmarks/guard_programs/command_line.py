# $ python -c
import torch

x = torch.linspace(-1, 1, 5)
angle = torch.acos(x * 1.01)  # <- torch.acos(x * 1.01) | function
print(angle.mean())
