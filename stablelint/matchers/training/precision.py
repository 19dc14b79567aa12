"""Arrays of NumPy in double precision that reach a model in single precision."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.matchers.common import Kind, Review, Rule, Sites, observes, site_at
from stablelint.matchers.models import makes_module, modules_in, modules_made_in, runs_module
from stablelint.matchers.names import (
    assigned_in,
    bound_to,
    functions_naming,
    made_by,
    operation_of,
    unpacked_from,
)
from stablelint.matchers.tree import (
    argument,
    arguments,
    called,
    calls_in,
    is_given,
    mentions,
    receiver,
    start,
    subject,
)
from stablelint.syntax.names import spelled
from stablelint.syntax.operations import having

_COPYING = ("from_numpy", "as_tensor", "tensor")
# What NumPy makes in float64 unless told otherwise, and what keeps the element type of its operand.
_DOUBLES = frozenset(
    "zeros ones linspace logspace eye random.rand random.randn random.random random.normal random.uniform "
    "random.standard_normal random.random_sample loadtxt genfromtxt".split()
)
_KEEPING = frozenset(
    "sin cos exp log sqrt tanh abs sign square reshape transpose concatenate stack vstack hstack".split()
)
_CASTING = ("astype", "float32")
_VIEWS = having("layout", "copy", "device", "join")
_OF_ARRAYS = ("numpy", "pandas", "sklearn")
_DEFAULTS = ("set_default_dtype", "set_default_tensor_type")
_DOUBLE = ("double", "float64")
_TYPES = ("float", "float32", "half", "float16", "bfloat16", "dtype")
_DEPTH = 8  # names between a module and where the array that it is given was made


@observes()
def double_into_float(review: Review, rule: Rule) -> Sites:
    """`model(torch.from_numpy(np.random.rand(8, 4)))`: the weights are float32, the array is float64."""
    module, told = review.module, set[ast.expr]()
    arrays = any(name.partition(".")[0] in _OF_ARRAYS for name in module.imports.values())
    copied = (arrays and module.mentions(*_COPYING)) or module.mentions(*_DOUBLE)
    if not review.of_body or not copied or module.mentions(*_DEFAULTS):
        return
    modules = modules_in(review)
    if any(_is_doubled(call, modules, module) for call in module.sights.calls(*_DOUBLE, "to")):
        return
    for root in functions_naming(review, *(text.rpartition(".")[2] for text in modules)):
        for call in sorted(calls_in(root), key=start):
            given = call.args[:1] if runs_module(call, modules) else []
            for made in (one for node in given if (one := _Text(call, root, module).tensor(node))):
                copied = called(made) in _COPYING and not is_given(made, "dtype")
                # Who writes a type of doubles knows of it: only of weights that are made here is the type known.
                if made not in told and (copied or runs_module(call, modules_made_in(module))):
                    told.add(made)
                    yield site_at(review, rule, made, {"made": made}, kind=Kind.TENSOR)


def _is_doubled(call: ast.Call, modules: frozenset[str], module: ModuleInfo) -> bool:
    """Whether a call makes a module one of doubles: `model.double()`, `nn.Linear(4, 1).to(torch.float64)`."""
    casts = called(call) == "double" or any(mentions(one, *_DOUBLE) for one in arguments(call))
    made = called(receiver(call))
    may_make = makes_module(call, module) or (made[:1].isupper() and not made.endswith("Tensor"))
    return casts and (subject(call) in modules or may_make)


@dataclass(frozen=True)
class _Text:
    """What the names of a function stand for at one place."""

    at: ast.AST
    root: ast.AST
    module: ModuleInfo
    depth: int = _DEPTH

    def tensor(self, node: ast.expr) -> ast.expr | None:
        """The tensor of doubles that an expression is, or is computed from by arithmetic; None where it is none."""
        match node:
            case ast.Name() | ast.Attribute():
                there, made = self._bound(node)
                return there.tensor(made) if made is not None else None
            case ast.Subscript(value=of):
                return self.tensor(of)
            case ast.BinOp(left=left, right=right):
                return self.tensor(left) or self.tensor(right)
            case ast.Call():
                return self._called(node)
        return None

    def _called(self, call: ast.Call) -> ast.expr | None:
        package, _, name = made_by(call, self.module).rpartition(".")
        dtype = argument(call, "dtype")
        if package == "torch" and name.islower() and dtype is not None:
            return call if mentions(dtype, *_DOUBLE) else None
        if package == "torch" and name in _COPYING:
            return call if call.args and self.array(call.args[0]) else None
        of = receiver(call)
        if of is None or subject(call) in ("self", "cls"):
            return None
        if called(call) == "double" or (called(call) == "to" and mentions(call, *_DOUBLE)):
            return call
        if operation_of(call) not in _VIEWS or mentions(call, *_TYPES):
            return None
        return self.tensor(call.args[0] if package == "torch" and call.args else of)

    def _bound(self, node: ast.expr) -> tuple[_Text, ast.expr | None]:
        """What a name or attribute was bound to last, or once in the file, and where."""
        text, tree = spelled(node), self.module.source.tree
        made = bound_to(text, self.at, self.root)
        if made is None and not assigned_in(text, self.root) and len(once := assigned_in(text, tree)) == 1:
            made = once[0].value
        depth = self.depth - 1
        return _Text(made or self.at, self.root, self.module, depth), made if depth else None

    def array(self, node: ast.expr) -> bool:
        """Whether an expression of NumPy, or of what gives arrays of NumPy, yields float64."""
        match node:
            case ast.Name() | ast.Attribute(value=ast.Name(id="self")):
                there, made = self._bound(node)
                return there.array(made) if made is not None else self._is_loaded(node)
            case ast.BinOp(left=left, right=right):
                return self.array(left) or self.array(right)
            case ast.Subscript(value=of) | ast.Attribute(value=of, attr="values" | "T"):
                return self.array(of)
            case ast.Call() if not mentions(node, *_CASTING) and not is_given(node, "dtype", None):
                return self._gives_doubles(node)
        return False

    def _gives_doubles(self, call: ast.Call) -> bool:
        of, name = receiver(call), called(call)
        root, _, of_numpy = made_by(call, self.module).partition(".")
        if root == "numpy" and of_numpy in ("array", "asarray"):
            return bool(call.args) and (_holds_floats(call.args[0]) or self.array(call.args[0]))
        if root == "numpy":
            keeps = of_numpy in _KEEPING and any(map(self.array, call.args))
            return of_numpy in _DOUBLES or keeps
        if root == "pandas" and name == "read_csv":
            return True
        if name in ("fit_transform", "transform") and of is not None:
            made = of if isinstance(of, ast.Call) else self._bound(of)[1]
            return made_by(made, self.module).startswith("sklearn.preprocessing.") and called(made).endswith(
                "Scaler"
            )
        keeps = name in _KEEPING or name in ("to_numpy", "copy", "flatten", "ravel", "drop", "dropna")
        return keeps and of is not None and self.array(of)

    def _is_loaded(self, node: ast.expr) -> bool:
        """Whether a name is the first of what a data set of scikit-learn is unpacked into: `X, y = load_iris(…)`."""
        for root in (self.root, self.module.source.tree):
            if (taken := unpacked_from(spelled(node), self.at, root)) is not None:
                return taken[0] == 0 and made_by(taken[1], self.module).startswith("sklearn.datasets.")
        return False


def _holds_floats(node: ast.expr) -> bool:
    if isinstance(node, ast.List | ast.Tuple):
        return any(map(_holds_floats, node.elts))
    return isinstance(node, ast.Constant) and isinstance(node.value, float)
