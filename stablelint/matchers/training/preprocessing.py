"""Data for training and data for testing that are brought to scale differently."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stablelint.analysis.matching.interest import observes
from stablelint.matchers.common import qualified, site_at
from stablelint.matchers.names import assigned_in, called, functions_of, receiver
from stablelint.matchers.tree import exclusive, loop_around, mentions, start
from stablelint.syntax.walk import nodes_below, nodes_in

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
    """The second `fit_transform` of one scaler in a function, of other data."""
    fits = [n for n in nodes_in(root, ast.Call) if called(n) == "fit_transform"]
    first: dict[str, ast.Call] = {}
    for fit in sorted(fits, key=start):
        of = receiver(fit)
        if not isinstance(fit, ast.Call) or of is None or isinstance(of, ast.Call) or loop_around(fit, root):
            continue
        name, before = ast.unparse(of), first.setdefault(ast.unparse(of), fit)
        anew = any(start(before) < start(n) < start(fit) for n in assigned_in(name, root))
        if anew or exclusive(before, fit, root):
            first[name] = fit
        elif before is not fit and fit.args and ast.dump(fit) != ast.dump(before):
            yield site_at(review, rule, fit, message=_REFITTED)


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
