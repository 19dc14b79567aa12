import math
from contextlib import nullcontext
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.nn import functional as F

block_size, batch_size, gradient_accumulation_steps, max_iters = 8, 4, 3, 6
learning_rate, grad_clip = 1e-3, 1.0
torch.manual_seed(1337)
ctx = torch.autocast("cpu", dtype=torch.bfloat16)
data = torch.randint(0, 32, (512,))


@dataclass
class GPTConfig:
    vocab_size: int = 32
    n_embd: int = 16
    n_head: int = 2
    block_size: int = 8


class CausalSelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd)
        self.n_head = config.n_head
        self.register_buffer("bias", torch.tril(torch.ones(block_size, block_size)))
        self.calls = 0

    def forward(self, x, pad):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(C, dim=2)
        q, k, v = (t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for t in (q, k, v))
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:T, :T] == 0, float("-inf"))
        att = att.masked_fill(pad[:, None, None, :], float("-inf"))
        att = F.softmax(att, dim=-1)  # <- F.softmax(att, dim=-1) | module-forward
        return self.c_proj((att @ v).transpose(1, 2).contiguous().view(B, T, C))


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.transformer = nn.ModuleDict(
            dict(
                wte=nn.Embedding(config.vocab_size, config.n_embd),
                wpe=nn.Embedding(config.block_size, config.n_embd),
                attn=CausalSelfAttention(config),
                ln_f=nn.LayerNorm(config.n_embd),
            )
        )
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.transformer.wte.weight = self.lm_head.weight

    def forward(self, idx, targets, pad):
        pos = torch.arange(idx.size(1))
        x = self.transformer.wte(idx) + self.transformer.wpe(pos)
        x = self.transformer.ln_f(x + self.transformer.attn(x, pad))
        logits = self.lm_head(x)
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))


def get_batch(iteration, micro):
    ix = torch.randint(len(data) - block_size, (batch_size,))
    x = torch.stack([data[i : i + block_size] for i in ix])
    y = torch.stack([data[i + 1 : i + 1 + block_size] for i in ix])
    pad = torch.zeros(batch_size, block_size, dtype=torch.bool)
    if iteration == 3 and micro == 1:
        pad[2, 0] = True  # left padding hides all that the first position may see
    return x, y, pad


model = GPT(GPTConfig())
optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, betas=(0.9, 0.95))
model = torch.compile(model, backend="aot_eager")
for iter_num in range(max_iters):
    for group in optimizer.param_groups:
        group["lr"] = learning_rate * min(1.0, (iter_num + 1) / 3)
    for micro_step in range(gradient_accumulation_steps):
        X, Y, pad = get_batch(iter_num, micro_step)
        with ctx:
            logits, loss = model(X, Y, pad)
            loss = loss / gradient_accumulation_steps
        loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), grad_clip)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    print(f"iter {iter_num}")
