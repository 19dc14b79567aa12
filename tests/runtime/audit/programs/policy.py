"""Policy gradients in a world with four states."""

import torch
from torch import nn


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 32)
        self.action = nn.Linear(32, 3)
        self.value = nn.Linear(32, 1)

    def forward(self, state):
        hidden = torch.relu(self.body(state))
        return self.action(hidden), self.value(hidden).squeeze(-1)


def reward(states, actions):
    return (states.argmax(-1) % 3 == actions).float()


torch.manual_seed(0)
policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
history = []
for episode in range(12):
    states = torch.eye(4)[torch.randint(0, 4, (24,))]
    with torch.no_grad():
        actions = torch.distributions.Categorical(logits=policy(states)[0]).sample()
    gains = reward(states, actions)
    scores, values = policy(states)
    chosen = torch.distributions.Categorical(logits=scores).log_prob(actions)
    advantage = gains - values.detach()
    policy_loss = -(chosen * advantage).mean()
    value_loss = ((values - gains) ** 2).mean()
    loss = policy_loss + 0.5 * value_loss
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
    optimizer.step()
    history.append(loss.detach().item())
