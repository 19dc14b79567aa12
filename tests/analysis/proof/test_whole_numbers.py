"""Of which type what is computed of whole numbers is: none of theirs where a layer, a fraction or a sum decides."""

import pytest

from tests.analysis.support import open_, proved

WIDER = {
    "bytes and numbers with a sign": "x.byte() - y.int()",
    "short numbers and bytes": "x.char() * y.byte()",
    "a sum of bytes": "x.byte().sum(1) - 300",
    "a running total of bytes": "x.byte().cumsum(1) - 300",
    "a product of bytes": "x.byte().prod(1) - 300",
    "a fraction that is whole": "x.byte() - 300.0",
    "a size as a fraction": "x.byte() - x.size(0) * 1.0",
    "a fraction by default": "x.byte() - setting",
    "rows of a table": "F.embedding(x.byte(), y)",
    "rows of a layer": "layer(x.byte())",
}
KEPT = {
    "bytes": "x.byte() - y.byte()",
    "bytes and a whole number": "x.byte() - 300",
    "bytes and truth values": "x.byte() - (y > 0)",
    "bytes and a size": "x.byte() - len(y)",
    "a product of matrices of bytes": "x.byte() @ y.byte() - 300",
}


def _root(operand: str) -> str:
    head = "layer = nn.Embedding(9, 3)\n@torch.no_grad()\ndef f(x: torch.Tensor, y: torch.Tensor, setting=300.0):\n"
    return f"{head}    return torch.sqrt({operand})"


@pytest.mark.parametrize("operand", WIDER.values(), ids=WIDER)
def test_what_leaves_the_type_of_its_operands_may_be_negative(operand: str) -> None:
    assert (4, "SL103") in open_(_root(operand))


@pytest.mark.parametrize("operand", KEPT.values(), ids=KEPT)
def test_bytes_stay_bytes_and_wrap_around(operand: str) -> None:
    assert (4, "SL103") in proved(_root(operand))


@pytest.mark.parametrize(("dtype", "is_safe"), [("float32", True), ("float16", False)])
def test_functions_of_whole_numbers_are_of_the_type_that_the_file_sets(dtype: str, is_safe: bool) -> None:
    code = f"torch.set_default_dtype(torch.{dtype})\n@torch.no_grad()\ndef f(x: torch.Tensor):\n"
    code += "    return torch.exp(torch.sigmoid(x.long()) * 50)"
    assert ((4, "SL201") in proved(code)) is is_safe


@pytest.mark.parametrize(("cast", "is_safe"), [("", False), (".float()", True)])
def test_a_mean_of_whole_numbers_and_padding_is_cut_to_a_whole_number(cast: str, is_safe: bool) -> None:
    pooled = f"F.avg_pool1d(x.argsort(){cast} + 1, 2, padding=1)"
    code = f"def f(x: torch.Tensor):\n    return 1 / {pooled}"
    assert ((2, "SL102") in proved(code)) is is_safe
    assert (2, "SL101") in open_(f"def f(x: torch.Tensor):\n    return torch.log({pooled} - 0.75)")


BITS = {
    "the bits of integers": "torch.bitwise_not(x.int()) + 3",
    "a method": "x.int().bitwise_not() + 3",
    "bits of both": "(x.int() | 2) - 1.5",
    "a bit": "(x.int() & 6) + 0.5 - 2",
    "bits of Python's": "2 - (len(x) & 6)",
}


@pytest.mark.parametrize("divisor", BITS.values(), ids=BITS)
def test_bits_of_whole_numbers_are_no_truth_values(divisor: str) -> None:
    assert proved(f"@torch.no_grad()\ndef f(x: torch.Tensor):\n    return 1 / ({divisor})\n") == []


@pytest.mark.parametrize("test", ["(x > 0) & (y > 0)", "torch.bitwise_and(x > 0, y > 0)", "~(x <= 0)"])
def test_bits_of_truth_values_are_their_logic(test: str) -> None:
    code = f"@torch.no_grad()\ndef f(x: torch.Tensor, y):\n    return 1 / torch.where({test}, x, 1.0)\n"
    assert proved(code) == [(3, "SL102")]


def test_a_difference_the_other_way_round_scales_what_is_taken_away() -> None:
    code = "def f(x: torch.Tensor):\n    return torch.log(torch.rsub(x.sigmoid(), {}, alpha=2))\n"
    assert proved(code.format(1)) == []
    assert proved(code.format(2.5)) == [(2, "SL101")]
