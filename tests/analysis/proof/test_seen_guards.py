"""Guards that a test, an idiom or an operation is: what it excludes is not held against what follows."""

import pytest

from tests.analysis.support import open_, violated


@pytest.mark.parametrize("name", ["sigma", "std", "mask", "s"])
def test_what_is_squashed_is_a_raw_score_whatever_it_is_called(name: str) -> None:
    code = f"""
        class Loss(nn.Module):
            def forward(self, pred, {name}, target):
                {name} = {name}.sigmoid()
                return torch.log({name}).mean()
        """
    assert (4, "SL203") in open_(code)


def test_a_selection_by_a_mask_that_was_asked_about_holds_something() -> None:
    code = """
        class Loss(nn.Module):
            def forward(self, loss, targets):
                mask = targets != self.ignore_index
                if mask.any():
                    loss = loss[mask]
                return loss.mean()
        """
    assert open_(code) == []
    assert open_(code.replace("if mask.any():", "if self.masked:")) == [(6, "SL502")]


def test_python_counts_what_is_true_as_well() -> None:
    code = """
        def means(values, assigned, n):
            found = []
            for i in range(n):
                chosen = assigned == i
                if sum(chosen) > 0:
                    found.append(values[chosen].mean())
            return found
        """
    assert open_(code) == []
    assert open_(code.replace("sum(chosen) > 0", "n > 1")) == [(6, "SL502")]


def test_a_test_outweighs_what_is_known_of_a_number() -> None:
    code = """
        class Sampler:
            def draw(self, source):
                used = 0
                if self.filtered and used:
                    return len(source) / used
                return None
        """
    assert open_(code) == []
    assert open_(code.replace(" and used", "")) == [(5, "SL102")]


def test_a_tensor_is_asked_whether_it_holds_a_zero() -> None:
    code = """
        def scaled(y):
            largest = y.abs().reshape(y.size(0), -1).amax(dim=1)
            if 0 in largest:
                places = torch.where(largest == 0)
                largest[places] = 1e-12
            return y / torch.where(largest > 5, torch.ones_like(largest), largest).view(-1, 1)
        """
    asked = code.replace("                places = torch.where(largest == 0)\n", "").replace(
        "largest[places] = 1e-12", "raise ValueError"
    )
    assert open_(code) == []
    assert open_(asked) == []


@pytest.mark.parametrize("bound", ["* (1 - 1e-6)", "* 0.999", "/ (1 + 1e-6)"])
def test_a_factor_below_one_keeps_a_cosine_inside(bound: str) -> None:
    code = f"""
        def angle(a, b):
            return torch.acos(torch.sum(a * b, dim=1) {bound})
        """
    assert violated(code) == []


@pytest.mark.parametrize("bound", ["* (1 - 1e-9)", "* 1.5", "/ 0.5", "* 2"])
def test_no_other_factor_does(bound: str) -> None:
    code = f"""
        def angle(a, b):
            return torch.acos(torch.sum(a * b, dim=1) {bound})
        """
    assert (2, "SL104") in open_(code)


@pytest.mark.parametrize(
    "expression",
    [
        "1 / (torch.pi * torch.cat([torch.arange(1, n), torch.arange(n, 0, -2)])) ** 2",
    ],
)
def test_who_leaves_the_zero_out_of_a_grid_has_met_it(expression: str) -> None:
    assert open_(f"def grid(n: int):\n    return {expression}\n") == []


def test_the_zero_of_a_grid_is_one() -> None:
    code = "def grid(n: int):\n    return 1 / (2 * torch.cos(torch.pi * torch.arange(n) / n) - 2)\n"
    assert violated(code) == [(2, "SL102")]


def test_a_grid_that_data_scale_is_none() -> None:
    code = "def grid(n: int, x):\n    return torch.acos(1 - 2 * (torch.arange(n) + 0.5) * x)\n"
    assert open_(code) == [(2, "SL104")]


def test_the_root_of_an_array_of_numpy_has_no_gradient() -> None:
    code = """
        import numpy as np

        def sine(angles):
            cosine = np.cos(angles)
            return (1 - cosine**2) ** 0.5
        """
    assert open_(code) == []
    assert open_(code.replace("np.cos(", "torch.cos(")) == [(5, "SL103")]


@pytest.mark.parametrize("method", ["index_put_((places,), values, accumulate=True)", "geometric_(0.5)"])
def test_what_is_written_in_place_is_no_longer_what_it_was(method: str) -> None:
    code = f"""
        def spread(x, places, values):
            counts = torch.zeros_like(x)
            counts.{method}
            return x / counts
        """
    assert violated(code) == []
    assert violated(code.replace(f"counts.{method}", "pass")) == [(4, "SL102")]


def test_the_sizes_of_a_slice_of_a_shape_are_numbers_and_two_of_them() -> None:
    code = """
        def per_side(x):
            height, width = x.shape[-2:]
            return x / height + x / width
        """
    assert violated(code) == []
    apart = code.replace("x / height + x / width", "x / (height - width)")
    assert violated(apart) == []


def test_a_number_that_somebody_chose_bounds_from_below() -> None:
    code = """
        def limited(g: torch.Tensor, kept: torch.Tensor, gamma: float):
            count = (kept > 0).sum()
            return g / max(count, gamma)
        """
    assert violated(code) == []
    assert violated(code.replace("max(count, gamma)", "min(count, gamma)")) == [(3, "SL102")]
    assert violated(code.replace("max(count, gamma)", "max(count, (g > 0).sum().item())")) == [(3, "SL102")]


@pytest.mark.parametrize(
    ("guard", "safe"),
    [
        ("assert (n == 0).sum() == 0", True),
        ("assert torch.count_nonzero(n == 0) == 0", True),
        ("if (n == 0).sum() > 0:\n        raise ValueError", True),
        ("assert (n == 0).sum() == 1", False),
        ("assert (n == 0).sum(1)[0] == 0", False),
        ("assert n.sum() == 0", False),
    ],
)
def test_where_none_is_counted_none_is_true(guard: str, safe: bool) -> None:
    code = f"def f(x: torch.Tensor, n: torch.Tensor):\n    {guard}\n    return x / n\n"
    assert bool(open_(code)) is not safe
