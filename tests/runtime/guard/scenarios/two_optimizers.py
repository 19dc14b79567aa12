import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
generator = nn.Linear(2, 4)
critic = nn.Linear(4, 1)
g_opt = torch.optim.SGD(generator.parameters(), lr=0.01)
c_opt = torch.optim.SGD(critic.parameters(), lr=0.01)
for step in range(6):
    z = torch.randn(8, 2)
    real = torch.randn(8, 4)
    c_opt.zero_grad()
    c_loss = F.softplus(critic(generator(z).detach())).mean() + F.softplus(-critic(real)).mean()
    c_loss.backward()
    c_opt.step()
    g_opt.zero_grad()
    score = critic(generator(z * (1 if step < 3 else 1e5)))
    g_loss = torch.log(1 - torch.sigmoid(score)).mean()  # <- torch.log(1 - torch.sigmoid(score)) | loss
    g_loss.backward()
    g_opt.step()
