"""How data is read and brought to scale: CUDA after a fork, generators that are copied, an order that never changes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.analysis.matching.interest import observes
from stablelint.analysis.matching.review import Review
from stablelint.analysis.matching.sites import Site
from stablelint.catalog.rule import Rule
from stablelint.matchers.common import qualified, site_at
from stablelint.matchers.names import Function, assigned_in, bound_to, called, functions_of, receiver
from stablelint.matchers.training.structure import classes_of
from stablelint.matchers.training.trained import backs_in
from stablelint.matchers.tree import exclusive, loop_around, mentions, start
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
_STARTS = ("set_start_method", "get_context", "spawn", "start_processes")


@observes()
def cuda_in_worker(review: Review, rule: Rule) -> Iterator[Site]:
    """`.cuda()` where a data set makes its samples, or before processes are forked."""
    for info in _data_sets(review):
        for method in _methods(info, *_READING):
            calls = nodes_in(method, ast.Call)
            yield from (site_at(review, rule, c) for c in calls if _moves_to_cuda(c, review.module))
    for call in _collating(review):
        yield site_at(review, rule, call)
    for root in functions_of(review, "multiprocessing", "cuda"):
        if not review.module.mentions(*_STARTS):
            yield from _before_fork(root, review, rule)


def _collating(review: Review) -> Iterator[ast.Call]:
    """The calls that move a batch to the GPU where workers collate it: in the `collate_fn` of a loader that has some."""
    functions = {
        f.name: f for root in functions_of(review, "collate_fn") for f in nodes_in(root, ast.FunctionDef)
    }
    loaders = [n for root in functions_of(review, "collate_fn") for n in nodes_in(root, ast.Call)]
    for given in (k.value for n in loaders if _has_workers(n) for k in n.keywords if k.arg == "collate_fn"):
        collate = functions.get(ast.unparse(given)) if isinstance(given, ast.Name) else given
        calls = (n for n in descendants(collate) if isinstance(n, ast.Call)) if collate is not None else ()
        yield from (n for n in calls if _moves_to_cuda(n, review.module))


def _before_fork(root: ast.AST, review: Review, rule: Rule) -> Iterator[Site]:
    calls = nodes_in(root, ast.Call)
    forks = [c for c in calls if qualified(c.func, review.module) in _PROCESSES]
    first = min(map(start, forks), default=None)
    for call in sorted(calls, key=start):
        if first is not None and start(call) < first and _moves_to_cuda(call, review.module):
            message = "CUDA is initialised before processes are forked, which cannot use it then"
            yield site_at(review, rule, call, message=message)
            return


def _data_sets(review: Review) -> Iterator[ast.ClassDef]:
    for info in classes_of(review):
        bases = [qualified(base, review.module) for base in info.bases]
        if any(b.endswith(("data.Dataset", "data.IterableDataset", "dataset.Dataset")) for b in bases):
            yield info


def _methods(info: ast.ClassDef, *names: str) -> list[ast.FunctionDef]:
    return [s for s in info.body if isinstance(s, ast.FunctionDef) and s.name in names]


def _moves_to_cuda(call: ast.Call, module: ModuleInfo) -> bool:
    if not isinstance(call.func, ast.Attribute):
        return False
    if call.func.attr == "cuda":
        return True
    given = (*call.args, *(k.value for k in call.keywords))
    texts = [a.value for a in given if isinstance(a, ast.Constant)]
    named = any(isinstance(t, str) and t.startswith("cuda") for t in texts)
    return named and (call.func.attr == "to" or qualified(call.func, module).startswith("torch."))


@observes()
def copied_generator(review: Review, rule: Rule) -> Iterator[Site]:
    """`self.rng = np.random.default_rng(0)` in a data set that draws from it: each worker has a copy."""
    tree = review.module.source.tree
    if not review.of_body or "Dataset" not in review.module.source.text or mentions(tree, "get_worker_info"):
        return
    loaders = [n for n in nodes_below(tree, ast.Call) if called(n) == "DataLoader"]
    if any(k.arg == "worker_init_fn" for loader in loaders for k in loader.keywords):
        return
    with_workers = [loader for loader in loaders if _has_workers(loader)]
    for info in _data_sets(review):
        drawn = {
            n.attr for m in _methods(info, *_READING) for n in descendants(m) if isinstance(n, ast.Attribute)
        }
        for method in _methods(info, "__init__"):
            for made in nodes_in(method, ast.Assign) if with_workers or not loaders else ():
                kept = {t.attr for t in made.targets if isinstance(t, ast.Attribute)}
                generator = isinstance(made.value, ast.Call) and qualified(made.value.func, review.module)
                if kept & drawn and generator in _GENERATORS:
                    yield site_at(review, rule, made.value, shown=bool(with_workers))


def _has_workers(loader: ast.Call) -> bool:
    given = next((k.value for k in loader.keywords if k.arg == "num_workers"), None)
    return given is not None and not (isinstance(given, ast.Constant) and given.value == 0)


@observes()
def unshuffled_training(review: Review, rule: Rule) -> Iterator[Site]:
    """`for x, y in DataLoader(data, batch_size=8): … loss.backward()`: each epoch in the order of the data set."""
    if review.module.mentions("IterableDataset"):
        return
    roots = list(functions_of(review, "DataLoader"))
    iterated = {root: set(_iterated(root)) for root in roots}
    attributes = {text for texts in iterated.values() for text in texts if "." in text}
    for root in roots:
        loaders = [pair for n in nodes_in(root, ast.Assign) for pair in _loaders_in(n)]
        shuffled = {text for texts, made in loaders if _shuffle(made) for text in texts}
        known = {text for texts, _ in loaders for text in texts}
        handed = _handed(root, iterated, shuffled) | set(_fitted(root, known)) if loaders else set()
        trained = (iterated[root] | attributes | handed) - shuffled
        unshuffled = [made for texts, made in loaders if texts & trained]
        inline = [
            n.iter for n in _training_loops(root) if isinstance(n, ast.For) and called(n.iter) == "DataLoader"
        ]
        for made in (*unshuffled, *inline, *_given_to_trainer(root)):
            if not _shuffle(made):
                yield site_at(review, rule, made, shown=False)  # the data may lie in any order


def _fitted(root: ast.AST, loaders: set[str]) -> Iterator[str]:
    """The first loader that each call of a `fit` is given: the one that it trains on."""
    for call in nodes_in(root, ast.Call):
        given = map(ast.unparse, (*call.args, *(k.value for k in call.keywords)))
        yield from [text for text in given if called(call) == "fit" and text in loaders][:1]


def _given_to_trainer(root: ast.AST) -> Iterator[ast.expr]:
    """The loaders that the `train_dataloader` of a module of Lightning returns."""
    if getattr(root, "name", "") == "train_dataloader":
        returned = (n.value for n in nodes_in(root, ast.Return) if n.value is not None)
        yield from (value for value in returned if called(value) == "DataLoader")


def _loaders_in(node: ast.Assign) -> Iterator[tuple[set[str], ast.expr]]:
    """The loaders that an assignment makes, and what they are called then: `loaders["train"]` of one in a dict."""
    texts, made = set(map(ast.unparse, node.targets)), node.value
    if called(made) == "DataLoader":
        yield texts, made
    elif isinstance(made, ast.Dict):
        for key, value in zip(made.keys, made.values, strict=True):
            if called(value) == "DataLoader" and key is not None:
                yield {f"{text}[{ast.unparse(key)}]" for text in texts}, value
    elif isinstance(made, ast.DictComp) and called(made.value) == "DataLoader":
        keys = getattr(made.generators[0].iter, "elts", [])
        yield {f"{text}[{ast.unparse(key)}]" for text in texts for key in keys}, made.value


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
    return [n for n in loops if any(called(inner) == "backward" for inner in descendants(n))]


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
    for call in (n for n in nodes_in(root, ast.Call) if called(n) == function.name):
        assert isinstance(call, ast.Call)
        yield from (ast.unparse(k.value) for k in call.keywords if k.arg == parameter)
        if place < min(len(call.args), len(names)):
            yield ast.unparse(call.args[place])


def _shuffle(loader: ast.expr) -> bool:
    """Whether a loader may draw its samples in another order than that of the data set."""
    assert isinstance(loader, ast.Call)
    given = {k.arg: k.value for k in loader.keywords}
    if len(loader.args) > 3 or given.keys() & {None, "sampler", "batch_sampler"}:
        return True
    shuffle = loader.args[2] if len(loader.args) > 2 else given.get("shuffle")
    return shuffle is not None and not (isinstance(shuffle, ast.Constant) and not shuffle.value)


_REFITTED = "fitted anew to other data: what the first fit has scaled is on another scale"
_FITTED_LATE = "fitted to what a trained model is asked about: it was trained on the scale of other data"
_NORMALISING = ("Normalize",)
_TO_TENSOR = ("ToTensor", "ConvertImageDtype", "PILToTensor")


@observes()
def scaled_differently(review: Review, rule: Rule) -> Iterator[Site]:
    """A scaler that is fitted to both parts of the data, or a `Normalize` in one of two pipelines."""
    for root in functions_of(review, "fit_transform"):
        yield from _refitted(root, review, rule)
    for root in functions_of(review, "fit_transform", "load_state_dict", ".eval()"):
        if not mentions(review.module.source.tree, "backward", "fit", "transform"):
            fits = (n for n in nodes_in(root, ast.Call) if called(n) == "fit_transform")
            scaled = (n for n in fits if _scaler_of(n, root, review.module))
            yield from (site_at(review, rule, n, shown=False, message=_FITTED_LATE) for n in scaled)
    for root in functions_of(review, "Normalize", "Compose"):
        yield from _half_normalised(root, review, rule)


def _scaler_of(fit: ast.Call, root: ast.AST, module: ModuleInfo) -> bool:
    """Whether what is fitted was made here, and is a scaler of scikit-learn."""
    of = receiver(fit)
    made = bound_to(ast.unparse(of), fit, root) if of is not None else None
    name = qualified(made.func, module) if isinstance(made, ast.Call) else ""
    return name.startswith("sklearn.preprocessing") and name.endswith("Scaler")


def _refitted(root: ast.AST, review: Review, rule: Rule) -> Iterator[Site]:
    """The second `fit_transform` in a function: of one scaler with other data, or of the other half of a split."""
    kept = (
        n for n in nodes_in(root, ast.Call) if called(n) == "fit_transform" and not _keeps_nothing(n, root)
    )
    calls = (n for n in kept if not loop_around(n, root))
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


def _keeps_nothing(fit: ast.Call, root: ast.AST) -> bool:
    """Whether a transformer keeps nothing of what it is fitted to: one that looks at each row by itself."""
    of = receiver(fit)
    made = bound_to(ast.unparse(of), fit, root) if of is not None else None
    return made is not None and called(made) in ("Normalizer", "Binarizer", "FunctionTransformer")


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
