"""Functions that other files may call too: what their calls in sight pass and test is assumed, never proved."""

from pathlib import Path

from tests.analysis.support import assumed, discharged_by, found_in_package, open_

CRITERION = """
    class Criterion(nn.Module):
        def boxes(self, outputs, num_boxes):
            return outputs.sum() / num_boxes
        def labels(self, outputs, num_boxes):
            return outputs.mean() / num_boxes
        def get_loss(self, kind, outputs, num_boxes):
            table = {"labels": self.labels, "boxes": self.boxes}
            assert kind in table
            return table[kind](outputs, num_boxes)
        def forward(self, outputs, targets):
            num_boxes = sum(len(t["labels"]) for t in targets)
            num_boxes = torch.as_tensor([num_boxes], dtype=torch.float)
            num_boxes = torch.clamp(num_boxes / 2, min=1).item()
            return sum(self.get_loss(kind, outputs, num_boxes) for kind in self.kinds)
"""


def test_a_bound_of_all_callers_is_assumed_through_a_table_of_methods() -> None:
    assert open_(CRITERION) == []
    assert assumed(CRITERION) == [(3, "SL102"), (5, "SL102")]


def test_a_call_that_passes_anything_takes_it_away() -> None:
    other = CRITERION + "        def other(self, outputs, n):\n            return self.boxes(outputs, n)\n"
    assert (3, "SL102") in open_(other)


TILED = """
    class Tiled(nn.Module):
        def __init__(self, tile=0):
            super().__init__()
            self.tile_size = tile
        def tiles(self, x: torch.Tensor):
            return x / self.tile_size
        def forward(self, x: torch.Tensor):
            if self.tile_size > 0:
                return self.tiles(x)
            return x
"""


def test_an_attribute_that_all_callers_test_is_assumed() -> None:
    assert assumed(TILED) == [(6, "SL102")]
    assert open_(TILED) == []


def test_one_that_a_caller_does_not_test_is_told() -> None:
    assert (6, "SL102") in open_(TILED.replace("self.tile_size > 0", "x.sum() > 0"))


def test_a_function_that_asserts_for_its_caller_proves_it() -> None:
    code = """
        def check(condition, message=""):
            torch._assert_async(condition.all(), message)
        def f(x: torch.Tensor, sigma: torch.Tensor):
            check(torch.isfinite(sigma) & (sigma > 0), "positive")
            return x / sigma
    """
    assert discharged_by(code)["SL102"] == {"branch"}


def test_in_a_package_it_is_not_proved_either(tmp_path: Path) -> None:
    assert "SL102" not in found_in_package(tmp_path, CRITERION)
