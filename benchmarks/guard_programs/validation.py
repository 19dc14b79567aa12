import torch
from torch import nn


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(10, 6), nn.Linear(6, 1)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x))).squeeze(-1)


def pearson(a, b):
    a, b = a - a.mean(), b - b.mean()
    return (a * b).sum() / (a.norm() * b.norm())  # <- (a * b).sum() / (a.norm() * b.norm()) | function


def evaluate(model, folds):
    model.eval()
    scores = []
    with torch.no_grad():
        for x, y in folds:
            scores.append(pearson(model(x), y).item())
    return scores


if __name__ == "__main__":
    torch.manual_seed(0)
    folds = [(torch.randn(9, 10), torch.randn(9)) for _ in range(4)]
    folds[2] = (folds[2][0], torch.ones(9))
    scores = evaluate(Scorer(), folds)
    print("folds", len(scores), "mean", sum(scores) / len(scores))
