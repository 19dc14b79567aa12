"""Quotients of two figures: relative errors, cosines, averages over turns, members and weights."""

from __future__ import annotations

import pytest

from ..support import likely


def rules(code: str) -> list[str]:
    """The rules of what is reported by default."""
    return [rule for _, rule in likely(code)]


def test_a_norm_by_another_is_a_relative_error_unless_it_is_a_loss() -> None:
    code = "def {name}(x: torch.Tensor, y: torch.Tensor):\n    return torch.norm(x - y) / torch.norm(y)"
    assert rules(code.format(name="drift")) == []
    assert rules(code.format(name="convergence_loss")) == ["SL102"]


def test_what_two_norms_divide_is_a_cosine() -> None:
    code = "def f(d: torch.Tensor, x: torch.Tensor, y: torch.Tensor):\n    return d / ({divisor})"
    assert rules(code.format(divisor="x.norm(dim=1)[:, None] * y.norm(dim=1)[None]")) == []
    assert rules(code.format(divisor="(x - y).std(dim=1)[:, None] * y.std(dim=1)[None]")) == ["SL102"]


LOOP = """
def average(batches, model):
    turns, total = 0, 0.0
    for batch in batches:
        if batch.useful:
            turns += 1
            total = total + model(batch)
    {before}
    return total / turns
"""


def test_how_often_a_loop_turned_is_told_where_another_count_is_guarded() -> None:
    assert rules(LOOP.format(before="pass")) == []
    guarded = "size = len(batches)\n    share = turns / size if size else 0.0"
    assert rules(LOOP.format(before=guarded)) == ["SL102"]


@pytest.mark.parametrize(
    ("values", "divided", "expected"),
    [
        ("[f(v) for v in xs]", "sum(chosen)", []),
        ("[v for v in xs if v.ready]", "t", []),
        ("[v for v in xs if v.ready]", "sum(chosen)", ["SL102"]),
        ("[v for v in xs if v.ready]", "sum([t[v] for v in chosen])", ["SL102"]),
    ],
)
def test_the_mean_over_a_list_is_told_where_a_condition_chose_its_elements(
    values: str, divided: str, expected: list[str]
) -> None:
    assert rules(f"def f(xs, t):\n    chosen = {values}\n    return {divided} / len(chosen)") == expected


def test_what_is_added_up_over_the_batches_is_not_zero_for_all_of_them() -> None:
    code = """
    def epoch(batches, model):
        tokens, total = 0, 0.0
        for batch in batches:
            tokens += (batch["labels"] != -100).sum()
            total = total + model(batch)
        return {quotient}
    """
    assert rules(code.format(quotient="total / tokens")) == []
    assert rules(code.format(quotient='total / (batch["labels"] != -100).sum()')) == ["SL102"]


def test_the_weighted_mean_of_a_group_is_that_of_its_members() -> None:
    code = """
    def centre(mass: torch.Tensor, pos: torch.Tensor, group: torch.Tensor, other: torch.Tensor, n: int):
        top = torch.zeros(n).index_add(0, group, mass * pos)
        return top / torch.zeros(n).index_add(0, {index}, mass.abs())
    """
    weighted = code.replace("mass * pos", "mass.abs() * pos")
    assert rules(weighted.format(index="group")) == []
    assert rules(weighted.format(index="other")) == ["SL102"]


def test_an_index_that_was_widened_tells_the_same_groups() -> None:
    code = """
    def scatter(values, group, n):
        wide = group[:, None] if values.dim() > 1 else group
        return torch.zeros(n).index_add(0, wide, values)

    def centre(mass: torch.Tensor, pos: torch.Tensor, group: torch.Tensor, n: int):
        return scatter(mass * pos, group, n) / scatter(mass, group, n)
    """
    assert rules(code) == []


def test_keywords_tell_two_calls_of_a_method_apart() -> None:
    code = """
    def widths(F, knots, z):
        return z / (F.slice_axis(knots, axis=-1, begin=1) - F.slice_axis(knots, axis=-1, begin={begin}))
    """
    assert rules(code.format(begin=0)) == []
    assert rules(code.format(begin=1)) == ["SL102"]


@pytest.mark.parametrize(("test", "expected"), [("step < warmup", []), ("step < total", ["SL102"])])
def test_a_count_that_was_found_larger_than_another_is_not_zero(test: str, expected: list[str]) -> None:
    code = f"""
    class Schedule:
        def rate(self, step: int, total: int, share: float):
            warmup = int(total * 0.0)
            if {test}:
                return step / warmup
            return 1.0
    """
    assert rules(code) == expected


@pytest.mark.parametrize(
    ("test", "expected"),
    [("length > bound", []), ("bound < length", []), ("length < bound", ["SL102"]), ("flag", ["SL102"])],
)
def test_a_length_that_was_found_above_its_bound_is_not_zero(test: str, expected: list[str]) -> None:
    program = f"""
    def clip(bound, flag, model):
        params = [p for p in model.parameters() if p.requires_grad]
        length = torch.sqrt(sum(torch.sum(p.grad ** 2) for p in params))
        if {test}:
            for p in params:
                p.grad[:] *= bound / length
    """
    assert [code for _, code in likely(program) if code == "SL102"] == expected


@pytest.mark.parametrize(
    ("index", "expected"), [("index", []), ("index.flip(0)", []), ("other", [(3, "SL102")])]
)
def test_the_sum_of_its_group_holds_the_member_that_it_divides(
    index: str, expected: list[tuple[int, str]]
) -> None:
    program = f"""
    def shares(x: torch.Tensor, index: torch.Tensor, other: torch.Tensor, size: int):
        total = torch.zeros(size).scatter_add(0, index, x.abs())
        return x.abs() / total[{index}]
    """
    assert likely(program) == expected
