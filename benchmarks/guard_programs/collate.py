import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Clips(Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        length = 1 if index == 13 else 5 + index % 4
        return torch.randn(length, generator=generator), float(index % 2)


def collate(items):
    rows = [(clip - clip.mean()) / clip.std() for clip, _ in items]  # <- clip.std() | function
    return nn.utils.rnn.pad_sequence(rows, batch_first=True), torch.tensor([label for _, label in items])


def main():
    torch.manual_seed(0)
    model = nn.GRU(1, 8, batch_first=True)
    head = nn.Linear(8, 1)
    optimizer = torch.optim.RMSprop([*model.parameters(), *head.parameters()], lr=1e-3)
    losses = []
    for clips, labels in DataLoader(Clips(), batch_size=4, num_workers=2, collate_fn=collate):
        _, state = model(clips.unsqueeze(-1))
        loss = nn.functional.binary_cross_entropy_with_logits(head(state[-1]).squeeze(-1), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(len(losses), "batches")


if __name__ == "__main__":
    main()
