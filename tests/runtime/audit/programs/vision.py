"""Images in a convolutional network with dropout and batch norm, evaluated between epochs."""

import random

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset, Subset


class Images(Dataset):
    def __init__(self, count):
        self.labels = torch.randint(0, 4, (count,), generator=torch.Generator().manual_seed(1))
        self.noise = np.random.default_rng(3)
        self.pixels = torch.randint(0, 256, (count, 3, 8, 8), generator=torch.Generator().manual_seed(2))

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        image = self.pixels[index] / 255
        image += 0.01 * self.noise.standard_normal()
        image[:, :, self.labels[index] * 2] += 0.5
        return (image - 0.5) / 0.3, self.labels[index]


class Network(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 8, 3, padding=1)
        self.dropout = nn.Dropout(0.1)
        self.head = nn.Linear(8 * 16, classes)

    def forward(self, x):
        x = F.relu(self.norm1(self.conv1(x)))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.head(self.dropout(x.flatten(1)))


def main():
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    images = Images(60)
    training, held_out = Subset(images, range(48)), Subset(images, range(48, 60))
    loader = DataLoader(training, batch_size=12, shuffle=True)
    validation = DataLoader(held_out, batch_size=12)
    model = Network()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.9)
    for epoch in range(4):
        model.train()
        for images, labels in loader:
            optimizer.zero_grad()
            loss = criterion(model(images), labels)
            loss.backward()
            optimizer.step()
        scheduler.step()
        model.eval()
        with torch.no_grad():
            for images, labels in validation:
                accuracy = (model(images).argmax(1) == labels).float().mean()


if __name__ == "__main__":
    main()
