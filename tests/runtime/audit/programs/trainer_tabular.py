"""A plain module under the Transformers Trainer, with an optimizer and a schedule of its own."""

import tempfile

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments, set_seed


class Rows(Dataset):
    def __init__(self, first, last):
        draw = torch.Generator().manual_seed(11)
        self.x = torch.randn(120, 6, generator=draw)
        self.y = self.x[:, :1] * 0.7 - self.x[:, 1:2]
        self.x, self.y = self.x[first:last], self.y[first:last]

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return {"x": self.x[index], "labels": self.y[index]}


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 32), nn.LayerNorm(32), nn.GELU(), nn.Dropout(0.1))
        self.head = nn.Linear(32, 1)
        self.criterion = nn.MSELoss()

    def forward(self, x, labels=None):
        output = self.head(self.body(x))
        return {"loss": self.criterion(output, labels), "logits": output}


set_seed(0)
model = Regressor()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: max(0.1, 1 - step / 24))
arguments = TrainingArguments(
    tempfile.mkdtemp(),
    per_device_train_batch_size=16,
    num_train_epochs=2,
    eval_strategy="epoch",
    report_to=[],
    save_strategy="no",
    use_cpu=True,
    disable_tqdm=True,
    logging_strategy="no",
)
Trainer(
    model,
    arguments,
    train_dataset=Rows(0, 96),
    eval_dataset=Rows(96, 120),
    optimizers=(optimizer, schedule),
).train()
