import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(6, width), nn.ReLU(), nn.Linear(width, width))
        self.head = nn.Linear(width, 3)

    def forward(self, x):
        features = self.backbone(x)
        features = (features - features.mean(-1, keepdim=True)) / features.std(-1, keepdim=True)  # <- (features - features.mean(-1, keepdim=True)) / features.std(-1, keepdim=True) | module-forward
        return self.head(features)


class Trainer:
    def __init__(self, model, loader, epochs=2):
        self.model, self.loader, self.epochs = model, loader, epochs
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, epochs)
        self.criterion = nn.CrossEntropyLoss()
        self.log = []

    def training_step(self, batch):
        x, y = batch
        return self.criterion(self.model(x), y)

    def fit(self):
        for epoch in range(self.epochs):
            self.model.train()
            for index, batch in enumerate(self.loader):
                loss = self.training_step(batch)
                self.optimizer.zero_grad(set_to_none=True)
                loss.backward()
                nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                self.optimizer.step()
                if index == 2 and epoch == 0:
                    with torch.no_grad():  # a layer that was pruned away
                        self.model.backbone[2].weight.zero_()
                        self.model.backbone[2].bias.zero_()
                self.log.append(loss.item())
            self.scheduler.step()
            print(f"epoch {epoch}: {sum(self.log) / len(self.log):.3f}")


def main():
    torch.manual_seed(3)
    data = TensorDataset(torch.randn(40, 6), torch.randint(0, 3, (40,)))
    Trainer(Net(), DataLoader(data, batch_size=8, shuffle=True)).fit()


if __name__ == "__main__":
    main()
