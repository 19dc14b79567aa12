import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(4, 4)
        self.decoder = nn.Linear(2, 4)

    def forward(self, x):
        mean, log_variance = self.encoder(x).chunk(2, -1)
        z = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        return self.decoder(z), mean, log_variance


model = VAE()
opt = torch.optim.Adam(model.parameters())
for step in range(5):
    x = torch.randn(8, 4)
    if step == 4:
        x = x * 120
    opt.zero_grad()
    out, mean, log_variance = model(x)
    kl = -0.5 * (1 + log_variance - mean**2 - log_variance.exp()).sum()  # <- log_variance.exp() | loss
    loss = F.mse_loss(out, x) + kl
    loss.backward()
    opt.step()
