"""A recurrent language model that carries its state on."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)

class LM(nn.Module):
    def __init__(self, V=50):
        super().__init__()
        self.emb = nn.Embedding(V, 32); self.lstm = nn.LSTM(32, 64, 2, dropout=0.2); self.dec = nn.Linear(64, V)
    def forward(self, x, h):
        o, h = self.lstm(self.emb(x), h)
        return self.dec(o), h
def detach(h): return tuple(v.detach() for v in h)
data = torch.randint(0, 50, (400, 8))
model = LM(); opt = torch.optim.SGD(model.parameters(), lr=1.0); crit = nn.CrossEntropyLoss()
total = 0.
for epoch in range(2):
    model.train()
    h = (torch.zeros(2, 8, 64), torch.zeros(2, 8, 64))
    for i in range(0, 300, 20):
        x, y = data[i:i+20], data[i+1:i+21]
        model.zero_grad()
        h = detach(h)
        out, h = model(x, h)
        loss = crit(out.view(-1, 50), y.reshape(-1))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        opt.step()
        total += loss.item()
