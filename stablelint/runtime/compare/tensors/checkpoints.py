"""Tensors of a file by name, read without running any code that the file brings."""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import torch

Named = dict[str, object]
# What a wrapper puts before every key of what it wraps.
_WRAPPERS = ("module.", "_orig_mod.", "model.")


class UnreadableError(Exception):
    """A file that cannot be compared; `hint` says what to do."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


def read(path: Path) -> Named:
    """Tensors, numbers and texts of a checkpoint by dotted name.

    Reads what `torch.save`, safetensors and NumPy write, and a folder of safetensors files. Raises UnreadableError.
    """
    try:
        return dict(flat(_load(path)))
    except UnreadableError:
        raise
    except pickle.UnpicklingError as error:
        if "GLOBAL" not in str(error):
            raise UnreadableError(f"cannot read {path}: not a checkpoint, or damaged") from None
        why = "it holds more than tensors, which only running its code could read"
        raise UnreadableError(
            f"cannot read {path} safely: {why} ({_reason(error)})",
            "save the tensors alone: torch.save(model.state_dict(), …) or safetensors",
        ) from None
    except OSError as error:
        raise UnreadableError(f"cannot read {path}: {error.strerror or error}") from None
    except MemoryError:
        raise
    except Exception as error:  # each format has errors of its own for damaged files
        raise UnreadableError(f"cannot read {path}: {type(error).__name__}: {_reason(error)}") from None


def flat(value: object, name: str = "") -> Iterator[tuple[str, object]]:
    """The leaves of nested mappings and sequences, and of a module's state, by dotted name."""
    if isinstance(value, torch.nn.Module):
        value = value.state_dict()
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from flat(item, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from flat(item, f"{name}[{index}]")
    elif isinstance(value, np.ndarray | np.generic):
        yield name, torch.from_numpy(np.array(value)) if value.dtype.kind in "biufc" else value.tolist()
    else:
        yield name, value


def without_wrappers(first: Named, second: Named) -> tuple[Named, Named, str | None]:
    """Both without a prefix that all keys of one have and none of the other, and what was left out."""
    for prefix in _WRAPPERS:
        wrapped = [bool(keys) and all(key.startswith(prefix) for key in keys) for keys in (first, second)]
        if wrapped[0] == wrapped[1]:
            continue
        stripped = [
            {key.removeprefix(prefix): value for key, value in keys.items()} if strip else keys
            for keys, strip in zip((first, second), wrapped, strict=True)
        ]
        if stripped[0].keys() & stripped[1].keys():
            which = "first" if wrapped[0] else "second"
            return stripped[0], stripped[1], f"every key of the {which} begins with `{prefix}`, left out here"
    return first, second, None


def _load(path: Path) -> object:
    if path.is_dir():
        parts = sorted(path.glob("*.safetensors"))
        if not parts:
            raise UnreadableError(f"cannot read {path}: a folder without safetensors files")
        return {key: value for part in parts for key, value in _safetensors(part).items()}
    if path.suffix == ".safetensors":
        return _safetensors(path)
    with path.open("rb") as file:
        start = file.read(6)
    if not start:
        raise UnreadableError(f"cannot read {path}: the file is empty")
    if start == b"\x93NUMPY":
        return {path.stem: np.load(path, allow_pickle=False)}
    if start[:2] == b"PK" and any(name.endswith(".npy") for name in zipfile.ZipFile(path).namelist()):
        with np.load(path, allow_pickle=False) as arrays:
            return dict(arrays)
    return torch.load(path, map_location="cpu", weights_only=True)


def _safetensors(path: Path) -> dict[str, torch.Tensor]:
    from safetensors.torch import load_file

    return load_file(path)


def _reason(error: Exception) -> str:
    """What of an error's message names what is wrong."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [
        line[line.index("GLOBAL") + 7 :].partition(" was not")[0] for line in lines if "GLOBAL" in line
    ]
    return (telling or lines or [type(error).__name__])[0].split(". ")[0]
