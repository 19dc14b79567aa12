"""The calls that a function makes, itself or in what it calls, in its own words."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.analysis.files.project import Project
from stablelint.analysis.matching.review import Review
from stablelint.matchers.names import run_by
from stablelint.matchers.tree import Function, assigned, calls_in, end, parents, receiver
from stablelint.records import dataclass, field, replace
from stablelint.syntax.names import listed, spelled
from stablelint.syntax.signatures import argument, parameters
from stablelint.syntax.walk import descendants, nodes_in

_DEPTH = 2  # calls within one another


@dataclass(frozen=True)
class Through:
    """One node, where it stands, and what of the function looked at comes to it: itself, or a call."""

    node: ast.AST
    root: ast.AST
    at: ast.AST
    module: ModuleInfo  # that of `root`
    # What the words of `root` are called where `at` stands.
    names: Mapping[str, str] = field(default_factory=dict)

    def words(self, node: ast.AST | None) -> set[str]:
        """What an expression is called where the function looked at makes the call: each element that a loop goes over."""
        if node is None:
            return set()
        text = spelled(node)
        loops = (loop for loop in nodes_in(self.root, ast.For) if spelled(loop.target) == text)
        over = (spelled(one) for loop in loops for one in listed(loop.iter))
        return {_called(one, self.names) for one in (text, *over)}

    def place(self, module: ModuleInfo) -> ast.expr:
        """Where it is told of in a file: where it stands, or where another file's function is called for it."""
        node = self.node if self.module is module else self.at
        value = node if isinstance(node, ast.expr) else assigned(node)[1]
        assert value is not None
        return value

    @property
    def subjects(self) -> set[str]:
        """What the object whose method is called may be."""
        return self.words(receiver(self.node))


def made_through(
    root: ast.AST,
    module: ModuleInfo,
    project: Project,
    wanted: Callable[[ast.AST], bool],
    depth: int = _DEPTH,
) -> Iterator[Through]:
    """The calls and assignments that are wanted, of a function, in the order of its text, and of its helpers where it calls
    them."""
    nodes: list[ast.AST] = nodes_in(root, ast.Call, ast.Assign, ast.AugAssign)
    for node in sorted(nodes, key=end):
        if wanted(node):
            yield Through(node, root, node, module)
        if not isinstance(node, ast.Call):
            continue
        for helper, of in run_by(node, module, project) if depth else ():
            words = {**given_to(node, helper), **_returned(node, helper, root)}
            for made in made_through(helper, of, project, wanted, depth - 1):
                inner = {local: _called(text, words) for local, text in made.names.items()}
                words_there = words if made.root is helper else inner
                yield replace(made, at=node, names=words_there)


def _called(text: str, words: Mapping[str, str]) -> str:
    """What an expression is called in other words: `trainer.net` for `self.net`, where `self` is a trainer."""
    head, dot, rest = text.partition(".")
    return words.get(text) or words.get(head, head) + dot + rest


def passed_to(call: ast.Call, helper: Function) -> dict[str, ast.expr]:
    """What the parameters of a function are given where it is called."""
    names = [a.arg for a in parameters(helper.args) if a.arg not in ("self", "cls")]
    by_name = {name: given for name in names if (given := argument(call, name)) is not None}
    return {**dict(zip(names, call.args, strict=False)), **by_name}


def given_to(call: ast.Call, helper: Function) -> dict[str, str]:
    """What the parameters of a function are called where it is called."""
    return {name: spelled(given) for name, given in passed_to(call, helper).items()}


def _returned(call: ast.Call, helper: Function, root: ast.AST) -> dict[str, str]:
    """What the names that a function returns are called where it is called: `net` of `return net, opt`."""
    statement = parents(root).get(call)
    bound = list(map(spelled, listed(statement.targets[0]))) if isinstance(statement, ast.Assign) else []
    given = (n.value for n in nodes_in(helper, ast.Return) if n.value is not None)
    return {name: text for one in given for name, text in zip(map(spelled, listed(one)), bound, strict=False)}


def call_into(node: ast.AST | None, root: ast.AST, review: Review) -> ast.AST | None:
    """The node, or where it stands in a function that another one calls, that call; None where neither is seen."""
    if node is None or node in descendants(root):
        return node
    helpers = (
        (call, helper) for call in calls_in(root) for helper, _ in run_by(call, review.module, review.project)
    )
    return next((call for call, helper in helpers if node in descendants(helper)), None)
