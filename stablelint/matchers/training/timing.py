"""Clocks that are read while the GPU still works."""

from __future__ import annotations

import ast
import builtins

from stablelint.analysis.files.modules import FunctionInfo, ModuleInfo
from stablelint.matchers.common import Review, Rule, Sites, observes, site_at
from stablelint.matchers.models import modules_in, runs_module
from stablelint.matchers.names import (
    assigned_in,
    bound_anywhere,
    bound_to,
    function_around,
    functions_of,
    made_by,
    reached_from,
)
from stablelint.matchers.training.data import moves_to_cuda
from stablelint.matchers.tree import (
    around,
    block_of,
    called,
    calls_below,
    is_given,
    loop_around,
    mentions,
    start,
    statement_in,
)
from stablelint.syntax.names import spelled
from stablelint.syntax.walk import descendants, nodes_in

_CLOCKS = frozenset(
    f"time.{name}"
    for name in ("time", "perf_counter", "monotonic", "clock", "time_ns", "perf_counter_ns", "monotonic_ns")
) | {"timeit.default_timer", "datetime.datetime.now"}
_SOURCES = frozenset(name.partition(".")[0] for name in _CLOCKS)
# What waits for the GPU, by itself or because it needs a value of it; who trains or saves meanwhile compares no models.
_WAITING = tuple(
    "synchronize item cpu numpy tolist elapsed_time barrier nonzero backward save state_dict".split()
)


@observes()
def unsynchronised_timing(review: Review, rule: Rule) -> Sites:
    """`start = time.time(); model(x); time.time() - start` on a GPU, with nothing between that waits for it."""
    text, origins = review.module.source.text, review.module.imports.values()
    if not review.of_body or not any(o.partition(".")[0] in _SOURCES for o in origins):
        return
    if not ("cuda" in text or ".to(" in text):
        return
    timings = [
        (taken, timed, loop_around(taken, root))
        for root in functions_of(review)
        for taken in sorted(nodes_in(root, ast.BinOp), key=start)
        if (timed := _timed(taken, root, review))
    ]
    modules = modules_in(review) if timings else frozenset[str]()
    for taken, timed, loop in timings:
        calls = [n for statement in timed for n in calls_below(statement)]
        pending = loop is not None and any(runs_module(n, modules) for n in calls_below(loop))
        moved = [n for n in calls if called(n) in ("cuda", "to")]
        moved = [n for n in moved if is_given(n, "non_blocking") or (pending and called(n) == "cuda")]
        busy = bool(moved) or any(runs_module(n, modules) for n in calls)
        if not busy and not any(
            _computes_on_gpu(n, review.module) for statement in timed for n in descendants(statement)
        ):
            continue
        # What is done with each batch of a loader waits often enough.
        data = (
            n for s in timed for n in descendants(s) if isinstance(n, ast.For) and called(n.iter) != "range"
        )
        reached = [node for s in timed for node in reached_from(s, review.module.source.tree)]
        found = (review.project.resolve(n.func, review.module) for n in calls)
        others = [one for one in found if isinstance(one, FunctionInfo) and one.module is not review.module]
        waits = any(one.outline.dropped for one in others) or any(
            mentions(node, *_WAITING) for node in (*reached, *(one.node for one in others))
        )
        if not any(data) and not waits and not _selects(timed, taken, review.module):
            yield site_at(review, rule, taken)


def _selects(timed: list[ast.stmt], before: ast.AST, module: ModuleInfo) -> bool:
    """Whether one of the statements takes what a mask picks, `x[y == 1]`, whose number the processor has to be told."""
    root = function_around(before, module)
    taken = (n for statement in timed for n in descendants(statement) if isinstance(n, ast.Subscript))
    picks = (bound_to(spelled(n.slice), n, root) or n.slice for n in taken if isinstance(n.ctx, ast.Load))
    return any(isinstance(one, ast.Compare) for one in picks)


def _timed(taken: ast.BinOp, root: ast.AST, review: Review) -> list[ast.stmt]:
    """The statements between the two readings of which a difference is taken; empty where it is none of clocks."""
    if not isinstance(taken.op, ast.Sub):
        return []
    left = taken.left  # `total + last - first`
    left = left.right if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Add) else left
    last, first = (_reading(operand, taken, root, review) for operand in (left, taken.right))
    if first is None or last is None:
        return []
    block = block_of(first, root)
    begin, end = statement_in(first, block, root), statement_in(last, block, root)
    if begin is None or end is None:
        return []
    within = isinstance(block[end], ast.For | ast.While | ast.With | ast.Try)  # what runs there before, too
    return block[begin + 1 : end + within]


def _reading(node: ast.expr, before: ast.AST, root: ast.AST, review: Review) -> ast.expr | None:
    """The call of a clock that an expression is, or that a name was last bound to."""
    if isinstance(node, ast.Call):
        return node if made_by(node, review.module) in _CLOCKS else None
    made = [n for n in assigned_in(spelled(node), root) if start(n) < start(before)]
    last = max((n for n in made if not around(n, root, ast.If)), key=start, default=None)
    return last.value if last is not None and made_by(last.value, review.module) in _CLOCKS else None


def _computes_on_gpu(node: ast.AST, module: ModuleInfo) -> bool:
    """Whether a product, or a call of no builtin, takes a name that the file binds to what is on the GPU by name."""
    match node:
        case ast.BinOp(left=left, op=ast.MatMult(), right=right):
            given = [left, right]
        case ast.Call(args=given) if not (
            isinstance(node.func, ast.Name) and hasattr(builtins, node.func.id)
        ):
            pass
        case _:
            return False
    made = (n for one in given for n in bound_anywhere(spelled(one), module.source.tree))
    return any(isinstance(n, ast.Call) and moves_to_cuda(n, module) for n in made)
