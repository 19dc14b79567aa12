from __future__ import annotations

import pytest

from tests.codemod.support import CLAMPED_LOG, HEAD, proposal, rewritten


@pytest.mark.parametrize("mark", ["@torch.jit.script\n", "# torch.jit.is_scripting()\n"])
def test_a_file_for_torchscript_gets_numbers_where_others_ask_for_the_type(mark: str) -> None:
    source = f"{HEAD}{mark}def f(x: torch.Tensor):\n    return torch.log(x)\n"
    fixed = rewritten(source, proposal(source, "torch.log(x)", CLAMPED_LOG, x="x"))
    assert "torch.log(x.clamp_min(1.2e-38))" in fixed


def test_other_files_ask_for_the_type() -> None:
    source = f"{HEAD}def f(x: torch.Tensor):\n    return torch.log(x)\n"
    fixed = rewritten(source, proposal(source, "torch.log(x)", CLAMPED_LOG, x="x"))
    assert "torch.log(x.clamp_min(torch.finfo(x.dtype).tiny))" in fixed


@pytest.mark.parametrize(
    ("item", "written"),
    [
        ("x[:, 0]", "torch.log(x[:, 0].clamp_min(torch.finfo(x.dtype).tiny))"),
        ("x[x > 0]", "torch.log(x[x > 0].clamp_min(torch.finfo(x.dtype).tiny))"),
        ("x[0]", "torch.log(x[0].clamp_min(torch.finfo(x[0].dtype).tiny))"),
        (
            "x[i]",
            "selected = x[i]\n    return torch.log(selected.clamp_min(torch.finfo(selected.dtype).tiny))",
        ),
    ],
)
def test_a_part_of_a_tensor_has_its_type_and_an_item_of_a_list_its_own(item: str, written: str) -> None:
    source = f"{HEAD}def f(x, i):\n    return torch.log({item})\n"
    assert written in rewritten(source, proposal(source, f"torch.log({item})", CLAMPED_LOG, x=item))
