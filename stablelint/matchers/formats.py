"""Defaults of an operation that a narrow format cannot hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.analysis.matching.interest import observes
from stablelint.analysis.matching.predicates.formats import is_upcast
from stablelint.matchers.common import make_site, observed
from stablelint.numerics.formats import FLOAT16, round_to

if TYPE_CHECKING:
    from stablelint.analysis.matching.review import Review
    from stablelint.analysis.matching.sites import Site
    from stablelint.catalog.rule import Rule

_NORM = re.compile(r"norm(\dd)?$", re.I)  # the name of a layer
# Within three lines, as it is written nearly everywhere: `f(x.float()).type_as(x)`, `f(x.float()).to(x.dtype)`.
_UP = re.compile(r"\.float\(\)|\.to\((dtype=)?torch\.float32\)|dtype=torch\.float32\)")
_BACK = re.compile(r"\.type_as\(|\.to\((dtype=)?(\w+\.)*\w*dtype\)")
_EPS = 1e-12  # the default


@observes("normalize")
def half_normalize(review: Review, rule: Rule) -> Iterator[Site]:
    """`F.normalize(x)` in a normalisation layer of a file that casts to float32 and back."""
    for pair in observed(review, "normalize"):
        value, frame = pair
        owner = frame.function.owner if frame.function is not None else None
        if owner is None or not _NORM.search(owner.name) or not casts_up_and_back(frame.module):
            continue
        vectors, given = value.first, value.operands.get("eps")
        eps = given.constant() if given is not None else _EPS
        if vectors is None or not isinstance(eps, int | float) or round_to(float(eps), FLOAT16) != 0:
            continue
        if vectors.dtype in (None, "float16") and not is_upcast(vectors):
            yield make_site(review, rule, pair, {"x": vectors})


def casts_up_and_back(module: ModuleInfo) -> bool:
    """Whether a file computes something in float32 and gives it back in the type of what came in."""
    lines = module.source.lines
    return any(
        _UP.search(line) and _BACK.search(" ".join(lines[row : row + 3])) for row, line in enumerate(lines)
    )
