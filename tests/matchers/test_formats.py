import pytest

from tests.matchers.support import findings

LAYER = """
def upsample(x):
    {cast}

class {name}(nn.Module):
    def forward(self, x):
        return {line}
"""
UP_AND_BACK = "return F.interpolate(x.float(), scale_factor=2).type_as(x)"
PLAIN = "F.normalize(x, dim=1) * self.scale"


@pytest.mark.parametrize(
    "cast", [UP_AND_BACK, "return F.interpolate(x.to(torch.float32), scale_factor=2).to(x.dtype)"]
)
@pytest.mark.parametrize("name", ["RMSNorm", "LayerNorm2d", "RMS_norm"])
def test_a_normalisation_layer_in_a_file_that_meets_half_precision(cast: str, name: str) -> None:
    assert findings("SL412", LAYER.format(cast=cast, name=name, line=PLAIN)) == [f"return {PLAIN}"]


@pytest.mark.parametrize(
    ("cast", "name", "line"),
    [
        ("return F.interpolate(x, scale_factor=2)", "RMSNorm", PLAIN),
        ("return F.interpolate(x.float(), scale_factor=2)", "RMSNorm", PLAIN),
        (UP_AND_BACK, "Projection", PLAIN),
        (UP_AND_BACK, "RMSNorm", "F.normalize(x.float(), dim=1).type_as(x) * self.scale"),
        (UP_AND_BACK, "RMSNorm", "F.normalize(x, dim=1, eps=1e-5) * self.scale"),
        (UP_AND_BACK, "RMSNorm", "F.normalize(x.float() if x.dtype.itemsize < 4 else x, dim=1)"),
    ],
)
def test_a_normalisation_that_is_given_what_it_bears(cast: str, name: str, line: str) -> None:
    assert findings("SL412", LAYER.format(cast=cast, name=name, line=line)) == []


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("torch.arange(x.shape[1], device=x.device, dtype=x.dtype)", True),
        ("torch.arange(0, n, 2, dtype=dtype)", True),
        ("(x > 0).cumsum(1, dtype=x.dtype)", True),
        ("torch.arange(256, dtype=x.dtype)", False),
        ("torch.arange(n, dtype=torch.float32)", False),
        ("torch.arange(n, dtype=x.float().dtype)", False),
        ("torch.arange(n)", False),
        ("torch.arange(x.max(), dtype=x.dtype)", False),
        ("x.cumsum(1, dtype=x.dtype)", False),
    ],
)
def test_positions_that_are_counted_in_a_type_that_was_handed_over(line: str, told: bool) -> None:
    code = f"def f(x: torch.Tensor, n: int, dtype: torch.dtype):\n    return {line}\n"
    assert bool(findings("SL414", code)) is told


@pytest.mark.parametrize(
    ("norm", "x", "told"),
    [
        ("nn.LayerNorm(4, eps=1e-12)", "x.half()", True),
        ("nn.LayerNorm(4, eps=1e-5)", "x.half()", False),
        ("nn.LayerNorm(4)", "x.half()", False),
        ("nn.LayerNorm(4, eps=1e-12)", "x.float()", False),
        ("nn.LayerNorm(4, eps=1e-12)", "x", False),
    ],
)
def test_an_eps_of_a_normalisation_that_half_precision_cannot_hold(norm: str, x: str, told: bool) -> None:
    code = f"""
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = {norm}

        def forward(self, x):
            return self.norm({x})
    """
    assert bool(findings("SL412", code)) is told
