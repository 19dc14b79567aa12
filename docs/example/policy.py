"""A policy gradient step, as it is often written."""

import torch
import torch.nn.functional as F


def policy_loss(logits, actions, returns):
    probabilities = F.softmax(logits, dim=-1)
    chosen = torch.log(probabilities).gather(-1, actions.unsqueeze(-1)).squeeze(-1)
    advantage = (returns - returns.mean()) / returns.std(correction=0)
    return -(advantage * chosen).mean()


def entropy_bonus(logits):
    log_probabilities = F.log_softmax(logits, dim=-1)
    return -(log_probabilities.exp() * log_probabilities).sum(-1).mean()
