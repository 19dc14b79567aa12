import torch
from config import make_criterion, make_model

CONFIG = {"inputs": 8, "hidden": 16, "depth": 2, "classes": 3, "smoothing": 0.1}


def main(loader):
    model = make_model(CONFIG)
    criterion = make_criterion(CONFIG)
    for x, y in loader:
        loss = criterion(model(x), y)  # error: SL301 via config.py
        loss = loss - torch.log(model(x)).mean()  # error: SL202 via config.py
        loss.backward()


main([])
