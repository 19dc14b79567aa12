"""What the loops of a function put into collections."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.matchers.common import Review
from stablelint.matchers.names import (
    assigned_in,
    bindings_of,
    bound_to,
    carriers,
    defined,
    operation_of,
    parameters_of,
    turns_of,
)
from stablelint.matchers.through import passed_to
from stablelint.matchers.tree import around, assigned, called, is_given, mentions, receiver, subject
from stablelint.syntax.beforehand import bindings
from stablelint.syntax.names import spelled
from stablelint.syntax.remembered import remembered
from stablelint.syntax.signatures import arguments
from stablelint.syntax.walk import functions_below, nodes_below, nodes_in

_ADDING = frozenset(("append", "extend", "insert", "appendleft", "add"))
_COLLECTIONS = frozenset(("list", "dict", "defaultdict", "deque", "OrderedDict"))
_COUNTING = ("range", "trange", "enumerate", "count", "arange")


class Kept:
    """An expression put into a collection or a total in a loop: `collection.append(part)`, `total += part`."""

    def __init__(self, at: ast.AST, collection: ast.expr, held: ast.expr, turns: Sequence[ast.AST]) -> None:
        self.at, self.collection, self.loop, self.turns = at, collection, turns[0], turns
        self.parts = list(parts_of(held))
        base: ast.expr = collection
        while isinstance(base, ast.Subscript) or receiver(base) is not None:
            base = base.value if isinstance(base, ast.Subscript) else receiver(base) or base
        self.base = spelled(base)

    @property
    def is_joined(self) -> bool:
        """Whether it is joined to a tensor that grows: `total = torch.cat([total, part])`."""
        at = self.at
        return (
            isinstance(at, ast.Assign)
            and isinstance(at.value, ast.Call)
            and self.collection not in at.targets
        )

    def outlives(self, root: ast.AST) -> bool:
        """Whether what it is put into is there in the next turn: of a function, an attribute, or a name from outside."""
        declared: list[ast.Nonlocal | ast.Global] = nodes_in(root, ast.Nonlocal, ast.Global)
        outer = {name for n in declared for name in n.names}
        free = isinstance(self.at, ast.Call) and not assigned_in(self.base, root)
        return self.loop is not root or "." in self.base or self.base in outer or free


@remembered
def kept_in(root: ast.AST, module: ModuleInfo) -> Sequence[Kept]:
    """What each turn of a loop puts into collections."""
    nodes = nodes_in(root, ast.Call, ast.AugAssign, ast.Assign)
    added = ((n, list(additions(n)) or [*_joined_in(n, module), *_added_by(n, module)]) for n in nodes)
    return _outliving(added, root, module)


def _outliving(
    added: Iterable[tuple[ast.AST, Sequence[tuple[ast.expr, ast.expr]]]], root: ast.AST, module: ModuleInfo
) -> list[Kept]:
    """What nodes add in the turns of a loop to something that outlives one: the collection or total, and what is added."""
    turning = ((node, pairs, turns_of(node, root, module)) for node, pairs in added if pairs)
    made = (Kept(node, into, held, turns) for node, pairs, turns in turning if turns for into, held in pairs)
    return [kept for kept in made if kept.outlives(root)]


def _joined_in(node: ast.AST, module: ModuleInfo) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The tensor that an assignment joins something to, and what: `total = torch.cat([total, part])`."""
    match node:
        case ast.Assign(
            targets=[target], value=ast.Call(args=[ast.List(elts=parts) | ast.Tuple(elts=parts), *_])
        ):
            of = [part for part in parts if spelled(part) == spelled(target)]
            if of and operation_of(node.value, module) == "cat":
                yield from ((of[0], part) for part in parts if part not in of)


def _added_by(call: ast.AST, module: ModuleInfo) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What a function of the file puts of what it is given into a collection that it is given, or that `self` has."""
    for helper in defined(call, module) if isinstance(call, ast.Call) and arguments(call) else ():
        given = passed_to(call, helper) if isinstance(call, ast.Call) else {}
        for node in nodes_in(helper, ast.Call):
            for into, held in additions(node):
                collection = into if spelled(into).startswith("self.") else given.get(spelled(into))
                if collection is not None and spelled(held) in given:
                    yield collection, given[spelled(held)]


@remembered
def totals_in(root: ast.AST, module: ModuleInfo) -> Sequence[Kept]:
    """What each turn of a loop adds to totals: `total += part`, `total = total + part * n`, `meter.update(part)`."""
    meters = _meters(module.source.tree)
    nodes = nodes_in(root, ast.AugAssign, ast.Assign, ast.Call)
    return _outliving(((node, list(_added(node)) or _metered(node, meters)) for node in nodes), root, module)


def _metered(node: ast.AST, meters: Mapping[str, Collection[int]]) -> list[tuple[ast.expr, ast.expr]]:
    """The object whose method a call is, with each argument that this adds to an attribute."""
    of, places = receiver(node), meters.get(called(node), ())
    given = node.args if isinstance(node, ast.Call) else []
    return [(of, given[i]) for i in places if i < len(given)] if of is not None else []


@remembered
def _meters(tree: ast.AST) -> dict[str, set[int]]:
    """The methods of a file that add parameters of theirs to attributes, and which: `self.sum += value * n`."""
    found: dict[str, set[int]] = {}
    for function in functions_below(tree):
        names = list(parameters_of(function))
        for node in nodes_in(function, ast.AugAssign, ast.Assign) if names[:1] == ["self"] else ():
            for total, part in _added(node):
                text = spelled(part)
                if text in names and spelled(total).startswith("self.") and not assigned_in(text, function):
                    found.setdefault(function.name, set()).add(names.index(text) - 1)
    return found


def _added(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The totals that an assignment adds to, and the names whose graphs they hold from then on."""
    for total, added in bindings(node) if isinstance(node, ast.AugAssign | ast.Assign) else ():
        sums, last = _summands(added), spelled(total).rpartition(".")[2]
        calls = [s for s in sums if isinstance(s, ast.Call) and not mentions(s, last)]
        parts = [*(part for s in sums for part in carriers(s)), *calls]
        if isinstance(node, ast.AugAssign) or spelled(total) in map(spelled, parts):
            yield from ((total, part) for part in parts if spelled(part) != spelled(total))


def _summands(node: ast.expr) -> list[ast.expr]:
    """What an expression is the sum of."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*_summands(node.left), *_summands(node.right)]
    return [node]


def is_begun_anew(kept: Kept, *turns: ast.AST) -> bool:
    """Whether a turn of these loops, or of its own, sets the total to something else again: what it keeps goes then."""
    last = kept.base.rpartition(".")[2]
    bound = (one for turn in turns or kept.turns for one in bindings_of(kept.base, turn))
    return any(not mentions(one.value, last) for one in bound)


def additions(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The collection into which a call or an assignment puts something, and what."""
    into = receiver(node)
    match node:
        case ast.Call(args=[*_, held]) if into is not None and called(node) in _ADDING:
            yield into, held
        case ast.AugAssign(target=target, value=ast.List() | ast.Tuple() as held):
            yield target, held
        case ast.Assign(value=ast.BinOp(left=left, right=ast.List() as held)):
            if spelled(left) == spelled(node.targets[0]):
                yield left, held
        case ast.Assign(targets=[target, *_], value=held) if _has_places(target):
            yield target, held


def _has_places(target: ast.expr) -> bool:
    """Whether a target is `kept[step]`, or `kept[step]["loss"]`; `kept["loss"]` holds what was put in last, and no more."""
    while isinstance(target, ast.Subscript):
        if not isinstance(target.slice, ast.Constant):
            return True
        target = target.value
    return False


def parts_of(node: ast.expr) -> Iterator[ast.expr]:
    """The elements of what is put in, through tuples, lists and dicts."""
    match node:
        case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Dict(values=elements):
            for element in elements:
                yield from parts_of(element)
        case _:
            yield node


def known_collection(kept: Kept, root: ast.AST, review: Review) -> bool | None:
    """Whether the text shows a collection that grows; None where it shows something else."""
    anywhere = nodes_below(review.module.source.tree, ast.Assign, ast.AnnAssign)
    elsewhere = [
        assigned(n)[1] for n in (*assigned_in(kept.base, root), *anywhere) if kept.base in assigned(n)[0]
    ]
    made = bound_to(kept.base, kept.at, root) or next(iter(elsewhere), None)
    if _has_fixed_keys(kept, root):
        return None
    if kept.is_joined:
        return True  # whatever the tensor began as
    match made:
        case None:
            return (
                None
                if isinstance(kept.at, ast.Assign) and isinstance(kept.collection, ast.Subscript)
                else False
            )
        case ast.List() | ast.Dict() | ast.ListComp() | ast.DictComp() | ast.BinOp():
            return True
        case ast.Call(args=args) if called(made) in _COLLECTIONS:
            return None if is_given(made, "maxlen") or len(args) > 1 else True
    return None


def _has_fixed_keys(kept: Kept, root: ast.AST) -> bool:
    """Whether a loop over names, not one that counts, gives the key: `losses[name] = …` in `for name in names`."""
    of = kept.collection
    key = spelled(of.slice) if isinstance(kept.at, ast.Assign) and isinstance(of, ast.Subscript) else ""
    for loop in around(kept.at, root, ast.For):
        first = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) else loop.target
        if spelled(first) == key:
            over = bound_to(spelled(loop.iter), loop, root) or loop.iter
            paired = first is loop.target or called(over) in ("items", "zip")
            return paired and not mentions(over, *_COUNTING)
    return False


def is_emptied(kept: Kept) -> bool:
    """Whether the loop that fills the collection makes it anew, empties it, or cuts it."""
    kinds = (ast.Assign, ast.AnnAssign, ast.Delete, ast.Call)
    others = (node for turn in kept.turns for node in nodes_in(turn, *kinds))
    return any(node is not kept.at and _empties(node, kept.base) for node in others)


def _empties(node: ast.AST, base: str) -> bool:
    match node:
        case ast.Call():
            return called(node) in ("clear", "pop", "popleft") and base in subject(node)
        case ast.Delete(targets=targets):
            return any(base in spelled(target) for target in targets)
        case ast.Assign(targets=[ast.Subscript(value=of, slice=place), *_], value=made):
            empty = isinstance(made, ast.List | ast.Dict) or called(made) in _COLLECTIONS
            place_alone = not isinstance(place, ast.Slice) and not empty
            return spelled(of) == base and not place_alone
    return base in assigned(node)[0]


def holds_no_graph(collection: ast.expr, module: ModuleInfo) -> bool:
    """Whether the file puts into a dict of its own detached tensors and numbers alone, by key, and hands it to nobody."""
    tree, name = module.source.tree, spelled(collection)
    made = assigned_in(name, tree)
    entries = [n for n in nodes_below(tree, ast.Subscript) if spelled(n.value) == name]
    stored = [n.value for n in nodes_below(tree, ast.Assign) if n.targets[0] in entries]
    named = [n for n in nodes_below(tree, ast.Name) if n.id == name]
    known = all(n.value is not None and spelled(n.value) in ("{}", "dict()") for n in made)
    alone = len(named) == len(made) + len(entries)
    return known and alone and bool(stored) and all(called(v) in ("detach", "item") for v in stored)
