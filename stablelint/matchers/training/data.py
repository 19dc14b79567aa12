"""How data is read and brought to scale: CUDA after a fork, generators that are copied, an order that never changes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.matchers.common import Review, Rule, Sites, observes, site_at
from stablelint.matchers.names import (
    assigned_in,
    bound_to,
    classes_of,
    functions_naming,
    functions_of,
    made_by,
    qualified,
)
from stablelint.matchers.tree import (
    Function,
    argument,
    arguments,
    assigned,
    backs_in,
    called,
    calls_below,
    calls_in,
    exclusive,
    is_given,
    loop_around,
    mentions,
    start,
    subject,
)
from stablelint.syntax.walk import descendants, nodes_below, nodes_in

_READING = ("__getitem__", "__iter__", "__getitems__")
_GENERATORS = frozenset(
    ("numpy.random.default_rng", "numpy.random.RandomState", "random.Random", "torch.Generator")
)
_PROCESSES = frozenset(
    f"{package}.{name}"
    for package in ("multiprocessing", "torch.multiprocessing")
    for name in ("Process", "Pool", "pool.Pool", "process.Process")
)
_FORKED = "CUDA is initialised before processes are forked, which cannot use it then"
_STARTS = ("set_start_method", "get_context", "spawn", "start_processes")


@observes()
def cuda_in_worker(review: Review, rule: Rule) -> Sites:
    """`.cuda()` where a data set makes its samples, or before processes are forked."""
    module = review.module
    moves = [c for info in _data_sets(review) for m in _methods(info, *_READING) for c in calls_in(m)]
    moves = [c for c in (*moves, *_collating(review)) if _moves_to_cuda(c, module)]
    yield from (site_at(review, rule, c) for c in moves)
    for root in functions_of(review, "multiprocessing"):
        calls = sorted(calls_in(root), key=start) if not module.mentions(*_STARTS) else []
        fork = next((c for c in calls if made_by(c, module) in _PROCESSES), None)
        before = calls[: calls.index(fork)] if fork is not None else []
        for call in [c for c in before if _moves_to_cuda(c, module)][:1]:
            yield site_at(review, rule, call, message=_FORKED)


def _collating(review: Review) -> Iterator[ast.Call]:
    """The calls where workers collate a batch: in the `collate_fn` of a loader that has some."""
    text = review.module.source.text
    roots = functions_of(review) if "collate_fn" in text and "num_workers" in text else []
    functions = {f.name: f for f in roots if isinstance(f, Function)}
    for loader in (n for root in roots for n in calls_in(root) if _has_workers(n)):
        given = argument(loader, "collate_fn")
        collate = functions.get(given.id) if isinstance(given, ast.Name) else given
        yield from calls_below(collate) if collate is not None else ()


def _data_sets(review: Review) -> Iterator[ast.ClassDef]:
    for info in classes_of(review):
        bases = [qualified(base, review.module) for base in info.bases]
        if any(b.endswith(("data.Dataset", "data.IterableDataset", "dataset.Dataset")) for b in bases):
            yield info


def _methods(info: ast.ClassDef, *names: str) -> list[ast.FunctionDef]:
    return [s for s in info.body if isinstance(s, ast.FunctionDef) and s.name in names]


def _moves_to_cuda(call: ast.Call, module: ModuleInfo) -> bool:
    if not isinstance(call.func, ast.Attribute) or called(call) == "cuda":
        return called(call) == "cuda" and isinstance(call.func, ast.Attribute)
    texts = [str(a.value) for a in arguments(call) if isinstance(a, ast.Constant)]
    places = called(call) == "to" or made_by(call, module).startswith("torch.")
    return places and any(text.startswith("cuda") for text in texts)


@observes()
def copied_generator(review: Review, rule: Rule) -> Sites:
    """`self.rng = np.random.default_rng(0)` in a data set that draws from it: each worker has a copy."""
    module = review.module
    if not review.of_body or not module.speaks_of("Dataset") or module.mentions("get_worker_info"):
        return
    loaders = module.sights.calls("DataLoader")
    with_workers = any(map(_has_workers, loaders))
    if any(is_given(loader, "worker_init_fn") for loader in loaders) or (loaders and not with_workers):
        return
    for info in _data_sets(review):
        reading = [n for m in _methods(info, *_READING) for n in nodes_below(m, ast.Attribute)]
        drawn = {n.attr for n in reading}
        for made in (n for m in _methods(info, "__init__") for n in nodes_in(m, ast.Assign)):
            kept = {t.attr for t in made.targets if isinstance(t, ast.Attribute)}
            if kept & drawn and made_by(made.value, module) in _GENERATORS:
                yield site_at(review, rule, made.value, shown=with_workers)


def _has_workers(loader: ast.Call) -> bool:
    given = argument(loader, "num_workers")
    return given is not None and not (isinstance(given, ast.Constant) and given.value == 0)


@observes()
def unshuffled_training(review: Review, rule: Rule) -> Sites:
    """`for x, y in DataLoader(data, batch_size=8): … loss.backward()`: each epoch in the order of the data set."""
    if review.module.mentions("IterableDataset"):
        return
    roots = functions_of(review, "DataLoader")
    iterated = {root: set(_iterated(root)) for root in roots}
    attributes = {text for texts in iterated.values() for text in texts if "." in text}
    for root in roots:
        loaders = [pair for n in nodes_in(root, ast.Assign) for pair in _loaders_in(n)]
        shuffled = {text for texts, made in loaders if _shuffles(made) for text in texts}
        known = {text for texts, _ in loaders for text in texts}
        handed = _handed(root, iterated, shuffled) | _fitted(root, known) if loaders else set()
        trained = (iterated[root] | attributes | handed) - shuffled
        unshuffled = [made for texts, made in loaders if texts & trained]
        inline = [n.iter for n in _training_loops(root) if isinstance(n, ast.For)]
        for made in (*unshuffled, *inline, *_given_to_trainer(root)):
            if called(made) == "DataLoader" and not _shuffles(made):
                yield site_at(review, rule, made, shown=False)  # the data may lie in any order


def _fitted(root: ast.AST, loaders: set[str]) -> set[str]:
    """The first loader that each call of a `fit` is given: the one that it trains on."""
    given = [list(map(ast.unparse, arguments(call))) for call in calls_in(root, "fit")]
    return {text for texts in given for text in [t for t in texts if t in loaders][:1]}


def _given_to_trainer(root: ast.AST) -> list[ast.expr]:
    """What the `train_dataloader` of a module of Lightning returns."""
    returns = nodes_in(root, ast.Return) if getattr(root, "name", "") == "train_dataloader" else []
    return [n.value for n in returns if n.value is not None]


def _loaders_in(node: ast.Assign) -> Iterator[tuple[set[str], ast.expr]]:
    """The loaders that an assignment makes, and what they are called then: `loaders["train"]` of one in a dict."""
    texts, made = assigned(node)[0], node.value
    match made:
        case ast.Dict(keys=keys, values=values):
            pairs = list(zip(keys, values, strict=True))
        case ast.DictComp(
            value=value, generators=[ast.comprehension(iter=ast.List(elts=keys) | ast.Tuple(elts=keys))]
        ):
            pairs = [(key, value) for key in keys]
        case _:
            pairs = []
            yield set(texts), made
    for key, value in pairs:
        if key is not None:
            yield {f"{text}[{ast.unparse(key)}]" for text in texts}, value


def _iterated(root: ast.AST) -> Iterator[str]:
    """The names and attributes that the loops of a function with a backward pass go over, or take the next batch of."""
    for loop in _training_loops(root):
        sources = [loop.iter] if isinstance(loop, ast.For) else []
        if mentions(loop, "next"):
            sources += [n for n in nodes_in(root, ast.Call) if called(n) == "iter"]
        for node in (n for source in sources for n in descendants(source)):
            if isinstance(node, ast.Name | ast.Attribute):
                yield ast.unparse(node)
            elif isinstance(node, ast.Subscript):
                yield from (f"{ast.unparse(node.value)}[{key}]" for key in _keys_of(node.slice, loop))


def _keys_of(key: ast.expr, loop: ast.AST) -> Iterator[str]:
    """A constant key, or the constants that a variable one is compared to: `if phase == "train":` around the backward."""
    if isinstance(key, ast.Constant):
        yield ast.unparse(key)
    tests = (n for outer in nodes_in(loop, ast.If) if backs_in(outer) for n in descendants(outer.test))
    for test in (n for n in tests if isinstance(n, ast.Compare) and isinstance(n.ops[0], ast.Eq)):
        yield from (ast.unparse(c) for c in test.comparators if ast.dump(test.left) == ast.dump(key))


def _training_loops(root: ast.AST) -> list[ast.stmt]:
    """The loops of a function that go backward."""
    loops: list[ast.stmt] = [*nodes_in(root, ast.For), *nodes_in(root, ast.While)]
    return [n for n in loops if calls_below(n, "backward")]


def _handed(root: ast.AST, iterated: Mapping[ast.AST, set[str]], shuffled: set[str]) -> set[str]:
    """What a function gives to functions of the file that train on it; none where those are given shuffled data, too."""
    found = set[str]()
    for function, names in iterated.items():
        if isinstance(function, Function):
            given = {text for name in names for text in _given_as(name, function, root)}
            found |= set() if given & shuffled else given
    return found


def _given_as(parameter: str, function: Function, root: ast.AST) -> Iterator[str]:
    """The arguments that calls of a function by its name give for a parameter."""
    names = [a.arg for a in function.args.args if a.arg != "self"]
    place = names.index(parameter) if parameter in names else len(names)
    for call in calls_in(root, function.name):
        given = argument(call, parameter)
        given = call.args[place] if place < min(len(call.args), len(names)) else given
        if given is not None:
            yield ast.unparse(given)


def _shuffles(loader: ast.expr) -> bool:
    """Whether a loader may draw its samples in another order than that of the data set."""
    if not isinstance(loader, ast.Call) or len(loader.args) > 3:
        return True
    shuffle = loader.args[2] if len(loader.args) > 2 else argument(loader, "shuffle")
    off = shuffle is None or (isinstance(shuffle, ast.Constant) and not shuffle.value)
    return not off or is_given(loader, None, "sampler", "batch_sampler")


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
    for root in functions_naming(review, "fit_transform"):
        fits = sorted(calls_in(root, "fit_transform"), key=start)
        yield from (site_at(review, rule, n, message=_REFITTED) for n in _refitted(fits, root))
        for fit in fits if late else ():
            name = made_by(bound_to(subject(fit), fit, root), module)
            if name.startswith("sklearn.preprocessing") and name.endswith("Scaler"):
                yield site_at(review, rule, fit, shown=False, message=_FITTED_LATE)
    for root in functions_of(review, "Normalize", "Compose"):
        yield from (site_at(review, rule, n, shown=False) for n in _unnormalised(root, module))


def _refitted(fits: list[ast.Call], root: ast.AST) -> Iterator[ast.Call]:
    """The second `fit_transform` in a function: of one scaler with other data, or of the other half of a split."""
    halves = _halves(root)
    kept = [fit for fit in fits if fit.args and subject(fit) and not loop_around(fit, root)]
    kept = [fit for fit in kept if called(bound_to(subject(fit), fit, root)) not in _ROW_BY_ROW]
    for i, fit in enumerate(kept):
        for before in kept[:i]:
            if exclusive(before, fit, root) or ast.dump(before) == ast.dump(fit):
                continue
            same = subject(before) == subject(fit) and not _is_renewed(subject(fit), before, fit, root)
            if same or (_data_of(before), _data_of(fit)) in halves:
                yield fit
                break


def _is_renewed(name: str, first: ast.Call, second: ast.Call, root: ast.AST) -> bool:
    """Whether two calls of a scaler's are those of two: it is made where it is called, or anew between them."""
    return "(" in name or any(start(first) < start(n) < start(second) for n in assigned_in(name, root))


def _data_of(fit: ast.Call) -> str:
    """The name of what a scaler is fitted to: `X` of `X[:, 1:]` and of `X.values`."""
    names = (n.id for n in descendants(fit.args[0]) if isinstance(n, ast.Name))
    return next(names, "")


def _halves(root: ast.AST) -> set[tuple[str, str]]:
    """The names of the two halves of what is split in a function: `a, b, c, d = train_test_split(x, y)`."""
    split = [n for n in nodes_in(root, ast.Assign) if called(n.value) == "train_test_split"]
    names = [list(map(ast.unparse, getattr(n.targets[0], "elts", ()))) for n in split]
    return {pair for parts in names for pair in zip(parts[::2], parts[1::2], strict=False)}


def _unnormalised(root: ast.AST, module: ModuleInfo) -> list[ast.expr]:
    """The pipelines that data sets of a file transform their inputs by and that do not normalise, where another does."""
    given = {ast.unparse(argument(n, "transform") or n) for n in calls_below(module.source.tree)}
    made = [n.value for n in nodes_in(root, ast.Assign) if given.intersection(assigned(n)[0])]
    made = [c for c in made if made_by(c, module).endswith("transforms.Compose") and _is_written_out(c)]
    plain = [c for c in made if not mentions(c, "Normalize")]
    return [c for c in plain if mentions(c, *_TO_TENSOR)] if len(plain) < len(made) else []


def _is_written_out(pipeline: ast.expr) -> bool:
    return isinstance(pipeline, ast.Call) and bool(pipeline.args) and isinstance(pipeline.args[0], ast.List)
