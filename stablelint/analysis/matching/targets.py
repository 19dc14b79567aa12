"""What a rewrite changes in the code, and how what it needs is spelled there."""

from __future__ import annotations

import ast

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.analysis.matching.caveats import SINGLE, real_type
from stablelint.analysis.matching.predicates.formats import is_upcast
from stablelint.analysis.matching.sites import Site, encloses, is_inside_function, is_rebound
from stablelint.analysis.values.sorts import may_be_integral
from stablelint.analysis.values.value import Value
from stablelint.catalog.rule import FixTemplate
from stablelint.catalog.template import parse_template
from stablelint.diagnostic import INTEGERS, MAYBE_HALF, NOT_HALF, Binding
from stablelint.syntax import operations, precision
from stablelint.syntax.names import dotted, is_name
from stablelint.syntax.operations import having
from stablelint.syntax.order import keeps_order, order_readers
from stablelint.syntax.remembered import remembered
from stablelint.syntax.walk import descendants, functions_below, nodes_below

# Operations that give several results, of which the code around them picks one: `x.max(dim=1)[0]`, `.values`.
_SEVERAL, _LAYOUT = having("several"), having("layout")


def target_of(fix: FixTemplate, site: Site, module: ModuleInfo) -> ast.AST | None:
    """The expression that the template replaces: the match's root, or the occurrence of one binding in it."""
    if fix.target is None:
        return site.node
    value = site.match.bindings[fix.target]
    own = value.node if isinstance(value.node, ast.expr) and value.module is module else None
    if own is not None and encloses(site.node, own):
        return _picked(own, site.node)
    own = None if own is None or _is_unpacked(own, site) else own
    if own is not None and _changed_at_origin(fix, own, site):
        return own
    # The last step of a model, which the rewrite takes away for all its callers.
    last = own is not None and fix.kind == "replace" and _is_returned(own, module.source.tree)
    if last and fix.target not in parse_template(fix.replace).metavariables:
        return own
    occurrence = _occurrence(site.texts.get(fix.target), site.node)
    if occurrence is not None and not site.match.branches:
        return occurrence
    inside = own is not None and (last or is_inside_function(own, site))
    return own if inside and not fix.kind.startswith("insert") else None


def _is_returned(node: ast.AST, tree: ast.AST) -> bool:
    """Whether a call, which the rewrite could reduce to its operand, is all that a statement returns, by a name or not."""
    returned = [_viewed(one.value) for one in nodes_below(tree, ast.Return)]
    named = next((one.targets for one in nodes_below(tree, ast.Assign) if one.value is node), [])
    if len(named) == 1 and isinstance(named[0], ast.Name):
        function = max((one for one in functions_below(tree) if encloses(one, node)), key=_row, default=tree)
        later = [
            one for one in _later_readers(function, named[0].id, node) if not encloses(node, one)
        ]  # `x = softmax(x)` reads the x before
        return isinstance(node, ast.Call) and len(later) == 1 and later[0] in returned
    return isinstance(node, ast.Call) and node in returned


def _viewed(node: ast.expr | None) -> ast.expr | None:
    """What an expression is a view of, by methods: `x` of `x.squeeze(1)`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _LAYOUT:
        node = node.func.value
    return node


def _later_readers(scope: ast.AST, name: str, node: ast.AST) -> list[ast.Name]:
    """Where a scope reads a name behind the expression that gives it its value."""
    loads = (one for one in descendants(scope) if is_name(one, name))
    return [one for one in loads if isinstance(one.ctx, ast.Load) and one.lineno >= _row(node)]


def _row(node: ast.AST) -> int:
    return node.lineno  # type: ignore[attr-defined, no-any-return]


def _changed_at_origin(fix: FixTemplate, node: ast.AST, site: Site) -> bool:
    """Whether the fix's target is better changed where it is computed: a match by pattern is its only reader."""
    if site.rule.has_contract or not is_inside_function(node, site):
        return False
    text, function = site.texts.get(fix.target or ""), site.frame.function
    scope = function.node if function is not None else site.frame.module.source.tree
    if text is None or not text.isidentifier():
        return False
    needed = parse_template(fix.replace or "...").metavariables
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.endswith("_"):
        return needed <= {fix.target}  # the name stands for the result of an in-place operation from there on
    later = _later_readers(scope, text, node)
    if fix.target not in needed:
        later = [n for n in later if not encloses(node, n)]  # `x = softmax(x)` reads the x before
    if keeps_order(node) and len(later) > 1 and site.rule.expect == "wrong":
        unmoved = order_readers(scope, text)
        later = [n for n in later if n not in unmoved]
    return len(later) == 1


def _is_unpacked(node: ast.AST, site: Site) -> bool:
    """Whether an assignment takes several results from an expression, of which the value is only one."""
    function = site.frame.function
    return function is not None and node in _unpacked_in(function.node)


@remembered
def _unpacked_in(function: ast.AST) -> frozenset[ast.AST]:
    """The expressions from which assignments in a function take several results."""
    several = (n for n in nodes_below(function, ast.Assign) if isinstance(n.targets[0], ast.Tuple | ast.List))
    return frozenset(n.value for n in several)


def _picked(node: ast.AST, root: ast.AST) -> ast.AST:
    """The choice of one result, within `root`, where `node` is a call that gives several; else `node`."""
    if not isinstance(node, ast.Call) or ast.unparse(node.func).rpartition(".")[2] not in _SEVERAL:
        return node
    for one in descendants(root):
        chosen = isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Constant)
        named = isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Load)
        if (chosen or named) and one.value is node and not _is_called(one, root):  # type: ignore[attr-defined]
            return one
    return node


def _is_called(node: ast.AST, root: ast.AST) -> bool:
    return any(isinstance(one, ast.Call) and one.func is node for one in descendants(root))


def _occurrence(text: str | None, root: ast.AST) -> ast.AST | None:
    """The one place in the root at which a name or attribute stands."""
    if text is None:
        return None
    found = [
        n for n in descendants(root) if isinstance(n, ast.Name | ast.Attribute) and ast.unparse(n) == text
    ]  # fmt: skip
    return found[0] if found else None


def spelled(name: str, site: Site, target: ast.AST, module: ModuleInfo) -> Binding:
    """The text of what is bound, where a rewrite of `target` finds it."""
    value, node = site.match.bindings[name], site.match.bindings[name].node
    dtype = _type_of(value, site)
    if isinstance(node, ast.expr) and value.module is module and encloses(target, node):
        node = _picked(node, target)
        return Binding(module.source.segment(node), module.source.span(node), dtype)
    given = _first_argument(value, target, site, module)
    if given is not None:
        return Binding(module.source.segment(given), module.source.span(given), dtype)
    setting = _setting(value, site, target, module)
    if setting is not None:
        span = module.source.span(setting) if encloses(target, setting) else None
        return Binding(module.source.segment(setting), span, dtype)
    text = site.texts.get(name)
    occurrence = _occurrence(text, target)
    span = module.source.span(occurrence) if occurrence is not None else None
    return Binding(text, span, dtype)


def _type_of(value: Value, site: Site) -> str | None:
    """The element type of an operand, as far as a rewrite asks for it."""
    if may_be_integral(value):
        return INTEGERS
    if value.dtype is not None:
        return value.dtype
    if real_type(value, site) in SINGLE:
        return "float32"
    shows = site.context.shows
    if shows(precision.TRAINED) is not None and shows(precision.HALF) is None:
        return NOT_HALF
    is_cast = any(shows(fact) is not None for fact in (precision.FLOAT16, precision.DEFAULT))
    return MAYBE_HALF if is_cast and not is_upcast(value) else None


def _setting(value: Value, site: Site, target: ast.AST, module: ModuleInfo) -> ast.expr | None:
    """The name or attribute by which an operation of the match is given a number: others may set it to another one.

    It is none where that holds another number at `target`.
    """
    if not value.is_constant:
        return None
    for operation in site.match.covered:
        if not isinstance(operation.node, ast.Call) or operation.module is not module:
            continue
        names = [name for name, operand in operation.operands.items() if operand is value]
        for keyword in operation.node.keywords:
            if keyword.arg in names and isinstance(keyword.value, ast.Name | ast.Attribute):
                return None if _is_set_anew(keyword.value, site, target) else keyword.value
    return None


def _is_set_anew(setting: ast.expr, site: Site, target: ast.AST) -> bool:
    scope = site.frame.module.source.tree if site.frame.function is None else site.frame.function.node
    return not encloses(target, setting) and is_rebound(
        setting, scope, range(setting.lineno, _row(target) + 1)
    )


def _first_argument(value: Value, target: ast.AST, site: Site, module: ModuleInfo) -> ast.expr | None:
    """Where `target`, a call whose result the pattern binds, is itself given `value` as its first operand.

    A name there means what it meant when the call was made, whatever it was rebound to before the finding.
    """
    whole = site.value.node
    if not isinstance(target, ast.Call) or whole is None or encloses(whole, target):
        return None
    results = (one for one in site.match.bindings.values() if one.node is target and one.module is module)
    result = next(results, None)
    if result is None or result.first is None or result.first.key != value.key:
        return None
    return operand_of(target, module)


def operand_of(call: ast.AST | None, module: ModuleInfo) -> ast.expr | None:
    """What a call of an operation has for its first operand: the receiver of a method, else the first argument."""
    if not isinstance(call, ast.Call):
        return None
    function = call.func
    if isinstance(function, ast.Attribute) and dotted(function).partition(".")[0] not in module.imports:
        method = operations.method(function.attr)
        is_own = isinstance(function.value, ast.Name) and function.value.id in ("self", "cls")
        if method is not None and not is_own and len(call.args) < len(method[0].parameters):
            return function.value
    return call.args[0] if call.args and not isinstance(call.args[0], ast.Starred) else None
