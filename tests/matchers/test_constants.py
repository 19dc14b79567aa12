from __future__ import annotations

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


def test_numbers_of_a_list_are_never_too_narrow() -> None:
    line = "return int(color[0] + 256 * color[1])"
    assert findings("SL411", f"def f(color):\n    {line}\n") == []
