"""An exponential of what is imaginary is of size 1."""

import pytest

from tests.analysis.support import assumed, discharged_by, function, open_


@pytest.mark.parametrize(
    "line",
    [
        "torch.exp(1j * torch.rand(3))",
        "torch.exp(-2j * math.pi * torch.arange(8).view(-1, 1) / 8)",
        "torch.exp(1j * torch.linspace(0, 3, 4) - 2j)",
        "torch.exp(1j * x.float())",
        "torch.exp(torch.mul(1j, torch.rand(3), out=x))",
    ],
)
def test_an_imaginary_exponent_does_not_overflow(line: str) -> None:
    assert "imaginary" in discharged_by(function(line, before="import math"))["SL201"]


@pytest.mark.parametrize(
    "line",
    ["torch.exp(1j * x.to(torch.cfloat))", "torch.exp(1j * torch.rand(3) + x)", "torch.exp((1 + 1j) * 9)"],
)
def test_what_may_have_a_real_part_may_overflow(line: str) -> None:
    code = function(line)
    assert "imaginary" not in discharged_by(code).get("SL201", set())


@pytest.mark.parametrize("phase", ["x", "torch.fft.rfft(x).angle()"])
def test_what_is_multiplied_by_the_imaginary_unit_is_assumed_to_be_real(phase: str) -> None:
    code = function(f"(1j * {phase}).exp()")
    assert assumed(code) == [(2, "SL201")]
    assert open_(code) == []


@pytest.mark.parametrize(
    "made",
    [
        "torch.complex(x, x)", "torch.polar(x, x)", "torch.fft.rfft(x)", "torch.view_as_complex(x)", "1j * x",
        "x.to(torch.complex64)", "torch.zeros(3, dtype=torch.cfloat) + x", "torch.stft(x, 8, return_complex=True)",
        "torch.einsum('ix,ixy->iy', torch.fft.fft(x), x)", "torch.sqrt(x.cfloat())", "torch.tensor([1j])",
        "torch.full((3,), 1j)", "torch.linalg.eigvals(x)", "torch.linalg.eig(x)[0]", "torch.hstack([x.cfloat(), x])",
    ],
)  # fmt: skip
def test_the_square_of_a_complex_number_may_be_negative(made: str) -> None:
    assert (2, "SL102") in open_(function(f"1 / (({made}) ** 2 + 1)"))


@pytest.mark.parametrize(
    "size",
    [
        "z.abs() ** 2",
        "z.real ** 2 + z.imag ** 2",
        "torch.view_as_real(z).pow(2).sum(-1)",
        "torch.fft.irfft(z) ** 2",
    ],
)
def test_its_parts_and_its_size_are_real(size: str) -> None:
    assert open_(function(f"torch.log({size} + 1e-6)", before="z = torch.fft.rfft(x)")) == []
