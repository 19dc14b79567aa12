import torch
from torch import nn

torch.manual_seed(0)


class Trainer:
    def __init__(self):
        self.model = nn.Linear(4, 3)
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(self.model.parameters())

    def train_step(self, x, y):
        self.optimizer.zero_grad()
        loss = self.criterion(self.model(x), y)  # <- self.criterion(self.model(x), y) | loss
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def fit(self):
        for step in range(5):
            x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
            if step == 2:
                y.fill_(-100)
            self.train_step(x, y)


Trainer().fit()
