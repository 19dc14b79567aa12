import torch
import torch.nn.functional as F
from transformers import Trainer


class ClassificationTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        outputs = model(inputs["x"])
        loss = F.cross_entropy(outputs, inputs["y"])  # error: SL301 via nets.py, main.py
        return (loss, outputs) if return_outputs else loss

    def entropy(self, x):
        return -torch.log(self.model(x)).mean()  # error: SL202 via nets.py, main.py
