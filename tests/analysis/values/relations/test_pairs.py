"""All pairs of a tensor's rows: each row is paired with itself, and their difference is 0 there."""

import pytest

from tests.analysis.support import open_

_LAYER = """
class Repulsion(nn.Module):
    def __init__(self):
        super().__init__()
        self.place = nn.Linear(3, 3)
        self.point = nn.Parameter(torch.randn(5, 3))

    def forward(self, x):
        h = self.place(x)
        {lines}
        return 1 / d
"""


def _layer(*lines: str) -> str:
    return _LAYER.format(lines="\n        ".join(lines))


@pytest.mark.parametrize(
    "difference",
    [
        "d = (h.unsqueeze(0) - h.unsqueeze(1)).norm(dim=-1)",
        "d = (h[None] - h[:, None]).norm(dim=-1)",
        "d = ((h[None] - h[:, None]) ** 2).sum(-1)",
        "d = (self.point[None] - self.point[:, None]).abs().sum(-1)",
    ],
)
def test_a_row_is_paired_with_itself(difference: str) -> None:
    assert [code for _, code in open_(_layer(difference)) if code != "SL112"] == ["SL102"]


def test_two_arrangements_of_a_tensor_are_not_equal() -> None:
    code = """
    def same(labels: torch.Tensor, x):
        alike = labels[:, None] == labels[None]
        return x / alike.float()
    """
    assert (3, "SL102") in open_(code)


@pytest.mark.parametrize(
    ("channels", "codes"),
    [
        ("e[:, 0], e[:, 1]", ["SL103"]),
        ("e[:, :1], e[:, 1:]", ["SL103"]),
        ("e.chunk(2, dim=1)", ["SL103"]),
    ],
)
def test_the_slopes_of_a_picture_are_channels_of_what_was_filtered(channels: str, codes: list[str]) -> None:
    code = f"""
    class Edges(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("kernel", torch.tensor([[[[1.0, 0.0, -1.0]]], [[[1.0, 1.0, -2.0]]]]))
            self.learned = nn.Conv2d(2, 2, 3)
        def forward(self, x):
            e = F.conv2d(x, self.kernel)
            gx, gy = {channels}
            return torch.sqrt(gx * gx + gy * gy)
    """
    assert [rule for _, rule in open_(code)] == codes


def test_the_parts_of_a_complex_number_are_two_components() -> None:
    code = """
    class Magnitude(nn.Module):
        def forward(self, x):
            z = torch.fft.rfft(x)
            return (z.real**2 + z.imag**2) ** 0.5
    """
    assert open_(code) == [(4, "SL103")]
    code = """
    def angle(z: torch.Tensor):
        return torch.log(z.real - z.imag)
    """
    assert open_(code) == [(2, "SL101")]  # not the logarithm of a 0 that is known


@pytest.mark.parametrize(
    "mask",
    [
        "torch.eye(len(sim), dtype=torch.bool)",
        "torch.eye(len(sim)).bool()",
        "labels[:, None] == labels[None, :]",
        "labels.view(-1, 1) == labels.view(-1, 1).T",
        "labels[:, None] >= labels",
        "torch.eq(labels.unsqueeze(1), labels.unsqueeze(0))",
    ],
)
def test_a_mask_that_holds_its_diagonal_selects_something(mask: str) -> None:
    code = (
        f"def f(sim: torch.Tensor, labels: torch.Tensor):\n    kept = sim[{mask}]\n    return kept.mean()\n"
    )
    assert (3, "SL502") not in open_(code)
    joined = code.replace("kept.mean()", "torch.cat([kept, sim[labels > 0]]).mean()")
    assert (3, "SL502") not in open_(joined)


@pytest.mark.parametrize(
    "mask",
    [
        "~torch.eye(len(sim), dtype=torch.bool)",
        "labels[:, None] != labels[None, :]",
        "labels[:, None] > labels",
        "labels == labels.flip(0)",
        "labels[:, None] == labels.flip(0)",
        "labels[1:] == labels[:-1]",
        "(labels[:, None] == labels) & (labels > 0)",
    ],
)
def test_another_may_select_nothing(mask: str) -> None:
    code = (
        f"def f(sim: torch.Tensor, labels: torch.Tensor):\n    kept = sim[{mask}]\n    return kept.mean()\n"
    )
    assert (3, "SL502") in open_(code)
