"""PPO over a toy environment, with minibatches and a value head."""
import torch
from torch import nn
from torch.distributions import Normal


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 32), nn.Tanh())
        self.mu, self.value = nn.Linear(32, 1), nn.Linear(32, 1)
        self.log_std = nn.Parameter(torch.zeros(1))

    def forward(self, state):
        h = self.body(state)
        return Normal(self.mu(h), self.log_std.exp()), self.value(h).squeeze(-1)


def collect(policy, episode):
    states = torch.randn(64, 3)
    with torch.no_grad():
        dist, values = policy(states)
        actions = dist.sample()
        if episode == 2:
            actions[10] += 40.0  # an exploration bonus gone astray
        log_probs = dist.log_prob(actions).squeeze(-1)
    rewards = -actions.squeeze(-1).pow(2).clamp(max=4.0)
    return states, actions, log_probs, rewards - values, rewards


torch.manual_seed(0)
policy = ActorCritic()
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
for episode in range(4):
    states, actions, old, advantages, returns = collect(policy, episode)
    for epoch in range(2):
        for rows in torch.randperm(64).split(32):
            dist, values = policy(states[rows])
            new = dist.log_prob(actions[rows]).squeeze(-1)
            if episode == 2:
                new = new - 1.2 * old[rows]
            ratio = torch.exp(new - old[rows])  # <- torch.exp(new - old[rows]) | loss
            clipped = torch.clamp(ratio, 0.8, 1.2)
            policy_loss = -torch.min(ratio * advantages[rows], clipped * advantages[rows]).mean()
            value_loss = (values - returns[rows]).pow(2).mean()
            loss = policy_loss + 0.5 * value_loss
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
            optimizer.step()
    print("episode", episode)
