"""Where gradients are recorded: what switches that on, off, or leaves it as it is."""

import pytest

from tests.analysis.support import open_, proved

ROOT = "torch.sqrt(x.abs())"
RECORDED = {
    "a decorator switches it off by name": f"@torch.inference_mode(mode=False)\ndef f(x: torch.Tensor):\n    return {ROOT}",
    "a mode that somebody asks for": (
        f"def f(x: torch.Tensor, off: bool):\n    with torch.inference_mode(off):\n        return {ROOT}"
    ),
    "a function of its own within": (
        "@torch.no_grad()\ndef f(x: torch.Tensor):\n"
        f"    @torch.enable_grad()\n    def inner():\n        return {ROOT}\n    return inner()"
    ),
    "a function that is handed out": (
        f"@torch.no_grad()\ndef f():\n    def inner(x: torch.Tensor):\n        return {ROOT}\n    return inner"
    ),
    "a statement that switches it on": (
        f"@torch.no_grad()\ndef f(x: torch.Tensor):\n    torch.set_grad_enabled(True)\n    return {ROOT}"
    ),
    "a function that is only called like the switch": (
        "import contextlib\ndef no_grad():\n    return contextlib.nullcontext()\n"
        f"def f(x: torch.Tensor):\n    with no_grad():\n        return {ROOT}"
    ),
    "a decorator of another package": (
        f"from compat import no_grad\n@no_grad()\ndef f(x: torch.Tensor):\n    return {ROOT}"
    ),
    "a decorator of another package, by its module": (
        f"import tools\n@tools.no_grad\ndef f(x: torch.Tensor):\n    return {ROOT}"
    ),
    "a helper that switches it on": (
        f"@torch.enable_grad()\ndef _root(x: torch.Tensor):\n    return {ROOT}\n"
        "@torch.no_grad()\ndef f(x: torch.Tensor):\n    return _root(x)"
    ),
    "what a cast to few digits makes 0": "def f(x: torch.Tensor):\n    return torch.sqrt(x.relu().half()).sum()",
    "what a square in few digits makes 0": "def f(x: torch.Tensor):\n    return torch.sqrt(x.half().relu() ** 2).sum()",
}
NOT_RECORDED = {
    "a decorator by its name alone": (
        f"from torch import no_grad\n@no_grad()\ndef f(x: torch.Tensor):\n    return {ROOT}"
    ),
    "a decorator": f"@torch.inference_mode()\ndef f(x: torch.Tensor):\n    return {ROOT}",
    "a helper that nobody else calls": (
        f"def _root(x: torch.Tensor):\n    return {ROOT}\n"
        "@torch.no_grad()\ndef f(x: torch.Tensor):\n    return _root(x)"
    ),
    "a function that is called within": (
        f"@torch.no_grad()\ndef f(x: torch.Tensor):\n    def inner():\n        return {ROOT}\n    return inner()"
    ),
}


@pytest.mark.parametrize("code", RECORDED.values(), ids=RECORDED)
def test_a_root_whose_gradient_may_be_recorded_is_told(code: str) -> None:
    assert {rule for _, rule in open_(code)} & {"SL103", "SL105"}


@pytest.mark.parametrize("code", NOT_RECORDED.values(), ids=NOT_RECORDED)
def test_a_root_without_a_gradient_is_proved(code: str) -> None:
    assert "SL103" in {rule for _, rule in proved(code)}
