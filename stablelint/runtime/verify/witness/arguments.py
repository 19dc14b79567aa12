"""Arguments written as text for the parameters of a function: what is evaluated is what can be pasted."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice, product

from stablelint.runtime.verify.witness.uses import Uses

Shape = tuple[int, ...]
SHAPES: tuple[Shape, ...] = (
    (2, 4),
    (2, 3, 4),
    (4,),
    (2, 4, 8, 8),
    (4, 4),
    (2, 4, 4),
    (),
    (1,),
    (2, 3, 4, 4),
    (2, 3, 2, 4, 4),
)
_CHOICES = 10  # combinations of kinds that are tried with each shape
_SIZES = (2, 3, 4, 5, 6)
_MENDED = 8  # times that one guess is mended
# What a parameter is by its name, where nothing else tells: a guess that a call confirms or not.
_BY_NAME = (
    (r"^(args?|opts?|options?|cfg|conf|config|hparams|flags)$", "namespace"),
    (r"^param(eter)?s$", "parameters"),
    (r"^device$", "device"),
    (r"(^|_)(model|net|network|module|backbone|fn|func|criterion|activation|nonlin)$", "callable"),
    (r"loader$|^dl$", "batches"),
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
    "parameters": "[torch.nn.Parameter(torch.ones(2, 3))]",
}
Arguments = tuple[Argument, ...]


def written(arguments: Arguments) -> str:
    """The arguments of a call, between its parentheses."""
    return ", ".join(argument.written() for argument in arguments)


def candidates(uses: Mapping[str, Uses], known: Mapping[str, str] | None = None) -> Iterator[Arguments]:
    """Assignments to try, most plausible first; `known` are values that settings of the project have by their names."""
    required = {name: each for name, each in uses.items() if each.default is None}
    if not required:
        yield ()
    optional = {name: each for name, each in uses.items() if _is_none(each.default) and _tensorlike(each)}
    for wanted in (required, {**required, **optional}) if optional else (required,):
        kinds = {name: _kinds(name, each, known or {}) for name, each in wanted.items()}
        after_optional = len(wanted) != len(required)
        for shape in _shapes(wanted):
            for choice in islice(product(*kinds.values()), _CHOICES):
                yield tuple(
                    _argument(name, each, kind, shape, each.keyword or (after_optional and name in optional))
                    for (name, each), kind in zip(wanted.items(), choice, strict=True)
                )


def _argument(name: str, uses: Uses, kind: str, shape: Shape, keyword: bool) -> Argument:
    """An argument of a kind; one that begins with `=` is its text."""
    given = kind[1:] if kind.startswith("=") else ""
    return Argument(name, "given" if given else kind, _shape(uses, kind, shape), keyword, given)


def options(uses: Mapping[str, Uses]) -> Iterator[Argument]:
    """An argument for a parameter that has a default, other than that: it may lead into another branch."""
    for name, each in uses.items():
        match each.default:
            case ast.Constant(value=bool(value)):
                yield Argument(name, "given", keyword=True, given=str(not value))
            case ast.Constant(value=str(value)):
                others = dict.fromkeys(text for text in each.strings if text != value)
                yield from (Argument(name, "given", keyword=True, given=repr(text)) for text in others)
            case ast.Constant(value=None) if not _tensorlike(each):
                yield _argument(name, each, _kinds(name, each, {})[0], (2, 4), True)


def _is_none(default: ast.expr | None) -> bool:
    return isinstance(default, ast.Constant) and default.value is None


def _tensorlike(uses: Uses) -> bool:
    return bool({"tensor", "mask", "labels"} & uses.kinds) or "Tensor" in uses.annotation


def _kinds(name: str, uses: Uses, known: Mapping[str, str]) -> list[str]:
    """Kinds that a parameter may be of, most plausible first."""
    found = [*_by_annotation(uses.annotation)]
    for text in uses.types:
        own = not hasattr(builtins, text)
        found += [*_by_annotation(text)] or [f"={text}({sides})" for sides in ("4, 4", "4, 4, 3", "4") if own]
    if "callable" in uses.kinds:
        found.append(
            "callable" if uses.results == 1 else f"=lambda *x: ({', '.join(['x[0]'] * uses.results)})"
        )
    if uses.parts and "batches" not in uses.kinds:
        found.append(f"=({', '.join(['torch.rand(2, 4)'] * uses.parts)})")
    found += [kind for kind in ("batches", "mask", "labels", "int", "dict") if kind in uses.kinds]
    named = [kind for pattern, kind in _BY_NAME if re.search(pattern, name)]
    if "tensor" in uses.kinds:
        found += [*(["weights"] if "mask" in named else []), "tensor", *(k for k in named if k == "labels")]
    if uses.attributes and not uses.kinds and not uses.annotation:
        found.append("namespace")
    found += [*named, *(["several"] if "several" in uses.kinds else []), "tensor", "labels", "int", "float"]
    spelled = {"namespace": f"={_namespace(uses, known)}", "batches": f"={_batches(uses.parts or 2)}"}
    return list(dict.fromkeys(spelled.get(kind, kind) for kind in found))[:4]


def _batches(parts: int) -> str:
    data = ", ".join(["torch.rand(2, 4)"] * parts)
    return f"torch.utils.data.DataLoader(torch.utils.data.TensorDataset({data}), batch_size=2)"


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


def _namespace(uses: Uses, known: Mapping[str, str]) -> str:
    fields = [
        f"{name}={'False' if name in uses.flags else _setting(name, known)}" for name in uses.attributes
    ]
    return f"types.SimpleNamespace({', '.join(sorted(fields))})"


def _setting(name: str, known: Mapping[str, str]) -> str:
    """The text of a setting: its default in the project, or what its name says it is."""
    named = (_PLAIN[kind] for pattern, kind in _BY_NAME if kind in _PLAIN and re.search(pattern, name))
    return known.get(name) or next(named, "4")


def accepted(
    guesses: Iterable[Arguments],
    attempt: Callable[[Arguments], str | None],
    most: int,
    known: Mapping[str, str],
) -> Iterator[Arguments]:
    """The guesses, mended as their errors ask for, with which `attempt` gives no error; at most `most` are tried."""
    seen: set[str] = set()
    for guess in guesses:
        arguments: Arguments | None = guess
        for _ in range(_MENDED):
            if arguments is None or written(arguments) in seen:
                break
            if len(seen) >= most:
                return
            seen.add(written(arguments))
            error = attempt(arguments)
            if error is None:
                yield arguments
                break
            arguments = repaired(arguments, error, known)


# What an error of torch asks for: a side of this size at that place, this many sides, this many at least.
_ASKED = (
    (r"cannot be multiplied \(\d+x(\d+) and (\d+)x\d+\)", -1),
    (r"expected input with shape \[\*, (\d+)\]", -1),
    (r"shape '\[(?:-1|\d+), (\d+)\]' is invalid", -1),
    (r"to have (\d+) channels", 1),
    (r"must match the size of tensor b \((\d+)\)", None),
    (r"Expected \dD \(unbatched\) or (\d)D \(batched\) input", "rank"),
    (r"(?:expected|must be a) (\d)D", "rank"),
    (r"not enough values to unpack \(expected (\d+)", "rank"),
    (r"too many values to unpack \(expected (\d+)", "rank"),
    (r"number of subscripts in the equation \((\d+)\)", "rank"),
    (r"Dimension out of range .* but got (\d)", "more"),
    (r"too many indices for tensor of dimension (\d)", "more"),
)


def repaired(arguments: Arguments, message: str, known: Mapping[str, str]) -> Arguments | None:
    """The arguments with what an error message asks for; None where it asks for nothing."""
    missing = re.search(r"SimpleNamespace' object has no attribute '(\w+)'", message)
    if missing:
        field = f"{missing[1]}={_setting(missing[1], known)}"
        return tuple(_with_field(argument, field) for argument in arguments)
    for pattern, place in _ASKED:
        told = re.search(pattern, message)
        if told is None:
            continue
        size = int(told.groups()[-1]) + (place == "more")
        changed = tuple(_resized(argument, place, size) for argument in arguments)
        return changed if changed != arguments else None
    return None


def _with_field(argument: Argument, field: str) -> Argument:
    if not argument.given.startswith("types.SimpleNamespace("):
        return argument
    before = argument.given[:-1]
    return replace(argument, given=f"{before}{'' if before.endswith('(') else ', '}{field})")


def _resized(argument: Argument, place: int | str | None, size: int) -> Argument:
    if not argument.floating or size > 4096:
        return argument
    shape = argument.shape
    if place == "rank" or (place == "more" and len(shape) < size):
        return replace(argument, shape=next((each for each in SHAPES if len(each) == size), shape))
    if place is None:
        return replace(argument, shape=(size,) * len(shape))
    if isinstance(place, int) and len(shape) > max(place, 0):
        sides = list(shape)
        sides[place] = size
        return replace(argument, shape=tuple(sides))
    return argument
