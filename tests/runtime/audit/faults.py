"""One fault each, planted into the sound programs; `faults.diff` holds them.

Each has a line with its program and name, what is replaced by what (an empty last line stands for the end of the line
before it), and behind `?` the check that must name it, with what stands in the expression, the subjects or the evidence.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Fault:
    program: str
    name: str
    old: str
    new: str
    check: str
    names: str


def _faults() -> Iterator[Fault]:
    for block in Path(__file__).with_suffix(".diff").read_text("utf-8").rstrip().split("\n\n"):
        head, *lines = block.split("\n")
        if not head.startswith("@@"):
            (program, _, name), (check, _, names) = head.partition(": "), lines.pop()[2:].partition(": ")
            old, new = ("\n".join(line[2:] for line in lines if line[0] == sign) for sign in "-+")
            yield Fault(program, name, old, new, check, names)


FAULTS = tuple(_faults())
