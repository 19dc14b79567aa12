import io

import torch
from torch import nn


def build():
    return nn.Sequential(nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 2))


def save_of_a_crashed_run():
    torch.manual_seed(0)
    model = build()
    with torch.no_grad():
        model[2].weight[1, 3] = float("nan")
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "epoch": 3}, file)
    file.seek(0)
    return file


state = torch.load(save_of_a_crashed_run(), weights_only=True)
model = build()
model.load_state_dict(state["model"])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for epoch in range(state["epoch"], state["epoch"] + 2):
    x = torch.randn(4, 6)
    loss = nn.functional.cross_entropy(model(x), torch.tensor([0, 1, 1, 0]))  # <- model(x) | bad-parameters
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("epoch", epoch)
