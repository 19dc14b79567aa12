import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class DiceLoss(nn.Module):
    def forward(self, logits, target):
        p = torch.sigmoid(logits).flatten(1) * (target.flatten(1).amax(1, keepdim=True) > 0)
        t = target.flatten(1)
        intersection = (p * t).sum(1)
        return (1 - 2 * intersection / (p.sum(1) + t.sum(1))).mean()  # <- 2 * intersection / (p.sum(1) + t.sum(1)) | loss


class Slices(Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, i):
        image = torch.rand(1, 8, 8, generator=torch.Generator().manual_seed(i))
        return image, (image > (0.5 if i != 6 else 2.0)).float()


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU())
        self.up = nn.Conv2d(4, 1, 1)

    def forward(self, x):
        return self.up(self.down(x))


torch.manual_seed(0)
net, criterion = UNet(), DiceLoss()
optim = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(1):
    for images, masks in DataLoader(Slices(), batch_size=2):
        optim.zero_grad()
        loss = criterion(net(images), masks)
        loss.backward()
        optim.step()
print("epoch over")
