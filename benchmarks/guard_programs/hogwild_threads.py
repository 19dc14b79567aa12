"""Two replicas trained in threads, averaged at the end."""
import queue
import threading

import torch
from torch import nn


def kl_normal(mu, sigma):
    return (-sigma.log() + 0.5 * (sigma**2 + mu**2) - 0.5).sum(-1)  # <- sigma.log() | loss


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.h = nn.Linear(5, 16)
        self.out = nn.Linear(16, 4)

    def forward(self, x):
        mu, raw = self.out(torch.relu(self.h(x))).chunk(2, -1)
        return mu, torch.relu(raw + 0.5)


def train(name, seed, results, barrier):
    g = torch.Generator().manual_seed(seed)
    model = Encoder()
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.randn(p.shape, generator=g) * 0.2)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    losses = []
    for step in range(12):
        barrier.wait()
        x = torch.randn(16, 5, generator=g) * (1.0 if step < 8 or seed == 0 else 6.0)
        mu, sigma = model(x)
        loss = kl_normal(mu, sigma + (0.5 if seed == 0 or step < 8 else 0.0)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    results.put((name, losses))


if __name__ == "__main__":
    torch.set_num_threads(1)
    results, barrier = queue.Queue(), threading.Barrier(2)
    threads = [threading.Thread(target=train, args=(f"replica{i}", i, results, barrier)) for i in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for name, losses in sorted(results.get() for _ in range(2)):
        print(name, " ".join(f"{v:.3f}" for v in losses))
