import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Clips(Dataset):
    def __init__(self, n=40):
        self.raw = torch.rand(n, 32, generator=torch.Generator().manual_seed(1))
        self.raw[25] = 0.0  # silence

    def __len__(self):
        return len(self.raw)

    def __getitem__(self, i):
        wave = self.raw[i]
        wave = wave / wave.abs().max()  # <- wave / wave.abs().max() | function
        return wave, float(i % 2)


if __name__ == "__main__":
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(32, 8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.Adam(model.parameters())
    for epoch in range(2):
        for wave, label in DataLoader(Clips(), batch_size=8, num_workers=2):
            loss = nn.functional.binary_cross_entropy_with_logits(model(wave).squeeze(1), label.float())
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, round(loss.item(), 4))
