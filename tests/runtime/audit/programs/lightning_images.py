"""Images in a Lightning data module, with a schedule and clipping."""

import lightning
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __init__(self, first, last):
        draw = torch.Generator().manual_seed(5)
        self.pixels = torch.randint(0, 256, (96, 1, 8, 8), generator=draw, dtype=torch.uint8)[first:last]

    def __len__(self):
        return len(self.pixels)

    def __getitem__(self, index):
        image = self.pixels[index] / 255
        label = (image[0, :4].mean() > image[0, 4:].mean()).long()
        return (image - 0.5) / 0.29, label


class Data(lightning.LightningDataModule):
    def setup(self, stage):
        self.training, self.validation = Images(0, 80), Images(80, 96)

    def train_dataloader(self):
        return DataLoader(self.training, batch_size=16, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.validation, batch_size=8)


class Classifier(lightning.LightningModule):
    def __init__(self, rate=2e-3):
        super().__init__()
        self.save_hyperparameters()
        self.body = nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten())
        self.dropout = nn.Dropout(0.2)
        self.head = nn.Linear(8 * 36, 2)
        self.outputs = []

    def forward(self, images):
        return self.head(self.dropout(self.body(images)))

    def training_step(self, batch, batch_idx):
        images, labels = batch
        logits = self(images)
        loss = F.cross_entropy(logits, labels)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        images, labels = batch
        logits = self(images)
        self.outputs.append((logits.argmax(1) == labels).float().mean().item())

    def on_validation_epoch_end(self):
        self.log("accuracy", sum(self.outputs) / len(self.outputs))
        self.outputs.clear()

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.rate)
        scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.3)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "epoch"}}


if __name__ == "__main__":
    lightning.seed_everything(0, verbose=False)
    trainer = lightning.Trainer(
        max_epochs=4,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        gradient_clip_val=1.0,
    )
    trainer.fit(Classifier(), datamodule=Data())
