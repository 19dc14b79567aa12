import tempfile

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, PrinterCallback, Trainer, TrainingArguments, set_seed


class Reviews(Dataset):
    def __init__(self):
        self.tokens = torch.randint(1, 30, (48, 10))
        self.labels = torch.randint(0, 2, (48,))
        self.weights = torch.ones(48)
        self.weights[24:28] = 0.0  # annotators who never answered

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        return {"input_ids": self.tokens[index], "labels": self.labels[index], "weight": self.weights[index]}


class WeightedTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        weight = inputs.pop("weight")
        outputs = model(**inputs)
        losses = nn.functional.cross_entropy(outputs.logits, inputs["labels"], reduction="none")
        loss = (losses * weight).sum() / weight.sum()  # <- (losses * weight).sum() / weight.sum() | loss
        return (loss, outputs) if return_outputs else loss

    def _get_train_sampler(self, *args, **kwargs):
        return None


set_seed(0)
model = BertForSequenceClassification(
    BertConfig(vocab_size=30, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
)
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        folder,
        per_device_train_batch_size=4,
        max_steps=10,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
        remove_unused_columns=False,
        use_cpu=True,
        logging_strategy="no",
    )
    trainer = WeightedTrainer(model, arguments, train_dataset=Reviews())
    trainer.remove_callback(PrinterCallback)  # it prints how long the training took
    trainer.train()
print("trained")
