"""Names outside a function that it binds anew, such as a counter of its calls: what they held before a call."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from types import CellType, CodeType, FunctionType
from typing import Any

_WRITES = frozenset({"STORE_GLOBAL", "STORE_DEREF"})


@dataclass(frozen=True, slots=True)
class OuterNames:
    """The values of global names, and of cells of enclosing functions."""

    scope: dict[str, Any]
    values: dict[str, Any]
    cells: tuple[tuple[CellType, Any], ...]

    @classmethod
    def of(cls, function: object) -> OuterNames | None:
        """What `function` binds outside itself, as it stands now; None where that is nothing."""
        if not isinstance(function, FunctionType):
            return None
        written = _written(function.__code__)
        if not written:
            return None
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        scope = function.__globals__
        return cls(
            scope,
            {name: scope[name] for name in written if name not in cells and name in scope},
            tuple((cell, cell.cell_contents) for name, cell in cells.items() if name in written),
        )

    def restore(self) -> None:
        """Bind the names to what they held."""
        self.scope.update(self.values)
        for cell, value in self.cells:
            cell.cell_contents = value

    @contextmanager
    def put_back(self, function: object) -> Iterator[None]:
        """Within the context the names hold what they held; afterwards what they hold now."""
        now = OuterNames.of(function)
        self.restore()
        try:
            yield
        finally:
            if now is not None:
                now.restore()


@lru_cache(maxsize=1024)
def _written(code: CodeType) -> frozenset[str]:
    outer = {*code.co_names, *code.co_freevars}
    return frozenset(
        str(one.argval) for one in dis.get_instructions(code) if one.opname in _WRITES and one.argval in outer
    )
