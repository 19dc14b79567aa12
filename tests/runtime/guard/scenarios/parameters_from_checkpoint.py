import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
state = model.state_dict()
state["2.weight"][0, 3] = float("nan")
model.load_state_dict(state)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for _step in range(3):
    opt.zero_grad()
    loss = model(torch.randn(8, 4)).square().mean()  # <- model(torch.randn(8, 4)) | bad-parameters
    loss.backward()
    opt.step()
