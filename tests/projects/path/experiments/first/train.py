import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "lib"))

import torch
from net import network

model = network()
criterion = torch.nn.CrossEntropyLoss()
for x, y in []:
    loss = criterion(model(x), y)  # error: SL301 via lib/net.py
    loss = loss - torch.log(model(x)).mean()  # error: SL202 via lib/net.py
    loss.backward()
