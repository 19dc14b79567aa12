import torch

torch.manual_seed(0)
weights = {"w": torch.randn(4, 3).requires_grad_(), "b": torch.zeros(3, requires_grad=True)}
m = {k: torch.zeros_like(v) for k, v in weights.items()}
v = {k: torch.zeros_like(p) for k, p in weights.items()}


def adam(t, lr=0.01, b1=0.9, b2=0.999):
    for k, p in weights.items():
        g = p.grad
        m[k] = b1 * m[k] + (1 - b1) * g
        v[k] = b2 * v[k] + (1 - b2) * g * g
        mhat = m[k] / (1 - b1**t)
        vhat = v[k] / (1 - b2**t)
        p.data = p.data - lr * mhat / vhat.sqrt()  # <- lr * mhat / vhat.sqrt() | function
        p.grad = None


t = 0
while t < 6:
    x = torch.randn(8, 4)
    x[:, 2] = 0
    y = torch.randint(0, 3, (8,))
    logits = x @ weights["w"] + weights["b"]
    loss = torch.nn.functional.cross_entropy(logits, y)
    loss.backward()
    adam(t + 1)
    print(t, loss.item())
    t += 1
