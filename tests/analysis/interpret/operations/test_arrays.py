"""Arrays of NumPy: what is computed of them is looked at as what is computed of tensors is, and not rewritten."""

import pytest

from stablelint.analysis.check import AnalysisOptions, check_source
from stablelint.catalog import load_catalog
from stablelint.codemod.propose import propose_all
from tests.analysis.support import findings, open_

HEAD = "import numpy as np\n\n\n"


@pytest.mark.parametrize(
    ("line", "codes"),
    [
        ("np.log(x)", ["SL101"]),
        ("x / np.max(np.abs(x))", ["SL102"]),
        ("y / y.max()", ["SL102"]),
        ("np.mean(y[y > 0])", ["SL502"]),
        ("np.log(1 + np.exp(y))", ["SL205"]),
        ("(t.numpy() - 1) / np.std(t.numpy())", ["SL102"]),
        ("np.log(np.clip(x, 1e-6, 1))", []),
        ("x / np.maximum(np.sum(y), 1)", []),
        ("np.sqrt(np.sum(y**2)) + np.linalg.norm(y, axis=0)", []),
        ("np.std(y) + np.random.rand(3)", []),
        ("t.sum() * np.sqrt(x)", []),
        ("x / np.array([1.0, 2.0, 5.0])", []),
        ("np.divide(x, y, out=np.zeros_like(x), where=y != 0)", []),
    ],
)
def test_what_is_computed_of_arrays_is_looked_at(line: str, codes: list[str]) -> None:
    code = f"{HEAD}def f(x, y: np.ndarray, t: torch.Tensor):\n    return {line}\n"
    assert [found for _, found in open_(code)] == codes


def test_an_array_of_zeros_is_filled_by_what_is_not_followed() -> None:
    code = f"{HEAD}def f(x, i):\n    n = np.zeros(5)\n    np.add.at(n, i, 1)\n    return x / n, np.log(n)\n"
    assert [d.status.value for d in findings(code)] == ["unguarded", "unguarded"]


@pytest.mark.parametrize("made", ["np.empty(5)", "np.empty_like(x)", "np.full_like(x, 2)"])
def test_a_test_tells_of_what_is_read_from_an_array_that_was_made(made: str) -> None:
    code = f"{HEAD}def f(x):\n    n = {made}\n    v = x[0] - n[0]\n    return np.sqrt(v) if v > 0 else 0.0\n"
    assert open_(code) == []


@pytest.mark.parametrize(("of", "codes"), [("np", []), ("torch", ["SL503"])])
def test_no_gradient_flows_through_a_function_of_numpy(of: str, codes: list[str]) -> None:
    code = f"{HEAD}def f(x, mean, std):\n    return {of}.nan_to_num((x - mean) / std)\n"
    assert [found for _, found in open_(code)] == codes


def test_no_rewrite_makes_a_tensor_of_an_array() -> None:
    source = (
        f"import torch\n{HEAD}def f(x):\n    return 1 / (1 + np.exp(-x)), np.log(1 + np.exp(x))\n".encode()
    )
    report = check_source(source, "program.py", load_catalog(entry_points=False), AnalysisOptions())
    found = propose_all(source, list(report.diagnostics))
    assert [one.code for one in found] == ["SL207", "SL205"]
    assert all(one.fix is None and "NumPy" in str(one.fix_withheld) for one in found)


def test_products_of_arrays_below_1_and_even_steps_keep_their_range() -> None:
    code = f"{HEAD}def f(n):\n    kept = np.cumprod(1 - np.linspace(1e-4, 0.02, n), axis=0)\n"
    code += "    return np.sqrt(kept), np.sqrt(1 - kept), 1 / (1 - np.random.rand(n))\n"
    assert open_(code) == []


def test_the_message_tells_a_range_that_is_known_in_part() -> None:
    code = f"{HEAD}def f(x):\n    kept = np.cumprod(np.clip(x, 0.1, 0.9))\n    return 1 / kept\n"
    (found,) = findings(code)
    assert found.message == "the denominator can be zero: `kept` lies in [0, 0.9]"


@pytest.mark.parametrize(
    ("line", "codes"),
    [
        ("x / (y > 0).sum(axis=0)", ["SL102"]),
        ("(x - x.mean()) / x.std()", ["SL106"]),
        ("(x - np.mean(x)) / np.std(x)", ["SL106"]),
        ("x / np.std(x, ddof=1)", ["SL102"]),
        ("np.reciprocal(y)", ["SL102"]),
        ("np.arctanh(x)", ["SL104"]),
        ("np.where(y != 0, x / y, 0)", []),
        ("1 / np.linalg.inv(x)[0, 0]", ["SL102"]),
        ("x.std(), np.std(x), np.sqrt(x.std())", []),
        ("np.log(x.clip(1e-6, 1)) / np.maximum(y.sum(), 1)", []),
    ],
)
def test_a_file_of_arrays_alone_is_looked_at_and_no_rewrite_brings_torch_into_it(
    line: str, codes: list[str]
) -> None:
    source = f"{HEAD}def f(x, y):\n    return {line}\n".encode()
    report = check_source(source, "metrics.py", load_catalog(entry_points=False), AnalysisOptions())
    shown = propose_all(source, list(report.diagnostics))
    assert [one.code for one in shown] == codes
    assert not any(one.fix for one in shown)


def test_a_file_of_another_frameworks_arrays_is_not_looked_at() -> None:
    source = b"import numpy as np\nimport jax\n\n\ndef f(x, y):\n    return x / y.sum()\n"
    assert not check_source(
        source, "metrics.py", load_catalog(entry_points=False), AnalysisOptions()
    ).diagnostics
