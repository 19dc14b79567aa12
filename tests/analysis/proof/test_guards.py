"""What proves an obligation: nothing is said, and the proof is counted under its name."""

import pytest

from tests.analysis.support import discharged_by, function, open_, unmet


def silent(code: str) -> None:
    """No obligation is left open."""
    assert unmet(code) == []


@pytest.mark.parametrize(
    "line",
    [
        "torch.log(x.clamp(min=1e-6))",
        "torch.log(x.clamp(1e-6, 1.0))",
        "torch.log(torch.clamp(x, 1e-6))",
        "torch.log(x.clamp_min(1e-6))",
        "torch.log(torch.clamp_min(x, min=1e-6))",
        "torch.log(torch.clip(x, 1e-6, 1 - 1e-6))",
        "torch.log(torch.maximum(x, torch.tensor(1e-6)))",
        "torch.log(torch.maximum(x, torch.full_like(x, 1e-6)))",
        "torch.log(F.softplus(x) + 1e-6)",
        "torch.log(F.relu(x) + 1e-6)",
        "torch.log(x.abs() + 1e-6)",
        "torch.log(x.pow(2) + 1e-6)",
        "torch.log(F.elu(x) + 1.001)",
        "torch.log(torch.softmax(x, dim=-1) + 1e-6)",
        "torch.log(torch.sigmoid(x).clamp(1e-6, 1 - 1e-6))",
        "torch.log(1 - torch.sigmoid(x).clamp(1e-6, 1 - 1e-6))",
        "torch.sqrt(x.clamp(min=1e-6))",
        "torch.sqrt(F.relu(x) + 1e-6)",
        "torch.sqrt(x.pow(2).sum(-1) + 1e-12)",
        "(x ** 2 + 1e-6) ** 0.5",
        "torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)",
        "torch.acos(x.clamp(-1 + 1e-6, 1 - 1e-6))",
        "torch.asin(x.clamp(-0.999, 0.999))",
        "torch.exp(x.clamp(max=20))",
        "torch.exp(x.clamp(-5, 5))",
        "torch.exp(-x.abs())",
        "x / x.norm().clamp(min=1e-6)",
        "x / (x.norm(dim=-1, keepdim=True) + 1e-6)",
        "x / (x.std() + 1e-6)",
        "x / x.abs().clamp_min(1e-6)",
        "x / (x.abs() + 1e-6)",
        "x / (x.pow(2) + 1e-6)",
        "x / torch.maximum(x, torch.ones_like(x))",
        "x / x.masked_fill(x == 0, 1.0)",
        "x / torch.where(x == 0, torch.ones_like(x), x)",
        "x / (x > 0).sum().clamp(min=1)",
        "x / max((x > 0).sum().item(), 1)",
        "x / torch.exp(torch.tanh(x))",
        "x / torch.finfo(x.dtype).eps",
        "x / (x.abs() + torch.finfo(x.dtype).eps)",
        "torch.log(x.clamp(min=torch.finfo(x.dtype).tiny))",
        "torch.log(x.clamp_min(torch.finfo(x.dtype).eps))",
        "torch.log(x.clamp_min(torch.finfo(torch.float32).eps))",
    ],
)
def test_a_guard_in_the_expression(line: str) -> None:
    silent(function(line))


@pytest.mark.parametrize(
    "before",
    [
        "x = x.clamp(min=1e-6)",
        "x = x.abs() + 1e-6",
        "x.clamp_(min=1e-6)",
        "x = torch.clamp(x, min=1e-6)\ny = x",
        "x = F.softplus(x)\nx = x + 1e-6",
        "x = F.softplus(x)\nx += 1e-6",
        "assert (x > 0).all()",
        "assert torch.all(x > 0)",
        "assert x.min() > 0",
        "assert (x > 0).all(), 'positive'",
        "if (x <= 0).any():\n    raise ValueError('positive')",
        "if (x <= 0).any():\n    return x",
        "if not (x > 0).all():\n    return None",
        "if x.min() <= 0:\n    raise ValueError",
        "x = x[x > 0]",
        "keep = x > 0\nx = x[keep]",
        "x = torch.masked_select(x, x > 0)",
        "x = torch.where(x > 0, x, torch.ones_like(x))",
        "x = torch.where(x > 1e-3, x, 1e-3)",
        "x = x.masked_fill(x <= 0, 1e-3)",
        "x[x <= 0] = 1e-3",
        "bad = x <= 0\nx[bad] = 1.0",
        "x = torch.sigmoid(x) + 1.0",
    ],
)
def test_a_guard_ahead_of_a_logarithm(before: str) -> None:
    silent(function("torch.log(x)", before=before))


@pytest.mark.parametrize(
    "before",
    [
        "n[n == 0] = 1",
        "n[n == 0] = 1.0",
        "n = n.masked_fill(n == 0, 1)",
        "n.masked_fill_(n == 0, 1)",
        "n = torch.where(n == 0, torch.ones_like(n), n)",
        "n = torch.where(n != 0, n, 1.0)",
        "assert (n != 0).all()",
        "if (n == 0).any():\n    return a",
        "if torch.any(n == 0):\n    raise ZeroDivisionError",
        "n = n.clamp(min=1)",
        "n = n.abs() + 1e-3",
        "n = n[n != 0]\na = a[:1]",
        "n = torch.maximum(n, torch.tensor(1.0))",
    ],
)
def test_a_guard_ahead_of_a_division(before: str) -> None:
    silent(function("a / n", before=before, parameters="a: torch.Tensor, n: torch.Tensor"))


@pytest.mark.parametrize(
    "statements",
    [
        "n = mask.sum()\nif n == 0:\n    return x.sum() * 0\nreturn (x * mask).sum() / n",
        "n = mask.sum()\nif n > 0:\n    return (x * mask).sum() / n\nreturn x.sum()",
        "if not mask.any():\n    return x.sum() * 0\nreturn x[mask].mean()",
        "if mask.any():\n    return x[mask].mean()\nreturn x.sum() * 0",
        "if mask.sum() == 0:\n    return x.sum()\nreturn x[mask].mean()",
        "return (x * mask).sum() / mask.sum().clamp(min=1)",
        "return (x * mask).sum() / max(mask.sum(), 1)",
        "n = max(1, int(mask.sum()))\nreturn (x * mask).sum() / n",
        "n = mask.sum()\nreturn x.sum() / n if n > 0 else x.sum()",
        "assert mask.any()\nreturn x[mask].mean()",
        "picked = x[mask]\nif picked.numel() == 0:\n    return x.sum() * 0\nreturn picked.mean()",
        "picked = x[mask]\nif len(picked) > 0:\n    return picked.mean()\nreturn x.sum() * 0",
    ],
)
def test_an_empty_mask_that_is_handled(statements: str) -> None:
    lines = "".join(f"    {line}\n" for line in statements.splitlines())
    silent(f"def f(x: torch.Tensor, mask: torch.BoolTensor):\n{lines}")


@pytest.mark.parametrize(
    "line",
    [
        "(x - x.amax(dim=-1, keepdim=True)).exp() / (x - x.amax(dim=-1, keepdim=True)).exp().sum(-1, keepdim=True)",
        "torch.log(torch.exp(x - x.max()).sum())",
        "x.sum() / x.shape[0]",
        "x.sum() / x.size(0)",
        "x.sum() / len(x)",
        "x.sum() / x.numel()",
        "x / math.sqrt(x.size(-1))",
        "x / x.shape[-1] ** 0.5",
        "x / (x.shape[-1] ** 0.5)",
        "x * x.shape[-1] ** -0.5",
    ],
)
def test_sizes_are_counts_and_shifted_exponentials_are_bounded(line: str) -> None:
    assert unmet("import math\n" + function(line)) == []


@pytest.mark.parametrize(
    "program",
    [
        "@torch.no_grad()\ndef f(x: torch.Tensor):\n    return torch.sqrt(x.clamp(min=0))\n",
        "def f(x: torch.Tensor):\n    with torch.no_grad():\n        return torch.sqrt(x.clamp(min=0))\n",
        "@torch.inference_mode()\ndef f(x: torch.Tensor):\n    return x.clamp(min=0) ** 0.5\n",
        "def f(x: torch.Tensor):\n    return torch.sqrt(x.detach().clamp(min=0))\n",
        "def f(x: torch.Tensor):\n    with torch.inference_mode():\n        return x.clamp(-1, 1).acos()\n",
        "def f(x: torch.Tensor):\n    return torch.sqrt((x > 0).sum().float())\n",
        "def f():\n    return torch.sqrt(torch.rand(3))\n",
    ],
)
def test_a_contract_of_the_gradient_holds_where_there_is_none(program: str) -> None:
    silent(program)


def test_a_contract_of_the_value_holds_without_gradients_too() -> None:
    program = "@torch.no_grad()\ndef f(x: torch.Tensor):\n    return torch.log(F.relu(x))\n"
    assert open_(program) == [(3, "SL101")]


@pytest.mark.parametrize(
    ("line", "code", "proof"),
    [
        ("torch.log(x.clamp(min=1e-6))", "SL101", "clamp"),
        ("torch.log(F.relu(x) + 1e-6)", "SL101", "eps"),
        ("torch.log(torch.maximum(x, torch.tensor(1e-6)))", "SL101", "clamp"),
        ("torch.log(x[x > 0])", "SL101", "branch"),
        ("x / x.shape[0]", "SL102", "count"),
        ("torch.log(F.softplus(x) + 1.0)", "SL101", "eps"),
        ("x / x.masked_fill(x == 0, 1.0)", "SL102", "masked_fill"),
        ("x / torch.where(x == 0, torch.ones_like(x), x)", "SL102", "where"),
        ("torch.log(x.clamp(min=1e-6).mean())", "SL101", "clamp"),
        ("torch.acos(F.hardtanh(x).detach())", "SL104", "range"),
    ],
)
def test_the_proof_has_a_name(line: str, code: str, proof: str) -> None:
    assert proof in discharged_by(function(line))[code]


def test_a_branch_is_a_proof() -> None:
    program = "def f(x: torch.Tensor):\n    if (x > 0).all():\n        return torch.log(x)\n    return x\n"
    assert discharged_by(program) == {"SL101": {"branch"}}


@pytest.mark.parametrize(
    "replaced",
    [
        "r[torch.isinf(r)] = 0",
        "r[r == float('inf')] = 0",
        "r.masked_fill_(r == torch.inf, 0)",
        "r = r.masked_fill(torch.isinf(r), 0.0)",
        "r = torch.where(torch.isfinite(r), r, 0.0)",
        "r = torch.where(~torch.isinf(r), r, torch.zeros_like(r))",
        "r = torch.nan_to_num(r)",
        "r[degree == 0] = 0",
    ],
)
def test_an_infinite_result_that_is_replaced_without_gradient(replaced: str) -> None:
    """The normalisation of a graph's adjacency: the degree counts edges, no gradient flows through it."""
    program = f"""
    def f(adjacency: torch.Tensor):
        degree = (adjacency > 0).float().sum(dim=1)
        r = degree.pow(-0.5)
        {replaced}
        return r
    """
    silent(program)


@pytest.mark.parametrize(
    "replaced",
    [
        "r[torch.isinf(r)] = 0",
        "r = torch.where(torch.isfinite(r), r, 0.0)",
        "r.masked_fill_(r == torch.inf, 0)",
    ],
)
def test_an_infinite_result_that_is_replaced_keeps_its_gradient(replaced: str) -> None:
    program = f"""
    def f(weights: torch.Tensor):
        degree = torch.relu(weights).sum(dim=1)
        r = degree.pow(-0.5)
        {replaced}
        return r
    """
    assert [rule for _, rule in open_(program)] == ["SL503"]


@pytest.mark.parametrize(
    "replaced",
    ["r[r < -100] = 0", "r[r == float('inf')] = 0", "r[other == 0] = 0", "r[torch.isnan(r)] = 0"],
)
def test_a_replacement_that_misses_the_bad_result(replaced: str) -> None:
    program = f"""
    @torch.no_grad()
    def f(x: torch.Tensor, other: torch.Tensor):
        r = torch.log(torch.relu(x))
        {replaced}
        return r
    """
    assert open_(program) == [(3, "SL101")]


@pytest.mark.parametrize(
    ("test", "spread", "is_told"),
    [
        ("len(x) > 1", "torch.sub(y, x)", False),
        ("x.numel() > 1", "(y * x).abs()", False),
        ("len(x) > 0", "torch.sub(y, x)", True),
        ("len(x) > 1", "y @ x", True),
        ("len(x) > 1", "y - x.sum()", True),
    ],
)
def test_what_is_computed_element_by_element_has_as_many(test: str, spread: str, is_told: bool) -> None:
    code = f"def f(x, y):\n    if {test}:\n        return torch.std({spread})\n    return 0\n"
    assert ("SL107" in [rule for _, rule in open_(code)]) is is_told
