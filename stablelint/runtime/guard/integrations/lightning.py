"""`Trainer(callbacks=[GuardCallback()])` for Lightning (package `lightning` or `pytorch_lightning`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stablelint.runtime.guard.api import Guard

if TYPE_CHECKING:
    from lightning.pytorch import Callback, LightningModule, Trainer
else:
    try:
        from lightning.pytorch import Callback, LightningModule, Trainer
    except ImportError:
        from pytorch_lightning import Callback, LightningModule, Trainer


class GuardCallback(Callback):
    """Watches `fit`; takes what `Guard` takes, except model and optimizer, which are the trainer's."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self._options = options
        self.guard: Guard | None = None

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Begin to watch."""
        self.guard = Guard(pl_module, **self._options)
        self.guard.start()

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Stop watching."""
        self._stop()

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        """Stop watching."""
        self._stop()

    def _stop(self) -> None:
        if self.guard is not None:
            self.guard.stop()
