"""Binding an operand to a name before its statement, where a fix needs it twice."""

from __future__ import annotations

import ast
import re

from stablelint.codemod.flow.definition import function_of
from stablelint.codemod.flow.effects import Effect, effect, evaluated_before
from stablelint.codemod.flow.nodes import VIEWS, loads, looks_names_up, readers, root_name, stores
from stablelint.codemod.flow.scope import Scope
from stablelint.codemod.templates.operand import Operand
from stablelint.codemod.text.locate import Region, Tree
from stablelint.codemod.withheld import Withheld
from stablelint.records import dataclass
from stablelint.syntax import operations
from stablelint.syntax.walk import SCOPES, descendants


@dataclass(frozen=True, slots=True)
class Hoisted:
    """An operand that gets a name before its statement."""

    name: str
    value: Operand
    offset: int
    indent: str

    @property
    def operand(self) -> Operand:
        """The name, in place of the value."""
        tree = ast.Name(self.name, ast.Load())
        return Operand(self.value.placeholder, self.name, tree, dtype=self.value.dtype)

    def line(self, wrapping: str) -> str:
        """The assignment's text; `wrapping` is "{}", or "({})" where the value needs parentheses."""
        text = self.value.text
        if "\n" not in text and isinstance(self.value.tree, ast.Attribute | ast.Call | ast.Name):
            wrapping = "{}"
        if wrapping == "({})" and "\n" in text and "#" not in text:
            return f"{self.name} = ({_hung(text, self.indent)})"
        return f"{self.name} = {wrapping.format(_reindented(text, self.indent))}"

    @property
    def statement(self) -> ast.Assign:
        """The assignment's tree."""
        return ast.Assign([ast.Name(self.name, ast.Store())], self.value.tree)


def hoist(
    tree: Tree, scope: Scope, operand: Operand, site: ast.expr, region: Region, wish: str | None = None
) -> Hoisted:
    """Give `operand` a name before the statement around `site`: `wish`, or one that says what it is.

    Without a wish the statement alone reads the name, which may then be the one that the statement gives anew.
    Raises Withheld where that would change when, or how often, something is evaluated.
    """
    refusal = f"`{operand.shown}` would be evaluated twice"
    statement = tree.statement(site)
    at = operand.node or site
    earlier = evaluated_before(tree, at)
    if earlier is None or region.statements[0] is not statement:
        raise Withheld(refusal)
    if isinstance(tree.link(statement).parent, ast.ClassDef):
        raise Withheld(refusal)
    strongest = max((_effect(scope, node, site) for node in earlier), default=Effect.NONE)
    own = operand.effect
    if (strongest is Effect.ACTS and own is not Effect.NONE) or (
        own is Effect.ACTS and strongest is not Effect.NONE
    ):
        raise Withheld(refusal)
    reused = _given_anew(statement, operand) if wish is None else None
    short = name_for(operand.tree) if wish is None else ""
    if reused is None and short and _is_passing(tree, short, statement):
        reused = short
    name = reused or scope.fresh(wish or short, site)
    return Hoisted(name, operand, tree.start(statement), region.indent)


def _given_anew(statement: ast.stmt, operand: Operand) -> str | None:
    """The name that a statement gives another value, where the operand, made of the old one, alone reads it.

    ``x = x.div(n).sqrt()``
    """
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if operand.node is None or not isinstance(target, ast.Name):
        return None
    within = set(ast.walk(operand.node))
    read = [one in within for one in loads(statement) if one.id == target.id]
    is_begun = re.match(rf"\(*{target.id}\b(?!\()", operand.text)
    return target.id if is_begun and read and all(read) else None


def _is_passing(tree: Tree, name: str, statement: ast.stmt) -> bool:
    """Whether a function gives a name only to what its next statement alone reads, as hoisting does."""
    function = function_of(tree, statement)
    given = [] if function is None else stores(function, name)
    simple = ast.Assign | ast.AugAssign | ast.Expr | ast.Return
    if function is None or not given or isinstance(function, ast.Lambda) or looks_names_up(function):
        return False
    if any(isinstance(one, SCOPES) for one in descendants(function) if one is not function):
        return False
    taking: list[ast.stmt] = []
    for one in given:
        made = tree.statement(one)
        suite = tree.siblings(made)
        place = suite.index(made) + 1
        if not isinstance(made, ast.Assign) or made.targets != [one] or any(readers(made.value, name)):
            return False
        if place == len(suite) or not isinstance(suite[place], simple):
            return False
        taking.append(suite[place])
    read = {tree.statement(one) for one in readers(function, name)}
    bound = {one.arg for one in descendants(function) if isinstance(one, ast.arg)}
    return read <= set(taking) and statement not in taking and name not in bound


def _hung(text: str, indent: str) -> str:
    """A text of several lines on lines of its own, one step further in than `indent`."""
    first, *others = text.splitlines()
    shift = min((len(line) - len(line.lstrip()) for line in others if line.strip()), default=0)
    lines = [first, *(line[shift:] for line in others)]
    return "".join(f"\n{indent}    {line}" for line in lines) + f"\n{indent}"


def _reindented(text: str, indent: str) -> str:
    """A text of several lines moved so that its last line, a closing bracket as a rule, starts at `indent`."""
    first, *others = text.splitlines(keepends=True)
    if not others or others[-1].lstrip()[:1] not in (")", "]", "}") or "'''" in text or '"""' in text:
        return text
    shift = len(others[-1]) - len(others[-1].lstrip()) - len(indent)
    moved = [line[min(shift, len(line) - len(line.lstrip())) :] if shift > 0 else line for line in others]
    return first + "".join(moved)


def _effect(scope: Scope, node: ast.AST, site: ast.AST) -> Effect:
    """As `effect`, with the members of imported modules known to be constant."""
    name = root_name(node)
    if name and scope.stands_for(name, site) is not None:
        return Effect.NONE
    return effect(node)


_SELECTIONS = ("masked_select", "index_select", "gather")
_CASTS = ("float", "double", "half", "to", "type", "cpu", "detach", "contiguous", "clone")
# What a result is called where nothing else gives it a name, by operations and Python's operators.
_RESULTS = {
    "sum": "total",
    "add": "total",
    "sub": "difference",
    "div": "ratio",
    "mean": "average",
    "abs": "magnitude",
    **dict.fromkeys(("clamp", "clip", "clamp_min", "clamp_max"), "clamped"),
    "exp": "exponential",
    **dict.fromkeys(("max", "amax"), "largest"),
    **dict.fromkeys(("min", "amin"), "smallest"),
    "maximum": "larger",
    "minimum": "smaller",
    "item": "number",
    "square": "squares",
    "where": "chosen",
    "neg": "negated",
    **dict.fromkeys(("norm", "vector_norm"), "norm"),
    "pow": "power",
    "expm1": "difference",
    **dict.fromkeys(("mul", "mult", "bmm", "mm", "matmul", "matmult", "einsum"), "product"),
    **dict.fromkeys(("cos", "cosine_similarity"), "cosine"),
    "det": "det",
    "prod": "product",
    **dict.fromkeys(_SELECTIONS, "selected"),
    "rand": "noise",
    "randn": "noise",
    "tensor": "values",
    **dict.fromkeys(_CASTS, "converted"),
}


def name_for(tree: ast.expr) -> str:
    """A name that says what the value is: ``x.sum()`` gives ``x_sum``, ``a - b`` gives ``difference``."""
    match tree:
        case ast.BinOp(op=ast.Pow(), right=ast.Constant(value=2)):
            return "squares"
        case ast.BinOp(left=ast.BinOp(op=ast.Add()), op=ast.Sub()):
            return "total"
        case ast.BinOp(left=left, op=operator, right=right):
            extent = _extent_of(_last_name(left), _last_name(right)) if isinstance(operator, ast.Sub) else ""
            return extent or _RESULTS.get(type(operator).__name__.lower(), "value")
        case ast.Compare(ops=ops):
            return "matches" if isinstance(ops[0], ast.Eq) else "mask"
        case ast.UnaryOp(operand=inner) | ast.Await(value=inner) | ast.Starred(value=inner):
            return name_for(inner)
        case ast.Subscript(value=value, slice=index):
            base = _last_name(value)
            names_some = isinstance(index, ast.Name | ast.Attribute | ast.Call) and base
            if names_some or isinstance(index, ast.Compare | ast.UnaryOp):
                return "selected"
            kind = "part" if any(isinstance(one, ast.Slice) for one in ast.walk(index)) else "item"
            return f"{base}_{kind}" if base else name_for(value)
        case ast.Attribute(attr=attr):
            return attr.strip("_") or "value"
    return _name_of_call(tree) if isinstance(tree, ast.Call) else "value"


def _extent_of(larger: str, smaller: str) -> str:
    """What ``x_max - x_min`` is called, after what both are of: ``x_range``."""
    stems = (re.fullmatch(rf"(\w+_)?{end}(_\w+)?", name) for name, end in ((larger, "max"), (smaller, "min")))
    one, other = (stem and stem.groups("") for stem in stems)
    return f"{one[0]}range{one[1]}" if one and one == other and any(one) else ""


def _name_of_call(call: ast.Call) -> str:
    if isinstance(call.func, ast.Call):  # of an object that is made for it
        return "losses" if _last_name(call.func.func).endswith("Loss") else "output"
    function = _last_name(call.func)
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    if root_name(call.func) == "torch" and function in VIEWS and call.args:
        owner = call.args[0]
    if function == "forward" and owner is not None:
        return f"{_last_name(owner)}_output".lstrip("_")
    if function in _CASTS + VIEWS and isinstance(owner, ast.Call | ast.Subscript | ast.BinOp | ast.Compare):
        return name_for(owner)
    subject = _last_name(owner) if isinstance(owner, ast.Name) else ""
    if isinstance(owner, ast.Attribute) and root_name(owner) == "self" and operations.method(function):
        subject = _last_name(owner.value if owner.attr == "data" else owner)
    elif owner is None or root_name(owner).strip("_") in ("self", "torch", "F", "nn", "cls"):
        subject = _last_name(call.args[0]) if call.args and function not in _RESULTS else ""
    elif function in _SELECTIONS:
        subject = ""
    is_square = function == "square" or [ast.unparse(one) for one in call.args[-1:]] == ["2"]
    if not subject:
        function = "square" if is_square and function == "pow" else function
        return _RESULTS.get(function, f"{function}_value" if function else "value").lower()
    function = "cast" if function in ("to", "type") else function
    return f"{subject}_{'squared' if is_square and function in ('pow', 'square') else function}".lower()


def _last_name(node: ast.AST | None) -> str:
    if isinstance(node, ast.Name):
        return node.id.strip("_")
    return node.attr.strip("_") if isinstance(node, ast.Attribute) else ""
