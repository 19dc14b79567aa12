"""Where a gradient is taken, and through which operands none can be."""

import pytest

from tests.analysis.support import open_


def test_python_numbers_have_no_gradient() -> None:
    code = """
    def weights(size: float, power: float = 0.5):
        return torch.as_tensor(size).clamp(min=0) ** power
    """
    assert open_(code) == []


@pytest.mark.parametrize(
    ("annotation", "shown"), [("float", False), ("int | None", False), ("torch.Tensor", True)]
)
def test_what_takes_plain_numbers_is_not_trained(annotation: str, shown: bool) -> None:
    code = f"""
    def filters(low: {annotation}, high: {annotation}):
        def scale(x):
            return torch.where(x > 1, torch.log(x), x)
        return scale(high) - scale(low)
    """
    assert ("SL503" in [rule for _, rule in open_(code)]) is shown


_SOLVER = """
def {name}(a: torch.Tensor, b: torch.Tensor, max_iter: int = 20):
    total = b
    for _ in range(max_iter):
        scale = total.clamp(min=0).sqrt()
        total = total + a * scale
    return total
"""


def test_a_loss_may_be_gathered_over_turns() -> None:
    assert (4, "SL103") in open_(_SOLVER.format(name="loss"))


def test_a_module_is_trained_through_the_iteration_that_it_runs() -> None:
    module = "class Layer(nn.Module):\n    def forward(self, x):\n        return solve(x, x)\n"
    assert (4, "SL103") in open_(_SOLVER.format(name="solve") + module)


@pytest.mark.parametrize(
    ("statement", "shown"),
    [
        ("w.data[:] = {}", False),
        ("w[0].data[1] = {}", False),
        ("w.data = {}", False),
        ("w.data.copy_({})", False),
        ("w.detach().add_({})", False),
        ("w.copy_({})", True),
        ("u = w.data[:] = {}", True),
        ("w = w.data.copy({})", True),
    ],
)
def test_what_is_written_into_data_has_no_gradient(statement: str, shown: bool) -> None:
    written = statement.format("depth.log().nan_to_num(neginf=0)")
    code = f"def start(w: torch.Tensor, depth: torch.Tensor):\n    {written}\n    return w\n"
    assert ("SL503" in [rule for _, rule in open_(code)]) is shown


PLACES = """
def proposals(memory, masks, shapes):
    found = []
    for mask, (height, width) in zip(masks, shapes):
        rows, columns = torch.meshgrid(torch.arange(height), torch.linspace(0, 1, width))
        grid = torch.cat([rows.unsqueeze(-1), columns.unsqueeze(-1)], -1).view(1, height, width, 2)
        grid = (grid.expand(len(memory), -1, -1, -1) + 0.5) / {scale}.sum(1).view(-1, 1, 1, 2)
        found.append(torch.cat((grid, torch.ones_like(grid) * 0.05), -1).flatten(1, 2))
    grid = torch.cat(found, 1)
    return torch.log(grid / (1 - grid)).masked_fill(~(grid > 0), float("inf"))
"""


@pytest.mark.parametrize(("scale", "shown"), [("(~mask)", False), ("mask", True)])
def test_a_gradient_is_followed_through_all_that_a_grid_is_made_of(scale: str, shown: bool) -> None:
    assert ("SL503" in [rule for _, rule in open_(PLACES.format(scale=scale))]) is shown


@pytest.mark.parametrize(
    ("read", "shown"), [(".item()", False), (".detach()", False), (".cpu()", True), (".mul(2)", True)]
)
def test_what_is_read_out_at_once_takes_no_gradient(read: str, shown: bool) -> None:
    code = f"""
    def size(x: torch.Tensor):
        return torch.sqrt(torch.mean(x ** 2)){read}
    """
    assert bool(open_(code)) is shown
