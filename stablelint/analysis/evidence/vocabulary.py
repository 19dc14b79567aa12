"""What names, comments and paths say in English: each class of words is one function.

Words order findings by what their authors mean; no status rests on them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

Speaks = Callable[[str], bool]


def _says(pattern: str) -> Speaks:
    """A predicate over names: whether a word of the class stands in one."""

    @lru_cache(maxsize=8192)
    def speaks(name: str) -> bool:
        return re.search(pattern, name, re.I) is not None

    return speaks


# Operands.
names_a_setting = _says(
    r"(^|_)(temp|temperature|tau|t|scale|scaling|gamma|beta|lambda|sigma|lr|rate|factor|ratio|momentum|decay|step_?size|"
    r"alpha|theta|max|min|warmup\w*|accum\w*)(_|\d|$)"
)
names_a_mean = _says(r"(^|[^a-z])(e?mean|mu|avg|average)s?([^a-z]|$)")

names_a_mask = _says(r"(^|_)masks?(_|\d|$)")
names_a_soft_value = _says(r"soft|sigmoid|prob")
names_a_count = _says(r"(^|_)(num_\w+|counts?|cnts?)(_|\d|$)")
names_a_length = _says(r"(^|_)(lens?|lengths?)(_|\d|$)")
names_an_extent = _says(r"(^|_)(widths?|heights?)(_|\d|$)")
names_two_extents = _says(r"(^|_)wh(_|\d|$)")
names_a_box = _says(r"(^|_)(anchor|prior|box|bbox|roi)(e?s)?(_|\d|$)")
names_a_variance = _says(r"(\b|_|log|ln)var(iance)?s?(\b|_|\d)")
names_a_log_scale = _says(
    r"(\b|_)l(og|n)(_\w+?)?_?(var(iance)?|std|sigma|scale|gamma|delta|tau|prec(ision)?|temp(erature)?)s?(?![a-z])"
    r"|\blog_?(s(_[a-z])?|v)\b"
)
_names_a_log_of_share = _says(r"(^|_)log_?(p|pi|probs?)(_|\d|$|s$)")
_AGES = frozenset("new old current prev previous".split())


def names_a_log_share(name: str) -> bool:
    """Whether a name is that of the logarithm of a probability, and not of a scale."""
    return _names_a_log_of_share(name) and not names_a_log_scale(name)


def tells_new_from_old(one: str, other: str) -> bool:
    """Whether two names differ in the age of what they name alone: ``LL_new``, ``LL_old``."""
    words = [frozenset(name.lower().strip("_").split("_")) for name in (one, other)]
    ages = [each & _AGES for each in words]
    return ages[0] != ages[1] and words[0] - _AGES == words[1] - _AGES


# What becomes of a result.
names_a_reader = _says(
    r"^(int|long|round|trunc|ceil|floor|item|tolist|numpy|isclose|allclose|assert\w*|print|format|write|info|debug|"
    r"warn(ing)?|log_\w*|record\w*|add_scalars?|set_postfix|set_description|plot|imshow)$"
)

# Where code stands.
names_an_objective = _says(
    r"loss|criterion|objective|log_?prob|(^|_)rsample|kl_?div|(^|_)kl(_|$)|likelihood|elbo|(^|_)energy(_|$)|"
    r"training_step|penalty|regulari[sz]"
)
names_a_report = _says(r"^_*(print|plot|show|draw|save|write|report|display)_")
names_a_metric = _says(
    r"metric|(^|_)(evaluat\w*|accuracy|precision|recall|f1|iou|dice|psnr|ssim|auc|perplexity|meter)(_|$)|(Metric|Evaluator|Meter)s?$"
)
names_a_test = _says(r"^(unit)?tests?$|^testing$|^test_|_tests?$|^conftest$")
names_a_script = _says(
    r"^(train\w*|main|run\w*|finetune\w*|pretrain\w*|scripts?|tools?|recipes?|examples?|experiments?)$"
)

# What arguments stand for, in the order of the guesses: a call confirms one, or does not.
_ARGUMENTS = (
    ("namespace", _says(r"^(args?|opts|options?|cfg|conf|config|hparams|flags)$")),
    ("parameters", _says(r"^param(eter)?s$")),
    ("device", _says(r"^device$")),
    ("dtype", _says(r"^dtype$")),
    ("optimizer", _says(r"(^|_)(optim|optimizer|opt)(_\d+)?$")),
    ("callable", _says(r"(^|_)(model|net|network|module|backbone|fn|func|criterion|activation|nonlin)$")),
    ("scores", _says(r"(^|_)(model|net|network|module|backbone|classifier|encoder)$")),
    ("batches", _says(r"loader$|^dl$")),
    ("dim", _says(r"(^|_)(dim|axis)$")),
    ("range", _says(r"(^|_)range$")),
    ("mask", _says(r"mask|valid|keep")),
    (
        "labels",
        _says(r"^(y|labels?|targets?|classes|idx|index|indices|ids?)$|_(labels?|ids?|idx|index)$"),
    ),
    ("small", _says(r"^(eps|epsilon)$")),
    ("odd", _says(r"kernel")),
    (
        "int",
        _says(
            r"dilation|stride|padding|hop|window|length|layers|blocks|levels|groups|steps|bins|^n_|^num_|^in_|^out_|layers?$|"
            r"^(n|k|num|size|width|depth|heads|hidden|channels|classes)(_|$)|"
            r"_(dim|size|width|height|channels|features|heads|num)$"
        ),
    ),
    (
        "float",
        _says(
            r"temp|alpha|beta|gamma|lambda|margin|weight_decay|scale|lr|rate|momentum|sigma|tau|dropout|prob"
        ),
    ),
)


def kinds_of_argument(name: str) -> Iterator[str]:
    """What an argument may be by its name, the likeliest first."""
    return (kind for kind, says in _ARGUMENTS if says(name))


# What comments, docstrings and files say.
# Each begins with letters, which are fast to look for.
_SMALL_CONSTANTS = (re.compile(r"eps(?:ilon|(?<=\beps)\b)"), re.compile(r"1e-(?<=\b1e-)\d+\b"))


@lru_cache(maxsize=1)  # whole texts are not held
def says_a_small_constant(text: str) -> bool:
    """Whether the text of a file speaks of a small constant."""
    lowered = text.lower()
    return any(constant.search(lowered) for constant in _SMALL_CONSTANTS)
