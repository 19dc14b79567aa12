"""Arguments written as text for the parameters of a function: what is evaluated is what can be pasted."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, product

from stablelint.analysis.evidence.vocabulary import kinds_of_argument
from stablelint.runtime.verify.witness.project import Example
from stablelint.runtime.verify.witness.uses import Uses, by_annotation

Shape = tuple[int, ...]
SHAPES: tuple[Shape, ...] = (
    (2, 4), (2, 3, 4), (4,), (2, 4, 8, 8), (4, 4), (2, 4, 4), (), (1,), (2, 3, 4, 4), (2, 3, 2, 4, 4),
)  # fmt: skip
_CHOICES = 10  # combinations of kinds that are tried with each shape
_KINDS = 4  # of one parameter, in the first assignments
_SIZES = (2, 3, 4, 5, 6)


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
        return _SHAPED[self.kind].format(sides) if self.kind in _SHAPED else _PLAIN[self.kind]

    @property
    def floating(self) -> bool:
        """Whether it holds floating-point numbers."""
        return not self.given and self.kind in ("tensor", "weights", "several")

    def written(self) -> str:
        """As it stands in a call."""
        return f"{self.name}={self.text}" if self.keyword else self.text


_SHAPED = {
    "tensor": "torch.rand({0})",
    "mask": "torch.ones({0}, dtype=torch.bool)",
    "weights": "torch.ones({0})",
    "labels": "torch.zeros({0}, dtype=torch.long)",  # one for each sample
    "indices": "torch.zeros({0}, dtype=torch.long)",
    "several": "[torch.rand({0}), torch.rand({0})]",
}
_PLAIN = {
    "int": "4",
    "odd": "3",
    "float": "0.5",
    "small": "1e-08",
    "dim": "-1",
    "range": "(0.5, 1.0)",
    "false": "False",
    "str": "'mean'",
    "none": "None",
    "callable": "torch.nn.Identity()",
    "scores": "torch.nn.Sequential(torch.nn.Flatten(), torch.nn.LazyLinear(4))",  # a model with parameters
    "dtype": "torch.float32",
    "device": "'cpu'",
    "list": "[4, 4]",
    "shapes": "[(4,), (4,)]",
    "optimizer": "torch.optim.SGD([torch.nn.Parameter(torch.ones(2, 3))], lr=0.5)",
    # a parameter that has a gradient: a step of an optimizer passes over one that has none
    "parameters": "[(lambda p: setattr(p, 'grad', torch.ones(2, 3)) or p)(torch.nn.Parameter(torch.ones(2, 3)))]",
}
Arguments = tuple[Argument, ...]


def with_argument(arguments: Arguments, one: Argument) -> Arguments:
    """The arguments with this one, in the place of the one of its name where there is one."""
    held = tuple(one if each.name == one.name else each for each in arguments)
    return held if one in held else (*held, one)


@dataclass(frozen=True, slots=True)
class Known:
    """What the project tells besides the function: its settings by name, and objects that a parameter may be."""

    settings: Mapping[str, str] = field(default_factory=dict)
    objects: Callable[[str, Uses], Iterator[str]] = lambda name, uses: iter(())


def written(arguments: Arguments) -> str:
    """The arguments of a call, between its parentheses."""
    return ", ".join(argument.written() for argument in arguments)


def of_example(example: Example, uses: Mapping[str, Uses]) -> Arguments | None:
    """The arguments of a call that the project makes; None where it is none of these parameters."""
    names = [name for name, each in uses.items() if not each.keyword]
    if len(example.positional) > len(names) or not uses.keys() >= {name for name, _ in example.named}:
        return None
    positional = zip(names, example.positional, strict=False)
    return (
        *(_of_text(name, text, False) for name, text in positional),
        *(_of_text(name, text, True) for name, text in example.named),
    )


def _of_text(name: str, text: str, keyword: bool) -> Argument:
    made = re.fullmatch(r"torch\.(randn?|ones)\(\(?((?:\d+(?:, )?)+)\)?\)", text)
    if made is None:
        return Argument(name, "given", keyword=keyword, given=text)
    shape = tuple(map(int, made[2].split(", ")))
    return Argument(name, "weights" if made[1] == "ones" else "tensor", shape, keyword)


def candidates(uses: Mapping[str, Uses], known: Known) -> Iterator[Arguments]:
    """Assignments to try, most plausible first."""
    required = {name: each for name, each in uses.items() if each.default is None}
    if not required:
        yield ()
    optional = {name: each for name, each in uses.items() if _is_none(each.default) and _tensorlike(each)}
    for wanted in (required, {**required, **optional}) if optional else (required,):
        kinds = {name: kinds_of(name, each, known)[:_KINDS] for name, each in wanted.items()}
        after_optional = len(wanted) != len(required)
        for shape in _shapes(wanted):
            for choice in islice(product(*kinds.values()), _CHOICES):
                yield tuple(
                    argument(name, each, kind, shape, each.keyword or (after_optional and name in optional))
                    for (name, each), kind in zip(wanted.items(), choice, strict=True)
                )


def argument(name: str, uses: Uses, kind: str, shape: Shape, keyword: bool) -> Argument:
    """An argument of a kind; one that begins with `=` is its text."""
    given = kind[1:] if kind.startswith("=") else ""
    return Argument(name, "given" if given else kind, _shape(uses, kind, shape), keyword, given)


def options(uses: Mapping[str, Uses], known: Known) -> Iterator[Argument]:
    """An argument other than the default, or than the string that was tried: it may lead into another branch."""
    for name, each in uses.items():
        if each.default is None and each.flags and not each.kinds:
            for flag in sorted(each.flags):
                given = _namespace(replace(each, flags=each.flags - {flag}), known, {flag: "True"})
                yield Argument(name, "given", keyword=each.keyword, given=given)
        match each.default:
            case None:
                for text in dict.fromkeys(each.strings[1:]):
                    yield Argument(name, "given", keyword=each.keyword, given=repr(text))
            case ast.Constant(value=bool(value)):
                yield Argument(name, "given", keyword=True, given=str(not value))
            case ast.Constant(value=int(value) | float(value)) if value == 0:
                yield Argument(name, "given", keyword=True, given="0.5" if isinstance(value, float) else "1")
            case ast.Constant(value=str(value)):
                others = dict.fromkeys(text for text in each.strings if text != value)
                yield from (Argument(name, "given", keyword=True, given=repr(text)) for text in others)
            case ast.Constant(value=None) if not _tensorlike(each):
                yield argument(name, each, kinds_of(name, each, known)[0], (2, 4), True)


def _is_none(default: ast.expr | None) -> bool:
    return isinstance(default, ast.Constant) and default.value is None


def _tensorlike(uses: Uses) -> bool:
    return bool({"tensor", "mask", "labels"} & uses.kinds) or "Tensor" in uses.annotation


def kinds_of(name: str, uses: Uses, known: Known) -> list[str]:
    """Kinds that a parameter may be of, most plausible first."""
    found = [] if uses.annotation else [f"={text}" for text in known.objects(name, uses)]
    found += [f"={text!r}" for text in uses.strings[:1]]

    def annotated(text: str) -> Iterator[str]:
        return by_annotation(text, _spelled, lambda kind: known.objects(name, replace(uses, annotation=kind)))

    found += annotated(uses.annotation)
    if not found and "tensor" not in uses.kinds and not known.settings.get(name, "4").isdigit():
        found.append(f"={known.settings[name]}")
    for text in uses.types:
        own = not hasattr(builtins, text)
        found += [*annotated(text)] or [f"={text}({sides})" for sides in ("4, 4", "4, 4, 3", "4") if own]
    if "callable" in uses.kinds:
        several = f"=lambda *x, **k: ({', '.join(['x[0]'] * uses.results)})"
        found.append("callable" if uses.results == 1 else several)
    if uses.parts and "batches" not in uses.kinds:
        found.append(f"=({', '.join(['torch.rand(2, 4)'] * uses.parts)})")
    found += [kind for kind in ("batches", "mask", "labels", "int", "dict") if kind in uses.kinds]
    named = list(kinds_of_argument(name))
    if "tensor" in uses.kinds:
        found += [*(["weights"] if "mask" in named else []), "tensor", *(k for k in named if k == "labels")]
    if uses.keys:
        found.append("dict")
    if uses.attributes and not uses.kinds and not uses.annotation:
        found.append("namespace")
    found += ["shapes"] if "shapes" in uses.kinds else []
    found += [*named, *(["several"] if "several" in uses.kinds else []), "tensor", "labels", "int", "float"]
    spelled = {
        "namespace": f"={_namespace(uses, known)}",
        "batches": f"={_batches(uses.parts or 2)}",
        "dict": f"={_dict(uses, known)}",
    }
    return list(dict.fromkeys(spelled.get(kind, kind) for kind in found))


def _spelled(kind: str) -> str:
    return Argument("", kind, SHAPES[0]).text


def _batches(parts: int) -> str:
    data = ", ".join(["torch.rand(2, 4)"] * parts)
    return f"torch.utils.data.DataLoader(torch.utils.data.TensorDataset({data}), batch_size=2)"


def _shapes(wanted: Mapping[str, Uses]) -> Sequence[Shape]:
    """Shapes for tensors of which none is known: those of a rank that some parameter has come first."""
    ranks = [each.rank for each in wanted.values() if each.rank is not None]
    return sorted(SHAPES, key=lambda shape: bool(ranks) and len(shape) not in ranks)


def _shape(uses: Uses, kind: str, shape: Shape) -> Shape:
    if uses.sides is not None:
        letters = dict(zip(dict.fromkeys(uses.sides), _SIZES, strict=False))
        return tuple(int(side) if side.isdigit() else letters.get(side, 4) for side in uses.sides)
    if kind == "labels":
        return shape[:1] if len(shape) == 2 else shape[:1] + shape[2:]
    if uses.rank is not None and uses.rank != len(shape):
        return next((each for each in SHAPES if len(each) == uses.rank), (2,) * uses.rank)
    return shape


def _namespace(uses: Uses, known: Known, given: Mapping[str, str] | None = None) -> str:
    fixed = dict.fromkeys(uses.flags, "False") | dict(given or {})
    fields = []
    for name in sorted(each for each in uses.attributes if "." not in each):
        inner = {each.partition(".")[2] for each in uses.attributes if each.startswith(f"{name}.")}
        whole = _namespace(Uses(attributes=inner), known) if inner else setting(name, known)
        fields.append(f"{name}={fixed.get(name) or whole}")
    return f"types.SimpleNamespace({', '.join(fields)})"


def _dict(uses: Uses, known: Known) -> str:
    return f"{{{', '.join(f'{key!r}: {item(key, known)}' for key in sorted(uses.keys))}}}"


def setting(name: str, known: Known) -> str:
    """The text of a setting: its default in the project, or what its name says it is."""
    plain = (_PLAIN[kind] for kind in kinds_of_argument(name) if kind in _PLAIN)
    return known.settings.get(name) or next(plain, _PLAIN["int"])


def item(name: str, known: Known) -> str:
    """The text of an item of a dictionary: a setting, or else a tensor."""
    kind = next(kinds_of_argument(name), "tensor")
    spelled = kind if kind in (*_PLAIN, "mask", "labels") else "tensor"
    return known.settings.get(name) or Argument(name, spelled, SHAPES[0]).text
