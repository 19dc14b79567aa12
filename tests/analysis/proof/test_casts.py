"""A bound does not outlive a cast that cuts or rounds it away."""

import pytest

from tests.analysis.support import assumed, findings, function, proved, unmet

HEAD = "import numpy as np\nimport torch\n\n\ndef f(x: torch.Tensor, device, n):\n"


@pytest.mark.parametrize(
    "cast",
    [
        "x.clamp(0.5, 1).to(torch.int32)",
        'x.clamp(0.5, 1).to("cuda", torch.uint8)',
        "x.clamp(0.5, 1).to(dtype=torch.long)",
        "x.clamp(0.5, 1).type(torch.LongTensor)",
        "x.clamp(0.5, 1).to(int)",
        "x.clamp(1e-20, 1).to(torch.float16)",
        "torch.sum(x.clamp(0.5, 1), dtype=torch.long)",
        "torch.full((3,), 0.5, dtype=torch.long)",
        "torch.full_like(x.long(), 0.5)",
        "torch.tensor([0.5, 0.7], dtype=torch.int32)",
        "torch.full_like(torch.tensor([2, 3]), 0.5)",
        "torch.tensor(np.clip(n, 1, 2).astype(np.int32)).masked_fill(x > 0, 0.1)",
        "np.clip(n, 0.5, 1).astype(int)",
        "np.clip(n, 0.5, 1).astype(np.int32)",
        'np.clip(n, 0.5, 1).astype("uint8")',
        "np.clip(n, 1e-20, 1).astype(np.float16)",
        'x.clamp(1e-20, 1).type("torch.HalfTensor")',
        "x.half().new_full((3,), 1e-20)",
        "x.long().new_tensor(0.5)",
    ],
)
def test_a_cast_takes_a_bound_away(cast: str) -> None:
    assert [one.code for one in findings(f"{HEAD}    return 1 / {cast}\n")] == ["SL102"]


@pytest.mark.parametrize(
    "made", ["torch.full((3,), 1 - 1e-9)", "torch.full_like(x, 1 - 1e-9)", "x.new_full((3,), 1 - 1e-9)"]
)
def test_a_fill_value_may_round_to_one(made: str) -> None:
    code = [one.code for one in findings(f"{HEAD}    return 1 / (1 - {made})\n")]
    assert code == ["SL102"]


def test_a_sum_of_known_numbers_leaves_the_range_of_its_type() -> None:
    code = f"{HEAD}    last = torch.tensor(2**31 - 1, dtype=torch.int32)\n    return 1 / (last + 1).clamp(max=5)\n"
    assert [one.code for one in findings(code)] == ["SL102"]
    code = code.replace("last + 1", "last - 1")
    assert findings(code) == []


@pytest.mark.parametrize("made", ["torch.ones(3, dtype=torch.long)", "torch.ones_like(x.argmax(-1))"])
@pytest.mark.parametrize("write", ["y[:] = x.clamp(0.5, 1)", "y.copy_(x.clamp(0.5, 1))", "y[0] = 0.5"])
def test_integers_cut_what_is_written_into_them(made: str, write: str) -> None:
    code = f"{HEAD}    y = {made}\n    {write}\n    return 1 / y\n"
    assert [one.code for one in findings(code)] == ["SL102"]


@pytest.mark.parametrize(
    "cast",
    [
        "x.clamp(min=1e-6).to(device, non_blocking=True)",
        "x.clamp(min=1e-6).type(torch.FloatTensor)",
        "x.clamp(min=1e-6).to(torch.float32)",
        "x.clamp(min=1e-2).to(device, torch.float16)",
        "x.long().clamp(min=1)",
        "x.clamp(min=1).to(torch.int64)",
        "np.clip(n, 0.5, 1).astype(np.float32)",
        "np.clip(n, 1, 5).astype(int)",
    ],
)
def test_a_cast_that_holds_the_bound_keeps_it(cast: str) -> None:
    assert findings(f"{HEAD}    return n / {cast}\n") == []


WRAPPING = {
    "a byte and 1": "1 / (x.byte() + 1)",
    "the size of a short number": "torch.sqrt(x.to(torch.int8).abs())",
    "a product of short numbers": "1 / (x.short().clamp(min=1) * x.short().clamp(min=1))",
    "a square of int32": "torch.sqrt(x.int() ** 2)",
    "a sum of bytes and 1": "1 / ((x > 0).sum(dtype=torch.uint8) + 1)",
}


@pytest.mark.parametrize("line", WRAPPING.values(), ids=WRAPPING)
def test_whole_numbers_that_may_leave_their_type_come_out_at_its_other_end(line: str) -> None:
    assert unmet(function(line))


WITHIN = {
    "a byte and a half": "1 / (x.byte() + 0.5)",
    "a byte as a number": "1 / (x.byte().float() + 1)",
    "few": "1 / (x.byte().clamp(max=9) + 1)",
    "a sum of truths and 1": "1 / ((x > 0).sum() + 1)",
}


@pytest.mark.parametrize("line", WITHIN.values(), ids=WITHIN)
def test_whole_numbers_that_stay_within_their_type_are_bounded(line: str) -> None:
    assert unmet(function(line)) == []


def test_what_is_no_type_is_asked_for_none() -> None:
    code = "import torch\n\n\nclass A(torch.nn.Module):\n    def f(self, x):\n        return torch.sum(x, dtype=super())\n"
    assert findings(code) == []


@pytest.mark.parametrize("cast", ["half()", "to(torch.float16)", "type(torch.float16)"])
def test_a_positive_number_may_be_0_in_float16(cast: str) -> None:
    assert unmet(function(f"torch.log(x[x > 0].{cast})")) == [(2, "SL101")]
    assert unmet(function(f"torch.log(x.clamp(min=1e-3).{cast})")) == []
    assert unmet(function("torch.log(x[x > 0].bfloat16())")) == []


def test_a_new_tensor_has_the_type_of_the_one_that_is_asked() -> None:
    assert assumed("def f(x):\n    return 1 / x.new_tensor(1e-9)\n") == [(2, "SL102")]


def test_a_literal_is_held_by_the_default_type() -> None:
    code = f"{HEAD}    torch.set_default_dtype(torch.float16)\n    return 1 / torch.tensor(1e-10)\n"
    assert [one.code for one in findings(code)] == ["SL102"]


NUMBERS = {
    "added": "s + torch.tensor(1e-8)",
    "added to it": "torch.tensor(1e-8) + s",
    "a sum of all": "s + x.sum() * 0 + 1e-8",
    "a maximum": "torch.maximum(s, torch.tensor(1e-8))",
    "a lower bound": "s.clamp(min=torch.tensor(1e-8))",
    "put in the place of 0": "torch.where(s > 1, s, torch.tensor(1e-8))",
    "copied": "s.copy_(x.abs() + 1e-8)",
}


@pytest.mark.parametrize("guarded", NUMBERS.values(), ids=NUMBERS)
def test_a_tensor_of_one_number_takes_the_type_of_the_tensor_that_it_meets(guarded: str) -> None:
    code = "def f(x):\n    s = x.half().abs()\n    return 1 / ({})\n"
    assert proved(code.format(guarded)) == []
    assert proved(code.format(guarded).replace("half()", "float()")) == [(3, "SL102")]


def test_a_tensor_with_dimensions_widens_the_one_that_it_meets() -> None:
    assert proved("def f(x):\n    return 1 / (x.half().abs() + torch.tensor([1e-8]))\n") == [(2, "SL102")]


def test_a_class_may_say_what_its_absolute_value_is() -> None:
    code = "class C:\n    def __abs__(self):\n        return x\n\ndef f():\n    return 1 / (abs(C()) + 1)\n"
    assert proved(code) == []


TESTED = {
    "a quotient": "1 / v",
    "a power": "v ** -1.5",
}


@pytest.mark.parametrize("made", TESTED.values(), ids=TESTED)
def test_a_number_of_float16_that_is_not_0_may_be_divided_to_infinity(made: str) -> None:
    code = f"@torch.no_grad()\ndef f(x):\n    v = x.half().abs()\n    v = v[v > 0]\n    return {made}\n"
    assert proved(code) == []
    assert proved(code.replace("half", "float")) != []


IN_PLACE = {
    "added": "v.add_(y.float().abs() + 1e-8)",
    "added by an operator": "v += y.float().abs() + 1e-8",
    "written into a part": "v = torch.ones(4, dtype=torch.float16)\n    v[0] = 1e-8",
    "written into a part from a tensor": "v = torch.ones(4, dtype=torch.float16)\n    v[0] = y.exp() + 1e-8",
    "given as out": "torch.add(y.float().abs(), 1e-8, out=v)",
}


@pytest.mark.parametrize("written", IN_PLACE.values(), ids=IN_PLACE)
def test_what_is_written_in_place_is_held_by_the_type_that_is_there(written: str) -> None:
    code = (
        f"@torch.no_grad()\ndef f(x: torch.Tensor, y: torch.Tensor):\n    v = x.half().abs()\n    {written}\n"
    )
    code += "    return torch.log(v)\n"
    assert [rule for _, rule in proved(code)] == []
    assert [rule for _, rule in proved(code.replace("float16", "float32").replace("half", "float"))] == [
        "SL101"
    ]


ARRAYS = ["np.abs(x).astype(np.float16) + 1e-9", "(np.abs(x) + 1e-9).astype('float16')"]


@pytest.mark.parametrize("made", ARRAYS)
def test_an_array_of_float16_holds_no_smaller_numbers_either(made: str) -> None:
    code = f"import numpy as np\ndef f(x: np.ndarray):\n    return torch.log(torch.tensor({made}))\n"
    assert proved(code) == []
    assert [rule for _, rule in proved(code.replace("float16", "float32"))] == ["SL101"]


def test_a_test_in_place_leaves_the_type_that_is_there() -> None:
    code = "def f(x, y):\n    x.gt_(0)\n    torch.clamp(y, 3, -2, out=x)\n    return torch.sqrt(x)\n"
    assert proved(code) == []


@pytest.mark.parametrize("shown", ["view(k)", "view(*k)", "view(y.kind)"])
def test_what_a_tensor_is_viewed_as_is_assumed_to_be_no_type(shown: str) -> None:
    code = f"def f(x, y, k):\n    return y / (x.abs() + 1).{shown}\n"
    assert (proved(code), assumed(code)) == ([], [(2, "SL102")])


@pytest.mark.parametrize("shown", ["view(-1)", "view(k, 3)", "view(len(k))", "view(x.shape)", "reshape(k)"])
def test_a_shape_is_no_type(shown: str) -> None:
    assert proved(f"def f(x, y, k):\n    return y / (x.abs() + 1).{shown}\n") == [(2, "SL102")]


def test_bits_that_are_read_as_a_type_that_is_passed_are_any() -> None:
    assert [
        *proved(code := "def f(x, y, k):\n    return y / (x.abs() + 1).view(dtype=k)\n"),
        *assumed(code),
    ] == []


@pytest.mark.parametrize(
    "line",
    [
        "1 / (x.abs() + torch.tensor(1e-60, dtype=torch.float64))",
        "1 / torch.where(x > 0, x, torch.tensor(1e-60, dtype=torch.float64))",
        "1 / torch.clamp(x, min=torch.tensor(1e-60, dtype=torch.float64))",
    ],
)
def test_one_number_in_double_precision_lends_no_tensor_its_type(line: str) -> None:
    assert proved(function(line)) == []
    assert proved(function(line.replace("1e-60", "1e-8"))) == [(2, "SL102")]


@pytest.mark.parametrize("line", ["1 / (x.sigmoid() + 0.1).sum(dtype=k)", "1 / x.clone().fill_(0.5)"])
def test_what_a_type_holds_that_nobody_names_is_assumed(line: str) -> None:
    code = function(line, parameters="x: torch.Tensor, k")
    assert (proved(code), assumed(code)) == ([], [(2, "SL102")])


@pytest.mark.parametrize(
    ("line", "known"),
    [
        ("1 / (~x + 1)", False),
        ("1 / ((x & y).sum() + 1)", False),
        ("1 / (~(x > 0) + 1)", True),
        ("1 / (x & y).sum().clamp(min=1)", True),
        ("1 / (torch.logical_not(x) + 1)", True),
    ],
)
def test_what_is_inverted_is_assumed_to_be_truth_values(line: str, known: bool) -> None:
    code = function(line, parameters="x, y")
    assert (proved(code), assumed(code)) == (([(2, "SL102")], []) if known else ([], [(2, "SL102")]))


@pytest.mark.parametrize("placed", ["v.clamp_min({})", "v.clamp(min={})", "torch.where(x > 0, v, {})"])
def test_a_number_that_a_type_does_not_hold_is_another_in_it(placed: str) -> None:
    code = function(f"1 / (({placed}) + 1)", before="v = x.clamp(1, 3).to(torch.uint8)")
    assert proved(code.format("-1")) == []
    assert proved(code.format("2")) == [(3, "SL102")]
