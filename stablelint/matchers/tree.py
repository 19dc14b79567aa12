"""Questions about the text of a function: what its calls are made of, and where statements stand to one another."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import TypeVar

from stablelint.syntax.names import last_name, spelled
from stablelint.syntax.remembered import remembered
from stablelint.syntax.walk import FIELDS, SCOPES, children, descendants, nodes_below, nodes_in

Function = ast.FunctionDef | ast.AsyncFunctionDef
Loop = ast.For | ast.AsyncFor | ast.While
_Node = TypeVar("_Node", bound=ast.AST)
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def called(node: ast.AST | None) -> str:
    """The last component of what a call calls; empty for anything else."""
    return last_name(node.func) if isinstance(node, ast.Call) else ""


def receiver(node: ast.AST | None) -> ast.expr | None:
    """The object whose method a call is."""
    func = node.func if isinstance(node, ast.Call) else None
    return func.value if isinstance(func, ast.Attribute) else None


def subject(node: ast.AST | None) -> str:
    """The text of the object whose method a call is: ``self.optimizer`` of ``self.optimizer.step()``."""
    of = receiver(node)
    return spelled(of) if of is not None else ""


def is_given(call: ast.AST, *names: str | None) -> bool:
    """Whether a call is given one of the arguments by name; None stands for `**kwargs`."""
    return isinstance(call, ast.Call) and any(k.arg in names for k in call.keywords)


def calls_in(root: ast.AST, *names: str) -> list[ast.Call]:
    """The calls in a function, but for those of functions defined in it; of these names where some are given."""
    return [n for n in nodes_in(root, ast.Call) if not names or called(n) in names]


def calls_below(root: ast.AST, *names: str) -> list[ast.Call]:
    """The calls anywhere below a node, itself among them; of these names where some are given."""
    found = nodes_below(root, ast.Call)
    own = [root] if isinstance(root, ast.Call) else []
    return [n for n in (*own, *found) if not names or called(n) in names]


def backs_in(root: ast.AST) -> list[ast.Call]:
    """The backward passes of a function."""
    return calls_in(root, "backward", "manual_backward")


def backs_below(root: ast.AST) -> list[ast.Call]:
    """The backward passes anywhere below a node."""
    return calls_below(root, "backward", "manual_backward")


@remembered
def is_test(root: ast.AST) -> bool:
    """Whether a function is a test by its name, or calls assertions, `self.assertEqual(…)`: what it does is tried out."""
    named = getattr(root, "name", "").startswith("test_")
    return named or any(called(n).startswith("assert") for n in calls_in(root))


def loss_of(back: ast.AST) -> ast.expr | None:
    """What a backward pass goes from, without the scale of half precision, or what a hook returns for one."""
    if not isinstance(back, ast.Call):
        return back.value if isinstance(back, ast.Return) else None
    loss = back.args[0] if back.args else receiver(back)
    while isinstance(loss, ast.Call) and called(loss) in ("scale", "scale_loss") and loss.args:
        loss = loss.args[0]
    return loss


def assigned(node: ast.AST) -> tuple[list[str], ast.expr | None]:
    """The texts of the targets of an assignment, and what it binds them to."""
    if isinstance(node, ast.Assign):
        return list(map(spelled, node.targets)), node.value
    if isinstance(node, ast.AnnAssign | ast.AugAssign) and node.value is not None:
        return [spelled(node.target)], node.value
    return [], None


def mentions(tree: ast.AST, *names: str) -> bool:
    """Whether one of the names stands in the tree as a name or attribute."""
    return not _mentioned(tree).isdisjoint(names)


@lru_cache(maxsize=8)
def _mentioned(tree: ast.AST) -> frozenset[str]:
    return frozenset(
        last_name(node) for node in descendants(tree) if isinstance(node, ast.Attribute | ast.Name)
    )


def start(node: ast.AST | None) -> tuple[int, int]:
    """Where a node begins in the text."""
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def end(node: ast.AST | None) -> tuple[int, int]:
    """Where a node ends in the text: calls on one line end in the order in which they are made."""
    return getattr(node, "end_lineno", 0), getattr(node, "end_col_offset", 0)


@remembered
def parents(root: ast.AST) -> dict[ast.AST, ast.AST]:
    """The parent of each node below `root`."""
    found: dict[ast.AST, ast.AST] = {}
    for node in descendants(root):
        if FIELDS[type(node)]:
            found.update(dict.fromkeys(children(node), node))
    return found


def ancestors(node: ast.AST | None, root: ast.AST) -> Iterator[ast.AST]:
    """The nodes around `node`, innermost first, `root` last."""
    above = parents(root)
    while node is not None and node is not root and node in above:
        node = above[node]
        yield node


def around(node: ast.AST | None, root: ast.AST, *kinds: type[_Node]) -> list[_Node]:
    """The nodes of these kinds around `node`, innermost first."""
    return [outer for outer in ancestors(node, root) if isinstance(outer, kinds)]


def contexts(node: ast.AST | None, root: ast.AST) -> list[ast.expr]:
    """What stands behind the `with` of the blocks around a node."""
    blocks = [n for n in ancestors(node, root) if isinstance(n, ast.With | ast.AsyncWith)]
    return [item.context_expr for block in blocks for item in block.items]


def loop_around(node: ast.AST, root: ast.AST) -> Loop | None:
    """The innermost loop of the same function in whose body `node` stands."""
    inner = node
    for outer in ancestors(node, root):
        if isinstance(outer, SCOPES) and outer is not root:
            return None
        if isinstance(outer, Loop) and inner in outer.body:
            return outer
        inner = outer
    return None


def statement_of(node: ast.AST, root: ast.AST) -> ast.stmt | None:
    """The innermost statement that holds a node."""
    return next((n for n in (node, *ancestors(node, root)) if isinstance(n, ast.stmt)), None)


def block_of(node: ast.AST, root: ast.AST) -> list[ast.stmt]:
    """The list of statements in which the statement that holds `node` stands."""
    statement = statement_of(node, root)
    above = parents(root).get(statement) if statement is not None else None
    return _field_with(statement, above)[1] if statement is not None and above is not None else []


def statement_in(node: ast.AST, block: list[ast.stmt], root: ast.AST) -> int | None:
    """Which statement of `block` holds `node`."""
    holding = {node, *ancestors(node, root)}
    return next((i for i, statement in enumerate(block) if statement in holding), None)


def exclusive(one: ast.AST, other: ast.AST, root: ast.AST) -> bool:
    """Whether no single pass runs both: they stand in different arms, or the path of one of them leaves."""
    first, second = [one, *ancestors(one, root)], [other, *ancestors(other, root)]
    common = next((n for n in first if n in set(second)), None)
    if common is None or common in (one, other):
        return False
    first, second = first[: first.index(common)], second[: second.index(common)]
    if isinstance(common, ast.If | ast.IfExp | ast.Try | ast.Match):
        arms = [_field_with(path[-1], common)[0] for path in (first, second)]
        if arms[0] != arms[1]:
            return "finalbody" not in arms
    return _leaves(first, root) or _leaves(second, root)


def _leaves(path: list[ast.AST], root: ast.AST) -> bool:
    """Whether a branch on this path ends by leaving the loop or the function."""
    for node, above in pairwise(path):
        if isinstance(node, ast.stmt) and isinstance(above, ast.If | ast.Try | ast.ExceptHandler):
            if isinstance(_field_with(node, above)[1][-1], _LEAVES):
                return True
    return False


def _field_with(node: ast.AST, parent: ast.AST) -> tuple[str, list[ast.stmt]]:
    """The field of a parent that holds a node, and the statements in it; each case and handler is one by itself."""
    for name, field in ast.iter_fields(parent):
        if field is node:
            return name, []
        if isinstance(field, list) and node in field:
            return f"{name}{id(node)}" if isinstance(
                node, ast.match_case | ast.ExceptHandler
            ) else name, field
    return "", []
