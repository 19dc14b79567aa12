"""The curve of a site: where it fails, and where it does not."""

import torch

from stablelint.runtime.verify.output.curve import curve_of
from stablelint.runtime.verify.replay.compare import prepare
from tests.runtime.verify.support import DIVISION, LOG, call, site


def test_only_the_swept_point_decides_what_fails() -> None:
    """`1 - c` is 0 where `c` is 1: no element but the swept one may be that."""
    odds = prepare(site("c / (1 - c)", None, {"a": "c"}), b"import torch\n")
    curve = curve_of(odds, [call(c=torch.full((4, 5), 0.3))])
    assert curve is not None
    failing = [point for point, bad in zip(curve.points, curve.failing, strict=True) if bad]
    assert failing == [1.0]


def test_the_failing_region_of_a_logarithm_ends_at_zero() -> None:
    log = site("torch.log(x)", "torch.log(x.clamp_min(1e-30))", {"x": "x"}, **LOG)
    curve = curve_of(prepare(log, b"import torch\n"), [call(x=torch.tensor([0.5, 2.0]))])
    assert curve is not None
    assert [point for point, bad in zip(curve.points, curve.failing, strict=True) if bad] == [0.0]
    assert all(bits is not None for bits in curve.fixed_bits)
    assert sum(curve.captured) == 2


def test_what_is_never_negative_is_not_plotted_below_zero() -> None:
    ratio = prepare(site("x / s", None, {"x": "x", "y": "s"}, **DIVISION), b"import torch\n")
    for least, expected in ((0.5, 0.0), (-0.5, -1e6)):
        curve = curve_of(ratio, [call(x=torch.ones(2), s=torch.tensor([least, 2.0]))])
        assert curve is not None
        assert min(curve.points) == expected
