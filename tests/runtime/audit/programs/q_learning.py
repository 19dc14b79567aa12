"""Q-learning with a replay memory and a target network."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)

import random, collections
random.seed(0)
class Q(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
    def forward(self, s): return self.net(s)
policy, target = Q(), Q()
target.load_state_dict(policy.state_dict())
optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-4, amsgrad=True)
memory = collections.deque(maxlen=500)
state = torch.randn(4)
for step in range(60):
    if random.random() < 0.3: action = random.randrange(2)
    else:
        with torch.no_grad(): action = policy(state[None]).argmax(1).item()
    nxt = 0.9 * state + 0.1 * torch.randn(4); reward = float(nxt[0] > 0)
    memory.append((state, action, reward, nxt)); state = nxt
    if len(memory) < 32: continue
    batch = random.sample(memory, 32)
    s = torch.stack([b[0] for b in batch]); a = torch.tensor([[b[1]] for b in batch])
    r = torch.tensor([b[2] for b in batch]); n = torch.stack([b[3] for b in batch])
    q = policy(s).gather(1, a)
    with torch.no_grad(): best = target(n).max(1).values
    loss = F.smooth_l1_loss(q, (r + 0.99 * best).unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(policy.parameters(), 100)
    optimizer.step()
