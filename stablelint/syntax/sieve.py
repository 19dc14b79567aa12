"""Decides cheaply what need not be looked at: functions without a word that matters.

A *word* stands for what a function does: the last component of a name that it uses, an operator (`/`, `**`, `+=`),
`inf` and `nan`, `big` and `large` for literals of some size, `[]` for a subscript. Words over-approximate: each operation
that the analysis can see in a function has one of `words_of(operation)` among the function's words.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from stablelint.records import dataclass, field
from stablelint.syntax import operations
from stablelint.syntax.aliases import BIG, INIT, LARGE, NUMBERS, assigned_word, origin, word_of_name
from stablelint.syntax.names import last_name, listed, spelled
from stablelint.syntax.signatures import defaults_in, parameters
from stablelint.syntax.walk import FIELDS, GAPPY
from stablelint.syntax.writes import HOOKS, is_in_place, is_of_self, written_attribute, written_name

IN_PLACE = "op="
ABSORBED = "1-eps"
JOINED = "*256"
_LAYERS = ("Linear", "Conv", "Embedding", "LSTM", "GRU")
# What torch calls the size of what its layers take, and layers that take any.
_SIZES = frozenset("in_features in_channels num_features num_channels normalized_shape input_size".split())
_UNSIZED = tuple(
    "MaxPool AvgPool AdaptiveAvgPool AdaptiveMaxPool Upsample ZeroPad ReflectionPad Embedding".split()
)
_READ = frozenset({ast.Attribute, ast.Call, ast.Subscript})  # what yields something that stands elsewhere
SIZED = "sized"  # a class is given a whole number, as a layer the size of what it takes
TYPED = "dtype="  # a type is handed over that need not be one of torch's by name
TINY = "~0"  # a number that float16 takes for 0, or an eps of which another file tells the value
GRADED = "requires_grad"
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_SMALL = 1e-3
_LEAST = 3e-8  # what float16 does not take for 0
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.Mod: "%",
    ast.FloorDiv: "//",
}
_DIVISIONS = frozenset({"/", "//", "%"})  # of which those by a literal go without a word
LOSS = "loss()"
_LOSSES = frozenset({"criterion", "crit", "loss_fn", "loss_func", "loss_function"})  # what losses are called
# What is imported from here holds no operation of ours.
_ELSEWHERE = sys.stdlib_module_names | frozenset(
    "scipy pandas tensorflow jax flax optax sklearn matplotlib PIL cv2 keras cupy".split()
)
FOREIGN = _ELSEWHERE | {"torch", "numpy"}
# Further words by which an operation can come about: operators, and operations that are rewritten to it.
_OTHER_WORDS: Mapping[str, str] = {
    "add": "+",
    "sub": "- rsub",
    "mul": "*",
    "div": "/ ** reciprocal",
    "pow": "** x*x square power",
    "sqrt": "** pow float_power power hypot",
    "rsqrt": "** pow float_power power",
    "matmul": "@",
    "remainder": "%",
    "floor_divide": "//",
    "norm": "vector_norm",
    "std": "std_mean",
    "var": "var_mean",
    "clamp": "clamp_min clamp_max clip",
    "amax": "max aminmax",
    "amin": "min aminmax",
    "maximum": "max",
    "minimum": "min",
    "masked_fill": "where []=",
    "where": "masked_fill []=",
    "index": "[] masked_select",
    "eq": "==",
    "ne": "!=",
    "randn": "normal_",
    "full": "fill_ full_like",
    "detach": "data",
}


@cache
def words_of(operation: str) -> frozenset[str]:
    """The words one of which stands in every function that applies an operation (a canonical or qualified name)."""
    package, last = operation.partition(".")[0], operation.rpartition(".")[2]
    found = {last, f"{package}.{last}", *_OTHER_WORDS.get(operation, "").split()}
    found |= _spellings().get(operation, set())
    return frozenset(found)


@cache
def _spellings() -> Mapping[str, set[str]]:
    found: dict[str, set[str]] = {}
    for spelling, operation in operations.spellings():
        words = found.setdefault(operation, set())
        if spelling.startswith(f"{INIT}."):
            words.add("init" + spelling.removeprefix(INIT))
            continue
        last = spelling.rpartition(".")[2]
        if last.endswith("Loss"):
            words.add(LOSS)
        words.update((last, last if last.endswith("_") else f"{last}_"))
    return found


@dataclass(slots=True)
class Glance:
    """What a look at a piece of syntax tells, without understanding it."""

    imports: Mapping[str, str] = field(default_factory=dict)  # of the file, by local name
    nodes: list[ast.AST] = field(default_factory=list)  # that were looked at: all but most names
    words: set[str] = field(default_factory=set)
    callees: set[str] = field(default_factory=set)  # last components of what is called
    calls: dict[str, list[ast.Call]] = field(default_factory=dict)  # the calls of each
    passing: list[ast.Call] = field(default_factory=list)  # calls that may pass something to another file
    loads: dict[str, int] = field(default_factory=dict)  # how often names and attributes are read
    # Functions and classes defined within.
    nested: list[Definition] = field(default_factory=list)
    classes: list[ast.ClassDef] = field(default_factory=list)
    bound: list[tuple[str, str]] = field(default_factory=list)  # name or attribute, and a word it is bound to
    # Attributes of other objects than `self` that are assigned.
    written: set[str] = field(default_factory=set)
    assigned: set[str] = field(default_factory=set)  # attributes of `self` assigned, or changed in place
    called: set[str] = field(default_factory=set)  # and those that are called
    # Names that stand for no number of the file: parameters without one as default, and what is read elsewhere.
    variable: set[str] = field(default_factory=set)
    # Names of what may be changed in place, see `written_name`.
    changed: set[str] = field(default_factory=set)


# The fields in which something is computed: annotations are left out.
_COMPUTED = {
    kind: tuple(name for name in fields if name not in ("annotation", "returns"))
    for kind, fields in FIELDS.items()
}


def glance(roots: Iterable[ast.AST], imports: Mapping[str, str], without: Container[int] = ()) -> Glance:
    """Collects words from nodes and all below them; `imports` are the file's, by local name.

    The nodes whose ids are in `without` count, what stands below them does not.
    """
    pending = list(roots)
    seen = Glance(imports, pending)
    loads = seen.loads
    for node in pending:  # grows while it is walked
        kind = type(node)
        look = _LOOKS.get(kind)
        if look is not None:
            look(node, seen)
        if without and id(node) in without:
            continue
        for field_name in _COMPUTED[kind]:
            value = getattr(node, field_name)
            if type(value) is ast.Name:  # half of all nodes: they go by without a call
                if type(value.ctx) is ast.Load:
                    loads[value.id] = loads.get(value.id, 0) + 1
            elif type(value) is list:
                pending.extend(filter(None, value) if kind in GAPPY else value)
            elif value is not None:
                pending.append(value)
    seen.callees = set(seen.calls)
    seen.words.update(word_of_name(imports[name]) for name in loads.keys() & imports.keys())
    seen.words.update(NUMBERS[name] for name in loads.keys() & NUMBERS.keys())
    return seen


def _look_at_name(node: ast.Name, seen: Glance) -> None:
    if type(node.ctx) is ast.Load:
        seen.loads[node.id] = seen.loads.get(node.id, 0) + 1


def _look_at_attribute(node: ast.Attribute, seen: Glance) -> None:
    attr = node.attr
    if type(node.ctx) is ast.Load:
        seen.loads[attr] = seen.loads.get(attr, 0) + 1
        package = "" if attr in seen.words else origin(node.value, seen.imports).partition(".")[0]
        if package in _ELSEWHERE:
            seen.words.add(f"{package}.{attr}")
        elif not (attr in seen.called and _is_method(node)):
            seen.words.add(attr)
        if attr[-1] == "_" and _is_init(node.value, seen.imports):
            seen.words.add(f"init.{attr}")
    elif type(node.ctx) is ast.Store:
        seen.changed.add(written_name(node))
        if not is_of_self(node):
            seen.written.add(attr)
        if written := written_attribute(node):
            seen.assigned.add(written)


def _is_method(called: ast.Attribute) -> bool:
    """Whether `self.normalize(…)` is a method of the class: only a layer or a loss is kept under such a name."""
    return is_of_self(called) and called.attr not in _layers()


@cache
def _layers() -> frozenset[str]:
    """Names under which an object keeps a layer: operations that there is a module for."""
    return frozenset(
        operation
        for spelling, operation in operations.spellings()
        if spelling.rpartition(".")[2][0].isupper()
    )


def _is_init(node: ast.expr, imports: Mapping[str, str]) -> bool:
    if type(node) is ast.Attribute:
        return node.attr == "init"
    return type(node) is ast.Name and (node.id == "init" or imports.get(node.id) == INIT)


def _look_at_operator(node: ast.BinOp | ast.AugAssign, seen: Glance) -> None:
    word = _OPERATORS.get(type(node.op))
    right = node.right if isinstance(node, ast.BinOp) else node.value
    formatted = isinstance(node, ast.BinOp) and isinstance(_constant(node.left), str)
    if word is not None and not formatted and not (word in _DIVISIONS and type(right) is ast.Constant):
        seen.words.add(word)
    if isinstance(node, ast.AugAssign):
        seen.changed.add(written_name(node))
        if not isinstance(right, ast.JoinedStr | ast.List | ast.Tuple | ast.Dict | ast.ListComp):
            seen.words.add(IN_PLACE)
    elif word == "*" and (_is_byte(node.left) or _is_byte(right)):
        seen.words.add(JOINED)
    elif type(node.left) is ast.Constant and type(right) is ast.Constant and _is_tiny(node.left, right):
        seen.words.add(ABSORBED)
    elif word == "*" and _source(node.left) == _source(right):
        seen.words.add("x*x")


def _is_tiny(*constants: ast.Constant) -> bool:
    """Whether one of two constants may be lost beside the other."""
    return any(isinstance(c.value, float) and abs(c.value) < _SMALL for c in constants)


def _is_byte(node: ast.expr) -> bool:
    """Whether a factor is written as what a byte holds: `256`, `2**8`, or two bytes."""
    if type(node) is ast.BinOp and type(node.op) is ast.Pow:
        base, exponent = node.left, node.right
        return _constant(base) == 2 and _constant(exponent) in (8, 16)
    return _constant(node) in (256, 65536)


def _constant(node: ast.expr) -> Any:
    return node.value if type(node) is ast.Constant else None


def _source(node: ast.expr) -> str:
    """The name, or the attribute of one, of which methods and parts are taken: `self.x` of `self.x.abs()[0].T`."""
    while True:
        if isinstance(node, ast.Subscript) or (
            isinstance(node, ast.Attribute) and node.attr in operations.VIEWING
        ):
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func.value if isinstance(node.func, ast.Attribute) else node.func
        else:
            return spelled(node) if isinstance(node, ast.Name | ast.Attribute) else ""


def _look_at_call(node: ast.Call, seen: Glance) -> None:
    name = last_name(node.func)
    if len(node.args) > 1 and (name in _LOSSES or name.endswith(("loss", "Loss"))):
        seen.words.add(LOSS)
    seen.calls.setdefault(name, []).append(node)
    if (node.args or node.keywords) and _may_leave_file(node.func, name, seen.imports):
        seen.passing.append(node)
    if _is_sized(node, seen):
        seen.words.add(SIZED)
    if is_in_place(name):
        seen.changed.add(written_name(node))
        if type(node.func) is ast.Attribute and (written := written_attribute(node.func.value)):
            seen.assigned.add(written)
    if name.endswith("_") and not name.endswith("__"):
        seen.words.add(IN_PLACE)
    if is_of_self(node.func):
        seen.called.add(name)
    if name in HOOKS and type(node.func) is ast.Attribute:
        seen.written.add(last_name(node.func.value))
        if written := written_attribute(node.func.value):
            seen.assigned.add(written)
    elif name == "setattr" and len(node.args) == 3:
        seen.changed.add(written_name(node))
        if isinstance(_constant(node.args[1]), str):
            seen.written.add(_constant(node.args[1]))


def _look_at_keyword(node: ast.keyword, seen: Glance) -> None:
    if node.arg == "dtype":
        if not origin(node.value, seen.imports).startswith("torch"):
            seen.words.add(TYPED)
    elif node.arg == "out":
        seen.changed.add(written_name(node))
    elif node.arg == GRADED and _constant(node.value) is not False:
        seen.words.add(GRADED)
    elif node.arg == "eps" and origin(node.value, seen.imports):
        seen.words.add(TINY)


def _is_sized(node: ast.expr, seen: Glance) -> bool:
    """Whether a class is given a whole number first or second, or a name of one; a layer of torch, as what it takes."""
    name = last_name(node.func) if type(node) is ast.Call else ""
    if type(node) is not ast.Call or not name[:1].isupper():
        return False
    given, keywords = node.args[:2], node.keywords[:2]
    if origin(node.func, seen.imports).startswith("torch."):
        given, keywords = node.args[:1], [one for one in keywords if one.arg in _SIZES]
        if name.startswith(_UNSIZED):
            return False
    first = (*given, *(keyword.value for keyword in keywords))
    named = name.startswith(_LAYERS)
    return any(
        type(value) is ast.Name and value.id not in seen.variable
        if named and type(value) is not ast.Constant
        else type(value) is ast.Constant and type(value.value) is int and value.value > 1
        for value in first
    )


def _listed(node: ast.expr) -> Sequence[ast.expr]:
    """What stands in the list that a call is given first: the layers of `nn.ModuleList([...])`."""
    given = node.args[0] if type(node) is ast.Call and node.args else None
    return given.elts if type(given) is ast.List else ()


def _may_leave_file(function: ast.expr, name: str, imports: Mapping[str, str]) -> bool:
    """Whether what is called may stand in another file of the project, or inherit from what does."""
    top = origin(function, imports).partition(".")[0]
    if name == "__init__" or name == "partial":
        return True
    if name[:1] == "_" and type(function) is ast.Attribute:
        return top not in FOREIGN
    return top not in FOREIGN if top else name[:1].isupper() and type(function) is ast.Name


def _look_at_constant(node: ast.Constant, seen: Glance) -> None:
    value: Any = node.value
    kind = type(value)
    if kind is str:
        if len(value) < 10 and value in NUMBERS:  # as `float` reads it
            seen.words.add(NUMBERS[value])
    elif kind is float or kind is int:
        if BIG < value < LARGE:
            seen.words.add("big")
        if value >= LARGE:
            seen.words.add("large" if value < float("inf") else "inf")
        elif kind is float and value > 0.5 and 0 < abs(value - round(value)) < 1e-6:
            seen.words.add(ABSORBED)
        elif 0 < value < _LEAST:
            seen.words.add(TINY)


def _look_at_subscript(node: ast.Subscript, seen: Glance) -> None:
    if not isinstance(_constant(node.slice), str):  # that is a mapping's
        seen.words.add("[]" if type(node.ctx) is ast.Load else "[]=")
    if type(node.ctx) is ast.Store:
        seen.changed.add(written_name(node))
        if written := written_attribute(node.value):
            seen.assigned.add(written)


def _look_at_comparison(node: ast.Compare, seen: Glance) -> None:
    for operator in node.ops:
        if type(operator) is ast.Eq:
            seen.words.add("==")
        elif type(operator) is ast.NotEq:
            seen.words.add("!=")


def _look_at_lambda(node: ast.Lambda, seen: Glance) -> None:
    """Keeps a lambda that does more than to pick a part of its argument."""
    if isinstance(node.body, ast.Call | ast.BinOp | ast.IfExp | ast.BoolOp | ast.Tuple | ast.List):
        seen.nested.append(node)


def _look_at_parameters(node: ast.arguments, seen: Glance) -> None:
    if seen.nested:
        return  # those of a function within
    given = {parameter.arg for parameter in parameters(node)}
    numbers = (p.arg for p, default in defaults_in(node) if type(_constant(default)) is int)
    seen.variable.update(given.difference(numbers))


def _look_at_import(node: ast.ImportFrom, seen: Glance) -> None:
    seen.words.update(word_of_name(f"{node.module}.{alias.name}") for alias in node.names)


def _look_at_assignment(node: ast.Assign, seen: Glance) -> None:
    """`self.criterion = nn.BCELoss()`, `step = torch.exp`, `LOW = -math.inf`: the name stands for a word."""
    values = node.value.elts if type(node.value) is ast.Tuple else [node.value]
    words = [word for value in values if (word := assigned_word(value, seen.imports))]
    if words and any(_is_sized(part, seen) for value in values for part in (value, *_listed(value))):
        words.append(SIZED)
    if type(node.value) in _READ:
        for target in node.targets:
            names = target.elts if type(target) is ast.Tuple else [target]
            seen.variable.update(name.id for name in names if type(name) is ast.Name)
    for target in node.targets:
        if type(target) is not ast.Name and _constant(node.value) is not False:
            seen.words.update(GRADED for part in listed(target) if getattr(part, "attr", "") == GRADED)
    for target in node.targets if words else ():
        for part in listed(target):
            if isinstance(part, ast.Name | ast.Attribute):
                seen.bound.extend((last_name(part), word) for word in words)


_LOOKS: dict[type[ast.AST], Callable[[Any, Glance], None]] = {
    ast.Name: _look_at_name,
    ast.Attribute: _look_at_attribute,
    ast.BinOp: _look_at_operator,
    ast.AugAssign: _look_at_operator,
    ast.Call: _look_at_call,
    ast.keyword: _look_at_keyword,
    ast.Constant: _look_at_constant,
    ast.Subscript: _look_at_subscript,
    ast.Compare: _look_at_comparison,
    ast.FunctionDef: lambda node, seen: seen.nested.append(node),
    ast.AsyncFunctionDef: lambda node, seen: seen.nested.append(node),
    ast.ClassDef: lambda node, seen: seen.classes.append(node),
    ast.Lambda: _look_at_lambda,
    ast.arguments: _look_at_parameters,
    ast.ImportFrom: _look_at_import,
    ast.Assign: _look_at_assignment,
}
