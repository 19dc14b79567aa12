from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn


def prepare(index):
    generator = torch.Generator().manual_seed(index)
    spectrum = torch.rand(4, 6, generator=generator)
    return spectrum if index != 7 else spectrum.clamp(max=0.0)


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 6), nn.Softplus(), nn.Linear(6, 1))
    optimizer = torch.optim.Adagrad(model.parameters(), lr=1e-2)
    with ThreadPoolExecutor(3) as pool:
        for number, spectrum in enumerate(pool.map(prepare, range(12))):
            decibel = 10 * torch.log10(spectrum)  # <- torch.log10(spectrum) | function
            loss = (model(decibel / 20) - 1).abs().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if number % 4 == 0:
                print(number, "ok")


run()
