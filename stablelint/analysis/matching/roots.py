"""Which functions of a file are analysed, in which order, and with which arguments.

Callers come before the functions they call, so that a function whose call sites are all in the file is analysed
with what they pass.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from stablelint.analysis.files.indexing import class_of
from stablelint.analysis.files.modules import ClassInfo, FunctionInfo, ModuleInfo
from stablelint.analysis.files.reading import FunctionNode
from stablelint.analysis.files.sights import Sights
from stablelint.analysis.interpret.statements.execution import COMPUTED
from stablelint.analysis.matching.interest import Interest, Need, Words, interest_of
from stablelint.records import dataclass
from stablelint.syntax.names import called_name
from stablelint.syntax.sieve import Glance, glance
from stablelint.syntax.signatures import arguments
from stablelint.syntax.slicing import idle_statements
from stablelint.syntax.walk import children, descendants


@dataclass(slots=True, eq=False)
class Root:
    """A function to analyse for its own sake."""

    function: FunctionInfo
    seen: Glance
    local: bool = False  # the file shows calls of it, and if it is private all of them
    references: int = 0
    risky: bool = False
    ungraded: bool = False  # all that call it here do so without gradients
    ending: int = 0  # statements at its end of which nothing is to be learnt
    idle: frozenset[int] = frozenset()  # ids of those of whose calls nothing is

    @property
    def nested(self) -> list[FunctionNode]:
        """The functions defined within it."""
        return self.seen.nested


@dataclass(frozen=True, slots=True)
class Survey:
    """What of a file is worth a look."""

    roots: list[Root]  # callers first
    words: Words  # of what stands outside of all functions
    body_tells: bool  # a rule can find something there, or it calls one of the roots
    asked: Mapping[str, FunctionInfo]  # functions of other files with parameters that must be above 0


def survey(
    module: ModuleInfo,
    needs: Sequence[Need],
    half: Callable[[], bool],
    asking: Callable[[], Mapping[str, FunctionInfo]],
) -> Survey:
    """The functions of a file in which a rule can find something, and those that pass values to one.

    `half` tells whether the file, or another of its project, shows half precision; it is asked where that matters.
    `asking` yields, once the file was looked at, the functions of other files that have critical parameters.
    """
    found, body = look(module)
    risky = _appraise(found, body, module, needs, half)
    asked = asking()
    roots = _wanted(found, set(asked))
    if module.is_script:  # where a model that is called stands for its `forward`
        return Survey(roots, frozenset(body.words), True, asked)
    names = {root.function.name for root in roots} | asked.keys()
    for root in roots:
        if not root.risky and not root.nested:
            _spare(root, names)
    tells = risky or not body.callees.isdisjoint(names) or any(map(_computes_default, roots))
    return Survey(roots, frozenset(body.words), tells, asked)


def leading_to(rows: range, roots: Sequence[Root]) -> list[Root]:
    """The functions on some rows and, for what they pass, those that lead to them by calls; callers first."""
    names: set[str] = set()
    kept: list[Root] = []
    for root in reversed(roots):
        here = root.function.node.lineno in rows
        if here or root.seen.callees & names:
            kept.append(root)
            root.risky = root.risky and here
            names.add(root.function.name)
    return kept[::-1]


def look(module: ModuleInfo) -> tuple[list[Root], Glance]:
    """The functions of a file, in order, and what stands outside of them; the module keeps what is seen of each."""
    found = list(_collect(module.source.tree.body, None, module))
    body = glance([module.source.tree], module.imports, {id(root.function.node) for root in found})
    owners = (root.function.owner for root in found)
    inner = [(r.seen, r.function.node, o.node if o else None) for r, o in zip(found, owners, strict=True)]
    module.sights = Sights([(body, None, None), *inner])
    return found, body


def _computes_default(root: Root) -> bool:
    """Whether a rule can find something in the default of a parameter, which the code around computes."""
    given = root.function.node.args
    return root.risky and any(isinstance(d, COMPUTED) for d in (*given.defaults, *given.kw_defaults))


def _spare(root: Root, names: set[str]) -> None:
    """Marks the statements of a function that have no influence on what it passes to those with these names."""
    body = [] if isinstance(root.function.node, ast.Lambda) else root.function.node.body
    root.ending = next((i for i, one in enumerate(reversed(body)) if any(_calls(one, names))), 0)
    root.idle = idle_statements(body, lambda statement: _passed(_calls(statement, names)))


def _calls(statement: ast.stmt, names: set[str]) -> Iterator[ast.Call]:
    """The calls in a statement of functions with one of these names, or that are looked up."""
    calls = (n for n in descendants(statement) if isinstance(n, ast.Call))
    return (call for call in calls if called_name(call) in names or isinstance(call.func, ast.Subscript))


def _passed(calls: Iterable[ast.Call]) -> Iterator[ast.expr]:
    """What calls pass, and the objects whose methods they call."""
    for call in calls:
        yield from arguments(call)
        if isinstance(call.func, ast.Attribute) and called_name(call.func.value) != "super":
            yield call.func.value


def _wanted(found: list[Root], wanted: set[str]) -> list[Root]:
    """The roots that are analysed, callers first; `wanted` are names of functions of which it matters what callers pass."""
    names = _by_name(found)
    _follow_gradients(found)
    ordered = _callers_first(found, names)
    _note_callers(ordered)
    kept: list[Root] = []
    for root in reversed(ordered):
        if root.risky or not wanted.isdisjoint(root.seen.loads):
            kept.append(root)
            if root.local:
                wanted.add(root.function.name)
    return kept[::-1]


def _by_name(found: list[Root]) -> dict[str, list[Root]]:
    names: dict[str, list[Root]] = {}
    for root in found:
        names.setdefault(root.function.name, []).append(root)
    return names


def _appraise(
    found: list[Root], body: Glance, module: ModuleInfo, needs: Sequence[Need], half: Callable[[], bool]
) -> bool:
    """Decides which functions are risky, and which are called in this file alone; whether its body is risky."""
    glances = [body, *(root.seen for root in found)]
    interest = interest_of(needs, set().union(*(seen.words for seen in glances)), half)
    bound = _bound(glances, interest)
    for seen in glances:
        seen.words.update(word for name in seen.loads.keys() & bound.keys() for word in bound[name])
    for root in found:
        root.risky = interest.is_met(root.seen)
    loads, called = Counter[str](), Counter[str]()
    for seen in glances:
        loads.update(seen.loads)
        called.update({name: len(calls) for name, calls in seen.calls.items()})
    for root in found:
        name = root.function.name
        if _is_called_by_name(root.function):
            alone = not root.function.is_private or (
                called[name] >= loads[name] and not _is_quoted(name, module)
            )
            root.references, root.local = loads[name], alone
    return interest.is_met(body)


def _is_quoted(name: str, module: ModuleInfo) -> bool:
    """Whether a name stands as a text, by which a function may be got at: `getattr(self, "_step")(x)`."""
    return f'"{name}"' in module.source.text or f"'{name}'" in module.source.text


def _follow_gradients(found: list[Root]) -> None:
    """Marks the private functions all of whose callers switch gradients off."""
    felt: dict[str, bool] = {}
    for root in found:
        graded = root.function.records(True)
        for name in root.seen.callees:
            felt[name] = felt.get(name, False) or graded
    for root in found:
        private = root.local and root.function.is_private
        root.ungraded = private and not felt.get(root.function.name, True)


def _note_callers(ordered: list[Root]) -> None:
    """Tells the private functions of a file who calls them; of functions that call each other, the later one."""
    calling: dict[str, list[FunctionInfo]] = {}
    for root in ordered:
        if root.function.is_private and root.function.owner is None:
            root.function.callers = tuple(calling.get(root.function.name, ()))
        for name in root.seen.callees:
            if name.startswith("_"):
                calling.setdefault(name, []).append(root.function)


def _bound(glances: list[Glance], interest: Interest) -> dict[str, set[str]]:
    """Names to which the file assigns what matters: `self.criterion = nn.BCELoss()`."""
    matters = interest.words
    found: dict[str, set[str]] = {}
    for seen in glances:
        for name, word in seen.bound:
            if word in matters:
                found.setdefault(name, set()).add(word)
    return found


def _is_called_by_name(function: FunctionInfo) -> bool:
    special = function.name.startswith("__")
    return not special and not function.has_decorator("property", "register_kl")


def _collect(body: list[ast.stmt], owner: ClassInfo | None, module: ModuleInfo) -> Iterator[Root]:
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            known = owner.methods.get(statement.name) if owner else module.functions.get(statement.name)
            if known is None or known.node is not statement:
                known = FunctionInfo(statement, module, owner)
            computed = (part for part in children(statement) if part is not statement.returns)
            seen = glance(computed, module.imports)
            known.note(seen)
            yield Root(known, seen)
        elif isinstance(statement, ast.ClassDef):
            info = module.classes.get(statement.name) if owner is None else None
            if info is None or info.node is not statement:
                info = class_of(statement, module)
            yield from _collect(statement.body, info, module)
        elif isinstance(statement, ast.If | ast.Try | ast.With):
            yield from _collect(statement.body, owner, module)
            for handler in getattr(statement, "handlers", ()):
                yield from _collect(handler.body, owner, module)
            yield from _collect(getattr(statement, "orelse", []), owner, module)
        elif module.may_hold_lambdas:
            lambdas = glance([statement], module.imports).nested
            for node in lambdas:
                yield Root(FunctionInfo(node, module), glance(children(node), module.imports))


def _callers_first(found: list[Root], names: dict[str, list[Root]]) -> list[Root]:
    """Depth-first post-order over the call graph, reversed. Special methods are called in too many places to order."""
    seen: set[int] = set()
    post: list[Root] = []
    for start in found:
        stack: list[tuple[Root, bool]] = [(start, False)]
        while stack:
            root, expanded = stack.pop()
            if expanded:
                post.append(root)
                continue
            if id(root) in seen:
                continue
            seen.add(id(root))
            stack.append((root, True))
            for name in sorted(n for n in root.seen.loads.keys() & names.keys() if not n.startswith("__")):
                stack.extend((callee, False) for callee in names[name] if id(callee) not in seen)
    return post[::-1]
