"""Clocks that are read while the GPU still works."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stablelint.analysis.matching.interest import observes
from stablelint.analysis.matching.review import Review
from stablelint.analysis.matching.sites import Site
from stablelint.catalog.rule import Rule
from stablelint.matchers.common import qualified, site_at
from stablelint.matchers.names import called, functions_of, modules_in, reached_from, receiver
from stablelint.matchers.training.trained import trained_in
from stablelint.matchers.tree import ancestors, block_of, loop_around, mentions, start, statement_in
from stablelint.syntax.walk import descendants, nodes_below, nodes_in

_CLOCKS = frozenset(
    f"time.{name}" for name in ("time", "perf_counter", "monotonic", "clock", "time_ns", "perf_counter_ns")
)
# What waits for the GPU, by itself or because it needs a value of it; who trains meanwhile compares no models.
_WAITING = ("synchronize", "item", "cpu", "numpy", "tolist", "elapsed_time", "barrier", "nonzero", "backward")


@observes()
def unsynchronised_timing(review: Review, rule: Rule) -> Iterator[Site]:
    """`start = time.time(); model(x); time.time() - start` on a GPU, with nothing between that waits for it."""
    text, origins = review.module.source.text, review.module.imports.values()
    if not review.of_body or not any(o.partition(".")[0] == "time" for o in origins):
        return
    if not ("cuda" in text or ".to(" in text):
        return
    timings = [
        (taken, timed, loop_around(taken, root))
        for root in functions_of(review, "time")
        for taken in sorted(nodes_in(root, ast.BinOp), key=start)
        if (timed := _timed(taken, root, review))
    ]
    modules = frozenset[str]()
    if timings:
        modules = modules_in(review) | _layers(review) | trained_in(review.module)
    for taken, timed, loop in timings:
        inside = [n for statement in timed for n in descendants(statement)]
        pending = loop is not None and any(_runs(n, modules) for n in descendants(loop))
        launched = any(_runs(n, modules) or _moves(n, pending) for n in inside)
        if launched and not any(map(_goes_over_data, inside)):
            if not any(_waits(statement, review.module.source.tree) for statement in timed):
                yield site_at(review, rule, taken)


def _layers(review: Review) -> frozenset[str]:
    """What the file binds to a layer of torch.nn or a ready-made model, moved or not: `conv = nn.Conv2d(3, 8, 3).cuda()`."""
    found = set[str]()
    for node in nodes_below(review.module.source.tree, ast.Assign):
        made: ast.expr | None = node.value
        while made is not None and isinstance(inner := receiver(made), ast.Call):
            made = inner
        if isinstance(made, ast.Call):
            if qualified(made.func, review.module).startswith(("torch.nn.", "torchvision.models.")):
                found |= set(map(ast.unparse, node.targets))
    return frozenset(found)


def _timed(taken: ast.BinOp, root: ast.AST, review: Review) -> list[ast.stmt]:
    """The statements between the two readings of which a difference is taken; empty where it is none of clocks."""
    if not isinstance(taken.op, ast.Sub):
        return []
    left = taken.left  # `total + last - first`
    left = left.right if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Add) else left
    last, first = (_reading(operand, taken, root, review) for operand in (left, taken.right))
    if first is None or last is None:
        return []
    block = block_of(first, root) or []
    begin, end = statement_in(first, block, root), statement_in(last, block, root)
    return block[begin + 1 : end] if begin is not None and end is not None else []


def _reading(node: ast.expr, before: ast.AST, root: ast.AST, review: Review) -> ast.expr | None:
    """The call of a clock that an expression is, or that a name was last bound to."""
    if isinstance(node, ast.Call):
        return node if qualified(node.func, review.module) in _CLOCKS else None
    text = ast.unparse(node)
    bound = [
        made.value
        for made in nodes_in(root, ast.Assign)
        if start(made) < start(before)
        and text in map(ast.unparse, made.targets)
        and not any(isinstance(above, ast.If) for above in ancestors(made, root))
    ]
    last = max(bound, key=start, default=None)
    is_clock = isinstance(last, ast.Call) and qualified(last.func, review.module) in _CLOCKS
    return last if is_clock else None


def _goes_over_data(node: ast.AST) -> bool:
    """Whether a loop takes batches: what is done with each waits often enough."""
    return isinstance(node, ast.For) and called(node.iter) != "range"


def _waits(statement: ast.stmt, tree: ast.AST) -> bool:
    """Whether a statement needs a value of the GPU, or what it calls of the file does."""
    return any(mentions(node, *_WAITING) for node in reached_from(statement, tree))


def _runs(node: ast.AST, modules: frozenset[str]) -> bool:
    """Whether a call runs a module."""
    return isinstance(node, ast.Call) and ast.unparse(node.func).removesuffix(".forward") in modules


def _moves(node: ast.AST, pending: bool) -> bool:
    """Whether a call moves a tensor to the GPU without waiting, or waits for work that is `pending` there."""
    if not isinstance(node, ast.Call) or called(node) not in ("cuda", "to"):
        return False
    return any(k.arg == "non_blocking" for k in node.keywords) or (pending and called(node) == "cuda")
