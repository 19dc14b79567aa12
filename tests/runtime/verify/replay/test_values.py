"""Values on their way to disk and back."""

import math
from pathlib import Path

import pytest
import torch

from stablelint.runtime.verify.output.emit_tests import literal
from stablelint.runtime.verify.replay.values import (
    Opaque,
    available,
    read,
    restored,
    stored,
    write,
)


def _there_and_back(value: object, folder: Path) -> object:
    write(folder / "v.pt", {"value": stored(value)})
    return restored(read(folder / "v.pt")["value"])


@pytest.mark.parametrize(
    "value",
    [None, True, "sum", 3, 2**60, 1e-8, math.inf, torch.float16, (1, [2.0, None]), torch.device("cpu")],
)
def test_a_plain_value_comes_back_as_it_was(value: object, tmp_path: Path) -> None:
    assert _there_and_back(value, tmp_path) == value


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.bool])
def test_a_tensor_comes_back_with_its_type(dtype: torch.dtype, tmp_path: Path) -> None:
    tensor = torch.tensor([[0, 1], [1, 0]]).to(dtype)
    back = _there_and_back(tensor.t(), tmp_path)
    assert isinstance(back, torch.Tensor)
    assert back.dtype is dtype
    assert torch.equal(back, tensor.t())


@pytest.mark.parametrize("value", [object(), torch.tensor([1j]), torch.eye(2).to_sparse(), {"a": 1}])
def test_what_cannot_be_stored_keeps_the_name_of_its_type(value: object, tmp_path: Path) -> None:
    assert isinstance(_there_and_back(value, tmp_path), Opaque)


def test_a_layer_comes_back_without_being_unpickled(tmp_path: Path) -> None:
    norm = torch.nn.BatchNorm1d(3, eps=0.5).eval()
    norm.running_var.fill_(4.0)  # type: ignore[union-attr]
    back = _there_and_back(norm, tmp_path)
    assert isinstance(back, torch.nn.BatchNorm1d)
    x = torch.randn(2, 3)
    assert torch.equal(back(x), norm(x))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_all_is_replayed_on_the_cpu() -> None:
    assert available("cuda:0") == available("mps:0") == available("cpu") == "cpu"
    assert restored(stored(torch.device("cuda:1"))) == torch.device("cpu")
    tensor = restored({"tensor": torch.ones(2), "on": "cuda:1"})
    assert isinstance(tensor, torch.Tensor)
    assert tensor.device.type == "cpu"


def test_an_emitted_test_names_the_device_of_its_tensors() -> None:
    assert literal(torch.device("cuda:0")) == 'torch.device("cpu")'
    assert literal(torch.tensor([math.inf, 1.0])) == "torch.tensor([float('inf'), 1.0], dtype=torch.float32)"
