"""Statements whose result goes nowhere, and wrappers from before PyTorch 0.4 that do nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.analysis.files.project import Project
from stablelint.matchers.common import Review, Rule, Sites, observes, site_at
from stablelint.matchers.models import modules_in, runs_module
from stablelint.matchers.names import (
    bound_anywhere,
    bound_to,
    functions_naming,
    functions_of,
    graph_is_off,
    made_by,
    operation_of,
    parameters_of,
    run_by,
    unpacked_from,
)
from stablelint.matchers.tree import (
    around,
    backs_below,
    block_of,
    called,
    calls_in,
    contexts,
    is_given,
    loop_around,
    mentions,
    parents,
    receiver,
    subject,
)
from stablelint.syntax.content import NOTEBOOK
from stablelint.syntax.names import spelled
from stablelint.syntax.operations import having, method
from stablelint.syntax.signatures import argument, arguments
from stablelint.syntax.walk import descendants, nodes_in

# Methods that tensors have and hardly anything else.
_OF_TENSORS = frozenset(
    "masked_fill masked_scatter clamp clamp_min clamp_max squeeze unsqueeze permute view contiguous nan_to_num "
    "softmax log_softmax index_fill index_add scatter_add".split()
)
# What yields a new tensor and leaves its operands as they are.
_MAKING = having(
    "elementwise", "along", "layout", "copy", "cast", "device", "join", "into", "whole", "floating"
)
_MOVES = having("device") | {"to"}
_TOTALS = having("total")
_OF_GRAPHS = ("grad", "grad_fn", "backward", "requires_grad", "requires_grad_", "detach", "retain_grad")
_LEARNED = ("weight", "bias", "grad")
_SHARED = having("of-arrays")  # methods that arrays have as well
_VARIABLES = ("torch.autograd.Variable", "torch.autograd.variable.Variable")
_WRITING = ("out", "inplace", "copy")
_PACKAGES = ("torch", "torch.nn.functional")
_NO_TENSORS = ("device", "load", "compile")
# A statement that is timed, or that shall fail, wants the work and not the result.
_MEASURED = tuple("perf_counter synchronize Timer timeit time profile raises warns assertRaises".split())


@observes()
def dropped_result(review: Review, rule: Rule) -> Sites:
    """`scores.masked_fill(mask, -inf)` or `x.to(device)` as a statement, of a tensor; `nn.Softmax(dim=1)` alone."""
    module = review.module
    for root in functions_of(review):
        if root is module.source.tree and module.source.filename.endswith(NOTEBOOK):
            continue  # the last expression of a cell is shown
        for statement in nodes_in(root, ast.Expr):
            call = statement.value
            if not isinstance(call, ast.Call) or is_given(call, *_WRITING):
                continue
            package, _, name = made_by(call, module).rpartition(".")
            makes = operation_of(call, module) in _MAKING and not name.endswith("_")
            if package == "torch.nn" and name[:1].isupper():
                message = "this module is built, and nothing holds it"
            elif (makes and package in _PACKAGES and call.args) or _is_tensor_method(call, root, review):
                message = f"`{called(call)}` returns a new tensor, and nothing takes it"
            else:
                continue
            # What is tried out or measured is wanted for the work.
            near = (*contexts(call, root), *block_of(call, root))
            if not around(call, root, ast.Try) and not any(mentions(part, *_MEASURED) for part in near):
                yield site_at(review, rule, call, message=message)


def _is_tensor_method(call: ast.Call, root: ast.AST, review: Review) -> bool:
    """Whether a call is a method of what is, by its name or by where it comes from, a tensor."""
    of, name, module = receiver(call), called(call), review.module
    if operation_of(call) not in _MAKING or name.endswith("_"):
        return False
    if isinstance(of, ast.Call):
        return made_by(of, module).startswith("torch.") and _is_tensor(of, module)
    if not isinstance(of, ast.Name | ast.Subscript | ast.Attribute):
        return False
    text = subject(call)
    if text in ("self", "cls") or text.partition(".")[0] in module.imports:
        return False
    made = bound_to(text, call, root)
    if name in _OF_TENSORS and (arguments(call) or name in ("squeeze", "contiguous", "nan_to_num")):
        return not called(made)[:1].isupper()  # `Boxes(…)` has a `clamp` of its own
    if made is not None:
        return _is_tensor(made, module)
    # A part of a batch, that a loop which runs a model or a backward pass unpacks from what it goes over.
    loops = (n for n in around(call, root, ast.For) if isinstance(n.target, ast.Tuple) and backs_below(n))
    unpacked = any(p.id == text for n in loops for p in nodes_in(n.target, ast.Name))
    if operation_of(call) in _MOVES and (unpacked or _is_of_batch(of, call, root, review)):
        return True
    annotation = parameters_of(root).get(text)
    return annotation is not None and spelled(annotation).rpartition(".")[2] == "Tensor"


def _is_of_batch(part: ast.expr, at: ast.AST, root: ast.AST, review: Review) -> bool:
    """Whether something is an entry of a dict of which each turn of a training loop takes one, or which a model is given:
    `batch[k]` of `for k in batch`, `v` of `for v in batch.values()`."""
    loops = around(at, root, ast.For)
    batch = spelled(part.value) if isinstance(part, ast.Subscript) else ""
    for loop in loops if isinstance(part, ast.Name) else ():
        value = loop.target.elts[-1] if isinstance(loop.target, ast.Tuple) else loop.target
        if spelled(value) == spelled(part) and called(loop.iter) in ("items", "values"):
            batch = subject(loop.iter)
    if not batch:
        return False
    modules = modules_in(review)
    given = (n for n in calls_in(root) if runs_module(n, modules))
    if any(one.arg is None and spelled(one.value) == batch for n in given for one in n.keywords):
        return True
    turns = (
        n for n in loops if batch in (spelled(n.target), spelled(getattr(n.target, "elts", [n.target])[-1]))
    )
    return any(loop_around(back, root) is turn for turn in turns for back in backs_below(turn))


def _is_tensor(made: ast.expr, module: ModuleInfo) -> bool:
    """Whether an expression is a function of torch, or a method that tensors alone have."""
    package, _, name = made_by(made, module).rpartition(".")
    if package.startswith("torch"):
        return package in _PACKAGES and name.islower() and name not in _NO_TENSORS
    return called(made) in _OF_TENSORS


@observes()
def variable(review: Review, rule: Rule) -> Sites:
    """`Variable(x)`, with whatever keywords."""
    for call, _ in _variables(review):
        yield site_at(review, rule, call, {"x": call.args[0]}, shown=False)


@observes()
def volatile(review: Review, rule: Rule) -> Sites:
    """`Variable(x, volatile=True)`, or `volatile=evaluation`, where nothing else switches recording off."""
    for call, root in _variables(review):
        asked = argument(call, "volatile")
        if asked is not None and spelled(asked) != "False" and not graph_is_off(call, root):
            yield site_at(review, rule, call, shown=isinstance(asked, ast.Constant))
    for root in functions_naming(review, "volatile"):
        for node in nodes_in(root, ast.Assign):
            target = node.targets[0]
            if isinstance(target, ast.Attribute) and target.attr == "volatile":
                if spelled(node.value) == "True" and not graph_is_off(node, root):
                    yield site_at(review, rule, target)


def _variables(review: Review) -> Iterator[tuple[ast.Call, ast.AST]]:
    """The calls of `Variable` in a file, each with its function."""
    names = (name for name, of in review.module.imports.items() if of in _VARIABLES)
    for root in functions_naming(review, "Variable", *names):
        for call in calls_in(root):
            if call.args and made_by(call, review.module) in _VARIABLES:
                yield call, root


@observes()
def data_attribute(review: Review, rule: Rule) -> Sites:
    """`x.data`, read or written through, of a tensor."""
    for root in functions_naming(review, "data"):
        for node in nodes_in(root, ast.Attribute):
            if node.attr == "data" and _is_of_tensor(node, root, review):
                yield site_at(review, rule, node, shown=False)


def _is_of_tensor(data: ast.Attribute, root: ast.AST, review: Review) -> bool:
    """Whether `.data` is one of a tensor: a part of a layer, a parameter, a result, or what is taken for one elsewhere."""
    owner, above = data.value, parents(root).get(data)
    module, text = review.module, spelled(owner)
    tree = module.source.tree
    made = owner if isinstance(owner, ast.Call) else bound_to(text, data, root)
    if made is None and (taken := unpacked_from(text, data, root)) is not None:
        made = taken[1]
    makers = [made] if made is not None else bound_anywhere(text, tree)
    if any(called(one)[:1].isupper() and not made_by(one, module).endswith("nn.Parameter") for one in makers):
        return False
    asked = any(n.attr in _OF_GRAPHS and spelled(n.value) == text for n in nodes_in(root, ast.Attribute))
    loops = (n.iter for n in nodes_in(root, ast.For) if mentions(n.target, text))
    trained = any(mentions(over, "parameters", "named_parameters") for over in loops)
    if (
        asked
        or trained
        or isinstance(owner, ast.BinOp)
        or (isinstance(owner, ast.Attribute) and owner.attr in _LEARNED)
    ):
        return True
    taker = next(iter(around(data, root, ast.Call)), None)
    wraps = made_by(taker, module) in _VARIABLES or operation_of(taker, module) in _TOTALS
    if taker is not None and wraps and any(data in descendants(one) for one in arguments(taker)):
        return True
    known = method(above.attr) if isinstance(above, ast.Attribute) else None
    computed = known is not None and known[0].name not in _SHARED and text not in module.imports
    return computed or any(_is_result(one, root, module, review.project) for one in makers)


def _is_result(made: ast.expr, root: ast.AST, module: ModuleInfo, project: Project, depth: int = 2) -> bool:
    """Whether an expression is what torch or arithmetic computes, a method of such, or what an object gave when it was
    called, or a function of the project that returns such: any other function may give a data set."""
    if not isinstance(made, ast.Call):
        return isinstance(made, ast.BinOp)
    if (name := made_by(made, module)).startswith("torch."):
        return not name.startswith(("torch.nn.utils.", "torch.utils."))
    if not name:
        of = receiver(made)
        built = made_by(made.func, module).startswith("torch.nn.")
        known = built if of is None else called(made) in _OF_TENSORS
        return known or (of is not None and _is_result(of, root, module, project, depth))
    text = spelled(made.func)
    if own := run_by(made, module, project):
        returned = ((n.value, f, m) for f, m in own if depth for n in nodes_in(f, ast.Return) if n.value)
        parts = ((part, f, m) for value, f, m in returned for part in getattr(value, "elts", (value,)))
        values = ((bound_to(spelled(part), part, f) or part, f, m) for part, f, m in parts)
        return any(_is_result(value, f, m, project, depth - 1) for value, f, m in values)
    is_object = text in parameters_of(root) or bool(bound_anywhere(text, module.source.tree))
    return "." not in text.removeprefix("self.") and (is_object or text.startswith("self."))
