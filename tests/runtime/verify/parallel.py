"""Programs of several processes, threads and kinds of tensors, for `test_parallel`."""

DISTRIBUTED = """\
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)

    def forward(self, x):
        return torch.log(torch.relu(self.linear(x)))


torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
net = DistributedDataParallel(Net())
optimizer = torch.optim.SGD(net.parameters(), lr=0.0)
for step in range(3):
    loss = net(torch.full((4, 2), float(rank) - 5.0 * step)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
"""

KINDS = """\
import threading
import warnings

import torch
from torch.utils.checkpoint import checkpoint

torch.set_num_threads(1)
warnings.simplefilter("ignore")


class Counted(torch.Tensor):
    seen = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})


def subclassed(x):
    return torch.log(x)


def traced(x):
    return torch.sqrt(x)


def mapped(x):
    return torch.rsqrt(x)


def scaled(x):
    return torch.acos(x)


def recomputed(x):
    return torch.exp(x)


def masked(x):
    return torch.log2(x)


def refused(scale):
    return torch.distributions.Normal(0.0, scale)


subclassed(torch.tensor([1.0, 2.0]).as_subclass(Counted))
print("calls on the subclass:", *Counted.seen)
graph = torch.jit.trace(traced, torch.ones(3)).graph
print("nodes of the trace:", *(node.kind() for node in graph.nodes() if node.kind() != "prim::Constant"))
print("mapped:", torch.func.vmap(mapped)(torch.ones(2, 3)).shape, torch.func.grad(mapped)(torch.tensor(4.0)))
masked(torch.masked.masked_tensor(torch.ones(2), torch.tensor([True, False])))
weight = torch.nn.Parameter(torch.tensor([1.0, 0.5]))
optimizer = torch.optim.SGD([weight], lr=0.0)
scaler = torch.amp.GradScaler("cpu")
for step in range(2):
    with torch.autocast("cpu", dtype=torch.float16):
        loss = scaled(weight * 1.0).sum()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
x = torch.zeros(4, requires_grad=True)
for reentrant in (False, True):
    checkpoint(lambda value: recomputed(value) * 2.0, x, use_reentrant=reentrant).sum().backward()


def replica(number):
    with torch.inference_mode(number % 2 == 0):
        for _ in range(50):
            abreast.wait()  # so that the first calls, which are looked at whatever it costs, are of every thread
            mapped(torch.full((2,), 1.0 + number))


abreast = threading.Barrier(4)
threads = [threading.Thread(target=replica, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
refused(torch.tensor([1.0, 0.0]))
"""
