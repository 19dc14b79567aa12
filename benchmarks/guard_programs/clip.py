import math

import torch
from torch import nn
from torch.nn import functional as F


class CLIP(nn.Module):
    def __init__(self):
        super().__init__()
        self.image, self.text = nn.Linear(10, 6, bias=False), nn.Linear(7, 6, bias=False)
        self.logit_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def forward(self, image, text):
        image_features, text_features = self.image(image), self.text(text)
        image_features = image_features / image_features.norm(dim=1, keepdim=True)  # <- image_features / image_features.norm(dim=1, keepdim=True) | module-forward
        text_features = text_features / text_features.norm(dim=1, keepdim=True)
        logits = self.logit_scale.exp() * image_features @ text_features.t()
        return logits, logits.t()


def train_one_epoch(model, data, optimizer):
    for index, (image, text) in enumerate(data):
        per_image, per_text = model(image, text)
        labels = torch.arange(len(image))
        loss = (F.cross_entropy(per_image, labels) + F.cross_entropy(per_text, labels)) / 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield index, loss.item()


torch.manual_seed(5)
model = CLIP()
optimizer = torch.optim.AdamW(
    [{"params": [model.logit_scale], "weight_decay": 0.0}, {"params": [model.image.weight, model.text.weight]}], lr=1e-3
)
data = [(torch.rand(4, 10), torch.randn(4, 7)) for _ in range(6)]
data[4][0][1] = 0  # a black image
for index, value in train_one_epoch(model, data, optimizer):
    print(index, round(value, 3))
