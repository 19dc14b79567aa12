import pytest

from stablelint.diagnostic import Binding
from tests.codemod.support import proposal, rewritten, span_of, withheld

FLOOR = "$x.clamp_min(1e-19)"
UNION = "$x.masked_fill($x == 0, 1)"


def _function(body: str) -> str:
    return f"import torch\n\n\ndef f(a, b, c, eps):\n    {body}\n"


@pytest.mark.parametrize(
    ("body", "template", "why"),
    [
        ("return torch.log(a / b.sum())", UNION, "-inf all the same"),
        ("return -(a / b.sum()).log()", UNION, "-inf all the same"),
        ("p = torch.cat([torch.exp(a)])\n    return torch.log(p / b.sum())", FLOOR, "-inf all the same"),
        ("return 10 * torch.log10(1 / b.sum())", FLOOR, "infinite by its meaning"),
        ("return torch.log(a / b.sum())", FLOOR, None),
        ("return torch.log(a / b.sum() + 1)", UNION, None),
    ],
)
def test_a_quotient_whose_logarithm_stays_infinite_gets_no_bound(
    body: str, template: str, why: str | None
) -> None:
    source = _function(body)
    change = proposal(source, "b.sum()", template, x="b.sum()")
    if why is None:
        assert rewritten(source, change) != source
    else:
        assert why in withheld(source, change)


@pytest.mark.parametrize(
    ("loop", "is_offered"),
    [
        ("for i, x in enumerate(a):", False),
        ("for i in range(b):", False),
        ("for i, x in enumerate(a, 1):", True),
        ("for i, x in enumerate(a, start=1):", True),
        ("for i in range(1, b):", True),
        ("for i, x in a:", True),
        ("for j, x in enumerate(a):", True),
    ],
)
def test_an_index_behind_its_loop_is_taken_for_no_count(loop: str, is_offered: bool) -> None:
    source = _function(f"i = 0\n    {loop}\n        c += 1\n    return c / i")
    change = proposal(source, "i", "max($x, 1)", occurrence=source.count("i") - 1, x="i")
    if is_offered:
        assert rewritten(source, change).endswith("return c / max(i, 1)\n")
    else:
        assert "divide by `i + 1`" in withheld(source, change)


CAUGHT = """
def rate(total, parts):
    n = total.get(parts)
    return total / n


def read(path):
    return rate(open(path), len(path))


def load(path):
    try:
        return read(path)
    except {kind}:
        return None
"""


@pytest.mark.parametrize(
    ("kind", "is_caught"),
    [("Exception as e", True), ("(KeyError, ZeroDivisionError)", True), ("OSError", False)],
)
def test_a_division_of_numbers_whose_error_is_caught_stays_as_it_is(kind: str, is_caught: bool) -> None:
    source = CAUGHT.format(kind=kind)
    at = Binding("n", span_of(source, "n", start=source.index("/ n") + 2))
    change = proposal(source, "n", "($x or 1)", occurrence=source[: source.index("/ n")].count("n"), x=at)
    if is_caught:
        assert "sees to the error" in withheld(source, change)
    else:
        assert "total / (n or 1)" in rewritten(source, change)


@pytest.mark.parametrize(
    ("body", "is_wrong"),
    [
        ("m, _ = a.max(1, keepdim=True)\n    e = torch.exp(a - m.detach()) * b", True),
        ("m = a.amax(1, keepdim=True)\n    e = torch.exp(a - m) * b", True),
        ("e = torch.exp(a) * b", False),
        ("m = a.amax(1, keepdim=True)\n    e = torch.exp(a - m)", False),
    ],
)
def test_a_mask_behind_the_largest_exponent_is_not_mended_by_a_bound(body: str, is_wrong: bool) -> None:
    source = _function(f"{body}\n    return torch.log(e.sum(1))")
    change = proposal(source, "e.sum(1)", "$x.clamp_min(torch.finfo($x.dtype).tiny)", x="e.sum(1)")
    if is_wrong:
        assert "mask before its maximum" in withheld(source, change)
    else:
        assert "clamp_min" in rewritten(source, change)


@pytest.mark.parametrize(("divisor", "is_setting"), [("n", True), ("float(n)", True), ("(n - 1)", False)])
def test_a_setting_of_0_stays_refused(divisor: str, is_setting: bool) -> None:
    source = f"def f(total, n):\n    return total / {divisor}\n"
    at = Binding(divisor, span_of(source, divisor, start=source.index("/ ") + 2))
    occurrence = source[: source.index("/ ")].count(divisor)
    change = proposal(source, divisor, "($x or 1)", occurrence=occurrence, x=at)
    if is_setting:
        assert "a `n` of 0 is refused" in withheld(source, change)
    else:
        assert "or 1)" in rewritten(source, change)


@pytest.mark.parametrize(("other", "is_alone"), [("b / self.n", False), ("self.n / b", True)])
def test_a_number_that_others_divide_by_is_bounded_where_it_is_set(other: str, is_alone: bool) -> None:
    source = f"class A:\n    def f(self, a, b):\n        return [a / self.n, {other}]\n"
    change = proposal(source, "self.n", "($x or 1)", x="self.n")
    if is_alone:
        assert "a / (self.n or 1)" in rewritten(source, change)
    else:
        assert "line 3 divides by `self.n`, too" in withheld(source, change)


@pytest.mark.parametrize(
    "end",
    [
        "try:\n    load('x')\nexcept Exception as e:\n    print(e)\n",
        "if __name__ == '__main__':\n    try:\n        load('x')\n    except Exception as e:\n        print(e)\n",
        "def main():\n    try:\n        load('x')\n    except Exception:\n        print('no')\n        raise\n",
        "def main():\n    try:\n        load('x')\n    except Exception:\n        sys.exit(1)\n    return 1\n",
    ],
)
def test_an_error_that_ends_the_program_all_the_same_is_not_seen_to(end: str) -> None:
    source = CAUGHT.format(kind="OSError") + f"\n\n{end}"
    at = Binding("n", span_of(source, "n", start=source.index("/ n") + 2))
    change = proposal(source, "n", "($x or 1)", occurrence=source[: source.index("/ n")].count("n"), x=at)
    assert "total / (n or 1)" in rewritten(source, change)


@pytest.mark.parametrize(
    ("body", "is_meant"),
    [
        ("b[c] = 0.0\n    return torch.log(2 * b)", True),
        ("b = a.clone()\n    b[c] = 0\n    return b.log().sum()", True),
        ("b[c] = 0.0\n    return (b * torch.log(b)).sum()", False),
        ("b[c] = 1.0\n    return torch.log(b)", False),
        ("c[b] = 0\n    return torch.log(b)", False),
    ],
)
def test_what_is_set_to_0_keeps_its_infinite_logarithm(body: str, is_meant: bool) -> None:
    source = _function(body)
    of = "2 * b" if "2 * b" in body else "b"
    start = source.index("log(") + 4 if "log(b" in body or "log(2" in body else source.index("b.log")
    at = Binding(of, span_of(source, of, start=start))
    occurrence = source[:start].count(of)
    change = proposal(source, of, "$x.clamp_min(torch.finfo($x.dtype).tiny)", occurrence=occurrence, x=at)
    if is_meant:
        assert "whose logarithm may be meant" in withheld(source, change)
    else:
        assert "clamp_min" in rewritten(source, change)


@pytest.mark.parametrize(
    ("fill", "beside", "why"),
    [
        ("a.masked_fill(b, -1e9)", "a.masked_fill(c, -1e9)", None),
        ("a.masked_fill(b, -1e9)", "a.masked_fill(c, -1e20)", "`-1e20` on line 6 stands in an order"),
        ("a.masked_fill(b, -1e9)", "c * 1e20", None),
        ("c.scores.masked_fill_(b, -1e9)", "c", "`c.scores` keeps it"),
    ],
)
def test_of_several_lowest_numbers_none_is_changed_alone(fill: str, beside: str, why: str | None) -> None:
    source = _function(f"s = {fill}\n    return s + {beside}")
    change = proposal(source, "-1e9", "torch.finfo($x.dtype).min", x="a" if why is None else "b")
    if why is None:
        assert "torch.finfo(a.dtype).min" in rewritten(source, change)
    else:
        assert why in withheld(source, change)
