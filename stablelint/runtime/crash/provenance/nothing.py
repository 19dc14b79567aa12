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
        code, caller = frame.f_code, frame.f_back
        ends = event == "return" and value is None and code.co_code[frame.f_lasti] in _RETURNS
        if ends and parse_file(code.co_filename) is not None and is_of_program(code.co_filename):
            is_made = code.co_name == "__init__"
            self.last = self.last if is_made or caller is None or _is_dropped(caller) else frame


def _is_dropped(caller: FrameType) -> bool:
    """Whether nothing is made of what a call gives: it is a statement by itself."""
    node, tree = node_at(site_of(caller)), parse_file(caller.f_code.co_filename)
    statements = (one for one in ast.walk(tree or ast.Module([], [])) if isinstance(one, ast.Expr))
    return any(one.value is node for one in statements)


def gave_none(scene: Scene) -> str:
    """The function that gave the last None before an error, and its line; nothing where that cannot be told."""

    def told(then: Scene | None, watched: _Returns) -> bytes:
        code = watched.last.f_code if watched.last is not None else None
        same = then is not None and (then.message, then.location) == (scene.message, scene.location)
        return (
            f"{code.co_qualname}, line {code.co_firstlineno}".encode() if same and code is not None else b""
        )

    return by_script(scene, told, _Returns).decode()
