import pytest

from tests.matchers.support import findings

HEAD = "def f(image: torch.Tensor, other: torch.Tensor):\n    "


@pytest.mark.parametrize(
    "line",
    [
        "return image[:, :, 1] * 2**8 + image[:, :, 2]",
        "return image[0] + 256 * image[1]",
        "return image[..., 0] * 65536 + image[..., 1] * 256",
    ],
)
def test_bytes_that_are_joined_in_their_own_type(line: str) -> None:
    assert findings("SL411", f"{HEAD}{line}\n") == [line]


@pytest.mark.parametrize(
    "line",
    [
        "return image[..., 0].int() * 256 + image[..., 1]",
        "return image.to(torch.int32)[..., 0] * 256 + image.to(torch.int32)[..., 1]",
        "return image[..., 0] * 256 + other[..., 1]",
        "return image[..., 0] * 255 + image[..., 1]",
        "return image[..., 0].float() / 256 + image[..., 1]",
    ],
)
def test_bytes_that_were_widened_and_numbers_that_are_no_bytes(line: str) -> None:
    assert findings("SL411", f"{HEAD}{line}\n") == []


def test_the_factor_may_be_a_constant_of_the_module() -> None:
    line = "depth = image[..., 0] * BYTE + image[..., 1]"
    code = f"BYTE = 256\ndef f(image: torch.Tensor):\n    {line}\n    return depth.log()\n"
    assert findings("SL411", code) == [line]


def test_numbers_of_a_list_are_never_too_narrow() -> None:
    line = "return int(color[0] + 256 * color[1])"
    assert findings("SL411", f"def f(color):\n    {line}\n") == []


def test_a_slip_that_is_used_twice_is_told_once() -> None:
    code = """
    def f(x, y):
        one = 1.0 + 1e-12
        return torch.rsqrt(one - x.sigmoid()) + torch.rsqrt(one - y.sigmoid())
    """
    assert len(findings("SL410", code)) == 1


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("torch.clamp(x, 1e-9, 1 - 1e-9).log()", 0),
        ("torch.log(x.clamp(1e-9, 1 - 1e-9))", 0),
        ("torch.log(1 - x.clamp(1e-9, 1 - 1e-9))", 1),
        ("torch.logit(x.clamp(1e-9, 1 - 1e-9))", 1),
    ],
)
def test_an_upper_bound_of_what_only_the_logarithm_is_taken_of_is_idle(line: str, count: int) -> None:
    assert len(findings("SL410", f"def f(x):\n    x = x.sigmoid()\n    return {line}\n")) == count


@pytest.mark.parametrize(
    ("use", "count"),
    [
        ("F.relu(c - 0.1).sum() / len(x)", 0),
        ("-(x * torch.log(c)).sum()", 0),
        ("torch.acos(c)", 2),
        ("torch.log(1 - c)", 2),
        ("1 / (1 - c).sum()", 2),
        ("c", 2),
    ],
)
def test_a_bound_before_what_has_no_pole_is_idle(use: str, count: int) -> None:
    code = f"def f(x):\n    c = torch.cos(x).clamp(-1 + 1e-9, 1 - 1e-9)\n    return {use}\n"
    assert len(findings("SL410", code)) == count


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("read_image(a) - read_image(b)", True),
        ("x.byte() - y.to(torch.uint8)", True),
        ("x.byte().float() - y.byte().float()", False),
        ("read_image(a) - y", False),
        ("(x > 0).byte() - (y > 0).byte()", False),
    ],
)
def test_a_difference_of_bytes(line: str, told: bool) -> None:
    body = f"from torchvision.io import read_image\n\ndef f(a, b, x: torch.Tensor, y: torch.Tensor):\n    return {line}\n"
    assert bool(findings("SL416", body)) is told


@pytest.mark.parametrize(("margin", "count"), [("1e-10", 1), ("1e-4", 0)])
def test_a_margin_by_default_is_told_where_it_is_taken_from_1(margin: str, count: int) -> None:
    code = f"def f(x, eps={margin}):\n    return x.clamp(min=eps, max=1.0 - eps)\n"
    assert len(findings("SL410", code)) == count


@pytest.mark.parametrize(
    ("number", "count"),
    [
        ("1 - b", 1),
        ("-1 + b", 1),
        ("b + 1.0", 1),
        ("2 / (1 - 0.999) - 1", 0),
        ("0.1 * 3 + 0.7", 0),
    ],
)
def test_a_small_term_is_added_to_a_whole_number_that_is_written(number: str, count: int) -> None:
    code = f"def f(x, b=1e-10):\n    return torch.acos(x * 0.1 + ({number}))\n"
    assert len(findings("SL410", code)) == count


@pytest.mark.parametrize(
    ("weights", "is_told"), [("w.double()", False), ("w.to(dtype=torch.double)", False), ("w.float()", True)]
)
def test_a_bound_of_what_only_doubles_make_is_one_for_doubles(weights: str, is_told: bool) -> None:
    """A product of matrices is of one type, which one of its operands shows."""
    line = "clipped = p.clamp(1e-8, 1 - 1e-8)"
    code = f"def f(a, w, loss, y):\n    p = torch.mm(a, {weights})\n    {line}\n    return loss(clipped.log(), y)\n"
    assert findings("SL410", code) == ([line] if is_told else [])
