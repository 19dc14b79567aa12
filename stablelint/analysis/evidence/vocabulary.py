"""What names, comments and paths say in English: each class of words is one function.

Words order findings by what their authors mean; no status rests on them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

Speaks = Callable[[str], bool]


def _says(pattern: str) -> Speaks:
    """A predicate over names: whether a word of the class stands in one."""
    search = re.compile(pattern, re.I).search

    @lru_cache(maxsize=8192)
    def speaks(name: str) -> bool:
        return search(name) is not None

    return speaks


# Operands.
names_a_setting = _says(
    r"(^|_)(temp|temperature|tau|t|scale|scaling|gamma|beta|lambda|sigma|lr|rate|factor|ratio|momentum|decay|step_?size|"
    r"alpha|theta|max|min|warmup\w*|accum\w*)(_|\d|$)"
)
names_a_mean = _says(r"(^|[^a-z])(e?mean|mu|avg|average)s?([^a-z]|$)")

# What becomes of a result.
names_a_reader = _says(
    r"^(int|ceil|floor|print|format|item|tolist|numpy|isclose|allclose|assert\w*|write|info|debug|warn(ing)?|"
    r"log_\w*|record\w*|add_scalars?|set_postfix|set_description|plot|imshow)$"
)

# Where code stands.
names_an_objective = _says(
    r"loss|criterion|objective|log_?prob|rsample|kl_?div|(^|_)kl(_|$)|likelihood|elbo|(^|_)energy(_|$)|"
    r"training_step|penalty|regulari[sz]"
)
names_a_metric = _says(
    r"metric|(^|_)(evaluat\w*|accuracy|precision|recall|f1|iou|dice|psnr|ssim|auc|perplexity|meter)(_|$)|(Metric|Evaluator|Meter)s?$"
)
names_a_test = _says(r"^(unit)?tests?$|^testing$|^test_|_tests?$|^conftest$")
names_a_script = _says(
    r"^(train\w*|main|run\w*|finetune\w*|pretrain\w*|scripts?|tools?|recipes?|examples?|experiments?)$"
)

# What comments, docstrings and files say.
# Each begins with letters, which are fast to look for.
_SMALL_CONSTANTS = (re.compile(r"eps(?:ilon|(?<=\beps)\b)"), re.compile(r"1e-(?<=\b1e-)\d+\b"))


@lru_cache(maxsize=1)  # whole texts are not held
def says_a_small_constant(text: str) -> bool:
    """Whether the text of a file speaks of a small constant."""
    lowered = text.lower()
    return any(constant.search(lowered) for constant in _SMALL_CONSTANTS)
