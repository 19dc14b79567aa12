"""What becomes of a result: whether somebody reads it, ranks it, rounds it or only writes it down.

The text is followed, not the values: from an expression outwards to its statement, from there to the uses of the name
that it is given, and into the functions of the file that it is handed to. What cannot be followed counts as read.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from enum import Enum

from stablelint.analysis.files.modules import FunctionInfo
from stablelint.analysis.interpret.calls.inline import takes_receiver
from stablelint.syntax.walk import children, descendants


class Use(Enum):
    """How a result ends."""

    LOGGED = "logged"  # printed, logged, or kept among the figures of a run
    COMPARED = "compared"
    RANKED = "ranked"  # only its place in an order is taken
    ROUNDED = "rounded"
    CUT = "cut"  # detached: the value goes on, its gradient does not
    READ = "read"


WITHOUT_GRADIENT = frozenset({Use.LOGGED, Use.COMPARED, Use.RANKED, Use.ROUNDED, Use.CUT})

_FIGURES = re.compile(r"(^|_)(stats?|metrics?|meters?|logs?|logger|writer|history|summary|wandb)$", re.I)
_KEPT_FIGURES = re.compile(r"(^|_)(stats?|metrics?)$")
_PRINTS = frozenset(
    "print log debug info warning error add_scalar add_scalars log_dict log_metrics echo".split()
)
_KEEPS = frozenset("append extend update add setdefault record log put".split())
_EFFECTS = frozenset("grad backward manual_backward register_hook".split())
_ENDS = {
    Use.COMPARED: (
        "eq ne gt ge lt le isnan isinf isfinite isclose allclose equal any all bool "
        "bucketize searchsorted digitize histc histogram"
    ).split(),
    Use.RANKED: "argmax argmin argsort indices".split(),
    Use.ROUNDED: "round floor ceil trunc long int round_ floor_ ceil_ rint".split(),
    Use.CUT: "item tolist detach numpy data".split(),
}
_END = {name: use for use, names in _ENDS.items() for name in names}
_DESCRIPTIONS = frozenset("shape dtype device ndim layout size dim numel requires_grad is_cuda".split())
_ORDERS = frozenset({"topk", "sort"})
_DEPTH = 2  # functions that are entered
_USES = 60  # places looked at

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def uses_of(node: ast.AST, function: FunctionInfo | None, gradient: bool = False) -> frozenset[Use]:
    """All that becomes of an expression of `function`; where `gradient` is asked for, detaching it is an end."""
    if function is None or not isinstance(function.node, _Function):
        return frozenset({Use.READ})
    walk = _Walk(gradient)
    inner: FunctionInfo | None = function
    starts = [node]
    while inner is not None and walk.enter(inner, starts):
        outer = getattr(inner.closure, "function", None)
        starts = _calls_within(outer, inner.name) if isinstance(outer, FunctionInfo) else []
        inner = outer if starts else None
        if inner is None:
            walk.found.add(Use.READ)
    return frozenset(walk.found)


def _calls_within(outer: FunctionInfo, name: str) -> list[ast.AST]:
    """The calls of a function that is nested in another; none where it is also handed on."""
    uses = [n for n in descendants(outer.node) if _is_read(n, name)]
    calls: list[ast.AST] = [n for n in descendants(outer.node) if isinstance(n, ast.Call) and n.func in uses]
    return calls if len(calls) == len(uses) else []


class _Walk:
    """One walk outwards from an expression; it stops at the first that is read."""

    def __init__(self, gradient: bool) -> None:
        self.found: set[Use] = set()
        self._gradient = gradient
        self._uses = _USES
        self._seen: set[tuple[int, str, int]] = set()  # a body, a name in it, and what binds it
        self._returned: list[bool] = []

    def enter(self, function: FunctionInfo, starts: list[ast.AST], depth: int = _DEPTH) -> bool:
        """Follows expressions through the body of a function; tells whether it returns something made of them."""
        body = function.node
        self._returned.append(False)
        parents = {child: node for node in descendants(body) for child in children(node)}
        pending = list(starts)
        while pending and Use.READ not in self.found:
            self._uses -= 1
            if self._uses < 0:
                self.found.add(Use.READ)
            for name in self._names(pending.pop(), function, parents, depth):
                if (id(body), name.id, id(name)) not in self._seen:
                    self._seen.add((id(body), name.id, id(name)))
                    pending.extend(_loads(name, body, parents))
        return self._returned.pop()

    def _names(
        self, node: ast.AST, function: FunctionInfo, parents: dict[ast.AST, ast.AST], depth: int
    ) -> Iterator[ast.Name]:
        """Goes outwards until an end; yields the names under which the value goes on."""
        while True:
            if isinstance(node, ast.AugAssign):
                yield from self._stored([node.target])
                return
            outer = parents.get(node)
            if isinstance(outer, ast.Return) and _function_of(outer, parents) is function.node:
                self._returned[-1] = True
                return
            if outer is None or isinstance(outer, _Function | ast.Lambda | ast.Return | ast.Yield | ast.Expr):
                self.found.add(Use.READ)
                return
            use = self._end(node, outer, parents)
            if use is not None and (use is not Use.CUT or self._gradient):
                self.found.add(use)
                return
            if isinstance(outer, ast.Attribute) and outer.attr in _DESCRIPTIONS:
                return
            if isinstance(outer, ast.Call) and node is not outer.func and depth:
                if self._ends_within(node, outer, function, depth - 1):
                    return
            if isinstance(outer, ast.Assign | ast.AnnAssign | ast.NamedExpr | ast.AugAssign):
                yield from self._stored(outer.targets if isinstance(outer, ast.Assign) else [outer.target])
                if not isinstance(outer, ast.NamedExpr):
                    return
            elif isinstance(outer, ast.For) and node is outer.iter:
                yield from self._stored([outer.target])
                return
            elif not isinstance(outer, ast.expr | ast.keyword):
                self.found.add(Use.READ)
                return
            node = outer

    def _end(self, node: ast.AST, outer: ast.AST, parents: dict[ast.AST, ast.AST]) -> Use | None:
        """The end that `outer` is for the value `node`, if it is one."""
        if isinstance(outer, ast.Compare) or (
            isinstance(outer, ast.UnaryOp) and isinstance(outer.op, ast.Not)
        ):
            return Use.COMPARED
        if isinstance(outer, ast.IfExp | ast.If | ast.While | ast.Assert) and node is outer.test:
            return Use.COMPARED
        if isinstance(outer, ast.Subscript) and node is outer.slice:
            return Use.COMPARED
        if isinstance(outer, ast.FormattedValue):
            return Use.LOGGED
        if isinstance(outer, ast.Attribute):
            return _end_of_method(outer, parents)
        if not isinstance(outer, ast.Call | ast.keyword) or node is getattr(outer, "func", None):
            return None
        call = parents.get(outer) if isinstance(outer, ast.keyword) else outer
        return _end_of_argument(call, node, parents) if isinstance(call, ast.Call) else None

    def _stored(self, targets: list[ast.expr]) -> Iterator[ast.Name]:
        for target in targets:
            if isinstance(target, ast.Tuple | ast.List):
                yield from self._stored(target.elts)
            elif isinstance(target, ast.Name):
                yield target
            elif isinstance(target, ast.Subscript) and any(map(_FIGURES.search, _path(target))):
                self.found.add(Use.LOGGED)
            elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
                yield target.value
            elif isinstance(target, ast.Attribute) and _KEPT_FIGURES.search(target.attr):
                self.found.add(Use.LOGGED)
            else:
                self.found.add(Use.READ)

    def _ends_within(self, node: ast.AST, call: ast.Call, function: FunctionInfo, depth: int) -> bool:
        """Goes into a function of the file that is handed the value; whether nothing of it comes back."""
        called = _called(call, function)
        parameter = _parameter(node, call, called) if called is not None else None
        if called is None or parameter is None or (id(called.node), parameter, 0) in self._seen:
            return False
        self._seen.add((id(called.node), parameter, 0))
        loads: list[ast.AST] = [n for n in descendants(called.node) if _is_read(n, parameter)]
        return not self.enter(called, loads, depth)


def _end_of_method(attribute: ast.Attribute, parents: dict[ast.AST, ast.AST]) -> Use | None:
    """The end that `x.name` or `x.name()` is for x."""
    name = attribute.attr
    if name in _ORDERS or name in ("max", "min"):
        call = parents.get(attribute)
        return Use.RANKED if isinstance(call, ast.Call) and _takes_indices(call, parents) else None
    if name in _EFFECTS or (name.endswith("_") and name not in _END and not name.startswith("_")):
        return Use.READ
    return _END.get(name)


def _end_of_argument(call: ast.Call, node: ast.AST, parents: dict[ast.AST, ast.AST]) -> Use | None:
    """The end that a call is for an argument."""
    path = _path(call.func)
    name = path[-1] if path else ""
    is_statement = isinstance(parents.get(call), ast.Expr)
    if name in _PRINTS and (is_statement or name == "print"):
        return Use.LOGGED
    if name in _KEEPS and any(map(_FIGURES.search, path[:-1])):
        return Use.LOGGED
    if is_statement or name in _EFFECTS or (name.endswith("_") and name not in _END):
        return Use.READ
    if name in _ORDERS and _takes_indices(call, parents):
        return Use.RANKED
    if path == ["float"]:
        return Use.CUT  # a number of Python's
    return _END.get(name) if call.args and call.args[0] is node else None


def _takes_indices(call: ast.Call, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether only the places are taken of an ordering: `.indices`, `[1]`."""
    outer = parents.get(call)
    if isinstance(outer, ast.Attribute):
        return outer.attr == "indices"
    return (
        isinstance(outer, ast.Subscript) and isinstance(outer.slice, ast.Constant) and outer.slice.value == 1
    )


def _called(call: ast.Call, function: FunctionInfo) -> FunctionInfo | None:
    """The function of the file, or the method of the same class, that a call runs."""
    name = call.func
    if isinstance(name, ast.Name):
        return function.module.functions.get(name.id)
    if isinstance(name, ast.Attribute) and isinstance(name.value, ast.Name) and name.value.id == "self":
        return function.owner.methods.get(name.attr) if function.owner is not None else None
    return None


def _parameter(node: ast.AST, call: ast.Call, called: FunctionInfo) -> str | None:
    """The parameter that takes an argument given by position."""
    arguments = called.node.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)][takes_receiver(called) :]
    if any(isinstance(a, ast.Starred) for a in call.args):
        return None
    place = next((i for i, a in enumerate(call.args) if a is node), len(names))
    return names[place] if place < len(names) else None


def _function_of(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> ast.AST | None:
    while node in parents and not isinstance(node, _Function | ast.Lambda):
        node = parents[node]
    return node


def _loads(name: ast.Name, body: ast.AST, parents: dict[ast.AST, ast.AST]) -> list[ast.AST]:
    """Where a name is read after it was bound; in a loop, anywhere."""
    outer: ast.AST | None = name
    while outer is not None and not isinstance(outer, _LOOPS):
        outer = parents.get(outer)
    first = (0, 0) if outer is not None else (name.lineno, name.col_offset)
    last = math.inf if outer is not None else _bound_anew(name, parents)
    read = [n for n in descendants(body) if isinstance(n, ast.Name) and _is_read(n, name.id)]
    return [n for n in read if n is not name and (n.lineno, n.col_offset) >= first and n.lineno <= last]


def _bound_anew(name: ast.Name, parents: dict[ast.AST, ast.AST]) -> float:
    """The last row on which a name still means what it was bound to: the next assignment beside that one."""
    statement: ast.AST = name
    while not isinstance(statement, ast.stmt) and statement in parents:
        statement = parents[statement]
    following = (
        block[place + 1 :] for block in _blocks(parents.get(statement)) for place in _places(statement, block)
    )
    for later in (node for rest in following for node in rest):
        targets = later.targets if isinstance(later, ast.Assign) else []
        if any(isinstance(target, ast.Name) and target.id == name.id for target in targets):
            return later.end_lineno or math.inf
    return math.inf


def _places(statement: ast.AST, block: list[ast.stmt]) -> list[int]:
    return [place for place, node in enumerate(block) if node is statement]


def _blocks(owner: ast.AST | None) -> Iterator[list[ast.stmt]]:
    for field in ("body", "orelse", "finalbody"):
        block = getattr(owner, field, None)
        if isinstance(block, list):
            yield block


def _is_read(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)


def _path(node: ast.AST) -> list[str]:
    """The names along `a.b["c"].d`, outermost last."""
    names: list[str] = []
    while True:
        if isinstance(node, ast.Attribute):
            names.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func
        else:
            break
    if isinstance(node, ast.Name):
        names.append(node.id)
    return names[::-1]
