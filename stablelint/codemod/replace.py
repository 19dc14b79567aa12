"""Replacing an expression by a template."""

from __future__ import annotations

import ast
import contextlib
from collections import Counter
from collections.abc import Callable, Sequence

from stablelint.catalog.pattern import encode
from stablelint.codemod.flow.definition import definition
from stablelint.codemod.flow.effects import is_cheap
from stablelint.codemod.flow.nodes import loads, viewed
from stablelint.codemod.guards import bound, dead
from stablelint.codemod.guards.alias import without_alias
from stablelint.codemod.layout.placed import placed
from stablelint.codemod.proof.kinds import check_kind
from stablelint.codemod.templates import clamps, forms, limits, written
from stablelint.codemod.templates.hoist import Hoisted, hoist
from stablelint.codemod.templates.instantiate import instantiate, uses
from stablelint.codemod.templates.names import by_name
from stablelint.codemod.templates.operand import (
    Operand,
    check_bound,
    check_computed_once,
    check_evaluation,
    check_order,
    flat,
    operand_of,
    placeholder,
)
from stablelint.codemod.templates.sign import without_signs
from stablelint.codemod.templates.spelling import File, spell_names
from stablelint.codemod.text import draft
from stablelint.codemod.text.locate import Region, Tree
from stablelint.codemod.text.source import comments
from stablelint.codemod.withheld import Withheld
from stablelint.diagnostic import Edit, Proposal
from stablelint.records import dataclass, replace
from stablelint.syntax import operations
from stablelint.syntax.names import called_name, last_name, name_of
from stablelint.syntax.operations import SELECTIONS
from stablelint.syntax.writes import is_in_place


def replace_expression(
    file: File,
    proposal: Proposal,
    node: ast.expr,
    inline: bool = False,
    moved: Sequence[ast.expr] = (),
) -> list[Edit]:
    """Edits that replace `node` by the proposal's template; Withheld where that cannot be done faithfully.

    `inline` asks for a form that gives no operand a name of its own; what `moved` reads is still needed.
    """
    clamp = bound.at_clamp(file.tree, proposal, node)
    if clamp is not None:
        return _replaced(file, *clamp, inline)
    return _replaced(file, proposal, node, inline, moved)


def _replaced(
    file: File, proposal: Proposal, node: ast.expr, inline: bool, moved: Sequence[ast.expr] = ()
) -> list[Edit]:
    operands = operands_for(file, proposal, node)
    template = limits.sized(proposal.template, operands, file.is_scripted, file.is_double)
    check_kind(file, node, template, operands)
    alias = without_alias(file.tree, node, template, operands)
    if alias is not None:
        return draft.edits(file.tree, alias)
    expression = forms.parse_template(template)
    # Each step walks the tree, which costs more than all else: those that have nothing to do are left out.
    if ".clamp(max=" in template:
        expression = forms.with_sign_outside(expression, operands)
    if "where(" in template:
        expression = clamps.of_tested(expression, operands)
    if "-" in template:
        expression = forms.without_double_negation(expression, operands)
    if ".dtype" in template:
        expression = limits.with_types(expression, operands, file.imported_at(node))
    if len(operands) > 1 and ".clamp_min(" in template:
        expression = clamps.without_second(file.tree, expression, operands)
    expression = clamps.merged(file.tree, node, expression, operands)
    expression = _as_it_stands(file.tree, node, _in_form(file, node, expression, operands), operands)
    writer = written.writer_of(file.tree, node, file.imported_at(node))
    if writer is not None:
        raise Withheld(f"`{writer}` writes into its operand")
    joined = _in_choice(file.tree, node, expression, operands)
    if joined is not None:
        return draft.edits(file.tree, joined)
    whole, expression = without_signs(file.tree, node, expression, operands)
    return _finish(file, node, whole, expression, operands, inline, moved)


def _as_it_stands(tree: Tree, node: ast.expr, expression: ast.expr, operands: dict[str, Operand]) -> ast.expr:
    """A choice with what stands there in place of its first part, which is that again in another spelling.

    What is asked how many elements it has is the one tensor that the operand is computed of, element by element.
    """
    if not isinstance(expression, ast.IfExp) or not _is_same_operation(node, expression.body):
        return expression
    test = forms.code(expression.test)
    asked = operands.get(next(iter(uses(test)), "")) if ".numel()" in test else None
    own = None if asked is None else asked.tree if isinstance(asked.tree, ast.Name) else asked.node
    base = None if own is None else _one_name(tree, own)
    if asked is None:
        return expression
    if base is None:
        return _called_with(tree, node, expression, operands, asked) or expression
    span = tree.source.span(tree.start(node), tree.end(node))
    whole = Operand(placeholder("whole"), tree.text(node), node, node, span)
    operands.clear()
    operands[asked.placeholder] = replace(asked, text=base.id, tree=base, node=None, span=None)
    operands[whole.placeholder] = whole
    return ast.IfExp(expression.test, ast.Name(whole.placeholder, ast.Load()), expression.orelse)


def _called_with(
    tree: Tree, node: ast.expr, choice: ast.IfExp, operands: dict[str, Operand], asked: Operand
) -> ast.IfExp | None:
    """A choice whose first part calls what stands there with what is asked in its place among the arguments."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name | ast.Attribute):
        return None
    given: list[ast.expr] = [node.func, *node.args, *(one.value for one in node.keywords)]
    if asked.node not in node.args or any(isinstance(one, ast.Starred) for one in given):
        return None
    parts = []
    for index, one in enumerate(given):
        part = asked
        if one is not asked.node:
            span = tree.source.span(tree.start(one), tree.end(one))
            part = Operand(placeholder(f"given{index}"), tree.text(one), one, one, span)
        parts.append(part)
    operands.clear()
    operands.update({part.placeholder: part for part in parts})
    values: list[ast.expr] = [ast.Name(part.placeholder, ast.Load()) for part in parts]
    callee, *values = values
    count = len(node.args)
    named = [ast.keyword(one.arg, value) for one, value in zip(node.keywords, values[count:], strict=True)]
    return ast.IfExp(choice.test, ast.Call(callee, values[:count], named), choice.orelse)


def _is_same_operation(node: ast.expr, body: ast.expr) -> bool:
    """Whether a template calls what stands there, which may be a module's call."""
    name = called_name(node)
    return name == called_name(body) or (operations.method(name) or operations.canonical(name)) is None


def _one_name(tree: Tree, node: ast.expr) -> ast.Name | None:
    """The name that an expression is, or is computed of with numbers; with attributes where the name is of a selection."""
    within = list(ast.walk(node))
    names = {one.id: one for one in loads(node) if one.id != "self"}
    if len(names) != 1 or any(isinstance(one, ast.Call | ast.Subscript) for one in within):
        return None
    (name,) = names.values()
    if not any(isinstance(one, ast.Attribute) for one in within):
        return name
    made = definition(tree, name)
    value = node if made is None else viewed(made.value)
    return name if isinstance(value, ast.Subscript) or called_name(value) in SELECTIONS else None


def _in_choice(
    tree: Tree, node: ast.expr, expression: ast.expr, operands: dict[str, Operand]
) -> list[draft.Change] | None:
    """The changes for a choice within another that gives the same instead: ``x.mean() if mean and n > 0 else x.sum()``."""
    choice = tree.link(node).parent
    if not isinstance(expression, ast.IfExp) or not isinstance(choice, ast.IfExp) or choice.body is not node:
        return None
    test, other = (instantiate(ast.unparse(one), operands)[0] for one in (expression.test, expression.orelse))
    is_plain = not isinstance(choice.test, ast.BoolOp | ast.IfExp)
    end = tree.end(choice.test)
    return [(end, end, f" and {test}")] if is_plain and other == tree.text(choice.orelse) else None


def replace_augmented(file: File, proposal: Proposal, node: ast.AugAssign) -> list[Edit]:
    """Edits for ``x /= y``: only its right side changes, so that the assignment stays in place."""
    operands = operands_for(file, proposal, node)
    template = limits.sized(proposal.template, operands, file.is_scripted, file.is_double)
    expression = forms.parse_template(template)
    expression = limits.with_types(expression, operands, file.imported_at(node))
    refusal = "the assignment is made in place, and the rewrite has no such form"
    if not isinstance(expression, ast.BinOp):
        raise Withheld(refusal)
    target = operands.get(name_of(expression.left))
    written = target is not None and ast.unparse(target.tree) == ast.unparse(node.target)
    if not written or type(expression.op) is not type(node.op):
        raise Withheld(refusal)
    return _finish(file, node, node.value, expression.right, operands)


def operands_for(file: File, proposal: Proposal, node: ast.AST) -> dict[str, Operand]:
    """The operands of a proposal by placeholder; Withheld where the template uses one that has no text."""
    used = set(uses(encode(proposal.template)[0]))
    _check_in_sight(file.tree, node, proposal)
    operands: dict[str, Operand] = {}
    for name, binding in proposal.bindings.items():
        if binding.text is None and placeholder(name) not in used:
            continue
        operand = operand_of(name, binding, file.tree, proposal.span)
        check_bound(file.tree, node, operand)
        operands[placeholder(name)] = by_name(file.tree, node, operand)
    return operands


def _check_in_sight(tree: Tree, node: ast.AST, proposal: Proposal) -> None:
    """Raise Withheld where a lambda computes a part of what is rewritten: nobody else reads its parameters."""
    around = {link.parent for link in tree.ancestors(node)} | {node}
    found = (tree.find(span) for span in proposal.program if span is not None)
    links = (link for one in found if one is not None for link in tree.ancestors(one))
    if any(isinstance(link.parent, ast.Lambda) and link.parent not in around for link in links):
        raise Withheld("a part of it is computed in a lambda, whose parameters have no value here")


def _in_form(
    file: File,
    node: ast.expr,
    expression: ast.expr,
    operands: dict[str, Operand],
) -> ast.expr:
    """The template in the form of the original: as a method where that is one."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute | ast.Name):
        methods = _methods(node, file.imported_at(node))
        return forms.with_methods(expression, methods) if methods else expression
    name = last_name(node.func)
    keywords = {keyword.arg: keyword.value for keyword in node.keywords}
    if "out" in keywords:
        raise Withheld("the result is written into `out=`, which the rewrite does not take")
    inplace = keywords.get("inplace")
    if inplace is not None and not (isinstance(inplace, ast.Constant) and inplace.value is False):
        raise Withheld("the original works in place (`inplace=`)")
    if isinstance(node.func, ast.Attribute) and is_in_place(name):
        is_function = file.scope.reach(f"torch.{name}", node) == file.tree.text(node.func)
        value = node.args[0] if is_function and node.args else node.func.value
        if not written.is_new(value, file.imported_at(node)):
            raise Withheld(f"`{name}` works in place, and the rewrite does not")
    return forms.as_method(expression) if _is_method(file, node, operands) else expression


def _methods(node: ast.expr, imported: Callable[[str], bool]) -> frozenset[str]:
    """The operations that an expression calls as methods, and never as functions."""
    called: dict[bool, set[str]] = {True: set(), False: set()}
    for one in ast.walk(node):
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute):
            owner = one.func.value
            called[isinstance(owner, ast.Name) and imported(owner.id)].add(one.func.attr)
    return frozenset(called[False] - called[True])


def _is_method(file: File, node: ast.Call, operands: dict[str, Operand]) -> bool:
    """Whether a call is a method of a tensor that the operands belong to."""
    if not isinstance(node.func, ast.Attribute) or operations.method(node.func.attr) is None:
        return False
    inner = node.func.value
    if isinstance(inner, ast.Call) and (file.qualified(inner.func) or "").startswith("torch.nn.functional."):
        return False  # `F.softmax(x, dim=d).log()`: the function takes what its method does not
    receiver = file.tree.source.span(file.tree.start(node.func.value), file.tree.end(node.func.value))
    return any(operand.span is not None and receiver.contains(operand.span) for operand in operands.values())


def _finish(
    file: File,
    original: ast.expr | ast.stmt,
    node: ast.expr,
    expression: ast.expr,
    operands: dict[str, Operand],
    inline: bool = False,
    moved: Sequence[ast.expr] = (),
) -> list[Edit]:
    code, imports = spell_names(file, expression, node)
    order = uses(code)
    counts = Counter(order)
    check_evaluation(operands.values(), counts, original)
    check_order(operands.values(), order)
    region = file.tree.region(file.tree.statement(node))
    repeated = [name for name, count in counts.items() if count > 1 and name in operands]
    for name in repeated:
        operands[name] = _known(file, node, operands[name])
    hoisted = [
        hoist(
            file.tree,
            file.scope,
            operands[name],
            node,
            region,
            _of_terms(code, name, operands[name].tree),
        )
        for name in repeated
        if not is_cheap(operands[name].tree)
    ]
    if hoisted and inline:
        raise Withheld(f"`{hoisted[0].value.shown}` would be evaluated twice")
    if len(hoisted) > 1:
        raise Withheld("two operands would be evaluated twice")
    known = {**operands, **{item.value.placeholder: item.operand for item in hoisted}}
    writing = _Writing(file, region, node, code, known, hoisted)
    tree, changes = writing.changes()
    _check_comments(file.tree, changes)
    removals = dead.removals(file.tree, node, [tree, *moved, *(item.value.tree for item in hoisted)])
    text = file.tree.source.text
    check_computed_once(operands.values(), counts, "".join(text[start:end] for start, end, _ in removals))
    changes += removals
    return [*imports, *draft.edits(file.tree, changes)]


def _of_terms(code: str, name: str, tree: ast.expr) -> str | None:
    """What a sum of two is called that the rewrite adds up: it is not the total yet."""
    is_sum = isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Add)
    return "terms" if is_sum and f"{name}.sum(" in code else None


def _known(file: File, node: ast.expr, operand: Operand) -> Operand:
    """The operand by the name that it has already, even where the finding spells it out."""
    named = by_name(file.tree, node, replace(operand, node=None))
    return named if isinstance(named.tree, ast.Name) else operand


@dataclass(frozen=True, slots=True)
class _Writing:
    """A template with its operands, and where it is written."""

    file: File
    region: Region
    node: ast.expr
    code: str
    operands: dict[str, Operand]
    hoisted: list[Hoisted]

    def changes(self) -> tuple[ast.Module, list[draft.Change]]:
        """The template's tree with its operands, and the changes that put it in place of the node.

        Of several operands that were spread over lines each is put on one first, to be spread anew; so is one that stood
        further in.
        """
        spread = [one for one in self.operands.values() if "\n" in one.text]
        is_inner = any(isinstance(one.tree, ast.BinOp) and one.node is not self.node for one in spread)
        if spread and (is_inner or len(set(uses(self.code))) > 1):
            with contextlib.suppress(Withheld):
                return self._changes(
                    {name: replace(one, text=flat(one.text)) for name, one in self.operands.items()}
                )
        return self._changes(self.operands)

    def _changes(self, operands: dict[str, Operand]) -> tuple[ast.Module, list[draft.Change]]:
        text, tree = instantiate(self.code, operands)
        value = tree.body[0].value if isinstance(tree.body[0], ast.Expr) else None
        if value is None:
            raise Withheld("the fix is not an expression")
        return tree, placed(self.file.tree, self.region, self.node, (text, value), self.hoisted)


def _check_comments(tree: Tree, changes: list[draft.Change]) -> None:
    before = sum((comments(tree.source.text[start:end]) for start, end, _ in changes), Counter[str]())
    if before and before - sum((comments(content) for _, _, content in changes), Counter[str]()):
        raise Withheld("a comment inside the expression would be lost")
