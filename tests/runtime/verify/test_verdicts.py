"""What running an expression and its fix shows."""

from dataclasses import replace

import pytest
import torch

from stablelint.runtime.verify.replay.values import Call, Context
from stablelint.runtime.verify.site import Kind, Verdict
from tests.runtime.verify.support import DIVISION, LOG, call, replay, site

CLAMP = "torch.log(x.clamp_min(torch.finfo(x.dtype).tiny))"


@pytest.mark.parametrize(
    ("original", "fixed", "operands", "more"),
    [
        pytest.param(
            "torch.log(x)", "torch.nan_to_num(torch.log(x))", {"x": "x"}, LOG, id="nan-to-num-after"
        ),
        pytest.param("torch.log(x)", "torch.log(x).clamp(min=-100)", {"x": "x"}, LOG, id="clamp-after"),
        pytest.param(
            "torch.log(x)", "torch.where(x > 0, torch.log(x), 0)", {"x": "x"}, LOG, id="single-where"
        ),
        pytest.param(
            "torch.log(x)",
            "torch.log(x + 1e-8)",
            {"x": "x"},
            LOG | {"dtypes": ("float16",)},
            id="eps-in-half",
        ),
        pytest.param(
            "x / y",
            "x / (y + torch.finfo(y.dtype).tiny)",
            {"x": "x", "y": "y"},
            DIVISION | {"dtypes": ("float16",)},
            id="tiny-in-half",
        ),
        pytest.param(
            "p * torch.log(p)",
            "torch.xlogy(p, p)",
            {"p": "p"},
            {"forward": "p > 0", "sample": {"p": [0.01, 1.0]}},
            id="xlogy-gradient",
        ),
    ],
)
def test_false_fixes_are_refused(
    original: str, fixed: str, operands: dict[str, str], more: dict[str, object]
) -> None:
    found = replay(site(original, fixed, operands, **more))
    assert found.decision.verdict is Verdict.INEFFECTIVE
    witness = found.decision.witness
    assert witness is not None
    assert witness.fixed_failed in ("forward", "backward")


SHARES = site(
    "x / x.sum()",
    "x / x.sum().masked_fill(x.sum() == 0, 1)",
    {"y": "x.sum()", "x": "x"},
    **DIVISION,
)
LEAST = torch.tensor([0.0, 1e-40])


def test_gradients_without_a_place_in_the_format_are_told_and_refuse_no_fix_that_cures() -> None:
    zeros = torch.zeros(2)
    found = replay(SHARES, [call(x=zeros, **{"x.sum()": zeros.sum()})])
    assert found.decision.verdict is Verdict.CONFIRMED
    assert any("least normal number" in note for note in found.decision.notes)


def test_they_refuse_it_where_a_run_met_them_or_nothing_else_is_cured() -> None:
    met = replay(SHARES, [call(x=LEAST, **{"x.sum()": LEAST.sum()})])
    assert met.decision.verdict is Verdict.INEFFECTIVE
    idle = replay(site("x / y", "x / (y + 0)", {"x": "x", "y": "y"}, **DIVISION))
    assert idle.decision.verdict is Verdict.INEFFECTIVE


@pytest.mark.parametrize(
    "fixed",
    [
        "torch.nan_to_num(torch.log(x))",
        "torch.log(x).clamp(min=-100)",
        "torch.where(x > 0, torch.log(x), 0)",
    ],
)
def test_a_fix_that_is_only_finite_forward_fails_backward_on_captured_operands(fixed: str) -> None:
    found = replay(site("torch.log(x)", fixed, {"x": "x"}, **LOG), [call(x=torch.tensor([0.0, 1.0]))])
    assert found.decision.verdict is Verdict.INEFFECTIVE
    assert found.decision.witness is not None
    assert found.decision.witness.fixed_failed == "backward"


def test_a_captured_zero_confirms() -> None:
    found = replay(site("x.log()", CLAMP, {"x": "x"}, **LOG), [call(x=torch.tensor([0.0, 1.0]))])
    assert found.decision.verdict is Verdict.CONFIRMED
    assert found.decision.witness is not None
    assert found.decision.witness.original.forward.inf == 1
    assert not found.decision.witness.fixed.forward.bad  # type: ignore[union-attr]


def test_healthy_captured_operands_leave_a_latent_fault() -> None:
    found = replay(site("x.log()", CLAMP, {"x": "x"}, **LOG), [call(x=torch.tensor([0.5, 1.0]))])
    assert found.decision.verdict is Verdict.LATENT


def test_operands_found_by_a_search_are_reachable() -> None:
    searched = Call({"x": torch.tensor([0.0, 1.0])}, Context(), "search")
    found = replay(site("x.log()", CLAMP, {"x": "x"}, **LOG), [call(x=torch.tensor([0.5, 1.0])), searched])
    assert found.decision.verdict is Verdict.REACHABLE


def test_an_exact_rewrite_of_a_saturated_softmax_is_confirmed() -> None:
    fault = site("torch.log(torch.softmax(z, dim=-1))", "torch.log_softmax(z, dim=-1)", {"z": "z"}, safe=True)
    found = replay(fault, [call(z=torch.tensor([[0.0, 200.0]]))])
    assert found.decision.verdict is Verdict.CONFIRMED


def test_a_fix_that_changes_healthy_values_diverges() -> None:
    found = replay(site("x.log()", "(x + 0.1).log()", {"x": "x"}, **LOG), [call(x=torch.tensor([0.5, 1.0]))])
    assert found.decision.verdict is Verdict.DIVERGES


@pytest.mark.parametrize("count", [3, 3.0])
def test_numbers_of_python_are_tried_at_the_edge(count: float) -> None:
    mean = site("total / count", "total / max(count, 1)", {"x": "total", "y": "count"}, **DIVISION)
    for total in (6.0, torch.ones(2)):
        found = replay(mean, [call(total=total, count=count)]).decision
        assert found.verdict is Verdict.LATENT
        assert found.witness is not None
        assert found.witness.case.call.operands["count"] == 0


def test_an_empty_capture_is_replayed() -> None:
    found = replay(site("x.log()", CLAMP, {"x": "x"}, **LOG), [call(x=torch.empty(0, 3))])
    assert found.decision.verdict is Verdict.NOT_REPRODUCED


def test_gradients_that_cancel_to_rounding_are_no_difference() -> None:
    by_hand = site(
        "d / (p.norm(dim=-1) * t.norm(dim=-1))",
        "torch.nn.functional.cosine_similarity(p, t, dim=-1)",
        {},
        model="(p * t).sum(dim=-1) / (p.norm(dim=-1) * t.norm(dim=-1))",
    )
    p = torch.tensor([[1.0, 2.0, 3.0, 4.0], [-1.0, -2.0, -3.0, -4.0]])
    found = replay(by_hand, [call(p=p, t=p.abs(), d=(p * p.abs()).sum(-1))])
    assert found.decision.verdict is Verdict.LATENT, "the gradient of parallel vectors is 0"


def test_ordinary_counts_are_whole_numbers() -> None:
    ratio = site("x / y", "x / y.clamp_min(1)", {"x": "x", "y": "y"}, **DIVISION)
    counted = [call(x=torch.ones(4), y=torch.tensor([0.0, 1.0, 2.0, 5.0]))]
    measured = [call(x=torch.ones(4), y=torch.tensor([0.0, 1.0, 2.5, 5.0]))]
    assert replay(ratio, counted).decision.verdict is Verdict.CONFIRMED
    assert replay(ratio, measured).decision.verdict is Verdict.DIVERGES


def test_operands_that_nobody_captured_are_such_as_the_analysis_knows() -> None:
    ratio = site("x / y", "x / y.clamp_min(1)", {"x": "x", "y": "y"}, **DIVISION)
    whole = replace(ratio, facts=("integral(y)", "nonnegative(y)", "not python(y)"))
    assert replay(ratio).decision.verdict is Verdict.DIVERGES
    assert replay(whole).decision.verdict is Verdict.LATENT
    number = site("x / y", "x / max(y, 1)", {"x": "x", "y": "y"}, **DIVISION)
    known = replay(replace(number, facts=("integral(y)", "python(y)"))).decision
    assert known.verdict is Verdict.LATENT
    assert known.witness is not None
    assert known.witness.case.call.operands["y"] == 0


def test_a_site_never_evaluated_is_not_reached() -> None:
    found = replay(site("x.log()", CLAMP, {"x": "x"}, **LOG), ran=True)
    assert found.decision.verdict is Verdict.NOT_REACHED


def test_an_expression_that_cannot_fail_is_not_reproduced() -> None:
    found = replay(site("torch.log(x)", CLAMP, {"x": "x.abs() + 1.0"}), [call(x=torch.ones(3))])
    assert found.decision.verdict in (Verdict.NOT_REPRODUCED, Verdict.LATENT)
    calm = replay(site("torch.sigmoid(x)", "torch.sigmoid(x * 1.0)", {"x": "x"}), [call(x=torch.ones(3))])
    assert calm.decision.verdict is Verdict.NOT_REPRODUCED


@pytest.mark.parametrize("fixed", ["(x + 0.1).log()", "x.detach().clamp_min(1e-12).log()"])
def test_the_healthy_elements_of_failing_calls_speak(fixed: str) -> None:
    bad = [call(x=torch.tensor([0.0, 0.5, 1.0, 2.0])) for _ in range(2)]
    bare = site("x.log()", fixed, {"x": "x"}, forward="x > 0", backward="x > 0")
    assert replay(bare, bad).decision.verdict is Verdict.DIVERGES


def test_a_nan_that_a_test_takes_is_not_passed_over() -> None:
    fixed, hidden = "d / torch.where(m, s, 1)", "1.0 - (m) * 1.0"
    ratio = site("d / s", fixed, {"x": "s", "c": "m"}, hidden=hidden, guards_hidden=True)
    taken = torch.tensor([True, False])
    seen = call(s=torch.zeros(2), d=torch.zeros(2), m=taken)
    assert replay(ratio, [seen]).decision.verdict is Verdict.INEFFECTIVE


def test_a_gradient_that_the_program_never_asks_for_may_go() -> None:
    fault = site(
        "y * torch.log(p) + (1 - y) * torch.log(1 - p)",
        "-torch.nn.functional.binary_cross_entropy(p, y, reduction='none')",
        {"h": "p", "y": "y"},
        sample={"h": [0.1, 0.9], "y": {"low": 0.0, "high": 1.0, "gradient": False}},
    )
    operands = {"p": torch.tensor([0.0, 0.4]), "y": torch.tensor([0.0, 0.7])}
    assert (
        replay(fault, [Call(operands, Context(), needs=frozenset({"p"}))]).decision.verdict
        is Verdict.CONFIRMED
    )


def test_operands_that_were_nan_before_prove_nothing() -> None:
    poisoned = call(x=torch.tensor([float("nan"), 1.0]))
    found = replay(site("x.log()", CLAMP, {"x": "x"}, **LOG), [poisoned])
    assert found.decision.verdict is Verdict.LATENT


def test_a_backward_fault_does_not_confirm_where_no_gradient_was_asked() -> None:
    root = site("x.sqrt()", "(x + 1e-12).sqrt()", {"x": "x"}, backward="x > 0")
    quiet = Call({"x": torch.zeros(3)}, Context(grad=False))
    assert replay(root, [quiet]).decision.verdict is Verdict.LATENT
    assert replay(root, [call(x=torch.zeros(3))]).decision.verdict is Verdict.CONFIRMED


def test_a_gradient_that_nobody_asked_for_may_change() -> None:
    # the same value everywhere, and at 1 alone another gradient: as of a clamp at its very bound
    fixed = "8 / torch.where(x == 1, 2 * x.detach() - x, x.clamp_min(1e-3))"
    fault = site("8 / x", fixed, {"x": "x"}, forward="x != 0")
    zero, one = torch.tensor([0.0]), torch.tensor([1.0])
    quiet = [Call({"x": values}, Context(grad=False)) for values in (zero, one)]
    assert replay(fault, quiet).decision.verdict is Verdict.CONFIRMED
    assert replay(fault, [call(x=zero), call(x=one)]).decision.verdict is Verdict.DIVERGES


def test_cancellation_counts_as_a_fault_where_the_rule_expects_it() -> None:
    fault = site("torch.log(1 + x)", "torch.log1p(x)", {"x": "x"}, expect="inaccurate", safe=True)
    found = replay(fault, [call(x=torch.tensor([1e-7, 3e-9]))])
    assert found.decision.verdict is Verdict.CONFIRMED
    witness = found.decision.witness
    assert witness is not None
    assert witness.fixed_bits is not None
    assert witness.original_bits is not None
    assert witness.fixed_bits > witness.original_bits + 10


def test_the_random_state_is_left_alone() -> None:
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    replay(site("x.log() * torch.rand(1)", None, {"x": "x"}, **LOG), [call(x=torch.ones(3))])
    assert torch.equal(torch.rand(3), expected)


def test_an_interface_fix_may_change_the_value() -> None:
    loss = "torch.nn.functional.cross_entropy(torch.softmax(z, dim=-1), y)"
    fault = site(
        loss,
        "torch.nn.functional.cross_entropy(z, y)",
        {"z": "z", "y": "y"},
        kind=Kind.INTERFACE,
        expect="wrong",
    )
    found = replay(fault, [call(z=torch.randn(4, 3), y=torch.tensor([0, 1, 2, 0]))])
    assert found.decision.verdict is Verdict.CONFIRMED


def test_a_fix_of_what_a_test_hides_need_not_cure_what_it_takes() -> None:
    """`where((s == 0) & (d == 0), 1, d / s)` is infinite on purpose where `s` alone is 0."""
    test = "(s == 0) & (d == 0)"
    guarded = "d / torch.where((s == 0) & (d == 0), 1, s)"
    operands = {"x": "s", "d": test}
    ratio = site("d / s", guarded, operands, hidden=f"({test}) * 1.0", guards_hidden=True)
    taken = call(s=torch.tensor([0.0, 1.0]), d=torch.ones(2))
    hidden = call(s=torch.tensor([0.0, 1.0]), d=torch.zeros(2))
    found = replay(ratio, [taken]).decision
    assert found.verdict is Verdict.LATENT
    assert "what the test takes can be non-finite still: the fix is about what it hides" in found.notes
    assert replay(ratio, [hidden]).decision.verdict is Verdict.CONFIRMED
    quiet = Call(hidden.operands, Context(grad=False))
    assert replay(ratio, [quiet]).decision.verdict is Verdict.LATENT, "nobody feels what is dropped"
    half = site(
        "d / s",
        "d / torch.where((s == 0) & (d == 0), 0, s)",
        operands,
        hidden=f"({test}) * 1.0",
        guards_hidden=True,
    )
    assert replay(half, [hidden]).decision.verdict is Verdict.INEFFECTIVE


@pytest.mark.parametrize(
    ("fixed", "hidden", "flag"),
    [
        ("d / torch.where(empty, 1, s)", "(empty) * 1.0", False),
        ("d / torch.where(full, s, 1)", "1.0 - (full) * 1.0", True),
        ("d / torch.where(empty, 1, s)", "((s == 0) & (d == 0)) * 1.0", False),
    ],
)
def test_a_captured_test_does_not_speak_of_invented_operands(fixed: str, hidden: str, flag: bool) -> None:
    name = "full" if flag else "empty"
    ratio = site("d / s", fixed, {"x": "s", "c": name}, hidden=hidden, guards_hidden=True)
    healthy = call(s=torch.ones(2), d=torch.ones(2), **{name: torch.full((2,), flag)})
    assert replay(ratio, [healthy]).decision.verdict is Verdict.LATENT


def test_digits_that_a_test_drops_are_not_lost() -> None:
    """`where(s < 1, series, 1 - exp(-s))` takes the difference only where nothing cancels."""
    more = {"expect": "inaccurate", "safe": True}
    difference = site("1.0 - torch.exp(-s)", "-torch.expm1(-s)", {"x": "s"}, **more)
    dropped = site("1.0 - torch.exp(-s)", "-torch.expm1(-s)", {"x": "s"}, hidden="(s < 1) * 1.0", **more)
    small = call(s=torch.tensor([1e-9, 3.0]))
    assert replay(difference, [small]).decision.verdict is Verdict.CONFIRMED
    assert replay(dropped, [small]).decision.verdict is not Verdict.CONFIRMED
