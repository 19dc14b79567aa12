"""Functions are left out only where no rule could speak."""

import ast

import pytest

from stablelint.analysis.files.indexing import module_of
from stablelint.analysis.matching.interest import (
    Interest,
    Need,
    interest_of,
    needs_of,
    needs_of_matcher,
    observes,
)
from stablelint.analysis.matching.pattern import compile_pattern
from stablelint.analysis.matching.review import index_of
from stablelint.analysis.matching.roots import survey
from stablelint.catalog import load_catalog
from stablelint.catalog.rule import Rule
from stablelint.matchers.constants import added_masks
from stablelint.matchers.training.devices import made_on_cpu
from stablelint.syntax.sieve import Glance
from stablelint.syntax.source import parse

NEEDS = index_of(load_catalog(entry_points=False)).needs


def kept(text: str, half: bool = False, package: str = "") -> list[str]:
    module = module_of(parse(text.encode(), "a.py"), None, package)
    return [root.function.name for root in survey(module, NEEDS, lambda: half, dict).roots]


def need(pattern: str, *where: str) -> Need:
    rule = Rule("XX101", "x", "own", "", "", "", patterns=(pattern,), where=where)
    return needs_of(compile_pattern(pattern), rule)


def holds(interest: Interest, *words: str) -> bool:
    return interest.is_met(Glance(words=set(words)))


def test_the_root_of_a_pattern_must_stand_in_the_function_the_rest_in_the_file() -> None:
    wanted = [need("torch.trapz(torch.cosh($x))")]
    assert holds(interest_of(wanted, {"trapz", "cosh"}, lambda: False), "trapz")
    assert not holds(interest_of(wanted, {"trapz", "cosh"}, lambda: False), "cosh")
    assert not holds(interest_of(wanted, {"trapz"}, lambda: False), "trapz")


def test_below_plain_arithmetic_everything_must_stand_in_the_function() -> None:
    interest = interest_of([need("$m * torch.erf($x)")], {"*", "erf"}, lambda: False)
    assert not holds(interest, "*")
    assert holds(interest, "*", "erf")


def test_a_rule_about_half_precision_needs_a_sign_of_it() -> None:
    wanted = [need("torch.cumsum($x, dim=$d)", "dtype(x) < float32")]
    assert not holds(interest_of(wanted, {"cumsum"}, lambda: False), "cumsum")
    assert holds(interest_of(wanted, {"cumsum"}, lambda: True), "cumsum")


def test_a_condition_that_the_pattern_does_not_bind_asks_nothing() -> None:
    wanted = [need("torch.cumsum($x, dim=$d)", "dtype(y) < float32")]
    assert holds(interest_of(wanted, {"cumsum"}, lambda: False), "cumsum")


def test_a_matcher_that_declares_nothing_is_shown_every_function() -> None:
    @observes("exp div")
    def declared(review: object, rule: object) -> list[object]:
        return []

    def silent(review: object, rule: object) -> list[object]:
        return []

    assert holds(interest_of(needs_of_matcher(silent), set(), lambda: False))
    assert not holds(interest_of(needs_of_matcher(declared), {"exp", "/"}, lambda: False), "exp")
    assert holds(interest_of(needs_of_matcher(declared), {"exp", "/"}, lambda: False), "exp", "/")


def test_every_matcher_of_ours_declares_what_it_observes() -> None:
    assert Need(()) not in NEEDS


@pytest.mark.parametrize(
    "body",
    [
        "return torch.log(x)",
        "return x / y",
        "x /= y",
        "return self.criterion(x, y)",
        "return ln(x)",
        "return [z.sqrt() for z in x]",
        "def inner(z):\n        return z.acos()\n    return inner(x)",
    ],
)
def test_a_function_with_an_operation_of_a_rule_is_kept(body: str) -> None:
    text = f"""
import torch
from torch import log as ln
class A(torch.nn.Module):
    def __init__(self):
        self.criterion = torch.nn.CTCLoss()
    def forward(self, x, y):
        {body.replace(chr(10), chr(10) + "    ")}
"""
    ast.parse(text)
    assert "forward" in kept(text)


@pytest.mark.parametrize("body", ["return x + y", "return x / 2", "return self.net(x)", "return x.view(-1)"])
def test_a_function_without_one_is_left_out(body: str) -> None:
    assert kept(f"import torch\ndef f(self, x, y):\n    {body}\n") == []


def test_the_callers_of_a_kept_private_function_come_before_it() -> None:
    text = """
import torch
def outer(x):
    return _inner(x.relu())
def _inner(x):
    return torch.log(x)
"""
    assert kept(text, package="pkg") == ["outer", "_inner"]


def test_callers_do_not_matter_where_the_function_is_also_handed_on() -> None:
    text = """
import torch
def outer(x):
    return _inner(x.relu())
def _inner(x):
    return torch.log(x)
TABLE = {"inner": _inner}
"""
    assert kept(text, package="pkg") == ["_inner"]


@pytest.mark.parametrize(
    ("line", "looked_at"),
    [
        ("mask = torch.ones(n); mask[0] = 0", False),
        ("mask = torch.ones(n, requires_grad=True); mask[0] = 0", True),
        ("w = torch.rand(n); w.requires_grad_(); w += 1", True),
        ("p = torch.sigmoid(x); p[0] = 0", True),
        ("p = torch.sigmoid(x); p %= n", True),
        ("p = torch.sigmoid(x); p //= 2", False),
    ],
)
def test_a_change_in_place_needs_what_a_gradient_reads_or_asks_for(line: str, looked_at: bool) -> None:
    assert kept(f"import torch\ndef f(x, n):\n    {line}\n", package="p") == (["f"] if looked_at else [])


@pytest.mark.parametrize(("eps", "looked_at"), [("1e-12", True), ("1e-5", False)])
def test_a_norm_is_looked_at_where_float16_may_lose_its_eps(eps: str, looked_at: bool) -> None:
    text = (
        "import torch.nn as nn\nclass M(nn.Module):\n"
        f"    def __init__(self):\n        self.norm = nn.LayerNorm(n, eps={eps})\n"
        "    def forward(self, x):\n        return self.norm(x)\n"
    )
    assert ("forward" in kept(text, half=True, package="p")) is looked_at


def test_what_a_matcher_is_said_to_observe_twice_may_be_either() -> None:
    @observes("log")
    @observes("exp", anywhere="half")
    def matcher() -> list[object]:
        return []

    interest = interest_of(needs_of_matcher(matcher), {"log", "exp"}, lambda: False)
    assert holds(interest, "log")
    assert not holds(interest, "exp")


@pytest.mark.parametrize(
    ("body", "looked_at"), [("self.w = nn.Parameter(x)", True), ("return self.w", False)]
)
def test_a_parameter_is_made_where_it_is_called_and_not_where_it_is_read(body: str, looked_at: bool) -> None:
    text = (
        "from torch import nn\nimport torch\nclass M(nn.Module):\n"
        "    def __init__(self):\n        self.w = nn.Parameter(torch.randn(3) * 9)\n"
        f"    def build(self, x):\n        {body}\n"
    )
    assert ("build" in kept(text, package="p")) is looked_at


def test_a_matcher_can_ask_more_of_a_function_that_has_its_words() -> None:
    @observes("trapz", where=lambda seen: "x" in seen.loads)
    def matcher() -> list[object]:
        return []

    interest = interest_of(needs_of_matcher(matcher), {"trapz"}, lambda: False)
    assert not holds(interest, "trapz")
    assert interest.is_met(Glance(words={"trapz"}, loads={"x": 1}))


@pytest.mark.parametrize(
    ("line", "looked_at"),
    [
        ("return x.to(y.device) + torch.ones(3, device=y.device)", False),
        ("d = y.device; return x.to(d) + torch.ones(3, device=d)", False),
        ("return x.to(y.device) + torch.ones(3)", True),
        ("return x.to(y.device) + torch.ones(3, device=place)", True),
        ("return x.to(y.device) + torch.ones(3, device=self.device)", True),
        ("c = Config(); return x.to(y.device) + torch.ones(3, device=c.device)", True),
        ("return x.to(place) + torch.ones(3, device=y.device)", True),
        ("return x.to(y.device) + torch.ones(3, device=y.device).cpu()", True),
    ],
)
def test_a_tensor_may_be_on_the_cpu_where_no_other_says_where_it_is(line: str, looked_at: bool) -> None:
    needs = needs_of_matcher(made_on_cpu)
    module = module_of(parse(f"import torch\ndef f(self, x, y):\n    {line}\n".encode(), "a.py"), None, "p")
    assert bool(survey(module, needs, bool, dict).roots) is looked_at


@pytest.mark.parametrize(
    ("line", "looked_at"),
    [
        ("return torch.finfo(x.dtype).max, x + n", False),
        ("return x.masked_fill(n, torch.finfo(x.dtype).min) + n", True),
        ("n += torch.full_like(x, torch.finfo(x.dtype).min)", True),
        ("return torch.add(x, torch.finfo(x.dtype).min), 1 + 2", True),
    ],
)
def test_masks_are_added_where_the_lowest_number_is_asked_for(line: str, looked_at: bool) -> None:
    needs = needs_of_matcher(added_masks)
    module = module_of(parse(f"import torch\ndef f(x, n):\n    {line}\n".encode(), "a.py"), None, "p")
    assert bool(survey(module, needs, bool, dict).roots) is looked_at
