"""The expressions around which programs are written: the patterns of every rule that has a fix of a kind."""

import ast
import copy
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stablelint.catalog import Catalog, Rule
from stablelint.catalog.pattern import PREFIX, parse_pattern
from stablelint.diagnostic import Applicability

_SETTINGS: Mapping[str, tuple[str, ...]] = {
    "d": ("-1", "1", "0"),
    "keepdim": ("True", "False"),
    "dtype": ("torch.float64", "torch.float32"),
    "reduction": ("'sum'", "'none'", "'mean'"),
}
_RANGE = (-2.0, 2.0)
_OF_PROGRAMS = frozenset("pqrk")  # the names that programs give


@dataclass(frozen=True, slots=True)
class Core:
    """One spelling of a pattern: `tree` is its expression, `operands` the range of each tensor in it.

    A range is of floating-point numbers; None stands for the classes that a loss takes.
    """

    code: str
    tree: ast.expr
    operands: Mapping[str, tuple[float, float] | None]

    @property
    def names(self) -> str:
        """Its operands, as a function's parameters."""
        return ", ".join(self.operands)

    @property
    def text(self) -> str:
        """Its expression."""
        return ast.unparse(self.tree)

    def calls(self) -> list[ast.expr]:
        """The operations inside the outermost one, the outer ones first."""
        inner = (node for node in ast.walk(self.tree) if node is not self.tree)
        return [node for node in inner if isinstance(node, ast.Call | ast.BinOp) and _reads(node, self)]

    def literals(self) -> list[ast.expr]:
        """The numbers and truth values that are written in it; a negative one with its sign."""
        nodes = list(ast.walk(self.tree))
        signed = [one for one in nodes if isinstance(one, ast.UnaryOp) and _is_number(one.operand)]
        within = [one.operand for one in signed]
        plain = [one for one in nodes if _is_number(one) and one not in within]
        return [*signed, *(one for one in plain if isinstance(one, ast.expr))]

    def other(self, literal: ast.expr) -> str:
        """Another number that could stand in a literal's place."""
        value = ast.literal_eval(literal)
        if any(
            isinstance(one, ast.keyword) and one.value is literal and one.arg == "dim"
            for one in ast.walk(self.tree)
        ):
            return "0" if value else "-1"
        return str(not value) if isinstance(value, bool) else str(value + 1)

    def with_(self, node: ast.AST, text: str) -> str:
        """Its text with all that is equal to `node` written as `text`; of a literal, that node alone."""
        return ast.unparse(_Written(node, text).visit(_marked(self.tree, node)))


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float)


class _Written(ast.NodeTransformer):
    def __init__(self, node: ast.AST, text: str) -> None:
        self._shape = None if isinstance(node, ast.Constant | ast.UnaryOp) else ast.dump(node)
        self._new = _expression(text)

    def visit(self, node: ast.AST) -> Any:
        if getattr(node, "marked", False) or (self._shape is not None and ast.dump(node) == self._shape):
            return self._new
        return self.generic_visit(node)


def _marked(tree: ast.expr, node: ast.AST) -> ast.expr:
    node.marked = True  # type: ignore[attr-defined]
    made = copy.deepcopy(tree)
    del node.marked  # type: ignore[attr-defined]
    return made


def _reads(node: ast.AST, core: Core) -> bool:
    return any(isinstance(one, ast.Name) and one.id in core.operands for one in ast.walk(node))


def cores(catalog: Catalog, rng: random.Random, kind: Applicability = Applicability.SAFE) -> Iterator[Core]:
    """Every pattern with a fix of a kind that speaks of one expression, in a spelling drawn by `rng`."""
    for rule in catalog.rules.values():
        if not any(fix.applicability is kind for fix in rule.fixes) or rule.matcher:
            continue
        for text in rule.patterns:
            parsed = parse_pattern(text)
            tree = parsed.trees[0]
            if (
                len(parsed.trees) == 1
                and isinstance(tree, ast.expr)
                and "Normal" not in text
                and "Laplace" not in text
            ):
                yield _core(rule, copy.deepcopy(tree), parsed.optional, rng)


def _core(rule: Rule, tree: ast.expr, optional: frozenset[str], rng: random.Random) -> Core:
    settings = {name: rng.choice(texts) for name, texts in _SETTINGS.items()}
    dropped = {name for name in optional if rng.random() < 0.6}
    tree = _Spelled(settings, dropped, rng).visit(tree)
    names = {one.id for one in ast.walk(tree) if isinstance(one, ast.Name)} - {"torch", "F"}
    operands = {name: _range(rule, name.rstrip("_"), ast.unparse(tree)) for name in sorted(names)}
    return Core(rule.code, _expression(ast.unparse(tree)), operands)


def _range(rule: Rule, name: str, text: str) -> tuple[float, float] | None:
    given = rule.sample.get(name)
    if isinstance(given, Mapping):
        return float(given.get("low", 0)), float(given.get("high", 1))
    if isinstance(given, list):
        return float(given[0]), float(given[1])
    return None if name == "y" and "cross_entropy(" in text else _RANGE


class _Spelled(ast.NodeTransformer):
    """Metavariables as names and settings, functions as methods or of another namespace."""

    def __init__(self, settings: Mapping[str, str], dropped: set[str], rng: random.Random) -> None:
        self._settings, self._dropped, self._rng = settings, dropped, rng

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:
        return self.visit(node.value)  # type: ignore[no-any-return]

    def visit_Name(self, node: ast.Name) -> ast.AST:
        name = node.id.removeprefix(PREFIX)
        given = self._settings.get(name) if name != node.id else None
        own = f"{name}_" if name in _OF_PROGRAMS else name
        return ast.Name(own, ast.Load()) if given is None else _expression(given)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        node.keywords = [one for one in node.keywords if not self._is_dropped(one)]
        self.generic_visit(node)
        name = ast.unparse(node.func)
        if name.startswith("torch.nn.functional."):
            node.func = _expression(name.replace("torch.nn.functional", "F"))
        elif name in ("torch.softmax", "torch.log_softmax") and self._rng.random() < 0.5:
            node.func = _expression(name.replace("torch", "F"))
        elif name.count(".") == 1 and name.startswith("torch.") and self._rng.random() < 0.4:
            return ast.Call(ast.Attribute(node.args[0], name[6:], ast.Load()), node.args[1:], node.keywords)
        return node

    def _is_dropped(self, keyword: ast.keyword) -> bool:
        if keyword.arg is None:
            return True
        value = keyword.value
        return isinstance(value, ast.Name) and value.id.removeprefix(PREFIX) in self._dropped
