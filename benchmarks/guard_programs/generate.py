import torch
from torch import nn


class LanguageModel(nn.Module):
    def __init__(self, words=12):
        super().__init__()
        self.embed = nn.Embedding(words, 8)
        self.rnn = nn.GRU(8, 8, batch_first=True)
        self.out = nn.Linear(8, words)

    def forward(self, tokens):
        return self.out(self.rnn(self.embed(tokens))[0][:, -1])


@torch.inference_mode()
def generate(model, tokens, count, temperature, top_k):
    for _ in range(count):
        logits = model(tokens) / temperature
        kept, _ = torch.topk(logits, top_k)
        logits[logits < kept[:, [-1]]] = float("-inf")
        weights = logits.exp()
        probabilities = weights / weights.sum(-1, keepdim=True)  # <- weights / weights.sum(-1, keepdim=True) | function
        print("surprise", -probabilities.max().log().item())
        tokens = torch.cat([tokens, probabilities.argmax(-1, keepdim=True)], 1)
    return tokens


torch.manual_seed(0)
model = LanguageModel().eval()
for temperature in (1.0, 0.5, 0.001):
    print(temperature, generate(model, torch.tensor([[1, 2]]), 3, temperature, 4).tolist())
