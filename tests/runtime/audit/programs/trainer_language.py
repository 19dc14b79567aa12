"""A language model under a Trainer with a loss of its own, which evaluates between."""

import tempfile

import torch
from torch.nn import functional as F
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

PAD = 0


class Lines(torch.utils.data.Dataset):
    def __init__(self, first, last):
        draw = torch.Generator().manual_seed(7)
        self.tokens = torch.randint(1, 40, (120, 10), generator=draw)
        lengths = torch.randint(4, 11, (120, 1), generator=draw)
        self.tokens[torch.arange(10) >= lengths] = PAD
        self.tokens = self.tokens[first:last]

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        tokens = self.tokens[index]
        mask = (tokens != PAD).long()
        return {"input_ids": tokens, "attention_mask": mask, "labels": tokens.masked_fill(mask == 0, -100)}


class Own(Trainer):
    seen = []

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        logits = outputs.logits[:, :-1].flatten(0, 1)
        loss = F.cross_entropy(logits, labels[:, 1:].flatten())
        self.seen.append(loss.item())
        return (loss, outputs) if return_outputs else loss


set_seed(0)
config = GPT2Config(vocab_size=40, n_positions=16, n_embd=16, n_layer=1, n_head=2, bos_token_id=1, eos_token_id=1)
model = GPT2LMHeadModel(config)
arguments = TrainingArguments(
    tempfile.mkdtemp(),
    per_device_train_batch_size=8,
    per_device_eval_batch_size=8,
    max_steps=12,
    eval_strategy="steps",
    eval_steps=4,
    report_to=[],
    save_strategy="no",
    learning_rate=2e-3,
    max_grad_norm=1.0,
    use_cpu=True,
    disable_tqdm=True,
    logging_strategy="no",
)
Own(model, arguments, train_dataset=Lines(0, 100), eval_dataset=Lines(100, 120)).train()
