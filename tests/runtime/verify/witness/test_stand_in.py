"""What stands in for modules that are not installed."""

import importlib.util
import sys
from abc import ABC, abstractmethod

import pytest
import torch

from stablelint.runtime.verify.witness.stand_in import absent, is_absent, stand_in_for_tensorboard


def test_an_absent_class_can_be_a_base_beside_an_abstract_one() -> None:
    class Abstract(ABC):
        @abstractmethod
        def scale(self) -> float: ...

    class Own(absent("lacking.Base"), Abstract):  # type: ignore[misc]
        def scale(self) -> float:
            return 2.0

    assert Own().scale() == 2.0
    assert is_absent(absent("lacking.Base"))
    assert not is_absent(Own)


@pytest.mark.skipif(importlib.util.find_spec("tensorboard") is not None, reason="tensorboard is installed")
def test_what_torch_has_for_tensorboard_is_there_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "torch.utils.tensorboard"
    monkeypatch.setitem(sys.modules, name, sys)
    monkeypatch.setattr(torch.utils, "tensorboard", None, raising=False)
    stand_in_for_tensorboard()
    assert is_absent(sys.modules[name])
    assert is_absent(sys.modules[name].SummaryWriter)
