"""Training data and test data that are brought to scale differently."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.matchers.common import Review, Rule, Sites, observes, site_at
from stablelint.matchers.names import (
    assigned_in,
    bound_anywhere,
    bound_to,
    defined,
    function_around,
    functions_naming,
    made_by,
)
from stablelint.matchers.through import given_to
from stablelint.matchers.training.gathered import additions
from stablelint.matchers.tree import (
    around,
    assigned,
    block_of,
    called,
    calls_below,
    calls_in,
    exclusive,
    is_given,
    loop_around,
    mentions,
    receiver,
    start,
    subject,
)
from stablelint.syntax.names import is_literal, listed, name_of, spelled
from stablelint.syntax.signatures import argument, arguments
from stablelint.syntax.walk import descendants, nodes_below, nodes_in

_REFITTED = "fitted anew to other data: what the first fit has scaled is on another scale"
_FITTED_LATE = "fitted to what a trained model is asked about: it was trained on the scale of other data"
# They keep nothing of what they are fitted to.
_ROW_BY_ROW = ("Normalizer", "Binarizer", "FunctionTransformer")
_PLACING = ("TSNE", "UMAP")  # of other packages
_OWN_MOMENTS = "brought to scale by moments of its own: what is trained on has other ones"
_PARTS = {"train": ("test", "val", "valid", "eval"), "tr": ("te", "ts", "va")}  # of the data
_TO_TENSOR = ("ToTensor", "ConvertImageDtype", "PILToTensor", "ToDtype")


@observes()
def scaled_differently(review: Review, rule: Rule) -> Sites:
    """A scaler that is fitted to both parts of the data, or a `Normalize` in one of two pipelines."""
    module = review.module
    if not review.of_body:
        return
    late = module.speaks_of("load_state_dict", "eval") and not module.mentions("backward", "fit", "transform")
    fitting = dict.fromkeys(module.sights.functions_naming("std", "max", "fit_transform"))
    helpers = [f.name for f in fitting]
    helpers += [info.name for info in module.sights.classes if not fitting.keys().isdisjoint(info.body)]
    for root in functions_naming(review, "fit_transform", "fit", "scale", "std", "max", *helpers):
        fits = sorted((n for n in calls_in(root) if _fits(n, root, module)), key=start)
        yield from (site_at(review, rule, n, message=_REFITTED) for n in _refitted(fits, root))
        yield from (site_at(review, rule, n, message=_OWN_MOMENTS) for n in _standardised(root, module))
        for fit in fits if late else ():
            name = made_by(_scaler_of(fit, root), module)
            if name.startswith("sklearn.preprocessing") and name.endswith("Scaler"):
                yield site_at(review, rule, fit, shown=False, message=_FITTED_LATE)
    if module.mentions("Normalize"):
        found = (*_unnormalised(module), *_normalised_in_part(module))
        yield from (site_at(review, rule, n, shown=False) for n in found)


def _scaler_of(fit: ast.Call, root: ast.AST) -> ast.expr | None:
    """What makes the object that a call fits: it stands there itself, or is bound to its name."""
    of = receiver(fit)
    return of if isinstance(of, ast.Call) else bound_to(subject(fit), fit, root)


def _fits(call: ast.Call, root: ast.AST, module: ModuleInfo) -> bool:
    """Whether a call fits a scaler: `fit_transform`, `fit` of one of scikit-learn, or its function `scale`."""
    scales = made_by(call, module) == "sklearn.preprocessing.scale"
    if called(call) not in ("fit", "fit_transform"):
        return scales
    made = made_by(_scaler_of(call, root), module)
    # What places points anew, as t-SNE does, has no scale that other data could be brought to.
    places = made.startswith("sklearn.manifold.") or made.rpartition(".")[2] in _PLACING
    fits = called(call) == "fit_transform" and not places
    return fits or scales or (called(call) == "fit" and made.startswith("sklearn.preprocessing"))


def _standardised(root: ast.AST, module: ModuleInfo) -> Iterator[ast.expr]:
    """Test data that are brought to scale by moments of their own: `(x_test - x_test.mean(0)) / x_test.std(0)`, there or in
    a function of the file that is given them."""
    scaled = dict(_by_own_moments(root))
    for call in calls_in(root):
        for helper in (*defined(call, module), *_constructors(call, module)):
            fits = ((_data_of(n), n) for n in calls_in(helper) if n.args and _fits(n, helper, module))
            inner = {
                **dict(_by_own_moments(helper)),
                **{name: n for name, n in fits if called(_scaler_of(n, helper)).endswith("Scaler")},
            }
            scaled |= {name: call for local, name in given_to(call, helper).items() if local in inner}
    names = {spelled(n) for n in nodes_in(root, ast.Name, ast.Attribute, ast.Subscript)} if scaled else set()
    for name, computed in scaled.items():
        if any(_are_called_halves(one, name) or (one, name) in _halves(root) for one in names):
            yield computed


def _constructors(call: ast.Call, module: ModuleInfo) -> list[ast.FunctionDef]:
    """What a call runs to make an object of a class of the file."""
    name = name_of(call.func)
    made = [info for info in module.sights.classes if info.name == name]
    return [n for info in made for n in info.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]


def _by_own_moments(root: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """What a function scales by its own mean and deviation, over all its rows, and where."""
    for node in sorted(nodes_in(root, ast.BinOp), key=start):
        match node:
            case ast.BinOp(left=ast.BinOp(left=data, op=ast.Sub(), right=mean), op=ast.Div(), right=spread):
                moments = [
                    _moment(mean, ("mean", "min"), node, root),
                    _moment(spread, ("std", "max"), node, root),
                ]
                if moments == [spelled(data)] * 2:
                    yield spelled(data), node


def _moment(node: ast.expr, names: tuple[str, ...], at: ast.AST, root: ast.AST) -> str:
    """Of what an expression, or what its name is bound to, is a moment over the rows; empty where it is none."""
    made = bound_to(spelled(node), at, root) or node
    found = calls_below(made, *names)
    by_row = any(
        is_given(n, "keepdim", "keepdims") or [spelled(a) for a in arguments(n)] in (["1"], ["-1"])
        for n in found
    )
    return "" if by_row else next((subject(n) for n in found), "")


def _refitted(fits: list[ast.Call], root: ast.AST) -> Iterator[ast.Call]:
    """The second `fit_transform` in a function: of one scaler with other data, or of the other half of a split; or one in a
    loop over the two halves."""
    halves = _halves(root)
    fits = [fit for fit in fits if fit.args and called(_scaler_of(fit, root)) not in _ROW_BY_ROW]
    for fit in fits:
        loop = loop_around(fit, root)
        over = list(map(spelled, listed(loop.iter))) if isinstance(loop, ast.For) else []
        if any((one, other) in halves or _are_called_halves(one, other) for one in over for other in over):
            yield fit
    kept = [fit for fit in fits if not loop_around(fit, root)]
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
    """The name of what a scaler is fitted to: `X` of `X[:, 1:]` and of `X.values`, `self.x` of `self.x`."""
    parts = list(descendants(fit.args[0]))
    own = (spelled(n) for n in parts if isinstance(n, ast.Attribute) and spelled(n.value) == "self")
    return next(own, next((n.id for n in parts if isinstance(n, ast.Name)), ""))


def _are_called_halves(one: str, other: str) -> bool:
    """Whether two names are those of training and test data: `X_train` and `X_test`, `xtr` and `xte`."""
    return any(
        part in one and other in (one.replace(part, word) for word in words) for part, words in _PARTS.items()
    )


def _halves(root: ast.AST) -> set[tuple[str, str]]:
    """The names of the two halves of what is split in a function: `a, b, c, d = train_test_split(x, y)`."""
    split = [n for n in nodes_in(root, ast.Assign) if called(n.value) == "train_test_split"]
    names = [list(map(spelled, getattr(n.targets[0], "elts", ()))) for n in split]
    return {pair for parts in names for pair in zip(parts[::2], parts[1::2], strict=False)}


def _unnormalised(module: ModuleInfo) -> list[ast.expr]:
    """The pipelines of a file that do not normalise where another does; or that do it otherwise for the other part of the
    same data set."""
    of_sets, split = _pipelines_of_sets(module)
    every, of_names, found = (
        [c for made in of_sets.values() for c in made],
        _pipelines_of_names(module),
        list[ast.expr](),
    )
    bound = nodes_below(module.source.tree, ast.Assign)
    # What is called so, and the names that are bound to one.
    named = (text for n in bound if called(n.value) == "Normalize" for text in assigned(n)[0])
    scales = ("Normalize", *named)
    if any(
        mentions(one, *scales) for call in module.sights.calls("append", "insert") for one in arguments(call)
    ):
        return []  # what is put into a pipeline later
    for name, pipelines in (*of_sets.items(), *of_names.items()):
        normalised = [(c, scale[0]) for c in pipelines if (scale := calls_below(c, "Normalize"))]
        scaled = [(c, spelled(call)) for c, call in normalised if all(map(is_literal, arguments(call)))]
        found += [c for c, scale in scaled if name in split and scale != scaled[0][1]]
        plains = (c for c in pipelines if not mentions(c, *scales) and mentions(c, *_TO_TENSOR))
        for plain in (c for c in plains if _is_known(c, module)):
            # A transform by itself is compared with those of the same data set alone.
            others = every if called(plain) == "Compose" and name in of_sets else pipelines
            if _is_kept_raw(plain, scales, module.source.tree):
                continue
            others = [c for c in others if not _is_alternative(c, plain, module.source.tree)]
            twins = _twins(plain, module.source.tree) or others
            scales_there = (any(mentions(c, *scales) for c in group) for group in (others, twins))
            found += [plain] if all(scales_there) else []
    return list(dict.fromkeys(found))


def _is_known(pipeline: ast.expr, module: ModuleInfo) -> bool:
    """Whether all that a pipeline does is of a library: what a name stands for, or a function does, may scale as well."""
    first = pipeline.args[0] if isinstance(pipeline, ast.Call) and pipeline.args else None
    steps = first.elts if isinstance(first, ast.List) else []
    return all("transforms" in made_by(one, module) and called(one) != "Lambda" for one in steps)


def _is_kept_raw(plain: ast.expr, scales: Sequence[str], tree: ast.AST) -> bool:
    """Whether a dict holds several pipelines that scale and several that do not: two kinds of data, not two parts of it."""
    held = [one.values for one in around(plain, tree, ast.Dict)[:1]]
    values = [value for one in held for value in one if mentions(value, *_TO_TENSOR)]
    scaled = sum(mentions(value, *scales) for value in values)
    return min(scaled, len(values) - scaled) >= 2


def _is_alternative(other: ast.expr, plain: ast.expr, tree: ast.AST) -> bool:
    """Whether another pipeline is chosen in place of one, by what is no part of the data."""
    tests = (descendants(n.test) for n in around(plain, tree, ast.If))
    return exclusive(other, plain, tree) and not any(_is_of_part(node) for test in tests for node in test)


def _pipelines_of_sets(module: ModuleInfo) -> tuple[dict[str, list[ast.expr]], set[str]]:
    """The pipelines that each data set of a file is given, under no name those that dicts hold or functions return, and the
    data sets that come in parts."""
    tree, split = module.source.tree, set[str]()
    dicts = (n.value for n in nodes_below(tree, ast.Assign) if isinstance(n.value, ast.Dict))
    held = [value for one in dicts for value in one.values]
    held += [n.value for f in module.sights.functions for n in nodes_in(f, ast.Return) if n.value is not None]
    of_sets: dict[str, list[ast.expr]] = {"": [c for c in held if _is_pipeline(c, module)]}
    for call in module.sights.calls():
        by_place = call.args if called(call)[:1].isupper() and called(call) != "Compose" else []
        for given in (one for one in (argument(call, "transform"), *by_place) if one is not None):
            last = bound_to(spelled(given), call, function_around(call, module))
            made = [last] if last is not None else bound_anywhere(spelled(given), tree) or [given]
            of_sets.setdefault(called(call), []).extend(c for c in made if _is_pipeline(c, module))
            split |= {called(call)} if is_given(call, "train", "split") else set()
    return of_sets, split


def _pipelines_of_names(module: ModuleInfo) -> dict[str, list[ast.expr]]:
    """The pipelines that a function or class binds to one name, or to names that differ in the part of the data alone."""
    found: dict[str, list[ast.expr]] = {}
    for scope in (module.source.tree, *module.sights.functions, *module.sights.classes):
        for node in nodes_in(scope, ast.Assign):
            if _is_pipeline(node.value, module):
                place = f"{getattr(scope, 'name', '')}.{_whole(spelled(node.targets[0]))}"
                found.setdefault(place, []).append(node.value)
    return found


def _normalised_in_part(module: ModuleInfo) -> Iterator[ast.expr]:
    """The pipelines of lists to which an `if` on the part of the data adds a `Normalize` that no other branch adds."""
    for root in module.sights.functions_naming("Normalize"):
        for call in calls_in(root, "Compose"):
            name = spelled(call.args[0]) if call.args and isinstance(call.args[0], ast.Name) else ""
            made = bound_to(name, call, root)
            if not isinstance(made, ast.List) or mentions(made, "Normalize"):
                continue
            adding = (n for n in nodes_in(root, ast.Call, ast.AugAssign) if start(n) < start(call))
            adding = (n for n in adding if any(spelled(kept) == name for kept, _ in additions(n)))
            grown = [n for n in adding if mentions(n, "Normalize")]
            tests = [n.test for one in grown for n in around(one, root, ast.If)[:1]]
            if len(grown) == 1 and any(_is_of_part(n) for test in tests for n in descendants(test)):
                yield call


def _is_of_part(node: ast.AST) -> bool:
    """Whether a name or a text speaks of a part of the data: `is_train`, `"test"`."""
    text = node.value if isinstance(node, ast.Constant) else getattr(node, "attr", getattr(node, "id", ""))
    words = str(text).lower().split("_")
    return any(word.startswith(part) for word in words for part in ("train", *_PARTS["train"][:1]))


def _twins(pipeline: ast.expr, tree: ast.AST) -> list[ast.expr]:
    """What is bound beside a pipeline to a name that is its own but for the part of the data: where it scales neither,
    both parts are treated alike."""
    bound = [n for n in block_of(pipeline, tree) if isinstance(n, ast.Assign)]
    names = {_whole(spelled(n.targets[0])) for n in bound if n.value is pipeline}
    return [n.value for n in bound if n.value is not pipeline and _whole(spelled(n.targets[0])) in names]


def _whole(name: str) -> str:
    """What a name is called but for the part of the data that it speaks of: `transform` of `train_transform`."""
    for word in sorted(("train", *_PARTS["train"]), key=len, reverse=True):
        name = name.replace(word, "")
    return name


def _is_pipeline(made: ast.expr, module: ModuleInfo) -> bool:
    """Whether an expression is a `Compose` of transforms that are written out, or one alone that makes a tensor."""
    if not isinstance(made, ast.Call) or "transforms" not in made_by(made, module):
        return False
    composed = bool(made.args) and isinstance(made.args[0], ast.List)
    return composed if called(made) == "Compose" else called(made) in _TO_TENSOR
