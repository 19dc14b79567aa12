import torch
from torch.nn import functional as F

torch.manual_seed(0)


def angle(a, b):
    return torch.acos(F.cosine_similarity(a, b))  # <- torch.acos(F.cosine_similarity(a, b)) | backward


weight = torch.randn(8, 3, requires_grad=True)
opt = torch.optim.SGD([weight], lr=0.01)
for step in range(4):
    other = torch.randn(8, 3)
    if step == 3:
        other = torch.tensor([[1.0, 0.0, 0.0]]).expand(8, 3)
        with torch.no_grad():
            weight.copy_(other)
    opt.zero_grad()
    loss = angle(weight, other).mean()
    loss.backward()
    opt.step()
