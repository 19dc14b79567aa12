import torch
from torch import nn

torch.manual_seed(0)
pointer = nn.Bilinear(4, 4, 1)
optimizer = torch.optim.SGD(pointer.parameters(), lr=0.1)
for step in range(4):
    query, keys = torch.randn(3, 5, 4), torch.randn(3, 5, 4)
    valid = torch.rand(3, 5) > (0.3 if step else -1.0)
    scores = pointer(query, keys).squeeze(-1).masked_fill(~valid, float("-inf"))
    log_p = torch.log_softmax(scores, -1)
    loss = -(valid * log_p).sum() / valid.sum()  # <- valid * log_p | loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step", step)
