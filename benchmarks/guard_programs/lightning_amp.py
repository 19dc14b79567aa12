import logging
import warnings

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Tagger(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.out = nn.Linear(8, 5)

    def forward(self, tokens):
        return self.out(self.embed(tokens))

    def training_step(self, batch, index):
        tokens, tags = batch
        keep = tokens != 0
        scores = nn.functional.cross_entropy(self(tokens).transpose(1, 2), tags, reduction="none")
        loss = scores[keep].mean()  # <- scores[keep].mean() | loss
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=1e-2)
        return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 1)}


L.seed_everything(1, verbose=False)
tokens = torch.randint(1, 20, (32, 6))
tokens[20:24] = 0  # a batch of padding
loader = DataLoader(TensorDataset(tokens, torch.randint(0, 5, (32, 6))), batch_size=4)
trainer = L.Trainer(
    max_epochs=1,
    precision="bf16-mixed",
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
    accumulate_grad_batches=2,
)
trainer.fit(Tagger(), loader)
print("done")
