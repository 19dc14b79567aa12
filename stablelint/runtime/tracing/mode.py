"""Every operation below autograd, forward and backward alike, handed to a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode


class Mode(TorchDispatchMode):
    """Hands every operation to a function that runs it."""

    def __init__(self, run: Callable[[Any, Sequence[Any], Mapping[str, Any]], Any]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._run = run

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run the operation as the function does."""
        return self._run(func, args, kwargs or {})
