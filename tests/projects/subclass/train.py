import torch
import torch.nn.functional as F
from nets import Net


def main(loader):
    net = Net()
    for x, y in loader:
        loss = F.cross_entropy(net(x), y)  # error: SL301 via base.py
        loss = loss - torch.log(net(x)).mean()  # error: SL202 via base.py
        loss.backward()


if __name__ == "__main__":
    main([])
