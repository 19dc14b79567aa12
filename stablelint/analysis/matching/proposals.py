"""The rewrites that a rule's page offers for a site, over the texts of what the pattern bound."""

from __future__ import annotations

import ast

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.analysis.interpret.statements.writing import is_written
from stablelint.analysis.matching import predicates
from stablelint.analysis.matching.caveats import caveats
from stablelint.analysis.matching.construction import construction, place_in_chain
from stablelint.analysis.matching.operand_types import is_tensor, misfit
from stablelint.analysis.matching.sites import Site, encloses, is_inside_function
from stablelint.analysis.matching.targets import operand_of, spelled, target_of
from stablelint.analysis.matching.truth import Truth
from stablelint.analysis.values.value import Value
from stablelint.catalog.predicates import parse_predicate
from stablelint.catalog.rule import FixTemplate
from stablelint.catalog.template import parse_template
from stablelint.diagnostic import Applicability, Binding, Proposal, Span
from stablelint.numerics.formats import FORMATS
from stablelint.syntax import operations
from stablelint.syntax.remembered import remembered
from stablelint.syntax.walk import descendants

_NONE = "what to do instead depends on what is meant; the rule's page has the choices"
_NOT_THIS = "the rule's rewrites are for other forms; its page says what to do"
# What a fix asks of its operand, in words.
_ASKED = {"floating": "holds floating-point numbers", "nonnegative": "is nowhere negative"}
_SHOWN = 48  # characters of an expression in a message


class _WithheldError(Exception):
    """Why a rewrite is not offered."""


def proposals(site: Site, module: ModuleInfo) -> tuple[tuple[Proposal, ...], str | None]:
    """The fixes open to a site, best first; and why there is none where the rule has some.

    A reading that goes deeper, through what a name stands for, may need operands that are out of reach; then a
    fix for a shallower one still serves.
    """
    if site.value.module is not module:
        return (), "the operation stands in another file"
    if site.withheld is not None:
        return (), site.withheld
    always = site.ranges.get(site.judgement.operand)
    if always is not None and always.is_point:
        text = " ".join((site.texts.get(site.judgement.operand) or "").split())
        named = f"`{text}`" if text else "the operand"
        when = "by default" if site.judgement.assumes else "whatever comes in"
        return (), f"{named} is {always.lo:g} {when}: what it should be is not in sight"
    offered, withheld = _offers(site, module)
    for reading in () if withheld is None and not _is_uncertain(offered) else site.readings:
        offered = (*offered, *_offers(reading, module)[0])
        if not _is_uncertain(offered):
            break
    return offered, None if offered else withheld or (_NOT_THIS if site.rule.fixes else _NONE)


def _is_uncertain(offered: tuple[Proposal, ...]) -> bool:
    """Whether each of the fixes needs an operand that has no name where the fix is made."""
    return all(any(one.origin is not None for one in proposal.bindings.values()) for proposal in offered)


def _holds(text: str, site: Site) -> bool:
    """Whether what a rewrite asks for is known to hold; it is not of an argument that the match was given none for."""
    bound = parse_predicate(text).metavariables <= site.match.bindings.keys()
    return bound and predicates.all_hold((text,), site.context) is Truth.YES


def _offers(site: Site, module: ModuleInfo) -> tuple[tuple[Proposal, ...], str | None]:
    offered: list[Proposal] = []
    withheld: str | None = None
    unmet: str | None = None
    for fix in site.rule.fixes:
        template = parse_template(fix.replace or "...")  # a statement moved or deleted has no text of its own
        missing = template.metavariables.difference(site.match.bindings)
        if missing and (missing == template.metavariables or not _are_keywords(template.text, missing)):
            continue
        if fix.target is not None and fix.target not in site.match.bindings:
            continue
        failed = next((text for text in fix.when if not _holds(text, site)), None)
        if failed is not None:
            unmet = _unmet(failed, site) or unmet
            continue
        if not _suits_dtype(fix, site):
            unmet = unmet or "the rule's rewrites are for other element types"
            continue
        ill = misfit(template.text, site)
        if ill is not None:
            withheld = withheld or ill
            continue
        try:
            offered.append(_proposal(fix, site, module))
        except _WithheldError as error:
            withheld = withheld or str(error)
    return tuple(offered), None if offered else withheld or unmet


def _unmet(condition: str, site: Site) -> str | None:
    """Why a fix is not open to a site, where its page asks for something that is not known."""
    predicate = parse_predicate(condition)
    name = next(iter(predicate.metavariables), "")
    text = " ".join((site.texts.get(name) or "").split())
    asked = None if predicate.negated else _ASKED.get(predicate.name)
    return f"nothing shows that `{text}` {asked}" if asked and 0 < len(text) <= _SHOWN else None


def place_to_change(site: Site, module: ModuleInfo) -> None:
    """Shows the finding where its fix is made: an earlier statement of the same function, or where options are set."""
    if site.anchor is not None or site.rule.has_contract:
        return
    for fix in site.rule.fixes:
        if fix.kind == "set-keywords" and fix.target is None:
            made = construction(site, module)
            site.anchor = made if made is not site.value.node else None
            return
        if fix.target is None and fix.kind == "replace" and _is_for(fix, site):
            return  # what replaces the whole belongs where the whole stands
        if fix.target is None or fix.target not in site.match.bindings or fix.kind != "replace":
            continue
        if fix.constructor is not None or fix.reader is not None:
            continue  # it changes several places, and the finding is at the operation
        layer = site.match.bindings[fix.target].link
        if layer is not None and place_in_chain(layer, module) is not None:
            site.anchor = layer.node
            return
        target = target_of(fix, site, module)
        if target is not None and not encloses(site.node, target):
            site.anchor = target
        return


def _is_for(fix: FixTemplate, site: Site) -> bool:
    """Whether a rewrite is one for the form of the operation and the element type that a site has."""
    names = parse_template(fix.replace or "...").metavariables
    return _suits_dtype(fix, site) and not site.match.through and not names.isdisjoint(site.match.bindings)


def _are_keywords(text: str, names: frozenset[str]) -> bool:
    """Whether the template uses these only as keyword arguments, which may be left out."""
    return all(f"=${name}" in text.replace(" ", "") and f"${name}." not in text for name in names)


def _suits_dtype(fix: FixTemplate, site: Site) -> bool:
    known = {v.dtype for v in site.match.bindings.values() if v.dtype in FORMATS}
    return (known or {"float32"}) <= set(fix.dtypes)


def _proposal(fix: FixTemplate, site: Site, module: ModuleInfo) -> Proposal:
    """The proposal. Raises _WithheldError."""
    if site.match.through and fix.target is None:
        raise _WithheldError("a reshape or cast stands between the operations")
    if site.match.branches and (fix.target is None or fix.constructor or fix.reader):
        raise _WithheldError("only one of the paths that meet here goes through all of the operations")
    value = site.match.bindings[fix.target] if fix.target is not None else site.value
    template = parse_template(fix.replace or "...")
    if fix.target is not None and value.link is not None:
        of_result = fix.target in template.metavariables
        return _of_result(fix, site, module) if of_result else _of_layer(fix, site, value.link, module)
    if fix.target is not None and value.assumed:
        raise _WithheldError("the value is a parameter's default, and callers may have set another")
    node = _place_of(fix, site, module)
    if node is None:
        return _in_other_file(fix, site, value, module)
    bindings: dict[str, Binding] = {}
    for name in sorted(template.metavariables.intersection(site.match.bindings)):
        binding = _binding(name, fix, node, site, module)
        if binding is None and fix.target is not None and value.module not in (None, module):
            return _in_other_file(fix, site, value, module)
        if binding is None:
            raise _WithheldError(_unnamed(site.match.bindings[name], site, module))
        bindings[name] = binding._replace(is_tensor=is_tensor(site.match.bindings[name], site))
    also = _of_object(fix, site, module)
    anchor = module.source.span(site.statement) if site.statement is not None else None
    return Proposal(
        template.bound(bindings.keys()), fix.applicability, module.source.span(node), bindings, fix.message, fix.kind,
        anchor, also, *_program(fix, site, module), tuple(caveats(fix, site, bindings, module))
    )  # fmt: skip


def _place_of(fix: FixTemplate, site: Site, module: ModuleInfo) -> ast.AST | None:
    """The node that a rewrite changes; None where it stands in another file. Raises _WithheldError."""
    if fix.kind == "set-keywords" and fix.target is None:
        made = construction(site, module)
        if made is None:
            raise _WithheldError("the call is one of an object that is made elsewhere, or at several places")
        return made
    node = target_of(fix, site, module)
    value = site.match.bindings[fix.target] if fix.target is not None else site.value
    if node is None and (value.module in (None, module) or not isinstance(value.node, ast.expr)):
        raise _WithheldError("the expression to change stands outside of this function")
    return node


def _binding(name: str, fix: FixTemplate, target: ast.AST, site: Site, module: ModuleInfo) -> Binding | None:
    """What is put in for a metavariable; None where it has no name at the place. Raises _WithheldError."""
    value = site.match.bindings[name]
    if fix.target is None and value.node is target:
        raise _WithheldError("the loop around it comes back with its own result")
    binding = spelled(name, site, target, module)
    if binding.text is not None:
        return binding
    if value.node is not None and not is_inside_function(value.node, site):
        return None
    origin = _origin(value, fix, site, module)
    if origin is not None and is_written(value, site.moment, site.frame):
        raise _WithheldError("the rewrite needs a value that is written into before this place")
    return Binding(None, None, binding.dtype, origin) if origin is not None else None


def _of_object(fix: FixTemplate, site: Site, module: ModuleInfo) -> tuple[Proposal, ...]:
    """The change of what applies the operation: the class of the object, or the function that is called."""
    if fix.reader is not None:
        return _of_reader(fix.reader, fix, site, module)
    if fix.constructor is None:
        return ()
    made = construction(site, module)
    if made is None:
        raise _WithheldError("the operation is not one of an object that is made here")
    template, applied = fix.constructor, operations.module(fix.constructor)
    if made is site.value.node and applied is not None:
        template = f"torch.nn.functional.{applied.name}"
    span, own = module.source.span(made.func), module.source.span(site.node)
    return (Proposal(template, fix.applicability, span, {}, fix.message, anchor=own),)


def _of_reader(reader: str, fix: FixTemplate, site: Site, module: ModuleInfo) -> tuple[Proposal, ...]:
    """The change of what reads a model's result in this function; only where the model is another's."""
    step = site.match.bindings[fix.target or ""]
    taken = _taken(site, step, module)
    if taken is None or (step.node is not None and encloses(site.node, step.node)):
        raise _WithheldError("the step that would go is no model's last")
    binding = Binding(module.source.segment(taken), module.source.span(taken))
    span = module.source.span(site.node)
    return (Proposal(reader, fix.applicability, span, {fix.target or "": binding}, fix.message, anchor=span),)


def _taken(site: Site, step: Value, module: ModuleInfo) -> ast.expr | None:
    """What all operations of a match behind `step` are given at the site: a call of a model, or a name for its result."""
    inside = {id(one.node) for one in site.match.covered if one is not step}
    node: ast.AST | None = site.node
    while id(node) in inside:
        inside.discard(id(node))
        match node:
            case ast.Call():
                node = operand_of(node, module)
            case ast.BinOp(left=ast.Constant(), right=other) | ast.BinOp(left=other):
                node = other
            case ast.UnaryOp(operand=other):
                node = other
            case _:
                return None
    return node if isinstance(node, ast.expr) and not inside else None


def _of_result(fix: FixTemplate, site: Site, module: ModuleInfo) -> Proposal:
    """The change of what a model gives, where the operation takes it."""
    taken = operand_of(site.node, module)
    if taken is None:
        raise _WithheldError("the model's result is not what the operation is given")
    span = module.source.span(taken)
    bindings = {fix.target or "": Binding(module.source.segment(taken), span)}
    return Proposal(fix.replace, fix.applicability, span, bindings, fix.message)


def _of_layer(fix: FixTemplate, site: Site, layer: Value, module: ModuleInfo) -> Proposal:
    """The change of a layer at the end of a chain: it goes, or becomes one of the class that the template calls."""
    made = layer.module or module
    filename = None if made is module or made.path is None else str(made.path)
    place = place_in_chain(layer, made)
    if place is None:
        raise _WithheldError(f"the `{layer.name}` is made apart from the chain that ends in it")
    also = _of_object(fix, site, module)
    if _takes_away(fix):
        span = made.source.span(place)
        program = _program(fix, site, module)[0]
        return Proposal(
            "", fix.applicability, span, {}, fix.message, "delete", None, also, program, filename=filename
        )
    called = ast.parse(fix.replace.replace("$", ""), mode="eval").body
    name = ast.unparse(called.func) if isinstance(called, ast.Call) else ""
    cls = operations.applying(name)
    if cls is None or not isinstance(layer.node, ast.Call):
        raise _WithheldError("no layer computes what the rewrite does")
    span = made.source.span(layer.node.func)
    return Proposal(cls, fix.applicability, span, {}, fix.message, "replace", None, also, filename=filename)


def _takes_away(fix: FixTemplate) -> bool:
    """Whether a rewrite leaves nothing of its target but an operand."""
    return parse_template(fix.replace).metavariables == {fix.replace.removeprefix("$")}


def _in_other_file(fix: FixTemplate, site: Site, step: Value, module: ModuleInfo) -> Proposal:
    """The change of a model in another file, whose last step goes; or why that step stays."""
    made, node = step.module, step.node
    assert made is not None
    operand = operand_of(node, made)
    name = fix.replace.removeprefix("$")
    if not isinstance(node, ast.Call) or made.path is None or operand is None or not _takes_away(fix):
        raise _WithheldError(f"the `{step.op}` to change stands in {made.path or made.source.filename}")
    if step.first is None or step.first.key != site.match.bindings[name].key:
        raise _WithheldError("the rewrite needs a value that another file computes")
    also = _of_object(fix, site, module)
    span, operand_span = made.source.span(node), made.source.span(operand)
    bindings = {name: Binding(ast.unparse(operand), operand_span)}
    return Proposal(
        fix.replace, Applicability.UNSAFE, span, bindings, fix.message, also=also, filename=str(made.path)
    )


def _program(
    fix: FixTemplate, site: Site, module: ModuleInfo
) -> tuple[tuple[Span | None, ...], tuple[Span | None, ...]]:
    """Where the operations and the literals stand that the fix relies on; None for what is not in this file.

    What the rewrite takes over as it stands may be any expression.
    """
    own = _nodes(module.source.tree)
    names = parse_template(fix.replace or "...").metavariables.intersection(site.match.bindings)
    taken_over = {id(site.match.bindings[name]) for name in names}
    asked = {name for text in fix.when for name in parse_predicate(text).metavariables}
    relied = [site.match.bindings[name] for name in sorted(asked.intersection(site.match.bindings))]
    literals = [*site.match.literals, *(value for value in relied if value.is_constant)]

    def span(value: Value) -> Span | None:
        return module.source.span(value.node) if value.node is not None and id(value.node) in own else None

    covered = [value for value in site.match.covered if id(value) not in taken_over]
    return tuple(map(span, covered)), tuple(map(span, literals))


@remembered
def _nodes(tree: ast.AST) -> frozenset[int]:
    return frozenset(map(id, descendants(tree)))


def _origin(value: Value, fix: FixTemplate, site: Site, module: ModuleInfo) -> Span | None:
    """Where the function computes a value, if a rewrite of the whole match could have it named there.

    Of a parameter, and of what an earlier turn of a loop computes, where an operation of the match is given it.
    """
    node: ast.AST | None = value.node
    takers = [one for one in site.match.covered if value.key in {of.key for of in one.operands.values()}]
    rows = [one.node.lineno for one in takers if isinstance(one.node, ast.expr)]
    if not isinstance(node, ast.expr) or value.op == "phi" or min(rows, default=node.lineno) < node.lineno:
        given = [
            one for one in takers if one.link is None and one.first is not None and one.first.key == value.key
        ]
        node = next(filter(None, (operand_of(one.node, module) for one in given)), None)
    is_replaced = fix.kind == "replace" and fix.target is None
    if not is_replaced or value.module is not module or not isinstance(node, ast.expr):
        return None
    return module.source.span(node) if id(node) in _nodes(module.source.tree) else None


def _unnamed(value: Value, site: Site, module: ModuleInfo) -> str:
    """Why a rewrite that needs a value computed elsewhere is withheld, and what would open the way."""
    if value.node is not None and not is_inside_function(value.node, site):
        return "the rewrite needs a value from outside of this function, which has no name in it"
    node = value.node if value.module is module else None
    text = " ".join(module.source.segment(node).split()) if isinstance(node, ast.expr) else ""
    if not text or len(text) > _SHOWN:
        return "an operand that the rewrite needs has no name at this place"
    return f"the rewrite needs `{text}`, which has no name at this place; give it one where it is computed"
