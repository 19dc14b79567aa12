"""How data is read and brought to scale: CUDA after a fork, generators that are copied, an order that never changes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.matchers.common import Review, Rule, Sites, observes, site_at
from stablelint.matchers.names import (
    assigned_in,
    bound_anywhere,
    bound_to,
    classes_of,
    defined,
    functions_of,
    made_by,
    parameters_of,
    qualified,
    reached_from,
)
from stablelint.matchers.through import given_to
from stablelint.matchers.training.events import mode_of
from stablelint.matchers.training.settings import SEEDS
from stablelint.matchers.tree import (
    Function,
    assigned,
    backs_in,
    called,
    calls_below,
    calls_in,
    is_given,
    loop_around,
    mentions,
    receiver,
    start,
    subject,
)
from stablelint.syntax.names import listed, spelled
from stablelint.syntax.signatures import argument, arguments
from stablelint.syntax.walk import descendants, functions_below, nodes_below, nodes_in

_READING = ("__getitem__", "__iter__", "__getitems__")
_GENERATORS = frozenset(
    "numpy.random.default_rng numpy.random.RandomState numpy.random.Generator random.Random torch.Generator".split()
)
_PROCESSES = frozenset(
    f"{package}.{name}"
    for package in ("multiprocessing", "torch.multiprocessing")
    for name in ("Process", "Pool", "pool.Pool", "process.Process")
)
_FORKED = "CUDA is initialised before processes are forked, which cannot use it then"
_SEEDED_ALIKE = "every worker is seeded with the same number, and all draw the same numbers"
_STARTS = ("set_start_method", "get_context", "spawn", "start_processes")


@observes()
def cuda_in_worker(review: Review, rule: Rule) -> Sites:
    """`.cuda()` where a data set makes its samples, or before processes are forked."""
    module = review.module
    sets = list(_data_sets(review))
    moves = [c for info in sets for m in _reading(info) for c in calls_in(m)]
    moves = [
        c for c in (*moves, *_collating(review), *_transforming(sets, module)) if moves_to_cuda(c, module)
    ]
    yield from (site_at(review, rule, c) for c in moves)
    for root in functions_of(review, "multiprocessing"):
        calls = sorted(calls_in(root), key=start) if not module.mentions(*_STARTS) else []
        fork = next((c for c in calls if made_by(c, module) in _PROCESSES), None)
        before = calls[: calls.index(fork)] if fork is not None else []
        for call in [c for c in before if moves_to_cuda(c, module)][:1]:
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


def _transforming(sets: list[ast.ClassDef], module: ModuleInfo) -> Iterator[ast.Call]:
    """The calls in functions that a data set of the file is given when it is made."""
    made = [n for info in sets for n in module.sights.calls(info.name)]
    given = {one.id for call in made for one in arguments(call) if isinstance(one, ast.Name)}
    functions = (f for f in module.sights.functions if f.name in given) if given else ()
    yield from (call for f in functions for call in calls_in(f))


def _data_sets(review: Review) -> Iterator[ast.ClassDef]:
    for info in classes_of(review):
        bases = [qualified(base, review.module) for base in info.bases]
        if any(b.endswith(("data.Dataset", "data.IterableDataset", "dataset.Dataset")) for b in bases):
            yield info


def _methods(info: ast.ClassDef, *names: str) -> list[ast.FunctionDef]:
    return [s for s in info.body if isinstance(s, ast.FunctionDef) and s.name in names]


def _reading(info: ast.ClassDef, *names: str) -> list[ast.AST]:
    """The methods in which a data set makes its samples, or those of these names, and those that they call."""
    methods = _methods(info, *(names or _READING))
    return list(dict.fromkeys(node for m in methods for node in reached_from(m, info)))


def moves_to_cuda(call: ast.Call, module: ModuleInfo) -> bool:
    """`x.cuda()`, `x.to("cuda")`, `torch.tensor(x, device=device)` of a `device` that the file binds to CUDA."""
    if not isinstance(call.func, ast.Attribute) or called(call) == "cuda":
        return called(call) == "cuda" and isinstance(call.func, ast.Attribute)
    made = made_by(call, module)
    if made.startswith("torch.cuda.") and made.endswith("Tensor"):
        return True
    places = [*call.args, argument(call, "device")] if called(call) == "to" else [argument(call, "device")]
    return (called(call) == "to" or made.startswith("torch.")) and any(
        isinstance(n, ast.Constant) and str(n.value).startswith("cuda")
        for place in places
        if place is not None
        for one in (place, *bound_anywhere(spelled(place), module.source.tree))
        for n in descendants(one)
    )


@observes()
def copied_generator(review: Review, rule: Rule) -> Sites:
    """`self.rng = np.random.default_rng(0)` in a data set or a transform that draws from it: each worker has a copy."""
    module, tree = review.module, review.module.source.tree
    if (
        not review.of_body
        or not module.mentions("DataLoader", "Dataset")
        or module.mentions("get_worker_info")
    ):
        return
    loaders = module.sights.calls("DataLoader")
    yield from (site_at(review, rule, n, message=_SEEDED_ALIKE) for n in _seeded_alike(loaders, module))
    with_workers = any(map(_has_workers, loaders))
    if any(is_given(loader, "worker_init_fn") for loader in loaders) or (loaders and not with_workers):
        return
    transforms = [i for i in classes_of(review) if _methods(i, "__call__") and module.sights.calls(i.name)]
    for info in (*_data_sets(review), *(transforms if with_workers else ())):
        reading = [n for m in _reading(info, *_READING, "__call__") for n in descendants(m)]
        drawn = {spelled(n) for n in reading if isinstance(n, ast.Attribute | ast.Name)}
        inside = [n for m in _methods(info, "__init__") for n in nodes_in(m, ast.Assign)]
        shared = [n for n in info.body if isinstance(n, ast.Assign)]
        yield from (
            site_at(review, rule, n.value, shown=with_workers)
            for n in shared
            if _is_generator(n.value, module) and any(f"self.{text}" in drawn for text in assigned(n)[0])
        )
        for made in (*inside, *nodes_in(tree, ast.Assign)):
            if drawn.intersection(assigned(made)[0]) and _is_generator(made.value, module):
                yield site_at(review, rule, made.value, shown=with_workers)


def _is_generator(made: ast.expr, module: ModuleInfo) -> bool:
    """Whether an expression is a generator, made on one condition or another; what is drawn from one at once is none."""
    if isinstance(made, ast.IfExp | ast.BoolOp):
        return any(_is_generator(n, module) for n in nodes_below(made, ast.Call))
    if called(made) == "manual_seed" and (of := receiver(made)) is not None:
        return _is_generator(of, module)
    return made_by(made, module) in _GENERATORS


def _seeded_alike(loaders: list[ast.Call], module: ModuleInfo) -> Iterator[ast.Call]:
    """The seeds that a `worker_init_fn` of the file sets without a look at which worker it is in."""
    functions = {f.name: f for f in functions_below(module.source.tree)}
    for loader in loaders:
        given = argument(loader, "worker_init_fn")
        inits = functions.get(given.id) if isinstance(given, ast.Name) else given
        if inits is None:
            continue
        names = [n.arg for n in descendants(inits) if isinstance(n, ast.arg)]
        own = [*names, *(text for n in nodes_below(inits, ast.Assign) for text in assigned(n)[0])]
        for call in calls_below(inits) if names else ():
            if made_by(call, module) in SEEDS and not mentions(call, *own) and len(calls_below(call)) == 1:
                yield call


def _has_workers(loader: ast.Call) -> bool:
    given = argument(loader, "num_workers")
    return given is not None and not (isinstance(given, ast.Constant) and given.value == 0)


@observes()
def unshuffled_training(review: Review, rule: Rule) -> Sites:
    """`for x, y in DataLoader(data, batch_size=8): … loss.backward()`: each epoch in the order of the data set."""
    if review.module.mentions("IterableDataset") or not review.module.sights.calls("DataLoader"):
        return
    roots, tree = functions_of(review), review.module.source.tree
    iterated = {root: set(_iterated(root)) for root in roots}
    attributes = {text for texts in iterated.values() for text in texts if "." in text}
    of_functions = [(one, texts) for one, texts in iterated.items() if isinstance(one, Function)]
    shared = {
        t for f, texts in of_functions for t in texts if t not in parameters_of(f) and not assigned_in(t, f)
    }
    for root in roots:
        loaders = [pair for n in nodes_in(root, ast.Assign) for pair in _loaders_in(n, review.module)]
        shuffled = {text for texts, made in loaders if _shuffles(made, tree) for text in texts}
        known = {text for texts, _ in loaders for text in texts}
        # Of what a `fit` is given, it trains on the first loader.
        fits = [[t for t in map(spelled, arguments(call)) if t in known] for call in calls_in(root, "fit")]
        handed = (
            _handed(root, iterated, shuffled) | {texts[0] for texts in fits if texts} if loaders else set()
        )
        trained = (iterated[root] | attributes | handed | (shared if root is tree else set())) - shuffled
        unshuffled = [made for texts, made in loaders if texts & trained]
        inline = [n.iter for n in _training_loops(root) if isinstance(n, ast.For)]
        hook = getattr(root, "name", "") == "train_dataloader"  # of a module of Lightning
        given = [n.value for n in nodes_in(root, ast.Return) if n.value is not None] if hook else []
        if any(called(one) == "DataLoader" and _shuffles(one, tree) for one in given):
            given = []  # the other is for a case in which the order is meant
        ordered = [made for texts, made in loaders if _is_read_beside(texts, root)]
        for made in dict.fromkeys((*unshuffled, *inline, *given)):
            if called(made) == "DataLoader" and not (_shuffles(made, tree) or _is_reordered(made, root)):
                parts = {} if made in ordered else {"loader": made}
                yield site_at(review, rule, made, parts, shown=False)  # the data may lie in any order


def _is_read_beside(texts: set[str], root: ast.AST) -> bool:
    """Whether a function goes over a loader in a loop that does not train, too, for what the order may matter."""
    trains = set(_training_loops(root))
    others = (n.iter for n in nodes_in(root, ast.For) if n not in trains)
    return any(spelled(n) in texts for over in others for n in nodes_below(over, ast.Name, ast.Attribute))


def _loaders_in(node: ast.Assign, module: ModuleInfo) -> Iterator[tuple[set[str], ast.expr]]:
    """The loaders that an assignment makes, or takes from a function of the file that does, and what they are called then:
    `loaders["train"]` of one in a dict."""
    for factory in defined(node.value, module):
        for given in (n.value for n in nodes_in(factory, ast.Return) if n.value is not None):
            loaders = [bound_to(spelled(one), given, factory) or one for one in listed(given)]
            yield from zip(({spelled(one)} for one in listed(node.targets[0])), loaders, strict=False)
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
            yield {f"{text}[{spelled(key)}]" for text in texts}, value


def _iterated(root: ast.AST) -> Iterator[str]:
    """The names and attributes that the loops of a function with a backward pass go over, or take the next batch of."""
    for loop in _training_loops(root):
        sources = [loop.iter] if isinstance(loop, ast.For) else []
        if mentions(loop, "next"):
            batches = (
                n for n in calls_below(loop, "next") if calls_below(loop_around(n, root) or loop, "backward")
            )
            taken = {spelled(n.args[0]) for n in batches if n.args}
            kept = {n.value: set(assigned(n)[0]) for n in nodes_in(root, ast.Assign)}
            sources += [n for n in calls_in(root, "iter") if n not in kept or taken & kept[n]]
        for node in (n for source in sources for n in descendants(source)):
            if isinstance(node, ast.Name | ast.Attribute):
                yield spelled(node)
            elif isinstance(node, ast.Subscript):
                yield from (f"{spelled(node.value)}[{key}]" for key in _keys_of(node.slice, loop))


def _keys_of(key: ast.expr, loop: ast.AST) -> Iterator[str]:
    """A constant key, or the constants that a variable one is compared to: `if phase == "train":` around the backward."""
    if isinstance(key, ast.Constant):
        yield spelled(key)
    tests = (n for outer in nodes_in(loop, ast.If) if backs_in(outer) for n in descendants(outer.test))
    for test in (n for n in tests if isinstance(n, ast.Compare) and isinstance(n.ops[0], ast.Eq)):
        yield from (spelled(c) for c in test.comparators if ast.dump(test.left) == ast.dump(key))


def _training_loops(root: ast.AST) -> list[ast.stmt]:
    """The loops of a function that go backward, but for those that need the order of their data."""
    loops: list[ast.stmt] = [*nodes_in(root, ast.For), *nodes_in(root, ast.While)]
    backs = [n for n in loops if calls_below(n, "backward") and not _pairs_by_place(n)]
    evaluates = any(mode_of(n) == "eval" for n in calls_in(root, "eval", "train"))
    # In evaluation mode, and without a step, the gradients themselves are what is asked for.
    return [n for n in backs if not evaluates or calls_below(n, "step")]


def _pairs_by_place(loop: ast.stmt) -> bool:
    """Whether the count of a loop says which part of other data belongs to a batch: `labels[i * size : (i + 1) * size]`."""
    counted = isinstance(loop, ast.For) and called(loop.iter) == "enumerate"
    target = loop.target if counted and isinstance(loop, ast.For) else None
    count = spelled(target.elts[0]) if isinstance(target, ast.Tuple) else ""
    return bool(count) and any(mentions(n, count) for n in nodes_below(loop, ast.Slice))


def _handed(root: ast.AST, iterated: Mapping[ast.AST, set[str]], shuffled: set[str]) -> set[str]:
    """What a function gives to functions of the file that train on it; none where those are given shuffled data, too."""
    found = set[str]()
    for function, names in iterated.items():
        if isinstance(function, Function) and names:
            handed = (given_to(call, function) for call in calls_in(root, function.name))
            given = {text for texts in handed for name, text in texts.items() if name in names}
            found |= set() if given & shuffled else given
    return found


def _shuffles(loader: ast.expr, tree: ast.AST) -> bool:
    """Whether a loader may draw its samples in another order than that of the data set."""
    if not isinstance(loader, ast.Call) or len(loader.args) > 3:
        return True
    given = dict(zip(("dataset", "batch_size", "shuffle"), loader.args, strict=False))
    for one in loader.keywords:
        given |= {one.arg: one.value} if one.arg is not None else _written_out(one.value, tree)
    shuffle = given.get("shuffle")
    off = shuffle is None or (isinstance(shuffle, ast.Constant) and not shuffle.value)
    if called(given.get("batch_size")) == "len":
        return True  # one batch has no order
    return not off or not given.keys().isdisjoint(("", "sampler", "batch_sampler"))


def _is_reordered(loader: ast.expr, root: ast.AST) -> bool:
    """Whether a loop shuffles the data set of a loader, or what that was made of: `shuffle(samples)`, `data.shuffle()`."""
    data = [*loader.args[:1], argument(loader, "dataset")] if isinstance(loader, ast.Call) else []
    named = [one for one in data if one is not None]
    made = (bound_to(spelled(one), loader, root) or one for one in named)
    of = {spelled(n) for one in made for n in (one, *(arguments(one) if isinstance(one, ast.Call) else ()))}
    of |= set(map(spelled, named))
    shuffles = (n for n in calls_in(root, "shuffle") if loop_around(n, root))
    return any(not of.isdisjoint((subject(n), *map(spelled, n.args[:1]))) for n in shuffles)


def _written_out(options: ast.expr, tree: ast.AST) -> dict[str, ast.expr]:
    """The arguments in a dict that is bound once and given to calls alone; under the empty name what is not known."""
    made = assigned_in(options.id, tree) if isinstance(options, ast.Name) else []
    value = made[0].value if len(made) == 1 else None
    if not isinstance(options, ast.Name) or not isinstance(value, ast.Dict):
        return {"": options}
    named = [n for n in nodes_below(tree, ast.Name) if n.id == options.id]
    spread = [k for n in nodes_below(tree, ast.keyword) if n.arg is None and (k := n.value) in named]
    if len(named) != len(spread) + 1:
        return {"": options}
    return {str(getattr(key, "value", "")): one for key, one in zip(value.keys, value.values, strict=True)}
