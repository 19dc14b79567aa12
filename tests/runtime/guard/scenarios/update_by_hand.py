import torch

torch.manual_seed(0)
rows = torch.nn.Parameter(torch.randn(4, 2))
moments = torch.zeros(4, 2)


def update():
    with torch.no_grad():
        moments.add_(rows.grad.square())
        rows.sub_(0.1 * (rows.grad / moments.sqrt()))  # <- rows.grad / moments.sqrt() | function
        rows.grad = None


for step in range(3):
    picked = rows[step : step + 2]
    loss = picked.square().mean()
    loss.backward()
    update()
