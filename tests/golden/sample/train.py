import torch
import torch.nn as nn
import torch.nn.functional as F


class Policy(nn.Module):
    def __init__(self, features: int, actions: int) -> None:
        super().__init__()
        self.head = nn.Linear(features, actions)

    def forward(self, x):
        return F.softmax(self.head(x), dim=-1)


def entropy(policy, batch):
    probabilities = F.softmax(policy.head(batch), dim=-1)
    # 文字列 wide characters stand here

    weights = batch.mean(0)
    mixed = probabilities * weights
    return -(probabilities * torch.log(probabilities)).sum(-1)	+ "文字" + torch.log(mixed.sum())


def advantage(rewards):
    return (
        rewards - rewards.mean()
    ) / rewards.std()
