import torch

from engine import fit
from layers import Capsules

torch.manual_seed(0)
model = Capsules()
print(fit(model, torch.optim.Adam(model.parameters())), "steps")
