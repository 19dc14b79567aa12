import torch
from torch import nn
torch.manual_seed(0)
def dice(p, t):
    return 1 - 2 * (p * t).sum() / (p.sum() + t.sum())  # <- 2 * (p * t).sum() / (p.sum() + t.sum()) | function
print("dice", dice(torch.zeros(4), torch.zeros(4)))
