import torch
from torch import nn


class MeanConv(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.lin = nn.Linear(inner, outer)

    def forward(self, x, edges):
        source, target = edges
        total = torch.zeros_like(x).index_add_(0, target, x[source])
        degree = torch.bincount(target, minlength=x.size(0)).to(x.dtype)
        return self.lin(total / degree.unsqueeze(1))  # <- total / degree.unsqueeze(1) | module-forward


class GNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([MeanConv(5, 8), MeanConv(8, 3)])

    def forward(self, x, edges):
        for conv in self.convs[:-1]:
            x = conv(x, edges).relu()
        return self.convs[-1](x, edges)


def graph(nodes, seed, isolated=False):
    generator = torch.Generator().manual_seed(seed)
    ring = torch.arange(nodes)
    edges = torch.stack([ring, (ring + 1) % nodes])
    if isolated:
        edges = edges[:, :-2]
    return torch.randn(nodes, 5, generator=generator), edges, torch.randint(0, 3, (nodes,), generator=generator)


torch.manual_seed(0)
model = GNN()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
graphs = [graph(6, 1), graph(7, 2), graph(5, 3), graph(8, 4, isolated=True), graph(6, 5)]
for epoch in range(2):
    for x, edges, y in graphs:
        loss = nn.functional.cross_entropy(model(x, edges), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
