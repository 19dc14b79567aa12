"""Whether an operand is such as a template takes it for: a tensor, and one of floating-point numbers.

A value of unknown kind in ``a / b`` may be a Python number, which has no ``clamp_min``; a tensor of integers has
no ``torch.finfo``, and one of complex numbers no bound. A rewrite that would raise for them is worse than none; one
that is only not shown to be for the numbers that there are is unsafe.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TypeGuard

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.analysis.matching.sites import Site
from stablelint.analysis.values.families import HANDED_OVER
from stablelint.analysis.values.lists import leaves
from stablelint.analysis.values.sorts import KEEPS_SORT, MAKES_FLOATS, is_integral, is_real
from stablelint.analysis.values.transfer import is_complex
from stablelint.analysis.values.value import Kind, Value
from stablelint.analysis.values.views import behind, stripped
from stablelint.numerics.formats import FORMATS
from stablelint.syntax import operations, precision
from stablelint.syntax.names import called_name, last_name, shortened, spelled
from stablelint.syntax.operations import having
from stablelint.syntax.remembered import remembered
from stablelint.syntax.signatures import parameters
from stablelint.syntax.walk import SCOPES, descendants, nodes_below
from stablelint.syntax.writes import is_of_self

_KEEPS_KIND = having("linear") | {"pow", "abs", "square"} | KEEPS_SORT
_COMPUTED = _KEEPS_KIND | MAKES_FLOATS
_TENSOR_ATTRIBUTES = frozenset("dtype device requires_grad grad is_cuda is_floating_point ndim".split())
_ASKED = _TENSOR_ATTRIBUTES | frozenset("shape numel size".split())
# First words of an operation's name that are no package: "call" is what an instance yields when it is called.
_NO_PACKAGES = frozenset("torch call method python math".split())
_OF_COMPLEX = frozenset(
    "complex complex32 complex64 complex128 cfloat cdouble is_complex view_as_complex polar".split()
)
_COMPLEX = re.compile(r"complex[- ](tensor|number|valued|dtype|matri|eigen)", re.I)
_ARRAYS = ("numpy", "jax", "cupy")
_TABLES = ("pandas", "polars")
_OF_ARRAYS = frozenset(("axis", "keepdims", "ddof"))  # torch knows some of these, too
# Tensor methods that other objects have as well, under the same name.
_OF_NUMBERS = frozenset("sum min max abs round pow len int float".split())
_PARTS = frozenset(("part", "index"))
_PRODUCTS = having("multiply")
_SHARED_METHODS = frozenset("index copy pop append get item round".split())
_METHODS_OF_ARRAYS = having("of-arrays")
# What arrays compute with, by operators and methods of the same name, and what is handed over.
_AS_ARRAYS = _METHODS_OF_ARRAYS | {"amax", "amin", "neg", "sqrt", "norm", "phi"} | _PARTS | HANDED_OVER
_OF_TENSORS = _TENSOR_ATTRIBUTES - {"dtype", "ndim"}
# Results hold some of the first operand's elements, as they are.
_PICKS = having("pick")
_HANDS_ON = having("layout", "copy")
_LOG_FORMS = {"softmax": "log_softmax", "sigmoid": "logsigmoid"}
# What makes tensors of something else; tensors are not made into such anew.
_MAKES_TENSORS = frozenset("from_numpy tensor as_tensor Tensor FloatTensor DoubleTensor LongTensor".split())
_ONLY_OF_ARRAYS = frozenset("astype copy transpose reshape squeeze max min sum mean std var clip".split())
_OF_TABLES = frozenset(("loc", "iloc", "groupby", "iterrows"))
_FILLED, _LIKE = having("filled", "blank"), having("like")
# What takes one dimension, or at least one, although sums and means take several, none and all.
_DIMENSION = re.compile(
    r"(?P<op>softmax|cosine_similarity|logsumexp)\(.*?\bdim=\$(?P<dim>\w+)|\.shape\[\$(?P<of>\w+)\]"
)
_TOTALS = having("total")
_DISTRIBUTIONS = "torch.distributions."
_DEPTH = 6  # operations looked through
_OF_OPERAND = re.compile(r"\$(\w+)\.(\w+)")
_OPERAND = re.compile(r"\$(\w+)")
_RECENT, _CALLED = having("recent"), re.compile(r"torch(?:\.\w+)+")
_RECENT_PACKAGES = ("torch.linalg.", "torch.special.", "torch.sinc")
_RAISED = re.compile(r"^\$(\w+) \+ ")  # which is no better for a number


def misfit(template: str, site: Site) -> str | None:
    """Why the template cannot take the site's operands, or None."""
    recent = next(filter(_is_recent, _CALLED.findall(template)), None)
    dated = site.context.shows(precision.DATED) if recent is not None else None
    if dated is not None:
        return f"{dated or 'this file'} is written for a PyTorch that may lack `{recent}`"
    for dimension, takes_several in dimensions(template, site):
        if dimension.kind is Kind.SEQUENCE and not (takes_several and dimension.data):
            return "the reduction is over several dimensions, and the rewrite takes one"
        if dimension.kind is Kind.NONE:
            return "the reduction is over all dimensions, and the rewrite names one"
    if any(value.kind is Kind.ARRAY for value in (site.value, *site.match.covered)):
        return "the operands are arrays of NumPy, and the rewrite is one for tensors"
    if site.frame.module.is_of_arrays and "torch." in template:
        return "no torch comes into this file, and the rewrite is one for tensors"
    taken = (
        site.match.bindings[name] for name in set(_OPERAND.findall(template)) & site.match.bindings.keys()
    )
    parts = (part for one in taken for part in behind(one))
    spelled = next(filter(_is_spelled_for_arrays, (*site.match.covered, *parts)), None)
    if spelled is not None:
        return f"nothing shows that `{_receiver(spelled)}` is a tensor, and NumPy's words are used of it"
    for name in sorted(set(_OPERAND.findall(template)) & site.match.bindings.keys()):
        made = _made_elsewhere(site.match.bindings[name])
        if made is not None:
            return f"`{made}` need not make tensors, and the rewrite is one for tensors"
        if _may_be_array(site.match.bindings[name], site):
            return f"nothing shows that {_named(name, site)} is a tensor and no array of NumPy's"
    raised = _RAISED.match(template)
    if raised is not None and (number := _number(raised[1], site)) is not None:
        return number
    asked = sorted(set(_OF_OPERAND.findall(template)))
    reasons = (_misfit_of(name, attribute, template, site) for name, attribute in asked)
    return next(filter(None, reasons), None)


def _is_recent(function: str) -> bool:
    return function.startswith(_RECENT_PACKAGES) or function.rpartition(".")[2] in _RECENT


def dimensions(template: str, site: Site) -> Iterator[tuple[Value, bool]]:
    """What a total is taken over that the template takes over fewer dimensions, and whether it may still be several."""
    for found in _DIMENSION.finditer(template):
        value = site.match.bindings.get(found["dim"] or found["of"])
        if any(one.op in _TOTALS and one.operands.get("dim") is value for one in site.match.covered):
            assert value is not None
            yield value, found["op"] == "logsumexp"


def _misfit_of(name: str, attribute: str, template: str, site: Site) -> str | None:
    """Why the template cannot ask an operand for an attribute or a method, or None."""
    value = site.match.bindings.get(name)
    if value is None or (attribute not in _ASKED and operations.method(attribute) is None):
        return None
    number = _number(name, site)
    if number is not None:
        return number
    named, paths = _named(name, site), leaves(value)
    if not is_tensor(value, site):
        return f"nothing shows that {named} is a tensor, and the rewrite is one for tensors"
    if _is_array(value, site):
        return f"{named} is an array or a table, and no tensor"
    function = site.frame.function
    speaks = function is not None and (
        _speaks_of_complex(function.node) or _makes_complex(function.module.source.tree)
    )
    suspected = (speaks or _is_conjugated(value)) and not is_real(value)
    if attribute.startswith("clamp") and (suspected or is_complex(value)):
        return f"{named} may be complex, and has no bound then"
    if f"finfo(${name}.dtype)" in template and any(map(is_integral, paths)):
        return f"{named} holds integers, and the rewrite is one for floating-point numbers"
    if f"finfo(${name}.dtype)" in template and any(_is_of_given_number(one) for one in paths):
        return f"nothing shows that {named} holds floating-point numbers"
    if attribute == "clamp_min" and any(stripped(one).op in _PRODUCTS for one in paths):
        return f"{named} is a product of many factors, of which no size is too small: add their logarithms"
    offset = _offset(value, site) if attribute == "clamp_min" else None
    if offset is not None:
        return f"there is an offset already, by `{offset}`, and no bound takes its place"
    if attribute == "clamp_min" and site.value.op == "log" and site.value.first is value:
        origin = _picked_from(value, set(), False)
        if origin is not None:
            return f"`{_LOG_FORMS[origin]}` where the {origin} stands is the better rewrite, at two places"
    return None


def _is_of_given_number(value: Value) -> bool:
    """Whether a value is a tensor made of what is handed over, of the type that its numbers have."""
    made = stripped(value)
    data = made.operands.get("data") if made.op == "tensor" and made.dtype is None else None
    return data is not None and data.op in HANDED_OVER and data.kind is not Kind.TENSOR and data.dtype is None


def _offset(value: Value, site: Site) -> str | None:
    """The name of a number, set elsewhere, that keeps a sum from 0 whose other term is not negative."""
    terms = list(value.operands.values())[:2] if value.op == "add" else []
    for term, offset in (terms, terms[::-1]) if len(terms) == 2 else ():
        if term.interval.lo >= 0 and offset.op in HANDED_OVER and not is_tensor(offset, site):
            return offset.name or None
    return None


def _number(name: str, site: Site) -> str | None:
    """That an operand is, or may be, a number of Python's; None where nothing shows that."""
    value = site.match.bindings[name]
    numbers = [_can_be_number(one) for one in leaves(value)]
    if any(numbers) or _is_annotated_number(site.texts.get(name) or "", site):
        verb = "is" if value.kind is Kind.NUMBER else "can be"
        return f"{_named(name, site)} {verb} a Python number, and the rewrite is one for tensors"
    return None


@remembered
def _can_be_number(value: Value, depth: int = _DEPTH) -> bool:
    """Whether a value is a number, or array, on some path: itself, or what operators make of nothing but such."""
    if value.kind in (Kind.NUMBER, Kind.ARRAY):
        return True
    if not depth or not _is_spelled_for_numbers(value) or not value.operands:
        return False
    return all(
        any(_can_be_number(leaf, depth - 1) for leaf in leaves(one)) for one in value.operands.values()
    )


def _named(name: str, site: Site) -> str:
    text = site.texts.get(name) or ""
    return f"`{shortened(text)}`" if text else "the operand"


def _is_spelled_for_arrays(value: Value) -> bool:
    """Whether a method of something unknown is called with keywords of NumPy's."""
    is_method = isinstance(value.node, ast.Call) and isinstance(value.node.func, ast.Attribute)
    if not is_method or value.first is None:
        return False
    assert isinstance(value.node, ast.Call)
    words = {keyword.arg for keyword in value.node.keywords}
    if value.first.kind is not Kind.UNKNOWN and "ddof" not in words:
        return False
    return bool(words & _OF_ARRAYS) and _receiver(value) not in ("torch", "F")


def _receiver(value: Value) -> str:
    assert isinstance(value.node, ast.Call)
    assert isinstance(value.node.func, ast.Attribute)
    return shortened(ast.unparse(value.node.func.value))


@remembered
def _speaks_of_complex(function: ast.AST) -> bool:
    """Whether a function takes torch's or Python's words for complex numbers, or its docstring says that of tensors."""
    names = (getattr(one, "id", getattr(one, "attr", "")) for one in descendants(function))
    documented = (ast.get_docstring(function) if isinstance(function, ast.FunctionDef) else None) or ""
    return not _OF_COMPLEX.isdisjoint(names) or _COMPLEX.search(documented) is not None


@remembered
def _makes_complex(module: ast.AST) -> bool:
    """Whether a file takes the real or imaginary part of what one of its functions gives: their operands may be complex."""
    own = {getattr(one, "name", "") for one in descendants(module) if isinstance(one, SCOPES)}
    parts = (one for one in descendants(module) if isinstance(one, ast.Attribute))
    called = (one.value for one in parts if one.attr in ("real", "imag") and isinstance(one.value, ast.Call))
    return any(called_name(one) in own for one in called)


def _is_conjugated(value: Value) -> bool:
    """Whether a value is made of a conjugate, which nobody takes of what is never complex."""
    return any(part.op.rpartition(".")[2] == "conj" for part in behind(value))


def _made_elsewhere(value: Value) -> str | None:
    """The class of another package whose instances a value is computed from, or None.

    Such an object may have the methods of a tensor (a symbolic one, a table) and yet be refused by torch's functions.
    """
    for part in behind(value, _hides_its_operands):
        package, _, name = part.op.rpartition(".")
        if package and name[:1].isupper() and package.partition(".")[0] not in _NO_PACKAGES:
            return name
    return None


def _is_array(value: Value, site: Site) -> bool:
    """Whether a value is NumPy's or a table's, or made of such: its function has the like made of it by NumPy."""
    function = site.frame.function
    likes = _likes_made(function.node, function.module) if function is not None else frozenset()
    held = _held_arrays(site.frame.module)
    if function is not None and not _made_into_tensors(function.node).isdisjoint(map(id, _nodes_of(site))):
        return True
    for part in behind(value, _hides_its_operands):
        taken_from = part.node.value if isinstance(part.node, ast.Subscript) else None
        of_table = isinstance(taken_from, ast.Attribute) and taken_from.attr in _OF_TABLES
        of_package = part.op.partition(".")[0] in _TABLES
        given = part.operands.values() if part.kind is not Kind.TENSOR else ()
        if (
            any(one.kind is Kind.ARRAY for one in (part, *given))
            or of_table
            or of_package
            or (part.op in HANDED_OVER and part.name in likes)
            or (isinstance(part.node, ast.expr) and _root_attribute(part.node) in held)
        ):
            return True
    return False


def _nodes_of(site: Site) -> Iterator[ast.AST | None]:
    yield site.value.node
    yield from (one.node for one in site.match.covered)


@remembered
def _held_arrays(module: ModuleInfo) -> frozenset[str]:
    """The attributes of `self` that a method fills with what a package of arrays or tables makes, or asks as a table."""
    asked = (one for one in nodes_below(module.source.tree, ast.Attribute) if one.attr in _OF_TABLES)
    found = {spelled(one.value) for one in asked if is_of_self(one.value)}
    for node in nodes_below(module.source.tree, ast.Assign):
        root = spelled(node.value.func).partition(".")[0] if isinstance(node.value, ast.Call) else ""
        if module.imports.get(root, "").partition(".")[0] in (*_ARRAYS, *_TABLES):
            found.update(spelled(one) for one in node.targets if is_of_self(one))
    return frozenset(found)


def _root_attribute(node: ast.expr) -> str:
    """The attribute of `self` that an expression takes a part of, or calls a method of: `self.x` of `self.x[0].sum()`."""
    while not is_of_self(node):
        match node:
            case (
                ast.Subscript(value=inner)
                | ast.Call(func=ast.Attribute(value=inner))
                | ast.Attribute(value=inner)
            ):
                node = inner
            case _:
                return ""
    return spelled(node)


@remembered
def _made_into_tensors(function: ast.AST) -> frozenset[int]:
    """Identities of the expressions that tensors are made of, as `torch.from_numpy` does, and of those behind them.

    A name stands for what it was given last before it is read there.
    """
    given: dict[str, list[ast.Assign]] = {}
    waiting: list[ast.expr] = []
    for node in descendants(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            given.setdefault(node.targets[0].id, []).append(node)
        elif isinstance(node, ast.Call) and last_name(node.func) in _MAKES_TENSORS:
            waiting += node.args[:1]
    found: set[int] = set()
    while waiting:
        node = waiting.pop()
        if id(node) in found:
            continue
        found.add(id(node))
        if isinstance(node, ast.Name):
            before = [one for one in given.get(node.id, ()) if (one.end_lineno or 0) < node.lineno]
            waiting += [max(before, key=lambda one: one.lineno).value] if before else []
        elif isinstance(node, ast.BinOp):
            waiting += [node.left, node.right]
        elif isinstance(node, ast.UnaryOp):
            waiting.append(node.operand)
        elif isinstance(node, ast.Subscript):
            waiting.append(node.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            waiting += [node.func.value] if node.func.attr in _ONLY_OF_ARRAYS else []
    return frozenset(found)


def _may_be_array(value: Value, site: Site) -> bool:
    """Whether a value is computed as arrays are, too, of what is handed over, by a function that names nothing of torch's.

    So it is only in a file that imports NumPy, what is made after it, or a package of tables.
    """
    function = site.frame.function
    if function is not None and any(
        _may_be_given_as_array(part, function.module) for part in behind(value, _hides_its_operands)
    ):
        return True
    if (
        function is None
        or not any(map(_roots(function.module).get, _ARRAYS + _TABLES))
        or _names_torch(function.node, function.module)
        or any(
            is_method_of_tensors(one) and _is_operand(value, one) for one in (site.value, *site.match.covered)
        )
    ):
        return False
    parts = [part for part in behind(value) if not part.is_constant]
    return bool(parts) and not any(
        part.dtype in FORMATS or (part.kind is Kind.TENSOR and part.op not in _AS_ARRAYS) for part in parts
    )


def _may_be_given_as_array(value: Value, module: ModuleInfo) -> bool:
    """Whether the annotation of an argument names arrays, perhaps beside tensors: `Union[torch.Tensor, np.ndarray]`."""
    annotation = value.node.annotation if isinstance(value.node, ast.arg) else None
    roots = set[str]().union(*(_roots(module).get(one, ()) for one in _ARRAYS + _TABLES))
    named = {one.id for one in ast.walk(annotation or ast.Pass()) if isinstance(one, ast.Name)}
    return not roots.isdisjoint(named)


def is_method_of_tensors(operation: Value) -> bool:
    """Whether an operation is called as a method, and one that no array has."""
    function = operation.node.func if isinstance(operation.node, ast.Call) else None
    is_method = isinstance(function, ast.Attribute) and operations.method(function.attr) is not None
    return is_method and operation.op not in _METHODS_OF_ARRAYS


@remembered
def _names_torch(function: ast.AST, module: ModuleInfo) -> bool:
    """Whether a function names what was imported from torch, or what only tensors have, and no function of arrays."""
    taken = {id(one.value) for one in descendants(function) if _is_of_numpy(one)}
    names = {one.id for one in descendants(function) if isinstance(one, ast.Name) and id(one) not in taken}
    attributes = {one.attr for one in descendants(function) if isinstance(one, ast.Attribute)}
    return not names.isdisjoint(_roots(module).get("torch", ())) or not attributes.isdisjoint(_OF_TENSORS)


def _is_of_numpy(node: ast.AST) -> TypeGuard[ast.Attribute]:
    """Whether a node is torch's function that takes arrays of NumPy alone."""
    return isinstance(node, ast.Attribute) and node.attr == "from_numpy"


def _roots(module: ModuleInfo) -> dict[str, set[str]]:
    """The names that a file imports, by the package."""
    found: dict[str, set[str]] = {}
    for name, qualified in module.imports.items():
        found.setdefault(qualified.partition(".")[0], set()).add(name)
    return found


def _hides_its_operands(value: Value) -> bool:
    """Whether a value need not be of the kind that it is computed from."""
    return value.op not in _COMPUTED


@remembered
def _likes_made(function: ast.AST, module: ModuleInfo) -> frozenset[str]:
    """The names in what a function gives NumPy to make the like of, or something of its shape."""
    found: set[str] = set()
    for node in descendants(function):
        root, _, name = spelled(node.func).partition(".") if isinstance(node, ast.Call) else ("", "", "")
        if module.imports.get(root, "").partition(".")[0] == "numpy":
            parts = list(descendants(node))
            shaped = any(isinstance(one, ast.Attribute) and one.attr == "shape" for one in parts)
            if name in _FILLED and (shaped or name in _LIKE):
                found.update(one.id for one in parts if isinstance(one, ast.Name))
    return frozenset(found)


def _picked_from(value: Value, seen: set[int], picked: bool) -> str | None:
    """The operation, among those whose logarithm has a form of its own, whose elements a value picks."""
    if value.key in seen:
        return None
    seen.add(value.key)
    if value.op in _LOG_FORMS:
        return value.op if picked else None
    if value.op in ("phi", "cat"):
        found = {
            _picked_from(operand, seen, picked)
            for operand in value.operands.values()
            if operand.kind in (Kind.TENSOR, Kind.UNKNOWN)
        }
        found.discard(None)
        return found.pop() if len(found) == 1 else None
    if (value.op not in _PICKS and value.op not in _HANDS_ON) or value.first is None:
        return None
    return _picked_from(value.first, seen, picked or value.op in _PICKS)


def _is_annotated_number(text: str, site: Site) -> bool:
    """Whether the operand is a parameter or local name of which its function says that it is a number."""
    function = site.frame.function
    if function is None or not text.isidentifier():
        return False
    for parameter in parameters(function.node.args):
        if parameter.arg == text and parameter.annotation is not None:
            return _is_number(parameter.annotation)
    declared = nodes_below(function.node, ast.AnnAssign)
    return any(ast.unparse(one.target) == text and _is_number(one.annotation) for one in declared)


def _is_number(annotation: ast.expr) -> bool:
    return re.search(r"\b(float|int)\b", ast.unparse(annotation)) is not None


def is_tensor(value: Value, site: Site) -> bool:
    """Whether something shows that a value is a tensor: its kind, the site, or how its function uses it."""
    if value.kind is not Kind.TENSOR and (value.kind is not Kind.UNKNOWN or site.frame.module.is_of_arrays):
        return False
    if _may_be_number(value, site):
        return False
    own, function, root = site.frame.module.methods, site.frame.function, site.value
    used = _used_as_tensors(function.node, own) if function is not None else frozenset()
    if _may_be_of_object(value, own, used):
        return False
    if value.kind is Kind.TENSOR and not _is_of_numbers(value):
        return True
    taking = [root] if root.kind in (Kind.TENSOR, Kind.UNKNOWN) else []
    for operation in (*taking, *site.match.covered):  # `torch.log(x)` and `x.log()` take tensors only
        called = isinstance(operation.node, ast.Call) and _is_operand(value, operation)
        if operation.op.startswith(_DISTRIBUTIONS):
            continue  # which take numbers as well
        if called and not _may_be_of_object(operation, own, used):
            return True
    if function is not None and id(value.node) in _receivers(function.node, own):
        return True
    return _arises_from_tensor(value, used) or site.texts.get(site.judgement.operand) in used


def _may_be_number(value: Value, site: Site) -> bool:
    """Whether a value is made by operators of what was handed over, and here is no tensor that it is above, if it is one."""
    function, row = site.frame.function, getattr(site.value.node, "lineno", 0)
    asked = _asked_to_be_tensors(function.node) if function is not None else {}
    parts = behind(value, lambda v: not _is_spelled_for_numbers(v)) if asked else ()
    given = [one for part in parts for one in leaves(part) if one.op in HANDED_OVER]
    return any(one.kind is not Kind.TENSOR and row not in asked.get(one.name or "", [row]) for one in given)


@remembered
def _asked_to_be_tensors(function: ast.AST) -> dict[str, list[int]]:
    """Names of which `if isinstance(x, torch.Tensor)` alone makes something else, and the rows where they are tensors."""
    found: dict[str, list[int]] = {}
    for node in descendants(function):
        match node:
            case ast.If(
                test=ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name), kind]), orelse=[]
            ) if last_name(kind) == "Tensor":
                found.setdefault(name, []).extend(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return found


def _may_be_of_object(value: Value, own: frozenset[str], used: frozenset[str]) -> bool:
    """Whether a value may be what a method yields that a class of the file has too: `meter.std()`, of what is not known."""
    function = value.node.func if isinstance(value.node, ast.Call) else None
    receiver = value.first if isinstance(function, ast.Attribute) and function.attr in own else None
    given = receiver is not None and receiver.kind is Kind.UNKNOWN and receiver.op in HANDED_OVER
    return given and receiver is not None and receiver.name not in used


def _is_of_numbers(value: Value) -> bool:
    """Whether a value is made by operators and builtins alone, of operands or parts of which nothing shows tensors."""
    return not any(
        part.kind is Kind.TENSOR and not _is_spelled_for_numbers(part)
        for part in behind(value, lambda v: not _is_spelled_for_numbers(v))
    )


def _is_spelled_for_numbers(value: Value) -> bool:
    """Whether a value is what an operator or a builtin yields: a number where its operands are."""
    node = value.node
    called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
    is_operator = isinstance(node, ast.BinOp | ast.AugAssign | ast.UnaryOp | ast.Subscript)
    return is_operator or called in _OF_NUMBERS or value.op in _PARTS


def _is_operand(value: Value, root: Value) -> bool:
    return any(stripped(operand).key == stripped(value).key for operand in root.operands.values())


def _arises_from_tensor(value: Value, used: frozenset[str]) -> bool:
    """Whether a value is computed from what is a tensor, or is used as one."""

    def is_other(part: Value) -> bool:
        return part.kind not in (Kind.UNKNOWN, Kind.TENSOR)

    def is_tensor_here(part: Value) -> bool:
        named = part.name in used or (part.node is not None and _name_of(part.node) in used)
        return named or (part.kind is Kind.TENSOR and not _is_of_numbers(part))

    parts = behind(value, lambda v: is_other(v) or v.op not in _KEEPS_KIND)
    return any(is_tensor_here(part) for part in parts if not is_other(part))


def _name_of(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return ""


@remembered
def _used_as_tensors(function: ast.AST, methods: frozenset[str]) -> frozenset[str]:
    """Names (and attributes of names) on which the function calls what only tensors have, and no class with `methods`."""
    found: set[str] = set()
    for node in descendants(function):
        if isinstance(node, ast.Attribute) and node.attr in _TENSOR_ATTRIBUTES:
            found.add(_name_of(node.value))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            method = node.func.attr
            if operations.method(method) is not None and method not in _SHARED_METHODS | methods:
                found.add(_name_of(node.func.value))
            own = operations.canonical(method)
            takes_tensor = own is not None and own.parameters[:1] == ("input",)
            if takes_tensor and _name_of(node.func.value) in ("torch", "F") and node.args:
                found.add(_only_name(node.args[0]))
    # A function of the torch namespace called on a module is no method of it.
    return frozenset(found - {"", "torch", "F", "np", "math", "self"})


def _only_name(node: ast.expr) -> str:
    """The one name that an expression is arithmetic of, constants aside: ``x`` of ``(1 + x) / (1 - x)``."""
    if isinstance(node, ast.BinOp | ast.UnaryOp):
        sides = [side for side in ast.iter_child_nodes(node) if isinstance(side, ast.expr)]
        names = {_only_name(side) for side in sides if not isinstance(side, ast.Constant)}
        return names.pop() if len(names) == 1 else ""
    return _name_of(node)


@remembered
def _receivers(function: ast.AST, own: frozenset[str]) -> frozenset[int]:
    """Identities of expressions on which, or on whose power or multiple, the function calls a tensor's method."""
    found: set[int] = set()
    for node in descendants(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            method = node.func.attr
            if operations.method(method) is not None and method not in _SHARED_METHODS | own:
                found.update(map(id, _behind_constants(node.func.value)))
    return frozenset(found)


def _behind_constants(node: ast.expr) -> Iterator[ast.expr]:
    """An expression, and what it is a power, a multiple or a sum of, with constants for the other operands."""
    yield node
    if isinstance(node, ast.UnaryOp):
        yield from _behind_constants(node.operand)
    elif isinstance(node, ast.BinOp):
        sides = [side for side in (node.left, node.right) if not isinstance(side, ast.Constant)]
        if len(sides) == 1:
            yield from _behind_constants(sides[0])
