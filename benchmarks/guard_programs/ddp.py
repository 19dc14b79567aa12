import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 1))

    def forward(self, x):
        scale = x.abs().sum(1, keepdim=True)
        return self.layers(x / scale)  # <- x / scale | module-forward


def train(rank, world, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE=str(world))
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(0)
    x, y = torch.randn(32, 4), torch.randn(32, 1)
    x[17] = 0.0
    data = TensorDataset(x, y)
    sampler = DistributedSampler(data, world, rank, shuffle=False)
    model = DDP(Regressor())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for batch, target in DataLoader(data, batch_size=4, sampler=sampler):
        loss = nn.functional.mse_loss(model(batch), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if rank == 0:
        print("finished")
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(train, args=(2, port), nprocs=2)
