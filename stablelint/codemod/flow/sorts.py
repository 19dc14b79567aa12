"""What sort of numbers an expression holds, as far as its text proves it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from stablelint.codemod.flow.definition import definition, function_of, takes
from stablelint.codemod.flow.nodes import is_name, is_number, readers, root_name, stores, unsigned
from stablelint.codemod.text.locate import Tree
from stablelint.syntax import operations
from stablelint.syntax.names import called_name
from stablelint.syntax.operations import having
from stablelint.syntax.remembered import remembered
from stablelint.syntax.signatures import defaults_of, parameters
from stablelint.syntax.walk import descendants, nodes_below

Qualified = Callable[[ast.expr], str | None]
# Results are real floating-point numbers, or there is none.
_REAL = frozenset(
    """
    softmax log_softmax softmin logsigmoid softplus gelu silu mish leaky_relu elu selu celu hardtanh normalize
    rand randn bernoulli uniform normal layer_norm dropout cosine_similarity pairwise_distance cdist vector_norm
    logaddexp erf erfc erfinv lgamma digamma cross_entropy binary_cross_entropy nll_loss mse_loss kl_div sigmoid
    """.split()
)
_REAL_OF_REAL = frozenset(("sigmoid", "normal"))  # complex numbers stay what they are
# Without a type, results are of torch's default one.
_DEFAULTS = frozenset("rand randn zeros ones empty eye Tensor FloatTensor".split())
_CASTS = {"float": "single", "double": "single", "half": "half", "bfloat16": "half"}
# Results are of the type of the first operand, with a Python number for another one.
_KEEPS = frozenset(
    """
    neg abs clamp clamp_min clamp_max exp log sqrt sum mean view reshape transpose permute squeeze unsqueeze flatten
    expand contiguous clone detach relu square amax amin cumsum flip roll std var norm cuda cpu
    """.split()
)
# As Python counts.
_COUNTED = frozenset("len int float round ceil floor numel item size dim ndimension".split())
_NUMBERS = ("float", "int")
_WHOLE = frozenset(
    "arange randint randperm argmax argmin argsort nonzero bincount long int searchsorted one_hot".split()
)
_MAPPINGS = ("dict", "defaultdict", "OrderedDict", "Counter")
_TABLES = ("numpy.", "pandas.", "scipy.")  # what makes arrays and tables
_REAL_PARTS = frozenset("abs real imag angle irfft irfft2 irfftn hfft".split())
_COMPLEX = frozenset(
    "view_as_complex polar complex fft fft2 fftn ifft ifft2 ifftn rfft rfft2 rfftn ihfft".split()
)
# Methods of tensors that arrays and other tables have as well.
_SHARED = frozenset(
    """
    sum mean std var prod max min cumsum cumprod clip dot round abs all any argmax argmin flatten reshape transpose
    squeeze sort copy item tolist pow add sub mul div index get type
    """.split()
)


def is_floating(node: ast.expr, tree: Tree, qualified: Qualified) -> bool:
    """Whether an expression is shown to hold real floating-point numbers."""
    return _sort(node, tree, qualified) is not None


def is_single(node: ast.expr, tree: Tree, qualified: Qualified) -> bool:
    """Whether an expression is shown to hold real numbers in single or double precision."""
    return _sort(node, tree, qualified) == "single"


def _sort(node: ast.expr, tree: Tree, qualified: Qualified) -> str | None:
    """ "single", "half", "float" where the precision is not known, or None."""
    if isinstance(node, ast.Name):
        given = definition(tree, node)
        values = _made(tree, node) if given is None else [given.value]
        sorts = {_sort(one, tree, qualified) for one in values}
        return sorts.pop() if len(sorts) == 1 else None
    if isinstance(node, ast.Subscript):
        return _sort(node.value, tree, qualified)
    if isinstance(node, ast.UnaryOp):
        return _sort(node.operand, tree, qualified)
    if isinstance(node, ast.BinOp):
        sides = [one for one in (node.left, node.right) if not is_number(one)]
        sorts = {_sort(one, tree, qualified) for one in sides}
        return sorts.pop() if len(sorts) == 1 else None
    if not isinstance(node, ast.Call):
        return None
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    of_torch = qualified(node.func)
    given_type = any(keyword.arg in ("dtype", "out", None) for keyword in node.keywords)
    if name in _CASTS and of_torch is None and not node.args:
        return _CASTS[name]
    if of_torch is not None and of_torch.startswith("torch.") and name in _DEFAULTS and not given_type:
        return "float" if "set_default_" in tree.source.text else "single"
    if of_torch is not None and of_torch.startswith("torch.") and name in _REAL - _REAL_OF_REAL:
        return None if given_type else "float"
    if name in _KEEPS and not given_type and isinstance(node.func, ast.Attribute):
        operand = node.func.value if of_torch is None else node.args[0] if node.args else None
        return None if operand is None else _sort(operand, tree, qualified)
    return None


def _made(tree: Tree, name: ast.Name) -> list[ast.expr]:
    """All that a function gives a local name, where each is a new tensor; in-place operations keep its type."""
    function = function_of(tree, name)
    if function is None or takes(function, name.id):
        return []
    inside, bound = list(ast.walk(function)), set(stores(function, name.id))
    kept = {one.target for one in inside if isinstance(one, ast.AugAssign)}
    made = [one for one in inside if isinstance(one, ast.Assign) and called_name(one.value) in _DEFAULTS]
    values = {one.targets[0]: one.value for one in made if one.targets[0] in bound}
    return list(values.values()) if bound <= kept | values.keys() else []


def is_python_number(node: ast.expr, tree: Tree) -> bool:
    """Whether an expression may be a number of Python's: a size, a count, what is one by default or at first."""
    match node:
        case ast.UnaryOp():
            return is_python_number(node.operand, tree)
        case ast.BinOp():
            return all(is_python_number(side, tree) for side in (node.left, node.right))
        case ast.Call(func=ast.Name(id="min" | "max"), args=[_, _, *_]):
            return all(_has_python_number(side, tree) for side in node.args)
        case ast.Call():
            return called_name(node) in _COUNTED or root_name(node.func) == "math"
        case ast.Attribute(value=ast.Name("self")):
            return any(map(is_number, _given_to(node.attr, tree)))
        case ast.Attribute():
            return node.attr == "ndim"
        case ast.Subscript(value=ast.Name() as owner, slice=ast.Constant(value=str())):
            return _is_option(node, owner, tree)
        case ast.Subscript(value=ast.Name() as owner):
            given = definition(tree, owner)
            return given is not None and called_name(given.value) in ("shape", "size")
        case ast.Subscript():
            return called_name(node.value) in ("shape", "size")
        case ast.Name():
            given = definition(tree, node)
            values = [given.value] if given is not None else _given_in(tree, node)
            return any(is_python_number(one, tree) for one in values) or _is_counted(node, tree)
    return is_number(node)


def _has_python_number(node: ast.expr, tree: Tree) -> bool:
    """Whether a number of Python's is a part of an expression."""
    return any(isinstance(one, ast.expr) and is_python_number(one, tree) for one in ast.walk(node))


def _is_option(item: ast.Subscript, owner: ast.Name, tree: Tree) -> bool:
    """Whether an item is one of an optimizer's options, ``group["lr"]``, or begun with a number, ``state["step"] = 0``."""
    for one in ast.walk(function_of(tree, item) or item):
        if isinstance(one, ast.For) and is_name(one.target, owner.id):
            if isinstance(one.iter, ast.Attribute) and one.iter.attr == "param_groups":
                return True
        elif isinstance(one, ast.Assign) and is_number(one.value):
            if any(ast.unparse(target) == ast.unparse(item) for target in one.targets):
                return True
    return False


def _is_counted(name: ast.Name, tree: Tree) -> bool:
    """Whether a name is a parameter that is a number by annotation or default, or goes into a `range`."""
    function = function_of(tree, name)
    if function is None:
        return False
    inside = list(ast.walk(function))
    annotations = [one.annotation for one in parameters(function.args) if one.arg == name.id]
    defaults = [default for one, default in defaults_of(function) if one.arg == name.id]
    if any(isinstance(one, ast.Name) and one.id in _NUMBERS for one in annotations) or any(
        map(is_number, defaults)
    ):
        return not stores(function, name.id)
    ranges = [one for one in inside if isinstance(one, ast.Call) and called_name(one) == "range"]
    return any(True for one in ranges for _ in readers(one, name.id))


@remembered
def is_array(node: ast.expr, tree: Tree, qualified: Qualified) -> bool:
    """Whether an expression holds a NumPy array or a table: one goes in, is looked into, or has its like made."""
    match node:
        case ast.Call() if (name := qualified(node.func) or "").startswith(("torch.", *_TABLES)):
            return name.startswith(_TABLES)
        case ast.Attribute(value=ast.Name("self")):
            return any(is_array(value, tree, qualified) for value in _given_to(node.attr, tree))
        case ast.Attribute(attr="loc" | "iloc") | ast.Call(func=ast.Attribute(attr="numpy")):
            return True
        case ast.Call(func=ast.Attribute(value=ast.Call() as receiver)):
            # What it is given does not make a tensor's method another's.
            return is_array(receiver, tree, qualified)
        case ast.Name():
            given = definition(tree, node)
            if given is not None and is_array(given.value, tree, qualified):
                return True
            likes = _likes(function_of(tree, node) or node)
            arrays = (one for one in likes if (qualified(one.func) or "").startswith("numpy."))
            return any(True for one in arrays for _ in readers(one, node.id))
    return any(
        isinstance(one, ast.expr) and is_array(one, tree, qualified) for one in ast.iter_child_nodes(node)
    )


def is_item(node: ast.expr, tree: Tree) -> bool:
    """Whether an expression is an item of what an attribute of `self` is given as a dictionary."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Attribute):
        return False
    given = _given_to(node.value.attr, tree) if root_name(node.value) == "self" else ()
    return any(isinstance(one, ast.Dict | ast.DictComp) or called_name(one) in _MAPPINGS for one in given)


def goes_into_table(node: ast.expr, tree: Tree, qualified: Qualified) -> str | None:
    """The function of NumPy's, or of a table's, that an expression is an argument of; None where it is of none.

    A call in between makes something else of it: ``np.array(p.numpy())``.
    """
    for link in tree.ancestors(node):
        if isinstance(link.parent, ast.Call) and link.field in ("args", "keywords"):
            name = qualified(link.parent.func) or ""
            return name if name.startswith(_TABLES) else None
        if isinstance(link.parent, ast.Call | ast.stmt):
            return None
    return None


def _given_to(attribute: str, tree: Tree) -> Iterable[ast.expr]:
    """What is assigned to an attribute of `self`, other attributes aside."""
    for one in nodes_below(tree.module, ast.Assign):
        if any(_is_attribute(target, attribute) for target in one.targets):
            if not any(_is_attribute(inner, attribute) for inner in descendants(one.value)):
                yield one.value


def _is_attribute(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == name


@remembered
def _likes(function: ast.AST) -> tuple[ast.Call, ...]:
    """The calls within a function that make the like of what they are given, or something of its shape."""
    calls = (one for one in ast.walk(function) if isinstance(one, ast.Call))
    return tuple(one for one in calls if called_name(one).endswith("_like") or _is_of_shape(one))


def _is_of_shape(call: ast.Call) -> bool:
    shaped = any(_is_attribute(one, "shape") for argument in call.args for one in ast.walk(argument))
    return shaped and called_name(call) in ("zeros", "ones", "empty", "full")


@remembered
def is_complex(node: ast.expr, tree: Tree) -> bool:
    """Whether complex numbers go into an expression, and come out of it."""
    match node:
        case ast.Constant():
            return isinstance(node.value, complex)
        case ast.Attribute(attr=attr) if attr.startswith("complex"):
            return True
        case ast.Attribute(attr=attr) | ast.Call(func=ast.Attribute(attr=attr) | ast.Name(id=attr)) if (
            attr in _REAL_PARTS
        ):
            return False
        case ast.Call(func=ast.Attribute(attr=attr)) if attr in _COMPLEX:
            return True
        case ast.Name():
            given = definition(tree, node)
            return given is not None and is_complex(given.value, tree)
    parts = (one.value if isinstance(one, ast.keyword) else one for one in ast.iter_child_nodes(node))
    return any(isinstance(one, ast.expr) and is_complex(one, tree) for one in parts)


def is_whole(node: ast.expr, tree: Tree) -> bool:
    """Whether an expression is a tensor of integers, or may be one: of `arange`, `argmax`, and what is added to that."""
    match node:
        case ast.UnaryOp():
            return is_whole(node.operand, tree)
        case ast.BinOp() if not isinstance(node.op, ast.Div):
            sides = (node.left, node.right)
            return any(is_whole(one, tree) for one in sides) and not any(map(_is_fraction, sides))
        case ast.Call():
            fractions = (*node.args, *(one.value for one in node.keywords))
            typed = any(one.arg == "dtype" for one in node.keywords)
            if typed or any(map(_is_fraction, fractions)):
                return False
            if isinstance(node.func, ast.Attribute) and _keeps_sort(node.func.attr):
                return any(is_whole(one, tree) for one in (node.func.value, *node.args[:1]))
            return called_name(node) in _WHOLE
        case ast.Name():
            given = definition(tree, node)
            return any(is_whole(one, tree) for one in ([given.value] if given else _given_in(tree, node)))
    return False


def _keeps_sort(method: str) -> bool:
    """Whether what a method gives holds numbers of the sort that the tensor holds."""
    found = operations.method(method)
    return found is not None and found[0].name in having("keep-sort")


def _given_in(tree: Tree, name: ast.Name) -> Iterable[ast.expr]:
    """What the branches before a place give a name, itself aside."""
    for one in ast.walk(function_of(tree, name) or name):
        is_earlier = isinstance(one, ast.Assign) and one.lineno < name.lineno
        if isinstance(one, ast.Assign) and is_earlier and any(is_name(each, name.id) for each in one.targets):
            if not any(is_name(inner, name.id) for inner in ast.walk(one.value)):
                yield one.value


def _is_fraction(node: ast.expr) -> bool:
    inner = unsigned(node)
    return isinstance(inner, ast.Constant) and isinstance(inner.value, float)


def shows_tensor(calls: Iterable[ast.expr], qualified: Qualified) -> bool:
    """Whether one of the operations takes tensors alone: a function of torch, a method that no array has."""
    for node in calls:
        if not isinstance(node, ast.Call):
            continue
        if (qualified(node.func) or "").startswith("torch."):
            return True
        if any(keyword.arg in ("dim", "keepdim") for keyword in node.keywords):
            return True
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name not in _SHARED and operations.method(name) is not None:
            return True
    return False
