"""Statements whose result goes nowhere, and wrappers from before PyTorch 0.4 that do nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.analysis.matching.interest import observes
from stablelint.analysis.matching.review import Review
from stablelint.analysis.matching.sites import Site
from stablelint.catalog.rule import Rule
from stablelint.matchers.common import qualified, site_at
from stablelint.matchers.names import Function, bound_to, called, functions_of, receiver
from stablelint.matchers.tree import ancestors, block_of, mentions
from stablelint.syntax.content import NOTEBOOK
from stablelint.syntax.walk import nodes_in

# Methods that tensors have and hardly anything else, and those that modules and other things have as well.
_OF_TENSORS = frozenset(
    "masked_fill masked_scatter clamp clamp_min clamp_max squeeze unsqueeze permute view contiguous nan_to_num "
    "log_softmax index_fill index_add scatter_add".split()
)
_OF_OTHERS = frozenset(
    "to cuda cpu float double half bfloat16 long int bool detach reshape transpose flatten expand repeat clone abs exp "
    "sqrt mul div add sub softmax sigmoid relu tanh normalize type dropout where cat stack".split()
)
_WRITING = frozenset(("out", "inplace", "copy"))
# A statement that is timed, or that shall fail, wants the work and not the result.
_MEASURED = tuple("perf_counter synchronize Timer timeit time profile raises warns assertRaises".split())


@observes()
def dropped_result(review: Review, rule: Rule) -> Iterator[Site]:
    """`scores.masked_fill(mask, -inf)` or `x.to(device)` as a statement, of a tensor; `nn.Softmax(dim=1)` alone."""
    module = review.module
    for root in functions_of(review, "torch"):
        if root is module.source.tree and module.source.filename.endswith(NOTEBOOK):
            continue  # the last expression of a cell is shown
        for statement in nodes_in(root, ast.Expr):
            call = statement.value
            if not isinstance(call, ast.Call) or _WRITING & {k.arg for k in call.keywords}:
                continue
            if _is_module(call, module):
                message = "this module is built, and nothing holds it"
            elif _is_tensor_function(call, module) or _is_tensor_method(call, root, module):
                message = f"`{called(call)}` returns a new tensor, and nothing takes it"
            else:
                continue
            if not _is_wanted_for_itself(call, root):
                yield site_at(review, rule, call, message=message)


def _is_module(call: ast.Call, module: ModuleInfo) -> bool:
    """Whether a call builds a layer or a loss of torch.nn."""
    package, _, name = qualified(call.func, module).rpartition(".")
    return package == "torch.nn" and name[:1].isupper()


def _is_tensor_function(call: ast.Call, module: ModuleInfo) -> bool:
    """Whether a call is a function of torch that computes a tensor from one: `torch.clamp(x, 0)`."""
    package, _, name = qualified(call.func, module).rpartition(".")
    return (
        package in ("torch", "torch.nn.functional") and name in _OF_TENSORS | _OF_OTHERS and bool(call.args)
    )


def _is_tensor_method(call: ast.Call, root: ast.AST, module: ModuleInfo) -> bool:
    """Whether a call is a method of what is, by its name or by where it comes from, a tensor."""
    of, name = receiver(call), called(call)
    if not isinstance(of, ast.Name | ast.Subscript | ast.Attribute) or name not in _OF_TENSORS | _OF_OTHERS:
        return False
    first = ast.unparse(of).partition(".")[0]
    if ast.unparse(of) in ("self", "cls") or first in module.imports:
        return False
    made = bound_to(ast.unparse(of), call, root)
    if name in _OF_TENSORS and _has_operands(call):
        return made is None or not called(made)[:1].isupper()  # `Boxes(…)` has a `clamp` of its own
    return _is_tensor(made, module) if made is not None else _is_annotated(of, root)


def _has_operands(call: ast.Call) -> bool:
    return bool(call.args or call.keywords) or called(call) in ("squeeze", "contiguous", "nan_to_num")


def _is_tensor(made: ast.expr, module: ModuleInfo) -> bool:
    """Whether an expression is a function of torch, or a method that tensors alone have."""
    if not isinstance(made, ast.Call):
        return False
    package, _, name = qualified(made.func, module).rpartition(".")
    if package.startswith("torch"):
        return (
            package in ("torch", "torch.nn.functional")
            and name.islower()
            and name not in ("device", "load", "compile")
        )
    return called(made) in _OF_TENSORS


def _is_annotated(of: ast.expr, root: ast.AST) -> bool:
    """Whether a parameter of the function is said to be a tensor."""
    if not isinstance(root, Function) or not isinstance(of, ast.Name):
        return False
    annotations = {a.arg: a.annotation for a in (*root.args.args, *root.args.kwonlyargs)}
    annotation = annotations.get(of.id)
    return annotation is not None and ast.unparse(annotation).rpartition(".")[2] == "Tensor"


def _is_wanted_for_itself(call: ast.Call, root: ast.AST) -> bool:
    """Whether the statement is tried out or measured."""
    if any(isinstance(above, ast.Try) for above in ancestors(call, root)):
        return True
    heads = [i.context_expr for w in ancestors(call, root) if isinstance(w, ast.With) for i in w.items]
    return any(mentions(part, *_MEASURED) for part in (*heads, *(block_of(call, root) or ())))


@observes()
def variable(review: Review, rule: Rule) -> Iterator[Site]:
    """`Variable(x)`, with whatever keywords."""
    for root in functions_of(review, "Variable("):
        for call in nodes_in(root, ast.Call):
            if call.args and qualified(call.func, review.module).endswith("autograd.Variable"):
                yield site_at(review, rule, call, {"x": call.args[0]})


@observes()
def data_attribute(review: Review, rule: Rule) -> Iterator[Site]:
    """`x.data`, read or written through, of what is neither a module nor `self`."""
    module = review.module
    for root in functions_of(review, ".data"):
        for node in nodes_in(root, ast.Attribute):
            known = ast.unparse(node.value) in module.imports.keys() | {"self"}
            if node.attr == "data" and not known and not qualified(node.value, module).startswith("torch."):
                yield site_at(review, rule, node, shown=False)
