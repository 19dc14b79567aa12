import pytest

from tests.matchers.support import findings

BRANCHES = """
def train(x, y, binary):
    y = y.long()
    criterion = nn.NLLLoss()
    if binary:
        y = y.{cast}()
        criterion = nn.BCEWithLogitsLoss()
    return criterion(x, y)
"""


@pytest.mark.parametrize(("cast", "expected"), [("float", []), ("int().long", ["y = y.int().long()"])])
def test_a_branch_that_chooses_the_loss_and_casts_its_targets(cast: str, expected: list[str]) -> None:
    assert findings("SL612", BRANCHES.format(cast=cast)) == expected


@pytest.mark.parametrize(
    "target", ["F.one_hot(y, 10).float()", "F.one_hot(y, 10).to(x.dtype)", "F.one_hot(y, 10).type_as(x)"]
)
def test_targets_that_are_cast_to_the_type_which_the_loss_takes(target: str) -> None:
    assert findings("SL612", f"def loss(x, y):\n    return F.cross_entropy(x, {target})") == []
    assert findings("SL612", "def loss(x, y):\n    return F.binary_cross_entropy(x, y.long().float())") == []
    assert len(findings("SL612", "def loss(x, y):\n    return F.cross_entropy(x, F.one_hot(y, 10))")) == 1


def test_a_target_that_gets_a_dimension_beside_its_input() -> None:
    body = "def loss(x, y, wide):\n    if wide:\n        {}\n    y = y.unsqueeze(-1)\n    return F.cross_entropy(x, y)"
    assert findings("SL612", body.format("x = x.transpose(1, 2).unsqueeze(-1)")) == []
    assert len(findings("SL612", body.format("x = x.transpose(1, 2)"))) == 1
