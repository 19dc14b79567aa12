"""What becomes of a result behind its place, where a rewrite would take that away: infinities, NaN, an element type."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Sequence
from itertools import dropwhile
from typing import TypeGuard

from stablelint.codemod.flow.definition import definition, function_of, origin
from stablelint.codemod.flow.nodes import (
    calls,
    is_number,
    is_product,
    loads,
    power_of,
    readers,
    root_name,
    viewed,
    whole,
)
from stablelint.codemod.proof import idle
from stablelint.codemod.templates.forms import parse_template
from stablelint.codemod.text.law import same
from stablelint.codemod.text.locate import Link, Tree
from stablelint.codemod.withheld import Withheld
from stablelint.diagnostic import MAYBE_HALF, NOT_HALF, Applicability, Edit, Proposal
from stablelint.syntax.names import called_name, last_name
from stablelint.syntax.operations import SELECTIONS, having
from stablelint.syntax.remembered import remembered
from stablelint.syntax.walk import descendants, nodes_below
from stablelint.syntax.writes import written_name

_BOUNDS = (".clamp", ".masked_fill(")
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
_GOES_ON = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Continue, ast.Break)
_CASTS = having("cast") | {"item"}
_WIDENED = re.compile(r"\$(\w+)\.to\(torch\.float32\)")
_PARTS = having("layout", "alias", "may-alias")
_EMPTY = ".numel()"
_FEW = 2  # that each has a test of its own
_OF_NONE = (" == 0, 1)", ".clamp_min(1)")  # what is divided by where nothing was counted
_EQUALS, _COMPARES = ("eq", "ne"), having("compare")
_OF_SHAPE = re.compile(r"\b(len|shape|size|numel|ndim|dim)\b")
_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_REPLACES = having("replace")
_MEANS, _SPREADS = ("mean", "median"), ("std", "var")
_OF_OTHERS = ("nansum", "nanmean", "nanmedian", "nanquantile")
_ASKS = having("finite-test") | {"nan_to_num"}


def check(tree: Tree, proposal: Proposal, node: ast.expr) -> None:
    """Raise Withheld where what stands behind `node` speaks against the rewrite."""
    for one in (
        check_applied,
        check_unhandled,
        check_agrees,
        check_compared,
        check_possible,
        check_power,
        check_cured,
        check_unwritten,
        check_not_empty,
        check_cast_back,
        idle.check_log_of_quotient,
        idle.check_caught,
        idle.check_index,
        idle.check_sentinel,
        idle.check_zeros,
        idle.check_masked_maximum,
    ):
        one(tree, proposal, node)


def check_applied(tree: Tree, proposal: Proposal, node: ast.expr) -> None:
    """Raise Withheld where a bound is proposed in a function that has the operation's own name and returns its result."""
    function, statement = function_of(tree, node), tree.statement(node)
    call = statement.value if isinstance(statement, ast.Return) else None
    if (
        function is None
        or not isinstance(call, ast.Call)
        or not any(one in proposal.template for one in _BOUNDS)
    ):
        return
    if called_name(call) == function.name and node in ast.walk(call):
        raise Withheld(f"`{function.name}` is the operation itself, whose operand its callers know")


def check_unhandled(tree: Tree, proposal: Proposal, node: ast.expr) -> None:
    """Raise Withheld where a value is proposed for what is compared with 0 next, or goes into a name that is, or whose
    infinite elements are replaced: who wrote that has seen to it, and would find no 0 any more."""
    function, statement = function_of(tree, node), tree.statement(node)
    is_bound = any(one in proposal.template for one in _BOUNDS)
    if function is None or not (is_bound or proposal.applicability is Applicability.UNSAFE):
        return
    if any(_leaves_out(link.parent) for link in tree.ancestors(node)):
        raise Withheld("what is not finite is left out behind it")
    for link in tree.ancestors(node):
        test = link.parent.test if isinstance(link.parent, ast.If) and link.field == "orelse" else None
        if test is not None and any(_asks(test, one.id) for one in loads(node)):
            raise Withheld(f"`{ast.unparse(test)}` on line {test.lineno} has seen to what is not finite")
        test = link.parent.test if isinstance(link.parent, ast.If) and link.field == "body" else None
        if any(map(_is_not_finite, descendants(test or ast.Pass()))):
            raise Withheld(f"NaN is meant where `{ast.unparse(test or node)}`")
    targets = _targets(statement)
    given = {one.id for one in targets if isinstance(one, ast.Name)}
    later = [one for one in descendants(function) if getattr(one, "lineno", 0) > statement.lineno]
    replaced = next((one for one in later if _sets_an_element(one, given)), None)
    if replaced is not None:
        raise Withheld(f"`{ast.unparse(replaced)}` on line {replaced.lineno} sees to the one element")
    seen_to = next(_seen_to(tree, given, later), None)
    if seen_to is not None:
        raise Withheld(f"`{ast.unparse(seen_to)}` on line {seen_to.lineno} sees to what is not finite")
    refusing = next(_refusing(_made_of(given, later, views=True), later), None) if is_bound else None
    if refusing is not None:
        raise Withheld(f"`{ast.unparse(refusing)}` on line {refusing.lineno} refuses what is NaN")
    left_out = next((one for one in descendants(tree.module) if calls(one, *_OF_OTHERS)), None)
    is_of_none = _EMPTY in proposal.template or any(one in proposal.template for one in _OF_NONE)
    if is_of_none and left_out is not None and _is_returned(function, statement, given):
        raise Withheld(f"line {getattr(left_out, 'lineno', 0)} leaves out what is NaN")
    is_root = any(called_name(one) == "sqrt" for one in descendants(statement) if isinstance(one, ast.Call))
    is_zero = is_root or node in _receivers(getattr(statement, "value", node))
    operand, zeros = whole(node), [one.id for one in targets if isinstance(one, ast.Name) and is_zero]
    compared = {operand.id} if isinstance(operand, ast.Name) else set[str]()
    signed = _made_of(set(zeros), later, views=True)
    for one in later:
        if not _is_of_zero(one):
            continue
        read = {each.id for each in loads(one)}
        is_equal = (
            isinstance(one.ops[0], ast.Eq | ast.NotEq)
            if isinstance(one, ast.Compare)
            else called_name(one) in _EQUALS
        )
        if read & signed or (read & compared and is_equal):
            raise Withheld(f"`{ast.unparse(one)}` on line {one.lineno} sees to the zeros")


def _refusing(names: set[str], later: list[ast.AST]) -> Iterator[ast.Compare]:
    """The comparisons of some names that must hold, or an error is raised: no NaN meets them."""
    for one in later:
        is_test = isinstance(one, ast.If) and any(isinstance(each, ast.Raise) for each in one.orelse)
        if isinstance(one, ast.Assert | ast.If) and (is_test or isinstance(one, ast.Assert)):
            tests = (each for each in descendants(one.test) if isinstance(each, ast.Compare))
            orders = (each for each in tests if all(isinstance(op, _ORDERS) for op in each.ops))
            values = (each for each in orders if not _OF_SHAPE.search(ast.unparse(each)))
            yield from (each for each in values if any(read.id in names for read in loads(each)))


def _is_returned(function: ast.AST, statement: ast.stmt, given: set[str]) -> bool:
    """Whether a statement returns its value, or gives it a name that the function returns."""
    returned = (one for one in descendants(function) if isinstance(one, ast.Return) and one.value is not None)
    return any(one is statement or given & {read.id for read in loads(one)} for one in returned)


def only_shown(tree: Tree, proposal: Proposal, edits: Sequence[Edit]) -> str | None:
    """Why a rewrite that changes values is only shown: an argument would have no reader, or a share of 0 meet its logarithm.

    ``p * torch.log(p + eps)`` is 0 for the share of what is masked, and ``p * log_softmax`` is 0 * -inf.
    """
    node = tree.find(proposal.span) if proposal.kind == "replace" and proposal.filename is None else None
    function = function_of(tree, node) if isinstance(node, ast.expr) else None
    if function is None or not isinstance(node, ast.expr):
        return None
    spans, written = (
        [edit.span for edit in edits if edit.filename is None],
        " ".join(edit.content for edit in edits),
    )
    takes = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
    for name in sorted(takes.intersection(one.id for one in loads(node)) - {"self", "cls"}):
        places = [tree.source.span(tree.start(one), tree.end(one)) for one in readers(function, name)]
        goes = all(any(span.contains(place) for span in spans) for place in places)
        if goes and re.search(rf"\b{name}\b", written) is None:
            return f"`{name}`, which callers may give, would have no reader"
    given = [one.id for one in _targets(tree.statement(node)) if isinstance(one, ast.Name)]
    above = [tree.link(one).parent for one in (node, *(r for name in given for r in readers(function, name)))]
    is_factor = any(is_product(one) for one in above)
    logits = (
        one.text for key, one in proposal.bindings.items() if f".log_softmax(${key}," in proposal.template
    )
    masked = next((one for one in logits if one in takes), None) if is_factor else None
    return (
        masked
        and f"where an element of `{masked}` is -inf, as of what is masked, its share times this is NaN"
    )


def _sets_an_element(node: ast.AST, names: set[str]) -> TypeGuard[ast.Assign]:
    """Whether a statement gives the element of a name at a number's place another number: ``inverse[0] = 0``."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Constant):
        return False
    places = [
        one for one in node.targets if isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Constant)
    ]
    return any(root_name(one.value) in names for one in places)


def _made_of(names: set[str], later: list[ast.AST], views: bool = False) -> set[str]:
    """Some names, and those that later lines give to what is computed of them, or to their `views` alone."""
    made = set(names)
    for one in sorted((one for one in later if isinstance(one, ast.Assign)), key=lambda one: one.lineno):
        read = loads(viewed(one.value)) if not views or isinstance(viewed(one.value), ast.Name) else ()
        if any(each.id in made for each in read):
            made |= {
                each.id for target in one.targets for each in ast.walk(target) if isinstance(each, ast.Name)
            }
    return made


def _seen_to(tree: Tree, given: set[str], later: list[ast.AST]) -> Iterator[ast.expr]:
    """The tests by which elements that are not finite are told from the others, of some names and what is made of them.

    A branch that only tells of them is no such test, nor one that refuses what is made of them: it is to find what the
    rewrite mends.
    """
    names = _made_of(given, later)
    for one in later:
        if isinstance(one, ast.Call | ast.Compare) and any(_asks(one, name) for name in names):
            refuses = (ast.Raise,) if any(_asks(one, name) for name in given) else ()
            statement = tree.statement(one)
            call = statement.value if isinstance(statement, ast.Expr) else None
            is_replaced = isinstance(call, ast.Call) and called_name(call).rstrip("_") in _REPLACES
            branch = statement.body if isinstance(statement, ast.If) else [statement]
            if is_replaced or any(isinstance(each, _GOES_ON + refuses) for each in branch):
                yield one


def _receivers(node: ast.expr) -> Iterator[ast.expr]:
    """An expression, and what it is a view or cast of, and so on inwards."""
    yield node
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _PARTS | _CASTS
    ):
        yield from _receivers(node.func.value)


def _targets(statement: ast.stmt) -> list[ast.expr]:
    """What a statement gives its value to."""
    if isinstance(statement, ast.AnnAssign | ast.AugAssign):
        return [statement.target]
    return statement.targets if isinstance(statement, ast.Assign) else []


def check_agrees(tree: Tree, proposal: Proposal, node: ast.expr) -> None:
    """Raise Withheld where a logarithm loses the constant in its operand, and others read that operand with it.

    ``s = sigmoid(z) + 1e-3; y = s * x; s.log()``: the logarithm is that of the scale, and stays so.
    """
    function = function_of(tree, node)
    if proposal.applicability is not Applicability.UNSAFE or called_name(node) != "log" or function is None:
        return
    texts = {binding.text for binding in proposal.bindings.values()}
    for name in (one for one in loads(node) if one.id not in texts):
        given = definition(tree, name)
        value = None if given is None else given.value
        if not isinstance(value, ast.BinOp) or not (is_number(value.left) or is_number(value.right)):
            continue
        for reader in readers(function, name.id):
            above = tree.link(reader).parent
            call = tree.link(above).parent if isinstance(above, ast.Attribute) else above
            is_log = isinstance(call, ast.Call) and called_name(call) == "log"
            if reader.lineno > value.lineno and not is_log:
                raise Withheld(f"`{name.id}` is read with its constant on line {reader.lineno}, too")


def check_compared(tree: Tree, proposal: Proposal, node: ast.expr) -> None:
    """Raise Withheld where digits near 0 are kept of what is compared with something else: ``(ratio - 1).abs() > clip``."""
    above = [link.parent for link in tree.ancestors(node) if not isinstance(link.parent, ast.Attribute)]
    test = next(dropwhile(lambda one: calls(one, "abs"), above), None)
    is_precise = any(calls(one, "expm1", "log1p") for one in descendants(parse_template(proposal.template)))
    if isinstance(test, ast.Compare) and is_precise and ast.unparse(test.comparators[0]) not in ("0", "0.0"):
        raise Withheld(f"`{ast.unparse(test)}` needs no digits near 0")


def check_possible(tree: Tree, proposal: Proposal, node: ast.expr) -> None:
    """Raise Withheld where a bound is proposed for what a logarithm is of that is -inf where something is impossible.

    That is so where an object keeps it as it is, and where the largest exponent is added again: of ``torch.exp(x - m) @ t``.
    """
    above = [link.parent for link in tree.ancestors(node)]
    at = next((index for index, one in enumerate(above[:2]) if calls(one, "log")), None)
    if at is None or not any(one in proposal.template for one in _BOUNDS):
        return
    keeper = next(dropwhile(lambda one: isinstance(one, ast.Call), above[at:]))
    targets = keeper.targets if isinstance(keeper, ast.Assign) else []
    names = {root_name(one.value if isinstance(one, ast.Subscript) else one) for one in targets}
    if isinstance(keeper, ast.Expr) or _is_kept(tree, node, names, targets):
        raise Withheld("an object keeps this logarithm as it is, and -inf may be meant")
    within = set(above)
    sums = (one for one in above if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Add))
    for term in (one for each in sums for one in (each.left, each.right) if one not in within):
        if any(calls(one, "max", "amax") for one in idle.parts_of(tree, term)):
            raise Withheld(
                f"`{ast.unparse(term)}`, the largest of the exponents, is added again: -inf is meant"
            )


def _is_kept(tree: Tree, node: ast.expr, names: set[str], targets: list[ast.expr]) -> bool:
    """Whether an attribute gets what one of the targets holds, or a call that is made for nothing else is given both."""
    function = function_of(tree, node)
    for one in descendants(function) if function is not None else ():
        given: list[ast.expr] = []
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Name) and one.value.id in names:
            targets = [*targets, *one.targets]
        elif isinstance(one, ast.Expr) and isinstance(one.value, ast.Call):
            given = one.value.args
        if any(isinstance(each, ast.Name) and each.id in names for each in given):
            targets = [*targets, *given]
    return any(isinstance(one, ast.Attribute) for one in targets)


def check_power(tree: Tree, proposal: Proposal, node: ast.expr) -> None:
    """Raise Withheld where a bound is proposed for a power under a logarithm: it underflows, and the multiple does not."""
    power = power_of(node)
    above = [link.parent for link in tree.ancestors(node)][:2]
    is_logged = any(calls(one, "log", "log2", "log10") for one in above)
    if power is not None and not is_number(power[1]) and is_logged and ".clamp" in proposal.template:
        raise Withheld(f"write the logarithm of `{ast.unparse(node)}` as a multiple of that of its base")


def check_cured(tree: Tree, proposal: Proposal, node: ast.expr) -> None:
    """Raise Withheld where a rewrite does without a value that others need all the same.

    ``s = w.sum(); s.log() + m / s``: what is divided by the sum overflows as before. An inverse that is read elsewhere is
    computed, and solving comes on top.
    """
    function = function_of(tree, node)
    texts = {binding.text for binding in proposal.bindings.values()}
    given = [] if function is None else [one for one in loads(node) if one.id not in texts]
    within = set(ast.walk(node))
    for name, made in ((one.id, definition(tree, one)) for one in given):
        if made is None or function is None:
            continue
        behind = (one for one in readers(function, name) if one.lineno > made.statement.lineno)
        own = (one for one in behind if (definition(tree, one) or made).statement is made.statement)
        others = [tree.link(one) for one in own if one not in within]
        match node:
            case ast.BinOp(left=ast.Constant(), op=ast.Sub(), right=ast.Name(id=whole)) if whole == name:
                if len(name) > 1 and all(same(link.parent, node) for link in others):
                    raise Withheld(f"`{name}`, whose complement this is, would be gone")
        factors = [link for link in others if isinstance(getattr(link.parent, "op", None), ast.MatMult)]
        if ".solve(" in proposal.template and [one for one in factors if one.field == "left"] != others:
            raise Withheld(f"`{name}` is read elsewhere, too: the inverse is computed all the same")
        if called_name(made.value) == "sum" and any(_divides_another(link, made.value) for link in others):
            raise Withheld(
                f"`{name}`, by which something else is divided, overflows or comes to 0 all the same"
            )


def check_unwritten(tree: Tree, proposal: Proposal, node: ast.expr) -> None:
    """Raise Withheld where a bound is proposed for a part of what is written into from here on.

    ``e[i] = torch.exp(e.diagonal())``: the gradient of an exponential needs its result, that of a bound its operand.
    """
    function, part = function_of(tree, node), node
    while isinstance(part, ast.Call | ast.Subscript | ast.Attribute):
        if isinstance(part, ast.Call):
            if called_name(part) not in _PARTS:
                return
            is_function = root_name(part.func) == "torch" and bool(part.args)
            part = part.args[0] if is_function else part.func
        else:
            part = part.value
    if function is None or not isinstance(part, ast.Name) or ".clamp" not in proposal.template:
        return
    for one in nodes_below(function, ast.Subscript, ast.Call):
        if one.lineno >= node.lineno and written_name(one) == part.id:
            raise Withheld(
                f"`{part.id}`, which the gradient of a bound needs, is written into on line {one.lineno}"
            )


def _divides_another(link: Link, total: ast.expr) -> bool:
    """Whether a place is the denominator of something else than a term of a sum."""
    quotient = link.parent
    if not isinstance(quotient, ast.BinOp) or not isinstance(quotient.op, ast.Div) or link.field != "right":
        return False
    return not any(same(quotient.left, one) for one in ast.walk(total) if isinstance(one, ast.expr))


def check_not_empty(tree: Tree, proposal: Proposal, node: ast.expr) -> None:
    """Raise Withheld where the mean of an empty selection becomes a number for people, who would read a perfect 0, where it
    is taken from that selection, of which nothing is left, where the mean of its rows beside it stays NaN, and where one
    test would do for several of them."""
    parent = tree.link(node).parent
    sides = (parent.left, parent.right) if isinstance(parent, ast.BinOp) else ()
    taken = [one for one in ast.iter_child_nodes(node) for one in (one, *ast.iter_child_nodes(one))]
    is_mean = _EMPTY in proposal.template and " else " in proposal.template
    if is_mean and any(isinstance(whole(one), ast.Compare) for one in taken if isinstance(one, ast.expr)):
        raise Withheld("a share of nothing is no 0: leave it out, or say what it is")
    if is_mean and any(same(one, each) for one in sides for each in taken if one is not node):
        raise Withheld("where the selection is empty, so is what its mean is taken from")
    selected = next((one for one in taken if is_mean and isinstance(one, ast.Subscript)), None)
    statements = tree.siblings(tree.statement(node)) if selected is not None else []
    alike = [one for one in statements if isinstance(one, ast.Assign) and _selects(one.value, selected)]
    if len(alike) > _FEW and selected is not None:
        rows = (alike[0].lineno, alike[-1].lineno)
        raise Withheld(
            f"one test that `{ast.unparse(selected.slice)}` selects any will do for lines {rows[0]} to {rows[1]}"
        )
    beside = next(_means_of_rows(tree, node), None) if is_mean else None
    if beside is not None:
        raise Withheld(f"`{ast.unparse(beside)}` is NaN, too, where nothing is selected: leave that turn out")
    if _EMPTY in proposal.template and isinstance(parent, ast.Attribute) and parent.attr == "item":
        raise Withheld("a mean of nothing that people read is no 0: leave it out, or say what it is")


def _selects(node: ast.AST, selected: ast.Subscript | None) -> bool:
    """Whether a call is given what the same index selects of something."""
    given = node.args if isinstance(node, ast.Call) else []
    parts = [one for one in given if isinstance(one, ast.Subscript)]
    return selected is not None and any(same(one.slice, selected.slice) for one in parts)


def _means_of_rows(tree: Tree, node: ast.expr) -> Iterator[ast.Call]:
    """The means over the rows of what an expression is computed of, `picked.mean(0)`, and its deviations."""
    function, parts = function_of(tree, node), set(idle.parts_of(tree, node))
    taken = [one for one in parts if isinstance(one, ast.Subscript) or called_name(one) in SELECTIONS]
    taken += [_rows(tree, node)[0]] if isinstance(node, ast.Call) else []
    for one in nodes_below(function, ast.Call) if function is not None else ():
        rows, along = _rows(tree, one)
        is_of_rows = called_name(one) in _MEANS and [ast.unparse(each) for each in along] == ["0"]
        if (is_of_rows or called_name(one) in _SPREADS) and any(same(each, rows) for each in taken):
            yield one


def _rows(tree: Tree, call: ast.Call) -> tuple[ast.expr, list[ast.expr]]:
    """What an operation is taken of, a name's value for the name, and along what."""
    operands = [getattr(call.func, "value", call), *call.args][root_name(call.func) == "torch" :]
    rows, *along = operands or [call]
    along += [each.value for each in call.keywords if each.arg in ("dim", "axis")]
    return origin(tree, rows), along


def check_cast_back(tree: Tree, proposal: Proposal, node: ast.expr) -> None:
    """Raise Withheld where an operand of a type that callers choose would be computed in float32 from here on."""
    wide = _WIDENED.fullmatch(proposal.template)
    function = function_of(tree, node)
    if (
        wide is None
        or proposal.bindings[wide[1]].dtype not in (None, NOT_HALF, MAYBE_HALF)
        or function is None
    ):
        return
    later = (one for one in descendants(function) if getattr(one, "lineno", 0) >= node.lineno)
    if not any(calls(one, *_CASTS) for one in later):
        raise Withheld("what follows would be computed in float32, and nothing casts it back")


def _leaves_out(node: ast.AST) -> bool:
    """Whether a comprehension takes no element that is NaN or infinite, or a reduction none that is NaN."""
    if calls(node, *_OF_OTHERS):
        return True
    tests = [one for each in node.generators for one in each.ifs] if isinstance(node, _COMPREHENSIONS) else []
    called = (one for test in tests for one in descendants(test) if isinstance(one, ast.Call))
    return any(called_name(one).rstrip("_") in _ASKS for one in called)


def _asks(test: ast.AST, name: str) -> bool:
    """Whether a test tells the infinite elements of a name from the others."""
    return name in _asked_of(test)


@remembered
def _asked_of(test: ast.AST) -> frozenset[str]:
    found = set[str]()
    for one in descendants(test):
        is_test = isinstance(one, ast.Call) and called_name(one).rstrip("_") in _ASKS.union(_OF_OTHERS)
        is_equal = isinstance(one, ast.Compare) and (
            any(map(_is_not_finite, descendants(one))) or _is_of_itself(one)
        )
        if is_test or is_equal:
            found.update(read.id for read in loads(one))
    return frozenset(found)


def _is_not_finite(node: ast.AST) -> bool:
    """Whether a constant, or what is called as one is, is read as NaN or an infinity: ``math.inf``, ``"nan"``."""
    named = last_name(node) if isinstance(node, ast.Name | ast.Attribute) else ""
    try:
        return not math.isfinite(float(str(node.value) if isinstance(node, ast.Constant) else named))
    except ValueError:
        return False


def _is_of_zero(test: ast.AST) -> TypeGuard[ast.Compare | ast.Call]:
    """Whether a test tells what is 0 from what is not: `x == 0`, and of what is not negative `x > 0`."""
    match test:
        case ast.Compare(left=ast.Name(), comparators=[ast.Constant(value=0), *_]):
            return True
        case ast.Call(func=ast.Attribute(value=ast.Name(), attr=name), args=[ast.Constant(value=0)]):
            return name in _COMPARES
    return False


def _is_of_itself(test: ast.Compare) -> bool:
    """Whether a test is that of NaN by its one property: ``x != x``."""
    return [ast.unparse(test.left)] == list(map(ast.unparse, test.comparators))
