"""Repairs that look right and are not: the gate refuses each of them."""

import pytest
import torch

from stablelint.catalog import FixTemplate
from stablelint.catalog.pattern import parse_pattern
from stablelint.diagnostic import Applicability
from stablelint.runtime.rules import gate

torch.set_num_threads(1)


def _finite(pattern: str, replace: str, operands: dict[str, list[float]], dtype: torch.dtype) -> bool:
    parsed = parse_pattern(pattern)
    fix = FixTemplate(replace, Applicability.UNSAFE, "")
    tensors = {name: torch.tensor(values, dtype=torch.float64) for name, values in operands.items()}
    tree = gate.rewritten(gate.expression(parsed, frozenset(tensors)), fix, frozenset(tensors))
    return gate.evaluate(tree, tensors, dtype).finite


def _clamp_hands_on() -> bool:
    """Whether this torch hands on the gradient of an operand that lies on the bound of a clamp."""
    edge = torch.ones(1, requires_grad=True)
    edge.clamp(-1, 1).backward()
    return bool(edge.grad == 1)


ZERO = {"x": [0.0]}
HALF, SINGLE = torch.float16, torch.float32
FALSE = [
    pytest.param("torch.log($x)", "torch.nan_to_num(torch.log($x))", ZERO, SINGLE, id="nan_to_num after"),
    pytest.param("torch.log($x)", "torch.log($x).clamp(min=-100)", ZERO, SINGLE, id="clamp after"),
    pytest.param("torch.sqrt($x)", "torch.sqrt($x).clamp(min=1e-6)", ZERO, SINGLE, id="clamp after sqrt"),
    pytest.param("torch.log($x)", "torch.where($x > 0, torch.log($x), 0)", ZERO, SINGLE, id="single where"),
    pytest.param("torch.log($x)", "torch.log($x + 1e-8)", ZERO, HALF, id="eps that float16 rounds to 0"),
    pytest.param(
        "$a / $x",
        "$a / ($x + torch.finfo($x.dtype).tiny)",
        {"a": [1.0], **ZERO},
        HALF,
        id="tiny for a division",
    ),
    pytest.param("$x * torch.log($x)", "torch.xlogy($x, $x)", ZERO, SINGLE, id="xlogy(p, p)"),
    pytest.param("$x * torch.log($x)", "-torch.special.entr($x)", ZERO, SINGLE, id="entr"),
    pytest.param(
        "torch.acos($x)",
        "torch.acos($x.clamp(-1, 1))",
        {"x": [1.0]},
        SINGLE,
        id="clamp to the edge",
        marks=pytest.mark.skipif(not _clamp_hands_on(), reason="there a clamp has no gradient at its bounds"),
    ),
    pytest.param(
        "torch.exp($x)",
        "torch.where($x < 50, torch.exp($x), $x)",
        {"x": [100.0]},
        SINGLE,
        id="where over exp",
    ),
]


@pytest.mark.parametrize(("pattern", "replace", "operands", "dtype"), FALSE)
def test_a_false_fix_is_refused(
    pattern: str, replace: str, operands: dict[str, list[float]], dtype: torch.dtype
) -> None:
    assert not _finite(pattern, replace, operands, dtype)


TRUE = [
    pytest.param(
        "torch.log($x)", "torch.log($x.clamp_min(torch.finfo($x.dtype).tiny))", ZERO, HALF, id="clamp"
    ),
    pytest.param("torch.log($x)", "torch.log($x + 1e-8)", ZERO, SINGLE, id="eps that float32 holds"),
    pytest.param(
        "torch.log($x)",
        "torch.where($x > 0, torch.log(torch.where($x > 0, $x, 1)), 0)",
        ZERO,
        SINGLE,
        id="double where",
    ),
]


@pytest.mark.parametrize(("pattern", "replace", "operands", "dtype"), TRUE)
def test_a_true_fix_passes(
    pattern: str, replace: str, operands: dict[str, list[float]], dtype: torch.dtype
) -> None:
    assert _finite(pattern, replace, operands, dtype)
