import torch
from losses import Likelihood, Weighted
from torch import nn

model = nn.Sequential(nn.Linear(8, 3), nn.Softmax(dim=-1))
weighted = Weighted(0.5)
likelihood = Likelihood()

for x, y in []:
    loss = weighted(model(x), y)  # error: SL301 via losses.py
    loss = loss + likelihood(model(x), y)  # error: SL202 via losses.py
    loss.backward()
