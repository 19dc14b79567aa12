"""A small transformer with a mask for padding."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(nn.Module):
    def __init__(self, width=16, classes=3):
        super().__init__()
        self.embedding = nn.Embedding(40, width)
        layer = nn.TransformerEncoderLayer(width, 2, 32, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, classes)

    def forward(self, tokens, mask):
        hidden = self.encoder(self.embedding(tokens), src_key_padding_mask=~mask)
        weights = mask.float() / mask.float().sum(1, keepdim=True).clamp_min(1)
        return self.head((hidden * weights[:, :, None]).sum(1))


torch.manual_seed(0)
tokens = torch.randint(0, 40, (64, 8))
mask = torch.arange(8) < torch.randint(2, 9, (64, 1))
labels = tokens[:, 0] % 3
loader = DataLoader(TensorDataset(tokens, mask, labels), batch_size=16, shuffle=True)
model = Classifier()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
steps = 12
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 4))
loss_function = nn.CrossEntropyLoss()
for epoch in range(3):
    for tokens, mask, labels in loader:
        optimizer.zero_grad()
        scores = model(tokens, mask)
        loss = loss_function(scores, labels)
        loss.backward()
        optimizer.step()
        scheduler.step()
