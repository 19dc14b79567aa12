"""What a training loop would have gone over next: the rest of its loader, or of its source."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, count, islice
from typing import Any

from torch.utils.data.dataloader import _SingleProcessDataLoaderIter

from stablelint.runtime.guard.source.bound import bind_target
from stablelint.runtime.guard.source.region import Region


def items_from(
    region: Region, names: Mapping[str, Any], fetched: object, iterator: object
) -> Iterator[object] | None:
    """The loop's present item and what follows it, or None where the present one cannot be told.

    `fetched` is the last batch of a loader and `iterator` what it came from. A loop that has used up its source
    begins it again.
    """
    loop = region.loop
    if not isinstance(loop, ast.For):
        return None
    try:
        present = _value(loop.target, names)
    except LookupError:
        return None
    following = _following(region, loop, names, present, fetched, iterator)
    return chain((present,), following, _again(loop, names))


def _value(target: ast.expr, names: Mapping[str, Any]) -> object:
    if isinstance(target, ast.Name):
        return names[target.id]
    if isinstance(target, (ast.Tuple, ast.List)):
        return tuple(_value(part, names) for part in target.elts)
    raise LookupError(ast.unparse(target))


def _following(
    region: Region,
    loop: ast.For,
    names: Mapping[str, Any],
    present: object,
    fetched: object,
    iterator: object,
) -> Iterable[object]:
    counted = region.item is None and region.target is not loop.target
    index = present[0] if counted and isinstance(present, tuple) else None
    if isinstance(iterator, _SingleProcessDataLoaderIter) and _is_from(region, names, fetched):
        return zip(count(index + 1), iterator) if isinstance(index, int) else iterator
    source = _evaluate(loop.iter, names)
    if isinstance(source, range) and isinstance(present, int) and present in source:
        return source[source.index(present) + 1 :]
    if isinstance(index, int) and isinstance(source, Iterable) and not _is_used_up(loop.iter, names):
        return islice(source, index + 1, None)
    return source if isinstance(source, Iterable) else ()


def _is_from(region: Region, names: Mapping[str, Any], fetched: object) -> bool:
    """Whether the loop goes over the loader that handed out `fetched`."""
    bound: dict[str, Any] = {}
    if region.target is None or not bind_target(region.target, fetched, bound):
        return False
    return any(names.get(name) is value for name, value in bound.items())


def _is_used_up(source: ast.expr, names: Mapping[str, Any]) -> bool:
    """Whether the loop goes over an iterator, which then stands where the loop stands."""
    inner = source.args[0] if isinstance(source, ast.Call) and source.args else source
    value = _evaluate(inner, names) if isinstance(inner, ast.Name) else None
    return isinstance(value, Iterator)


def _again(loop: ast.For, names: Mapping[str, Any]) -> Iterator[object]:
    while True:
        source = _evaluate(loop.iter, names)
        empty = True
        for item in source if isinstance(source, Iterable) else ():
            empty = False
            yield item
        if empty:
            return


def _evaluate(expression: ast.expr, names: Mapping[str, Any]) -> object:
    code = compile(ast.fix_missing_locations(ast.Expression(expression)), "<stablelint loop>", "eval")
    return eval(code, dict(names))
