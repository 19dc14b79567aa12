import torch

from data import batches


def margin(lengths, labels):
    wanted = torch.nn.functional.one_hot(labels, 3)
    return (wanted * (0.9 - lengths).relu() ** 2 + (1 - wanted) * (lengths - 0.1).relu() ** 2).sum(-1).mean()


def fit(model, optimizer):
    step = 0
    stream = batches(8, 4)
    while True:
        try:
            x, y = next(stream)
        except StopIteration:
            break
        optimizer.zero_grad()
        loss = margin(torch.linalg.vector_norm(model(x), dim=-1), y)
        loss.backward()
        optimizer.step()
        step += 1
    return step
