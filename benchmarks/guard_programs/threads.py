import torch
from torch import nn
torch.manual_seed(0)
import threading
def train(number, bad):
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(30):
        out = model(torch.ones(2, 4))
        out = out - out.detach() if step == bad else out
        loss = out.square().sum().log()  # <- out.square().sum().log() | loss
        opt.zero_grad()
        loss.backward()
        opt.step()
threads = [threading.Thread(target=train, args=(n, 20 if n == 1 else None)) for n in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("joined")
