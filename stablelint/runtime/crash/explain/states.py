"""States that do not fit the module they are loaded into."""

from __future__ import annotations

import ast
import copy
import re
from dataclasses import replace
from functools import partial
from itertools import takewhile
from typing import Any

import torch

from stablelint.runtime.crash.explainers import explains
from stablelint.runtime.crash.explanation import Advice, Explanation
from stablelint.runtime.crash.expression import parsed
from stablelint.runtime.crash.frame import Frame
from stablelint.runtime.crash.general import of_own_lists
from stablelint.runtime.crash.repairs.edits import Edit
from stablelint.runtime.crash.repairs.onward import by_edit, likely, passed
from stablelint.runtime.crash.repairs.rebuilt import rebuilt, shapes_of
from stablelint.runtime.crash.scene import Scene, models_of
from stablelint.runtime.program.location import Location

_MISSING = re.compile(r"Missing key\(s\) in state_dict: (.+?)\. *$", re.MULTILINE)
_UNEXPECTED = re.compile(r"Unexpected key\(s\) in state_dict: (.+?)\. *$", re.MULTILINE)
_SIZES = re.compile(
    r"size mismatch for (\S+): copying a param with shape torch\.Size\((\[.*?\])\) from checkpoint, "
    r"the shape in current model is torch\.Size\((\[.*?\])\)"
)
_SHOWN = 3
_AS_SAVED = "build the model in the sizes of the state"
_SAVES = re.compile(r"^torch\.save\(")
_WRAPPERS = {"module.": "DataParallel", "_orig_mod.": "torch.compile"}


@explains(r"Error\(s\) in loading state_dict for (\w+)")
def state(scene: Scene, match: re.Match[str]) -> Explanation | None:
    """Keys that differ by a prefix, sizes that differ, and keys that are on one side only."""
    missing, unexpected = _keys(_MISSING, scene.message), _keys(_UNEXPECTED, scene.message)
    sizes = _SIZES.findall(scene.message)
    prefix, frame = _prefix(missing, unexpected), scene.called("load_state_dict")
    if prefix is not None:
        return _of_wrapper(scene, prefix, frame, added=unexpected[0].startswith(prefix))
    given = frame.names.get("state_dict", {}) if frame is not None else {}
    if sizes:
        forgiven = frame is not None and frame.names.get("strict") is False
        found = _of_sizes(sizes, match[1], given, forgiven=forgiven)
        head = _without_head(scene, [name for name, *_ in sizes], frame)
        like, same = _of_the_same(scene, given)
        edits, places = rebuilt(scene, frame, given, like) if not head else ([], [])
        whole = tuple(edits) or found.advice if not head else () if forgiven else (_AS_SAVED,)
        found = (of_own_lists(scene) or Advice((*head, *whole))).onto(found)
        return replace(found, other=(*found.other, *places, *_made(scene, frame), *same))
    if not missing and not unexpected:
        return None
    held = frame.names["self"].state_dict() if frame is not None else {}
    pairs = [*zip(unexpected, missing, strict=False)]
    alike = all(getattr(given.get(a), "shape", None) == getattr(held.get(b), "shape", ...) for a, b in pairs)
    if renamed := _renamed(missing, unexpected) if alike else []:
        names = ", ".join(f"{old} is {new}" for old, new in renamed)
        summary = f"{len(missing)} keys of the state have other names in {match[1]}: {names}"
        told = f"{unexpected[0]} is {missing[0]}, and so on, in their order"
        return Explanation("state", summary, (told,), tuple(_substituted(*one) for one in renamed))
    inner = next((key for key in unexpected if set(missing) <= set(_keys_of(given.get(key)))), None)
    if inner is not None and missing:
        summary = f"the state of {match[1]} stands under {inner!r} of what is loaded"
        return Explanation("state", summary, advice=(f"load_state_dict(…[{inner!r}])",))
    because = [f"{match[1]} needs {_some(missing)}, which the state lacks"] if missing else []
    because += [f"the state holds {_some(unexpected)}, which {match[1]} has not"] if unexpected else []
    like, same = _of_the_same(scene, given)
    edits, places = rebuilt(scene, frame, given, like)
    advice = ["build the model as it was when it was saved"]
    if 2 * len(unexpected) < len(given):  # else hardly anything would be loaded
        left = f"{_some(missing)} as made, not as saved" if missing else f"{_some(unexpected)} out"
        advice.append(f"load_state_dict(…, strict=False), if that may leave {left}")
    summary, other = (
        f"the state is one of a {match[1]} that was made otherwise",
        (*places, *_made(scene, frame), *same),
    )
    return Explanation("state", summary, tuple(because), tuple(edits or advice), other=other)


@explains(r"loaded state dict (contains a parameter group|has a different number of parameter groups)")
def optimizer_state(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """The state of an optimizer of other parameters."""
    frame = scene.called("load_state_dict")
    if frame is None:
        return None
    groups = [frame.names["state_dict"]["param_groups"], frame.names["self"].param_groups]
    saved, built = ([len(group["params"]) for group in one] for one in groups)
    summary = f"the state is of groups of {saved} parameters, the optimizer holds groups of {built}"
    advice = ["make the optimizer of the same parameters in both runs, frozen layers included"]
    call, scope = scene.origins.maker(frame.names["self"]) or (None, None)
    if isinstance(call, ast.Call) and scope is not None and call.args:
        names = [name for name, _ in models_of(scene.frames, local=True)]
        given = ([parsed(f"{name}.parameters()") or call, *call.args[1:]] for name in names)
        calls = (ast.unparse(ast.Call(call.func, one, call.keywords)) for one in given)
        edits = (Edit.of(call, scope.code.co_filename, one) for one in calls)
        advice = passed(scene, map(partial(by_edit, scene), edits))[:1] or advice
    return Explanation("state", summary, advice=tuple(advice), other=_made(scene, frame))


def _keys_of(value: object) -> tuple[object, ...]:
    return tuple(value) if isinstance(value, dict) else ()


def _of_wrapper(scene: Scene, prefix: str, frame: Frame | None, *, added: bool) -> Explanation:
    """A state whose keys are those of the module behind, or without, a prefix."""
    whose = f", those of {_WRAPPERS[prefix]}," if prefix in _WRAPPERS else ""
    held = frame.names.get("state_dict", {}) if frame is not None and added else {}
    some, which, kept = sum(one.startswith(prefix) for one in held), "the keys", ""
    if some < len(held):
        which, kept = f"{some} of the {len(held)} keys", f" if key.startswith({prefix!r})"
    side, other = ("state", "module") if added else ("module", "state")
    summary = f"{which} of the {side}{whose} begin with {prefix!r}, those of the {other} do not"
    keys = f"key.removeprefix({prefix!r})" if added else f"{prefix!r} + key"
    args = scene.node.args if isinstance(scene.node, ast.Call) else []
    state = ast.unparse(args[0]) if args else "state"
    advice = f"{{{keys}: value for key, value in {state}.items(){kept}}}"
    wraps = re.compile(rf"\b{_WRAPPERS.get(prefix, 'no wrapper')}\(")
    wrapped = tuple(("it is wrapped here", at) for at in scene.calls(wraps)[:1])
    return Explanation("state", summary, advice=(advice,), other=(*wrapped, *_made(scene, frame)))


def _of_sizes(sizes: list[tuple[str, str, str]], module: str, given: Any, *, forgiven: bool) -> Explanation:
    """Parameters of other sizes than the state has."""
    shown = [f"{name} is {saved} in the state and {built}" for name, saved, built in sizes[:_SHOWN]]
    because, advice = list[str](), [_AS_SAVED]
    if not forgiven and 2 * len(sizes) <= len(given):
        advice.append("or leave these keys out and load with strict=False")
    elif forgiven:
        because.append("strict=False forgives keys that are missing or unknown, and no other sizes")
        advice = [f"leave {_some([name for name, *_ in sizes])} out of the state"]
    more = f", and {len(sizes) - _SHOWN} more differ" if len(sizes) > _SHOWN else ""
    summary = f"{shown[0]} in {module}" + "".join(f", {one}" for one in shown[1:]) + more
    return Explanation("state", summary, tuple(because), (", ".join(advice),))


def _without_head(scene: Scene, names: list[str], frame: Frame | None) -> list[str]:
    """The last layer of a model left out of the state, where it alone has another size there."""
    owners = {name.rpartition(".")[0] for name in names}
    node = scene.node
    last = [*frame.names["self"].state_dict()][-1:] if frame is not None else []
    heads = {one.rpartition(".")[0] for one in last}
    if not isinstance(node, ast.Call) or not node.args or owners != heads:
        return []
    kept = f"if not key.startswith({owners.pop() + '.'!r})"
    anew = copy.deepcopy(node)
    state = f"{{key: one for key, one in {ast.unparse(node.args[0])}.items() {kept}}}"
    anew.args[0] = ast.parse(state, mode="eval").body
    anew.keywords = [one for one in anew.keywords if one.arg != "strict"]
    anew.keywords.append(ast.keyword("strict", ast.Constant(False)))
    return likely(scene, [by_edit(scene, Edit.of(node, scene.location.filename, ast.unparse(anew)))])


def _of_the_same(scene: Scene, given: Any) -> tuple[torch.nn.Module | None, list[tuple[str, Location]]]:
    """The first model of the program that has the entries of a state in their sizes, and where it is made."""
    for frame in (one for one in scene.frames if one.mine):
        within = f" of {name}" if (name := frame.site.code.co_name).isidentifier() else ""
        for name, one in frame.frame.f_locals.items():
            if isinstance(one, torch.nn.Module) and shapes_of(one.state_dict()) == shapes_of(given):
                told = f"{name}{within}, which has the keys and the sizes of the state, is made here"
                return one, [(told, at) for at in scene.origins.of_module(one)]
    return None, []


def _made(scene: Scene, frame: Frame | None) -> tuple[tuple[str, Location], ...]:
    """Where the model or optimizer is made that a state was loaded into, and where a state is saved."""
    whole = frame.names.get("self") if frame is not None else None
    made = [(f"this {type(whole).__name__} is made here", at) for at in scene.origins.of_module(whole)]
    return (*made, *(("a state is saved here", at) for at in scene.calls(_SAVES)))


def _keys(pattern: re.Pattern[str], message: str) -> list[str]:
    """The keys that a message lists."""
    found = pattern.search(message)
    return re.findall(r'"([^"]+)"', found[1]) if found is not None else []


def _renamed(missing: list[str], unexpected: list[str]) -> list[tuple[str, str]]:
    """What unexpected keys begin with, where N is any number, and what the missing ones do in their place."""
    found = dict[tuple[str, str], None]()
    for old, new in zip(unexpected, missing, strict=False):
        alike = takewhile(lambda pair: pair[0] == pair[1], zip(old[::-1], new[::-1], strict=False))
        rest = "".join(one for one, _ in alike)[::-1]
        ends = rest[rest.find(".") :] if "." in rest else ""
        before, after = (re.sub(r"\b\d+\b", "N", one.removesuffix(ends)) for one in (old, new))
        found[before, after] = None
    several = len(missing) != len(unexpected) or len(found) > min(_SHOWN, len(missing) // 2)
    return [] if several else list(found)


def _substituted(old: str, new: str) -> str:
    """The state with other names."""
    wanted, numbers = re.escape(old).replace("N", r"(\d+)"), iter(range(1, 9))
    anew = re.sub("N", lambda _: f"\\{next(numbers)}", new)
    return f"{{re.sub(r'^{wanted}\\b', r'{anew}', key): value for key, value in state.items()}}"


def _prefix(missing: list[str], unexpected: list[str]) -> str | None:
    """What stands before all keys of one side and not before those of the other; None where they differ otherwise."""
    for short, long in ((missing, unexpected), (unexpected, missing)):
        for key in long if short else ():
            prefix = key.removesuffix(short[0])
            if key.endswith(short[0]) and prefix and {prefix + one for one in short} <= set(long):
                return prefix
    return None


def _some(keys: list[str]) -> str:
    more = f" and {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else ""
    return ", ".join(keys[:_SHOWN]) + more
