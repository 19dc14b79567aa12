import torch
import torch.nn as nn


class CharRNN(nn.Module):
    def __init__(self, n=16):
        super().__init__()
        self.enc = nn.Embedding(n, 12)
        self.lstm = nn.LSTM(12, 12, num_layers=2, dropout=0.1)
        self.dec = nn.Linear(12, n)

    def forward(self, x, hidden):
        out, hidden = self.lstm(self.enc(x), hidden)
        return self.dec(out), hidden


def repackage(h):
    return tuple(v.detach() for v in h)


torch.manual_seed(2)
model = CharRNN()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
text = torch.randint(0, 16, (60, 3))
hidden = (torch.zeros(2, 3, 12), torch.zeros(2, 3, 12))
lengths = [5, 5, 5, 0, 5]
start = 0
for i, length in enumerate(lengths):
    hidden = repackage(hidden)
    x, y = text[start : start + 5], text[start + 1 : start + 6]
    start += 5
    optimizer.zero_grad()
    logits, hidden = model(x, hidden)
    mask = (torch.arange(5) < length).float()[:, None]
    losses = nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="none").view(5, 3)
    loss = torch.sum(losses * mask) / torch.sum(mask)  # <- torch.sum(losses * mask) / torch.sum(mask) | loss
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.25)
    optimizer.step()
    print("chunk", i)
