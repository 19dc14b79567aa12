"""A classifier of token sequences under the Transformers Trainer."""

import tempfile

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed


class Sentences(torch.utils.data.Dataset):
    def __init__(self, count):
        self.tokens = torch.randint(1, 50, (count, 8), generator=torch.Generator().manual_seed(3))

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        tokens = self.tokens[index]
        return {"input_ids": tokens, "attention_mask": torch.ones(8).long(), "labels": tokens[0] % 3}


set_seed(0)
config = BertConfig(
    vocab_size=50,
    hidden_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=32,
    num_labels=3,
)
model = BertForSequenceClassification(config)
arguments = TrainingArguments(
    tempfile.mkdtemp(),
    per_device_train_batch_size=8,
    max_steps=12,
    report_to=[],
    save_strategy="no",
    learning_rate=1e-3,
    use_cpu=True,
    disable_tqdm=True,
    logging_strategy="no",
)
Trainer(model, arguments, train_dataset=Sentences(96)).train()
