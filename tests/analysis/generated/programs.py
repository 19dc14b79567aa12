"""Draws programs: functions of two tensors and a number, at whose end logarithms, quotients and the like are taken."""

import collections
import contextlib
import dataclasses
import functools
import itertools
import math
import operator
import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from tests.analysis.generated import templates

NAMESPACE: dict[str, Any] = {
    "collections": collections, "contextlib": contextlib, "dataclasses": dataclasses, "functools": functools,
    "itertools": itertools, "math": math, "operator": operator, "np": np, "torch": torch, "F": F,
}  # fmt: skip
HEAD = (
    "import collections\nimport contextlib\nimport dataclasses\nimport functools\nimport itertools\nimport math\n"
    "import operator\nimport numpy as np\nimport torch\nimport torch.nn.functional as F\n\n\ndef f(x, y, n):\n"
)
_KINDS = ("tensor", "number", "write", "block", "loop")
_SHARES = (50, 12, 18, 15, 5)
_TRIES = 60
_PER_NAME = 3
_TENSORS, _NUMBERS = templates.parts(templates.TENSORS), templates.parts(templates.NUMBERS)
_WRITES, _TESTS = templates.parts(templates.WRITES), templates.parts(templates.TESTS)
_BLOCKS = templates.blocks(templates.BLOCKS)
_CARRIED, _STEPS, _UNDER = map(templates.parts, (templates.CARRIED, templates.STEPS, templates.UNDER))
_SITES, _NUMBER_SITES = templates.parts(templates.SITES), templates.parts(templates.NUMBER_SITES)


@dataclass
class Program:
    """The lines of a body, and what its last lines ask: expressions by row of the whole text."""

    lines: list[str] = field(default_factory=list)
    sites: list[str] = field(default_factory=list)

    @property
    def rows(self) -> dict[int, str]:
        """The expressions that are asked, by the row where they stand."""
        first = HEAD.count("\n") + len(self.lines) + 1
        return dict(enumerate(self.sites, first))

    @property
    def text(self) -> str:
        """The whole file."""
        return HEAD + "".join(f"    {line}\n" for line in (*self.lines, *(f"r = {s}" for s in self.sites)))

    @property
    def watched(self) -> str:
        """The file with `_look(row, expression, names)` in the place of each question."""
        looks = [f"_look({row}, lambda: {site}, locals())" for row, site in self.rows.items()]
        return HEAD + "".join(f"    {line}\n" for line in (*self.lines, *looks))


class _Drawing:
    """A program in the making, and what its names hold on one sample."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._tensors, self._numbers = ["x", "y"], ["n"]
        self._made = 0
        self.held = {
            **NAMESPACE,
            "x": operand(rng, 0),
            "y": operand(rng, 0),
            "n": rng.choice((0, 1, 2, 0.5, -1, 3)),
        }
        self.lines: list[str] = []

    def add(self) -> None:
        """Draws a line or a block, and keeps it if it runs on the sample."""
        kind = self._rng.choices(_KINDS, _SHARES)[0]
        name = f"v{self._made}"
        if kind == "write":
            text = self._filled(self._rng.choice(_WRITES))
        elif kind == "block":
            text = self._filled(self._rng.choice(_BLOCKS))
        elif kind == "loop":
            text = self._loop()
        else:
            text = f"{name} = {self._filled(self._rng.choice(_TENSORS if kind == 'tensor' else _NUMBERS))}"
        held = {
            key: value.clone() if isinstance(value, torch.Tensor) else value
            for key, value in self.held.items()
        }
        exec(_as_function(text, held), held)
        made = held["_body"](*(held[key] for key in _names(held)))
        if not all(map(_is_suited, made.values())):
            return
        exec(text.replace("nonlocal", "global"), self.held)
        self.lines += text.splitlines()
        if kind != "write":
            self._made += 1
            (self._tensors if isinstance(self.held[name], torch.Tensor) else self._numbers).append(name)

    def _loop(self) -> str:
        """A loop whose turns hand on what three names and a list hold; `v` is what one of them is at its head."""
        choose = self._rng.choice
        names = [f"{letter}{self._made}" for letter in "abc"]

        def step(template: str) -> str:
            p, q = self._rng.sample(names, 2)
            return self._filled(template.replace("{p}", p).replace("{q}", q))

        steps = []
        for _ in range(self._rng.randint(1, 4)):
            if self._rng.random() < 0.3:
                steps.append(
                    f"    if {step(choose(_UNDER))}:\n        {choose((step(choose(_STEPS)), 'continue'))}"
                )
            else:
                steps.append(f"    {step(choose(_STEPS))}")
        lines = [f"{name} = {self._filled(choose(_CARRIED))}" for name in names]
        lines += [
            "def put(into, what):",
            "    into[0] = what",
            f"held = [{choose(names)}]",
            f"for turn in range({self._rng.randint(3, 6)}):",
        ]
        return "\n".join([*lines, f"    v{self._made} = {choose(names)}", *steps])

    def _filled(self, template: str) -> str:
        choose = self._rng.choice
        literals = {"k": choose(templates.LITERALS), "j": choose(templates.LITERALS), "d": choose((0, 1, -1))}
        own = [name for name in self._tensors if name not in "xy"] or ["x"]
        names = {"t": choose([*self._tensors[-4:], "x"]), "u": choose(self._tensors), "w": choose(self._tensors),
                 "T": choose(own), "n": choose(self._numbers), "m": choose(self._numbers), "i": self._made}  # fmt: skip
        inner = {
            "write": choose(_WRITES).format(**names, **literals),
            "test": choose(_TESTS).format(**names, **literals),
        }
        return template.format(**names, **literals, **inner)

    def sites(self) -> list[str]:
        """Questions about each name."""
        found = []
        for name in (*self._tensors, *self._numbers):
            asked = _SITES if name in self._tensors else _NUMBER_SITES
            found += [site.format(v=name) for site in self._rng.sample(asked, _PER_NAME)]
        return found


def _names(held: dict[str, Any]) -> list[str]:
    return [name for name in held if name not in NAMESPACE and not name.startswith("_")]


def _as_function(text: str, held: dict[str, Any]) -> str:
    body = "".join(f"    {line}\n" for line in text.splitlines())
    return f"def _body({', '.join(_names(held))}):\n{body}    return locals()\n"


def _is_suited(value: Any) -> bool:
    """Whether a program may go on with a value: a tensor has elements, and no imaginary part."""
    return not isinstance(value, torch.Tensor) or (value.numel() > 0 and not value.is_complex())


def operand(rng: random.Random, kind: int) -> torch.Tensor:
    """A tensor of 4 rows of 4, which has its shape when it is turned: normal, wide, positive, whole, constant or zero."""
    generator = torch.Generator().manual_seed(rng.randrange(10**9))
    normal = torch.randn(4, 4, generator=generator)
    return (
        normal, torch.zeros(4, 4), normal.abs(), normal * 30, -torch.ones(4, 4), normal.mul(2).round(),
        torch.eye(4), torch.full((4, 4), 0.5),
    )[kind]  # fmt: skip


KINDS = 8


def draw(rng: random.Random) -> Program:
    """A program of 4 to 12 statements or blocks that runs on a sample."""
    drawing, wanted = _Drawing(rng), rng.randint(4, 12)
    for _ in range(_TRIES):
        if len(drawing.lines) >= wanted:
            break
        try:
            drawing.add()
        except Exception:
            continue
    return Program(drawing.lines, drawing.sites())
