"""A graph convolution over all nodes at once."""

import torch
import torch.nn.functional as F
from torch import nn


class Convolution(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inputs, outputs))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, adjacency):
        return adjacency @ (x @ self.weight)


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Convolution(12, 16)
        self.dropout = nn.Dropout(0.2)
        self.second = Convolution(16, 3)

    def forward(self, x, adjacency):
        x = F.relu(self.first(self.dropout(x), adjacency))
        return F.log_softmax(self.second(x, adjacency), dim=1)


torch.manual_seed(0)
nodes = 60
labels = torch.randint(0, 3, (nodes,))
features = torch.randn(nodes, 12) + F.one_hot(labels, 3).float().repeat(1, 4)
same = (labels[:, None] == labels[None, :]) & (torch.rand(nodes, nodes) < 0.2)
adjacency = (same | same.T).float() + torch.eye(nodes)
degree = adjacency.sum(1)
adjacency = adjacency / (degree[:, None] * degree[None, :]).sqrt()
train = torch.rand(nodes) < 0.7
model = Network()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=5e-4)
for epoch in range(12):
    model.train()
    optimizer.zero_grad()
    output = model(features, adjacency)
    loss = F.nll_loss(output[train], labels[train])
    loss.backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        output = model(features, adjacency)
        accuracy = (output.argmax(1)[~train] == labels[~train]).float().mean()
