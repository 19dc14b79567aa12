import torch
from torch import nn, optim


def gradient_penalty(critic, real, fake):
    mix = torch.rand(real.size(0), 1)
    between = (mix * real + (1 - mix) * fake).requires_grad_(True)
    gradients = torch.autograd.grad(critic(between).sum(), between, create_graph=True)[0]
    lengths = gradients.pow(2).sum(1).sqrt()  # <- gradients.pow(2).sum(1).sqrt() | backward
    return ((lengths - 1) ** 2).mean()


torch.manual_seed(7)
generator = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
critic = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
g_optim = optim.Adam(generator.parameters(), lr=1e-4, betas=(0.5, 0.9))
c_optim = optim.Adam(critic.parameters(), lr=1e-4, betas=(0.5, 0.9))
for iteration in range(5):
    for _ in range(2):
        real = torch.randn(16, 2)
        fake = generator(torch.randn(16, 3)).detach()
        if iteration == 3:
            with torch.no_grad():
                critic[0].bias.fill_(-50.0)  # every unit is dead: the critic is flat
        loss = critic(fake).mean() - critic(real).mean() + 10 * gradient_penalty(critic, real, fake)
        c_optim.zero_grad()
        loss.backward()
        c_optim.step()
    g_loss = -critic(generator(torch.randn(16, 3))).mean()
    g_optim.zero_grad()
    g_loss.backward()
    g_optim.step()
    print("iteration", iteration)
