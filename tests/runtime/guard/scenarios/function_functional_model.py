import torch

torch.manual_seed(0)
weight = torch.randn(4, 4, requires_grad=True)
bias = torch.zeros(4, requires_grad=True)


def forward(x):
    h = x @ weight + bias
    return torch.log(h.relu().sum(-1))  # <- torch.log(h.relu().sum(-1)) | function


opt = torch.optim.SGD([weight, bias], lr=0.001)
for step in range(5):
    x = torch.randn(8, 4) if step != 4 else torch.zeros(8, 4) - bias.detach()
    with torch.no_grad():
        bias.copy_(bias.clamp(max=0.0))
    opt.zero_grad()
    loss = forward(x if step != 4 else torch.zeros(8, 4)).mean()
    loss.backward()
    opt.step()
