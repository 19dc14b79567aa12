"""Arguments written as text for the parameters of a function: what is evaluated is what can be pasted."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice, product

from stablelint.runtime.verify.witness.uses import Uses

Shape = tuple[int, ...]
SHAPES: tuple[Shape, ...] = ((2, 4), (2, 3, 4), (4,), (2, 4, 8, 8), (4, 4), (2, 4, 4), (), (1,), (2, 3, 4, 4))
_CHOICES = 10  # combinations of kinds that are tried with each shape
_SIZES = (2, 3, 4, 5, 6)
# What a parameter is by its name, where nothing else tells: a guess that a call confirms or not.
_BY_NAME = (
    (r"(^|_)(dim|axis)$", "dim"),
    (r"mask|valid|keep|padding", "mask"),
    (r"^(y|labels?|targets?|classes|idx|index|indices|ids?)$|_(labels?|ids?|idx|index)$", "labels"),
    (r"^(eps|epsilon)$", "small"),
    (
        r"^(n|k|num|size|width|depth|heads|hidden|channels|classes)(_|$)|_(dim|size|channels|features|heads|num)$",
        "int",
    ),
    (r"^n_|^num_|^in_|^out_|layers?$", "int"),
    (
        r"temp|alpha|beta|gamma|lambda|margin|weight_decay|scale|lr|rate|momentum|sigma|tau|dropout|prob",
        "float",
    ),
)


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument: its kind and shape decide the text; a `given` text stands as it is."""

    name: str
    kind: str
    shape: Shape = ()
    keyword: bool = False
    given: str = ""

    @property
    def text(self) -> str:
        """Python for the argument."""
        if self.given:
            return self.given
        sides = ", ".join(map(str, self.shape)) if self.shape else "()"
        match self.kind:
            case "tensor":
                return f"torch.rand({sides})"
            case "mask":
                return f"torch.ones({sides}, dtype=torch.bool)"
            case "weights":
                return f"torch.ones({sides})"
            case "labels":
                return f"torch.zeros({sides}, dtype=torch.long)"
            case "several":
                return f"[torch.rand({sides}), torch.rand({sides})]"
        return _PLAIN[self.kind]

    @property
    def floating(self) -> bool:
        """Whether it holds floating-point numbers."""
        return not self.given and self.kind in ("tensor", "weights", "several")

    def written(self) -> str:
        """As it stands in a call."""
        return f"{self.name}={self.text}" if self.keyword else self.text


_PLAIN = {
    "int": "4",
    "one": "1",
    "float": "0.5",
    "small": "1e-08",
    "dim": "-1",
    "false": "False",
    "str": "'mean'",
    "none": "None",
    "callable": "torch.nn.Identity()",
    "dtype": "torch.float32",
    "device": "'cpu'",
    "dict": "{}",
    "list": "[4, 4]",
}
Arguments = tuple[Argument, ...]


def written(arguments: Arguments) -> str:
    """The arguments of a call, between its parentheses."""
    return ", ".join(argument.written() for argument in arguments)


def candidates(uses: Mapping[str, Uses]) -> Iterator[Arguments]:
    """Assignments to try, most plausible first."""
    required = {name: each for name, each in uses.items() if each.default is None}
    if not required:
        yield ()
    optional = {name: each for name, each in uses.items() if _is_none(each.default) and _tensorlike(each)}
    for wanted in (required, {**required, **optional}) if optional else (required,):
        options = {name: _kinds(name, each) for name, each in wanted.items()}
        after_optional = len(wanted) != len(required)
        for shape in _shapes(wanted):
            for choice in islice(product(*options.values()), _CHOICES):
                yield tuple(
                    Argument(
                        name,
                        kind,
                        _shape(wanted[name], kind, shape),
                        wanted[name].keyword or (after_optional and name in optional),
                        _namespace(wanted[name]) if kind == "namespace" else "",
                    )
                    for name, kind in zip(wanted, choice, strict=True)
                )


def _is_none(default: ast.expr | None) -> bool:
    return isinstance(default, ast.Constant) and default.value is None


def _tensorlike(uses: Uses) -> bool:
    return bool({"tensor", "mask", "labels"} & uses.kinds) or "Tensor" in uses.annotation


def _kinds(name: str, uses: Uses) -> list[str]:
    """Kinds that a parameter may be of, most plausible first."""
    found = [*_by_annotation(uses.annotation)]
    if "callable" in uses.kinds:
        found.append("callable")
    found += [kind for kind in ("mask", "labels", "int") if kind in uses.kinds]
    named = [kind for pattern, kind in _BY_NAME if re.search(pattern, name)]
    if "tensor" in uses.kinds:
        found += [*(["weights"] if "mask" in named else []), "tensor", *(k for k in named if k == "labels")]
    if uses.attributes and not uses.kinds and not uses.annotation:
        found.append("namespace")
    found += [*named, *(["several"] if "several" in uses.kinds else []), "tensor", "labels", "int", "float"]
    return list(dict.fromkeys(found))[:4]


def _by_annotation(text: str) -> Iterator[str]:
    bare = re.sub(r"Optional\[|\s*\|\s*None|torch\.|typing\.", "", text)
    if not bare:
        return
    if "Tensor" in bare or re.match(r"(Float|Int|Bool|Shaped)\[", bare):
        if re.search(r"(?i)bool", bare):
            yield "mask"
        elif re.search(r"Long|Int", bare):
            yield "labels"
        else:
            yield "several" if re.match(r"(?i)(list|tuple|sequence|iterable)\[", bare) else "tensor"
        return
    table = {"int": "int", "float": "float", "bool": "false", "str": "str", "Module": "callable"}
    table |= {"Callable": "callable", "dtype": "dtype", "device": "device", "dict": "dict", "list": "list"}
    for word, kind in table.items():
        if re.match(rf"(nn\.)?{word}\b", bare, re.IGNORECASE):
            yield kind
            return


def _shapes(wanted: Mapping[str, Uses]) -> Iterator[Shape]:
    """Shapes for tensors of which none is known: those of a rank that some parameter has come first."""
    ranks = [each.rank for each in wanted.values() if each.rank is not None]
    least = max((each.least_rank for each in wanted.values()), default=0)
    yield from sorted(
        SHAPES, key=lambda shape: (len(shape) not in ranks if ranks else False, len(shape) < least)
    )


def _shape(uses: Uses, kind: str, shape: Shape) -> Shape:
    if uses.sides is not None:
        letters = dict(zip(dict.fromkeys(uses.sides), _SIZES, strict=False))
        return tuple(int(side) if side.isdigit() else letters.get(side, 4) for side in uses.sides)
    if kind == "labels":
        return shape[:1] if len(shape) == 2 else shape[:1] + shape[2:]
    if uses.rank is not None and uses.rank != len(shape):
        return next((each for each in SHAPES if len(each) == uses.rank), (2,) * uses.rank)
    return shape


def _namespace(uses: Uses) -> str:
    fields = ", ".join(f"{name}=4" for name in sorted(uses.attributes))
    return f"types.SimpleNamespace({fields})"


def repaired(arguments: Arguments, message: str) -> Arguments | None:
    """The arguments with the side that an error message of torch asks for; None where it asks for none."""
    for pattern, place in (
        (r"cannot be multiplied \(\d+x(\d+) and (\d+)x\d+\)", -1),
        (r"expected input with shape \[\*, (\d+)\]", -1),
        (r"to have (\d+) channels", 1),
        (r"must match the size of tensor b \((\d+)\)", None),
        (r"Expected \dD \(unbatched\) or (\d)D \(batched\) input", "rank"),
        (r"expected (\d)D input", "rank"),
        (r"not enough values to unpack \(expected (\d+)", "rank"),
        (r"too many values to unpack \(expected (\d+)", "rank"),
    ):
        told = re.search(pattern, message)
        if told is None:
            continue
        size = int(told.groups()[-1])
        changed = tuple(_resized(argument, place, size) for argument in arguments)
        return changed if changed != arguments else None
    return None


def _resized(argument: Argument, place: int | str | None, size: int) -> Argument:
    if not argument.floating or size > 4096:
        return argument
    shape = argument.shape
    if place == "rank":
        return replace(argument, shape=next((each for each in SHAPES if len(each) == size), shape))
    if place is None:
        return replace(argument, shape=(size,) * len(shape))
    if isinstance(place, int) and len(shape) > max(place, 0):
        sides = list(shape)
        sides[place] = size
        return replace(argument, shape=tuple(sides))
    return argument
