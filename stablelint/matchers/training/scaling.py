"""Training data and test data that are brought to scale differently."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.matchers.common import Review, Rule, Sites, observes, site_at
from stablelint.matchers.names import assigned_in, bound_to, functions_naming, functions_of, made_by
from stablelint.matchers.tree import (
    argument,
    assigned,
    called,
    calls_below,
    calls_in,
    exclusive,
    loop_around,
    mentions,
    start,
    subject,
)
from stablelint.syntax.names import spelled
from stablelint.syntax.walk import descendants, nodes_in

_REFITTED = "fitted anew to other data: what the first fit has scaled is on another scale"
_FITTED_LATE = "fitted to what a trained model is asked about: it was trained on the scale of other data"
_ROW_BY_ROW = (
    "Normalizer",
    "Binarizer",
    "FunctionTransformer",
)  # they keep nothing of what they are fitted to
_TO_TENSOR = ("ToTensor", "ConvertImageDtype", "PILToTensor")


@observes()
def scaled_differently(review: Review, rule: Rule) -> Sites:
    """A scaler that is fitted to both parts of the data, or a `Normalize` in one of two pipelines."""
    module = review.module
    late = module.speaks_of("load_state_dict", "eval") and not module.mentions("backward", "fit", "transform")
    for root in functions_naming(review, "fit_transform", "fit", "scale"):
        fits = sorted((n for n in calls_in(root) if _fits(n, root, module)), key=start)
        yield from (site_at(review, rule, n, message=_REFITTED) for n in _refitted(fits, root))
        for fit in fits if late else ():
            name = made_by(bound_to(subject(fit), fit, root), module)
            if name.startswith("sklearn.preprocessing") and name.endswith("Scaler"):
                yield site_at(review, rule, fit, shown=False, message=_FITTED_LATE)
    for root in functions_of(review, "Normalize", "Compose"):
        yield from (site_at(review, rule, n, shown=False) for n in _unnormalised(root, module))


def _fits(call: ast.Call, root: ast.AST, module: ModuleInfo) -> bool:
    """Whether a call fits a scaler: `fit_transform`, `fit` of one of scikit-learn, or its function `scale`."""
    made = made_by(bound_to(subject(call), call, root), module) if called(call) == "fit" else ""
    scales = made_by(call, module) == "sklearn.preprocessing.scale"
    return called(call) == "fit_transform" or scales or made.startswith("sklearn.preprocessing")


def _refitted(fits: list[ast.Call], root: ast.AST) -> Iterator[ast.Call]:
    """The second `fit_transform` in a function: of one scaler with other data, or of the other half of a split."""
    halves = _halves(root)
    kept = [fit for fit in fits if fit.args and not loop_around(fit, root)]
    kept = [fit for fit in kept if called(bound_to(subject(fit), fit, root)) not in _ROW_BY_ROW]
    for i, fit in enumerate(kept):
        for before in kept[:i]:
            if exclusive(before, fit, root) or ast.dump(before) == ast.dump(fit):
                continue
            one, other = _data_of(before), _data_of(fit)
            same = subject(before) == subject(fit) and not _is_renewed(subject(fit), before, fit, root)
            if same or (one, other) in halves or _are_called_halves(one, other):
                yield fit
                break


def _is_renewed(name: str, first: ast.Call, second: ast.Call, root: ast.AST) -> bool:
    """Whether two calls of a scaler's are those of two: it is made where it is called, or anew between them."""
    return "(" in name or any(start(first) < start(n) < start(second) for n in assigned_in(name, root))


def _data_of(fit: ast.Call) -> str:
    """The name of what a scaler is fitted to: `X` of `X[:, 1:]` and of `X.values`."""
    names = (n.id for n in descendants(fit.args[0]) if isinstance(n, ast.Name))
    return next(names, "")


def _are_called_halves(one: str, other: str) -> bool:
    """Whether two names are those of training and test data: `X_train` and `X_test`."""
    return "train" in one and other in (one.replace("train", word) for word in ("test", "val", "valid"))


def _halves(root: ast.AST) -> set[tuple[str, str]]:
    """The names of the two halves of what is split in a function: `a, b, c, d = train_test_split(x, y)`."""
    split = [n for n in nodes_in(root, ast.Assign) if called(n.value) == "train_test_split"]
    names = [list(map(spelled, getattr(n.targets[0], "elts", ()))) for n in split]
    return {pair for parts in names for pair in zip(parts[::2], parts[1::2], strict=False)}


def _unnormalised(root: ast.AST, module: ModuleInfo) -> list[ast.expr]:
    """The pipelines that data sets of a file transform their inputs by and that do not normalise, where another does."""
    given = {spelled(argument(n, "transform") or n) for n in calls_below(module.source.tree)}
    made = [n.value for n in nodes_in(root, ast.Assign) if given.intersection(assigned(n)[0])]
    made += [
        value for n in nodes_in(root, ast.Assign) if isinstance(n.value, ast.Dict) for value in n.value.values
    ]
    made = [c for c in made if made_by(c, module).endswith("transforms.Compose") and _is_written_out(c)]
    plain = [c for c in made if not mentions(c, "Normalize")]
    return [c for c in plain if mentions(c, *_TO_TENSOR)] if len(plain) < len(made) else []


def _is_written_out(pipeline: ast.expr) -> bool:
    return isinstance(pipeline, ast.Call) and bool(pipeline.args) and isinstance(pipeline.args[0], ast.List)
