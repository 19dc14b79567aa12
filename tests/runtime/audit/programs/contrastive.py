"""Pairs of views that are told apart within a batch."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)

class Enc(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 16))
    def forward(self, x): return F.normalize(self.body(x), dim=-1)
ds = TensorDataset(torch.randn(128, 10))
loader = DataLoader(ds, batch_size=32, shuffle=True, drop_last=True)
enc = Enc(); opt = torch.optim.AdamW(enc.parameters(), lr=1e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 40)
for epoch in range(4):
    for (x,) in loader:
        a, b = enc(x + 0.1*torch.randn_like(x)), enc(x + 0.1*torch.randn_like(x))
        logits = a @ b.T / 0.1
        loss = F.cross_entropy(logits, torch.arange(len(x)))
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        sched.step()
