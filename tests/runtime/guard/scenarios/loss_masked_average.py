import torch
from torch import nn

torch.manual_seed(0)


def masked_mean(values, mask):
    return (values * mask).sum() / mask.sum()  # <- (values * mask).sum() / mask.sum() | loss


def main():
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _step, (x, mask) in enumerate(batches()):
        x, mask = x * 2, mask.float()
        opt.zero_grad()
        loss = masked_mean(model(x).squeeze(-1) ** 2, mask)
        loss.backward()
        opt.step()


def batches():
    for step in range(6):
        yield torch.randn(8, 4), torch.ones(8) * (step != 4)


main()
