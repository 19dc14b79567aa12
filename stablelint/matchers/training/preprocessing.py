"""Data for training and data for testing that are brought to scale differently."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stablelint.analysis.matching.interest import observes
from stablelint.matchers.common import qualified, site_at
from stablelint.matchers.names import assigned_in, called, functions_of, receiver
from stablelint.matchers.tree import exclusive, loop_around, mentions, start
from stablelint.syntax.walk import descendants, nodes_below, nodes_in

if TYPE_CHECKING:
    from stablelint.analysis.files.modules import ModuleInfo
    from stablelint.analysis.matching.review import Review
    from stablelint.analysis.matching.sites import Site
    from stablelint.catalog.rule import Rule

_REFITTED = "fitted anew to other data: what the first fit has scaled is on another scale"
_NORMALISING = ("Normalize",)
_TO_TENSOR = ("ToTensor", "ConvertImageDtype", "PILToTensor")


@observes()
def scaled_differently(review: Review, rule: Rule) -> Iterator[Site]:
    """A scaler that is fitted to both parts of the data, or a `Normalize` in one of two pipelines."""
    for root in functions_of(review, "fit_transform"):
        yield from _refitted(root, review, rule)
    for root in functions_of(review, "Normalize", "Compose"):
        yield from _half_normalised(root, review, rule)


def _refitted(root: ast.AST, review: Review, rule: Rule) -> Iterator[Site]:
    """The second `fit_transform` in a function: of one scaler with other data, or of the other half of a split."""
    calls = (n for n in nodes_in(root, ast.Call) if called(n) == "fit_transform" and not loop_around(n, root))
    fits = [n for n in sorted(calls, key=start) if n.args and receiver(n) is not None]
    halves = _halves(root)
    for i, fit in enumerate(fits):
        of = ast.unparse(receiver(fit) or fit)
        before = [f for f in fits[:i] if not exclusive(f, fit, root) and ast.dump(f) != ast.dump(fit)]
        same = [
            f for f in before if ast.unparse(receiver(f) or f) == of and not _is_renewed(of, f, fit, root)
        ]
        if same or any((_data_of(f), _data_of(fit)) in halves for f in before):
            yield site_at(review, rule, fit, message=_REFITTED)


def _is_renewed(name: str, first: ast.Call, second: ast.Call, root: ast.AST) -> bool:
    """Whether two calls of a scaler's are those of two: it is made where it is called, or anew between them."""
    made = assigned_in(name, root)
    return "(" in name or any(start(first) < start(n) < start(second) for n in made)


def _data_of(fit: ast.Call) -> str:
    """The name of what a scaler is fitted to: `X` of `X[:, 1:]` and of `X.values`."""
    names = (n.id for n in descendants(fit.args[0]) if isinstance(n, ast.Name))
    return next(names, "")


def _halves(root: ast.AST) -> set[tuple[str, str]]:
    """The names of the two halves of what is split in a function: `a, b, c, d = train_test_split(x, y)`."""
    found = set[tuple[str, str]]()
    for made in nodes_in(root, ast.Assign):
        targets = made.targets[0]
        if called(made.value) == "train_test_split" and isinstance(targets, ast.Tuple | ast.List):
            names = list(map(ast.unparse, targets.elts))
            found.update(zip(names[::2], names[1::2], strict=False))
    return found


def _half_normalised(root: ast.AST, review: Review, rule: Rule) -> Iterator[Site]:
    """The pipelines that data sets of a file transform their inputs by and that do not normalise, where another does."""
    given = {
        ast.unparse(keyword.value)
        for node in nodes_below(review.module.source.tree, ast.Call)
        for keyword in node.keywords
        if keyword.arg == "transform"
    }
    made = [node.value for node in nodes_in(root, ast.Assign) if given & set(map(ast.unparse, node.targets))]
    made = [c for c in made if _is_pipeline(c, review.module)]
    normalising = [c for c in made if mentions(c, *_NORMALISING)]
    for pipeline in made if normalising else ():
        if pipeline not in normalising and mentions(pipeline, *_TO_TENSOR):
            yield site_at(review, rule, pipeline, shown=False)


def _is_pipeline(node: ast.expr, module: ModuleInfo) -> bool:
    """Whether an expression is a `Compose` of transforms that are written out."""
    if not isinstance(node, ast.Call) or not qualified(node.func, module).endswith("transforms.Compose"):
        return False
    return bool(node.args) and isinstance(node.args[0], ast.List)
