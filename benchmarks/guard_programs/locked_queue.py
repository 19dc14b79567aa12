"""A learner takes batches from an actor; a lock guards the shared model."""
import queue
import threading

import torch
from torch import nn


class Learner(threading.Thread):
    def __init__(self, batches, lock, losses):
        super().__init__()
        self.batches, self.lock, self.losses = batches, lock, losses
        self.model = nn.Linear(3, 2)
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.05)

    def run(self):
        while True:
            batch = self.batches.get()
            if batch is None:
                break
            with self.lock:
                self.losses.append(self.update(batch))
            self.batches.task_done()

    def update(self, batch):
        x, advantage = batch
        logp = self.model(x).log_softmax(-1)[:, 0]
        scaled = advantage / advantage.std()  # <- advantage / advantage.std() | loss
        loss = -(logp * scaled).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(0)
    batches, lock, losses = queue.Queue(maxsize=2), threading.Lock(), []
    learner = Learner(batches, lock, losses)
    learner.start()
    generator = torch.Generator().manual_seed(3)
    for step in range(8):
        rewards = torch.randn(6, generator=generator) if step != 5 else torch.full((6,), 0.5)
        batches.put((torch.randn(6, 3, generator=generator), rewards))
    batches.join()
    batches.put(None)
    learner.join()
    print(" ".join(f"{one:.3f}" for one in losses))
