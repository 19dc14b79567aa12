"""Small programs, and the sites in them."""

from pathlib import Path

from stablelint.diagnostic import Position, Span
from stablelint.runtime.verify.site import Site


def site_at(path: Path, text: str, fixed: str | None, operands: dict[str, str], **more: object) -> Site:
    """The site of the first occurrence of `text` in a file."""
    for row, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if text in line:
            column = line.index(text) + 1
            span = Span(Position(row, column), Position(row, column + len(text)))
            more.setdefault("has_fix", fixed is not None)
            return Site("SL101", str(path), span, text, text, fixed, operands, **more)  # type: ignore[arg-type]
    raise AssertionError(f"{text!r} is not in {path}")


MODES = '''\
import contextlib
import multiprocessing
import sys
import threading

import torch
from torch.utils.checkpoint import checkpoint


class Head(torch.nn.Module):
    """Class bodies mangle names with two leading underscores."""

    def __init__(self):
        super().__init__()
        self.eps = 0.5
        self.linear = torch.nn.Linear(2, 2)

    def forward(self, x):
        return torch.log(self.linear(x).abs() + self.eps)


def plain(x):
    return torch.sqrt(x)


def threaded(x):
    return torch.rsqrt(x)


@torch.compile(backend="eager", fullgraph=True)
def compiled(x):
    return torch.exp(x)


def spelled(z):
    y = torch.softmax(z * 2, dim=-1)
    return torch.log2(y)


def worker(x):
    return float(torch.log10(x).sum())


def main():
    torch.manual_seed(0)
    head = Head()
    x = torch.ones(3, 2, requires_grad=True)
    for mode in (contextlib.nullcontext, torch.no_grad, torch.inference_mode):
        with mode():
            head(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        head(x)
    checkpoint(head, x, use_reentrant=False).sum().backward()
    zero = torch.zeros(3, requires_grad=True)
    plain(zero * 1).sum().backward()
    threads = [threading.Thread(target=threaded, args=(torch.full((2,), 1.0 + i),)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert torch.equal(compiled(torch.zeros(2)), torch.ones(2))
    spelled(torch.tensor([[0.0, 400.0]]))
    process = multiprocessing.get_context("spawn").Process(target=worker, args=(torch.ones(2),))
    process.start()
    process.join()
    fork = multiprocessing.get_context("fork").Process(target=worker, args=(torch.ones(2),))
    fork.start()
    fork.join()
    print("argv", sys.argv[1:], __name__, [name for name in vars() if "sl_" in name])


if __name__ == "__main__":
    main()
'''


def modes_sites(path: Path) -> dict[str, Site]:
    """The sites of MODES, by the function they call."""
    found = {
        "log": ("torch.log(self.linear(x).abs() + self.eps)", {"x": "self.linear(x).abs() + self.eps"}),
        "sqrt": ("torch.sqrt(x)", {"x": "x"}),
        "rsqrt": ("torch.rsqrt(x)", {"x": "x"}),
        "exp": ("torch.exp(x)", {"x": "x"}),
        "log2": ("torch.log2(y)", {"x": "z * 2"}),
        "log10": ("torch.log10(x)", {"x": "x"}),
    }
    fixes = {"log2": "torch.log_softmax(z * 2, dim=-1)"}
    return {name: site_at(path, text, fixes.get(name), operands) for name, (text, operands) in found.items()}
