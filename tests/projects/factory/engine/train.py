import torch
import torch.nn.functional as F
from models.factory import build_model


def train(loader):
    model = build_model("net")
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)  # error: SL301 via models/net.py
        loss.backward()


def entropy(x):
    p = build_model("net")(x)
    return -(p * torch.log(p)).sum(-1)  # error: SL202 via models/net.py
