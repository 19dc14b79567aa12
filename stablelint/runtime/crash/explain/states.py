"""States that do not fit the module they are loaded into."""

from __future__ import annotations

import re

from stablelint.runtime.crash.explainers import explains
from stablelint.runtime.crash.explanation import Explanation
from stablelint.runtime.crash.scene import Scene

_MISSING = re.compile(r"Missing key\(s\) in state_dict: (.+?)\. *$", re.MULTILINE)
_UNEXPECTED = re.compile(r"Unexpected key\(s\) in state_dict: (.+?)\. *$", re.MULTILINE)
_SIZES = re.compile(
    r"size mismatch for (\S+): copying a param with shape torch\.Size\((\[.*?\])\) from checkpoint, "
    r"the shape in current model is torch\.Size\((\[.*?\])\)"
)
_SHOWN = 3
_WRAPPERS = {"module.": "DataParallel", "_orig_mod.": "torch.compile"}


@explains(r"Error\(s\) in loading state_dict for (\w+)")
def state(scene: Scene, match: re.Match[str]) -> Explanation | None:
    """Keys that differ by a prefix, sizes that differ, and keys that are on one side only."""
    missing, unexpected = _keys(_MISSING, scene.message), _keys(_UNEXPECTED, scene.message)
    sizes = _SIZES.findall(scene.message)
    prefix = _prefix(missing, unexpected)
    if prefix is not None:
        return _of_wrapper(prefix, added=unexpected[0].startswith(prefix))
    if sizes:
        frame = scene.called("load_state_dict")
        return _of_sizes(sizes, match[1], forgiven=frame is not None and frame.names.get("strict") is False)
    if not missing and not unexpected:
        return None
    frame = scene.called("load_state_dict")
    given = frame.names.get("state_dict", {}) if frame is not None else {}
    inner = next((key for key in unexpected if set(missing) <= set(_keys_of(given.get(key)))), None)
    if inner is not None and missing:
        summary = f"the state of {match[1]} stands under {inner!r} of what is loaded"
        return Explanation("state", summary, advice=(f"load_state_dict(…[{inner!r}])",))
    because = [f"{match[1]} needs {_some(missing)}, which the state lacks"] if missing else []
    because += [f"the state holds {_some(unexpected)}, which {match[1]} has not"] if unexpected else []
    advice = "build the model that was saved; load_state_dict(…, strict=False) leaves these as they are"
    return Explanation("state", f"the state is one of another {match[1]}", tuple(because), (advice,))


@explains(r"loaded state dict (contains a parameter group|has a different number of parameter groups)")
def optimizer_state(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """The state of an optimizer of other parameters."""
    frame = scene.called("load_state_dict")
    if frame is None:
        return None
    groups = [frame.names["state_dict"]["param_groups"], frame.names["self"].param_groups]
    saved, built = ([len(group["params"]) for group in one] for one in groups)
    summary = f"the state is of groups of {saved} parameters, the optimizer holds groups of {built}"
    advice = "build model and optimizer as they were when it was saved, frozen layers included"
    return Explanation("state", summary, advice=(advice,))


def _keys_of(value: object) -> tuple[object, ...]:
    return tuple(value) if isinstance(value, dict) else ()


def _of_wrapper(prefix: str, *, added: bool) -> Explanation:
    """A state whose keys are those of the module behind, or without, a prefix."""
    whose = f", those of {_WRAPPERS[prefix]}," if prefix in _WRAPPERS else ""
    if added:
        summary = f"the keys of the state{whose} begin with {prefix!r}, those of the module do not"
        keys = f"key.removeprefix({prefix!r})"
    else:
        summary = f"the keys of the module{whose} begin with {prefix!r}, those of the state do not"
        keys = f"{prefix!r} + key"
    return Explanation("state", summary, advice=(f"{{{keys}: value for key, value in state.items()}}",))


def _of_sizes(sizes: list[tuple[str, str, str]], module: str, *, forgiven: bool) -> Explanation:
    """Parameters of other sizes than the state has."""
    first, saved, built = sizes[0]
    summary = f"{first} is {saved} in the state and {built} in {module}"
    because = [f"{name} is {a} in the state and {b} in {module}" for name, a, b in sizes[1:_SHOWN]]
    advice = "build the model in the sizes of the state, or leave these keys out and load with strict=False"
    if forgiven:
        because.append("strict=False forgives keys that are missing or unknown, and no other sizes")
        advice = f"leave {_some([name for name, *_ in sizes])} out of the state"
    return Explanation("state", summary, tuple(because), (advice,))


def _keys(pattern: re.Pattern[str], message: str) -> list[str]:
    """The keys that a message lists."""
    found = pattern.search(message)
    return re.findall(r'"([^"]+)"', found[1]) if found is not None else []


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
