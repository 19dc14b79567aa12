"""Who gave None: the functions that return in a script that is run once more."""

from __future__ import annotations

import ast
import dis
import sys
from types import FrameType
from typing import Any

from stablelint.runtime.crash.expression import node_at
from stablelint.runtime.crash.frame import is_of_program
from stablelint.runtime.crash.provenance.anew import by_script
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.program.frames import parse_file, site_of

# What ends a call, and no exception does.
_RETURNS = [dis.opmap[one] for one in ("RETURN_VALUE", "RETURN_CONST") if one in dis.opmap]


class _Returns:
    """The last function of the program that gave None where something was made of it."""

    def __init__(self) -> None:
        self.last: FrameType | None = None

    def __enter__(self) -> None:
        sys.setprofile(self._look)

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _look(self, frame: FrameType, event: str, value: Any) -> None:
        code = frame.f_code
        ends = event == "return" and value is None and code.co_code[frame.f_lasti] in _RETURNS
        if ends and is_of_program(code.co_filename) and code.co_name != "__init__" and _is_used(frame.f_back):
            self.last = frame


def _is_used(caller: FrameType | None) -> bool:
    """Whether something is made of what a call in a file gives: it is no statement by itself."""
    tree = parse_file(caller.f_code.co_filename) if caller is not None else None
    node = node_at(site_of(caller)) if caller is not None else None
    statements = (one for one in ast.walk(tree) if isinstance(one, ast.Expr)) if tree is not None else ()
    return tree is not None and not any(one.value is node for one in statements)


def gave_none(scene: Scene) -> str:
    """The function that gave the last None before an error, and its line; nothing where that cannot be told."""

    def told(then: Scene | None, watched: _Returns) -> bytes:
        if (
            watched.last is None
            or then is None
            or (then.message, then.location) != (scene.message, scene.location)
        ):
            return b""
        return f"{watched.last.f_code.co_qualname}, line {watched.last.f_code.co_firstlineno}".encode()

    return by_script(scene, told, _Returns).decode()
