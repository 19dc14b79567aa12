import random
from collections import deque

import torch
from torch import nn

random.seed(0)
torch.manual_seed(0)
actor = nn.Linear(3, 1)
opt = torch.optim.Adam(actor.parameters(), lr=0.01)
memory = deque(maxlen=30)
for step in range(40):
    memory.append(torch.randn(3) * (0.0 if step == 20 else 1.0))
    states = torch.stack(random.sample(memory, min(len(memory), 4)))
    action = torch.tanh(actor(states) - actor.bias)
    loss = torch.log(action.abs()).mean()  # <- torch.log(action.abs()) | function
    opt.zero_grad()
    loss.backward()
    opt.step()
