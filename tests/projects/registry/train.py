import nets
import torch
import torch.nn.functional as F
from registry import MODELS, create

model = create("mlp", classes=5)
other = MODELS["mlp"]()

for x, y in []:
    loss = F.cross_entropy(model(x), y)  # error: SL301 via nets.py
    loss = loss - torch.log(other(x)).mean()  # error: SL202 via nets.py
    loss.backward()
