import torch


def batches(count, size):
    for index in range(count):
        x = torch.rand(size, 6)
        yield (x if index != 5 else x * (torch.arange(size) != 2)[:, None]), torch.randint(0, 3, (size,))
