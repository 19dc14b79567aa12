"""The last batch of a loader, shorter than the others, where what it met was made for a whole one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from torch.utils.data import DataLoader

from stablelint.runtime.crash.explanation import Explanation
from stablelint.runtime.crash.expression import value_of
from stablelint.runtime.crash.repairs.edits import Edit
from stablelint.runtime.crash.repairs.onward import Onward
from stablelint.runtime.crash.repairs.search import Repair
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.crash.source import loop_around
from stablelint.runtime.program.frames import resolve


def with_short_batch(scene: Scene, found: Explanation) -> Explanation:
    """The explanation, and that the batch is a short one, if that is why its operands do not fit."""
    numbers = set(map(int, re.findall(r"\d+", scene.message)))
    for text, loader in _loaders(scene):
        whole, samples = loader.batch_size, len(loader.sampler)  # type: ignore[arg-type]
        rest = samples % whole if whole else 0
        short = any(
            one.shape[:1] == (rest,) or (rest in one.shape and whole in numbers) for one in found.operands
        )
        if not whole or not rest or loader.drop_last or not short or found.kind != "shape":
            continue
        made = next((one for one in found.operands if whole in one.shape and rest not in one.shape), None)
        tried = Onward(scene, lambda _: []).through(_without_rest(scene, loader))
        if tried or (made is not None and {whole, rest} <= numbers):
            counted = f"{samples} = {samples // whole} · {whole} + {rest}"
            reason = f"the last batch of {text} has {rest} samples of {whole} ({counted})"
            reason += f", and {made.name} is for {whole}" if made is not None else ""
            advice = [one.told for one in tried] or ["drop_last=True for that loader"]
            advice += [f"{made.name} made anew for a batch of another size"] if made is not None else []
            at = (("the loader is made here", one) for one in scene.origins.of_module(loader))
            return replace(
                found, because=(*found.because, reason), advice=tuple(advice), other=(*found.other, *at)
            )
    return found


def _without_rest(scene: Scene, loader: DataLoader[object]) -> Iterator[Repair]:
    """The loader made so that it leaves out what fills no batch."""
    match scene.origins.maker(loader):
        case (ast.Call() as call, scope):
            yield _remade(call, scope.code.co_filename, "drop_last", "True")


def _remade(call: ast.Call, filename: str, name: str, value: str) -> Repair:
    """A loader made with a further argument."""
    kept = [one for one in call.keywords if one.arg != name]
    given = [*kept, ast.keyword(name, ast.parse(value, mode="eval").body)]
    edit = Edit.of(call, filename, ast.unparse(ast.Call(call.func, call.args, given)))
    return Repair(f"{name}={value}", None, revisions=(edit,), where=f" in line {call.lineno}")


def joined_otherwise(scene: Scene) -> list[str]:
    """A function that makes batches of samples of different shapes, with which the program goes on to its end."""
    onward = Onward(scene, lambda _: [])
    for call, filename in _calls(scene):
        tried = (_remade(call, filename, "collate_fn", f"lambda batch: {text}") for text in _JOINED)
        if found := next((one for each in tried for one in onward.through([each])), None):
            return [found.told]
    return []


def _calls(scene: Scene) -> Iterator[tuple[ast.Call, str]]:
    """The calls that made the loaders of the loops, the innermost first."""
    for frame in reversed(scene.frames):
        loop = loop_around(frame.site.code.co_filename, resolve(frame.site).row) if frame.mine else None
        for node in ast.walk(loop.iter) if isinstance(loop, ast.For) else ():
            if isinstance(node, ast.Call) and value_of(node.func, frame.names) is DataLoader:
                yield node, frame.site.code.co_filename
    for _, loader in _loaders(scene):
        match scene.origins.maker(loader):
            case (ast.Call() as call, scope):
                yield call, scope.code.co_filename


_PADDED, _DEFAULT = (
    "nn.utils.rnn.pad_sequence([{}], batch_first=True)",
    "torch.utils.data.default_collate([{}])",
)
_JOINED = (
    f"({_PADDED.format('x for x, _ in batch')}, {_DEFAULT.format('y for _, y in batch')})",
    "(torch.stack([x for x, _ in batch]), [y for _, y in batch])",
    f"{{k: {_PADDED.format('one[k] for one in batch')} if torch.is_tensor(v) and v.dim() else "
    f"{_DEFAULT.format('one[k] for one in batch')} for k, v in batch[0].items()}}",
    "tuple(zip(*batch))",
)


def _loaders(scene: Scene) -> Iterator[tuple[str, DataLoader[object]]]:
    """The loaders that loops of the program were going over, the innermost first."""
    for frame in reversed(scene.frames):
        loop = loop_around(frame.site.code.co_filename, resolve(frame.site).row) if frame.mine else None
        for node in ast.walk(loop.iter) if isinstance(loop, ast.For) else ():
            value = value_of(node, frame.names) if isinstance(node, ast.expr) else None
            if isinstance(value, DataLoader):
                yield ast.unparse(node), value
