"""Token sequences of different lengths, tagged by a recurrent network."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

PAD = 0


def sentences(count, length=10, words=30):
    tokens = torch.randint(1, words, (count, length))
    lengths = torch.randint(4, length + 1, (count,))
    tokens[torch.arange(length) >= lengths[:, None]] = PAD
    tags = tokens % 5
    tags[tokens == PAD] = -100
    return tokens, tags


class Tagger(nn.Module):
    def __init__(self, words=30, tags=5):
        super().__init__()
        self.embedding = nn.Embedding(words, 16, padding_idx=PAD)
        self.rnn = nn.GRU(16, 16, batch_first=True)
        self.head = nn.Linear(16, tags)

    def forward(self, tokens):
        hidden, _ = self.rnn(self.embedding(tokens))
        return self.head(hidden)


torch.manual_seed(0)
tokens, tags = sentences(80)
loader = DataLoader(TensorDataset(tokens, tags), batch_size=16, shuffle=True)
model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
losses = []
for epoch in range(3):
    for tokens, tags in loader:
        optimizer.zero_grad()
        scores = model(tokens)
        loss = F.cross_entropy(scores.view(-1, 5), tags.view(-1), ignore_index=-100)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
