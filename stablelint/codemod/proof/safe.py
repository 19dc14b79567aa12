"""Whether a rewrite is proved to leave the program the same, for every caller.

The analysis finds a match through what names usually stand for, tells what is not shown of the types of its operands, and
names only operands that still hold at the rewrite what they held in the match; whether it may be rewritten unread is
decided here. A rewrite is safe where the operations of the match, and the literals that its pattern asks for, stand in one
expression or reach it through local names that are bound once; and where nothing unseen may act on the way. Where a step
of that is refuted there is no rewrite; where one is only not shown, the rewrite is unsafe, and says why.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stablelint.codemod.flow.definition import Definition, definition, function_of
from stablelint.codemod.flow.nodes import is_number, unsigned
from stablelint.codemod.proof.changes import change_between, kept_alive, region_left, without_gradient
from stablelint.codemod.templates.operand import parse_operand
from stablelint.codemod.templates.spelling import File
from stablelint.codemod.text.law import same
from stablelint.codemod.text.locate import Tree
from stablelint.codemod.withheld import Withheld
from stablelint.diagnostic import Applicability, Proposal, Span
from stablelint.syntax import operations
from stablelint.syntax.names import shortened
from stablelint.syntax.remembered import remembered
from stablelint.syntax.signatures import arguments


def caution(file: File, proposal: Proposal) -> str | None:
    """Why a proposal of a safe rewrite is not proved to be one here, or None where it is.

    Raises Withheld where it is refuted: the program would be another one.
    """
    if not proposal.program or proposal.kind != "replace":
        return None
    match = _Match(file, proposal)
    caveats = list(match.caveats())
    return caveats[0] if caveats and proposal.applicability is Applicability.SAFE else None


_NUMBERS = frozenset({"inf", "nan", "pi", "e"})
_SELF = ("self", "cls")
_NUMBERED = ("math.", "torch.", "numpy.")


class _Match:
    """The operations of a match as they stand in the text, from the outermost inwards."""

    def __init__(self, file: File, proposal: Proposal) -> None:
        self._file = file
        self._tree = file.tree
        self._proposal = proposal
        self._operations = _found(file.tree, proposal.program)
        self._literals = _found(file.tree, proposal.literals)
        self._met: set[ast.AST] = set()
        self._through: list[Definition] = []
        self._others: list[ast.expr] = []  # what is called without being torch's for certain
        self._walrus: list[ast.NamedExpr] = []
        self._written: set[str] = set()  # the numbers that stand among the operands

    def caveats(self) -> Iterator[str]:
        """What is not shown, the gravest first; raises Withheld for what is refuted."""
        root = self._operations[-1]
        if root is None:
            yield "it is found in another file"
            return
        self._visit(root)
        self._check_literals()
        for walrus in self._walrus:
            raise Withheld(f"`{ast.unparse(walrus.target)}`, which the expression binds, would be gone")
        yield from self._elsewhere()
        for function in self._others:
            yield from self._other(function)
        for given in self._through:
            yield from region_left(given)
            yield from change_between(self._file, given, self._texts())
        for given in self._through:
            yield from kept_alive(self._file, given, self._met)
        if any(
            isinstance(link.parent, ast.Try) and link.field == "body" for link in self._tree.ancestors(root)
        ):
            yield "errors are caught around it, and it may raise another one"
        if "softmax(" in self._proposal.template and "vmap" in self._tree.source.text:
            yield "under `vmap` autocast computes a softmax as its operand comes, and a logarithm in single precision"
        if "torch.expm1(" in self._proposal.template and not without_gradient(self._tree, root):
            yield "below -17 the gradient of expm1 is 0 in float32, and that of exp is not"
        yield from self._proposal.caveats

    def _visit(self, node: ast.AST) -> None:
        """Go through what stands for a node."""
        if isinstance(node, ast.NamedExpr):
            self._walrus.append(node)
        if node in self._operations or node in self._literals:
            self._met.add(node)
            self._written.add(ast.dump(node))
            for child in self._children(node):
                self._visit(child)
            return
        if isinstance(node, ast.Name):
            given = definition(self._tree, node)
            if given is not None and self._leads_on(given.value):
                self._through.append(given)
                self._met.add(node)
                self._visit(given.value)
                return
        if any(one in self._operations or one in self._literals for one in ast.walk(node)):
            for child in ast.iter_child_nodes(node):
                self._visit(child)
        elif isinstance(node, ast.expr):
            self._written.add(ast.dump(node))

    def _leads_on(self, value: ast.expr) -> bool:
        """Whether a value holds an operation or literal of the match, or is a name for one."""
        if isinstance(value, ast.Name):
            given = definition(self._tree, value)
            return given is not None and self._leads_on(given.value)
        return any(one in self._operations or one in self._literals for one in ast.walk(value))

    def _children(self, node: ast.AST) -> Iterator[ast.AST]:
        """The operands of an operation; what is called is noted where it is not torch's."""
        if not isinstance(node, ast.Call):
            yield from (one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr))
            return
        if self._is_spelled_number(node):
            return
        more: list[ast.AST] = [one for one in node.args if isinstance(one, ast.Starred)]
        more += (one for one in node.keywords if one.arg is None)
        if more:
            raise Withheld(f"`{ast.unparse(more[0])}` may hold more than is in sight, and would be gone")
        function = node.func
        if self._file.qualified(function) is None:
            is_method = isinstance(function, ast.Attribute) and operations.method(function.attr) is not None
            if is_method and isinstance(function, ast.Attribute) and ast.unparse(function.value) not in _SELF:
                yield function.value
            else:
                self._others.append(function)
        yield from arguments(node)

    def _check_literals(self) -> None:
        unmet = [one for one in self._operations if one is not None and one not in self._met]
        within = {one for each in unmet for one in ast.walk(each)}
        for literal in self._literals:
            is_in_sight = literal in self._met or literal in within
            if literal is None or not is_in_sight or not self._is_literal(literal):
                raise Withheld("a number that the rewrite relies on is one that others can set")
        for text, tree in ((ast.unparse(tree), tree) for tree in self._texts()):
            if is_number(tree) and ast.dump(tree) not in self._written:
                beyond = next((one for one in unmet if any(same(each, tree) for each in ast.walk(one))), None)
                if beyond is not None:
                    raise Withheld(
                        f"no name leads from here to `{shortened(ast.unparse(beyond))}`, where `{text}` stands"
                    )
                raise Withheld(f"`{text}` is what a name stands for, which others can set")

    def _is_literal(self, node: ast.AST) -> bool:
        """Whether nothing but numbers stands in an expression, or a local name for one."""
        if isinstance(node, ast.Name):
            given = definition(self._tree, node)
            return given is not None and self._is_literal(given.value)
        if isinstance(node, ast.BinOp):
            return self._is_literal(node.left) and self._is_literal(node.right)
        if self._is_spelled_number(node):
            return True
        return not any(isinstance(one, ast.Name | ast.Call) for one in ast.walk(node))

    def _is_spelled_number(self, node: ast.AST) -> bool:
        """Whether an expression is `float("-inf")`, `math.inf` or the like, with their own meaning."""
        inner = unsigned(node) if isinstance(node, ast.expr) else node
        if isinstance(inner, ast.Attribute):
            return inner.attr in _NUMBERS and (self._file.qualified(inner) or "").startswith(_NUMBERED)
        if (
            not isinstance(inner, ast.Call)
            or not isinstance(inner.func, ast.Name)
            or inner.func.id != "float"
        ):
            return False
        own = self._assigned("float", self._tree.module) is None and self._file.qualified(inner.func) is None
        return own and not inner.keywords and all(isinstance(one, ast.Constant) for one in inner.args)

    def _elsewhere(self) -> Iterator[str]:
        """Operations that the walk has not come to: in another function, or behind a name bound twice."""
        root = self._operations[-1]
        own = None if root is None else function_of(self._tree, root)
        for node in self._operations:
            if node is None:
                yield "a part of it is computed in another file"
            elif node not in self._met:
                function = function_of(self._tree, node)
                name = function.name if function is not None else ""
                if function is not None and function is not own:
                    if function.decorator_list:
                        raise Withheld(f"`{name}` is decorated, and may give something else")
                    if any(isinstance(one, ast.With | ast.AsyncWith) for one in ast.walk(function)):
                        raise Withheld(f"`{name}` computes it within a `with` block")
                    yield f"`{name}` may be overridden or replaced"
                else:
                    yield "more than one path leads to it"

    def _other(self, function: ast.expr) -> Iterator[str]:
        """Caveats about a call whose function is not torch's by an import; Withheld where it is not known to be at all."""
        text = ast.unparse(function)
        if self._makes_module(function):
            return
        if isinstance(function, ast.Name):
            scope = function_of(self._tree, function)
            local = self._assigned(text, scope) if scope is not None else None
            if local is not None and self._makes_module(local):
                return
        given = self._assigned(text.removeprefix("self."), self._tree.module)
        if given is None or not self._makes_module(given):
            raise Withheld(f"`{text}` may be another function")
        yield f"`{text}` may be set to another module"

    def _makes_module(self, value: ast.expr) -> bool:
        return isinstance(value, ast.Call) and (self._file.qualified(value.func) or "").startswith(
            "torch.nn."
        )

    def _assigned(self, name: str, scope: ast.AST) -> ast.expr | None:
        """The one value that a scope assigns to a name, or to an attribute of that name."""
        found = _assignments(scope).get(name, [])
        return found[0] if len(found) == 1 else None

    def _texts(self) -> list[ast.expr]:
        """The operands as the rewrite writes them."""
        given = (binding.text for binding in self._proposal.bindings.values())
        return [parse_operand(text) for text in given if text]


@remembered
def _assignments(scope: ast.AST) -> dict[str, list[ast.expr]]:
    """The values that a scope assigns, by the names and attributes that it gives them to."""
    found: dict[str, list[ast.expr]] = {}
    for one in (node for node in ast.walk(scope) if isinstance(node, ast.Assign)):
        for target in one.targets:
            found.setdefault(ast.unparse(target).removeprefix("self."), []).append(one.value)
    return found


def _found(tree: Tree, spans: tuple[Span | None, ...]) -> list[ast.AST | None]:
    return [None if span is None else tree.find(span) for span in spans]
