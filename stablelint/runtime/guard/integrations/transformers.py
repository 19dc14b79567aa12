"""`Trainer(callbacks=[GuardCallback()])` for the Transformers library."""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from stablelint.runtime.guard.api import Guard


class GuardCallback(TrainerCallback):
    """Watches `train`; takes what `Guard` takes, except model and optimizer, which are the trainer's."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self._options = options
        self.guard: Guard | None = None

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Begin to watch."""
        self.stop()
        self.guard = Guard(kwargs.get("model"), **self._options)
        self.guard.start()

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Stop watching."""
        self.stop()

    def stop(self) -> None:
        """Stop watching; needed by hand only where `train` was left by an exception that was then handled."""
        if self.guard is not None:
            self.guard.stop()
