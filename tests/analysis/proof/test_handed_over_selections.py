"""Selections by an index that somebody else made: nothing tells that it picks an element."""

import pytest

from tests.analysis.support import assumed, discharged_by, open_

PICKED = {
    "a mask": ("x, mask", "x[mask]"),
    "a method's mask": ("x, model", "x[model.valid(x)]"),
    "a mask of a batch": ("x, batch", "x[batch['mask']]"),
    "a list of places": ("x, mask", "x[mask.nonzero().squeeze()]"),
    "a bound": ("x, n", "x[:n]"),
    "a list that a test thins out": ("x, y", "x[[i for i, v in enumerate(y) if v > 0]]"),
    "each element of it": ("x, mask", "torch.log(x.abs()[mask] + 1)"),
}
KNOWN = {
    "a drawn order": ("x, n", "x[torch.randperm(10)]"),
    "the best": ("x, y", "x[y.topk(5).indices]"),
    "one place": ("x, y", "x[y.argmax()]"),
    "a number": ("x, i: int", "x[i]"),
    "what a literal cuts": ("x", "x[1:]"),
}


@pytest.mark.parametrize(("arguments", "selection"), PICKED.values(), ids=PICKED.keys())
def test_its_mean_may_be_one_of_nothing(arguments: str, selection: str) -> None:
    assert (2, "SL502") in open_(f"def f({arguments}):\n    return ({selection}).mean()\n")


@pytest.mark.parametrize(("arguments", "selection"), PICKED.values(), ids=PICKED.keys())
def test_its_sum_is_assumed_and_not_proved_to_have_an_element(arguments: str, selection: str) -> None:
    code = f"def f({arguments}):\n    return 1 / ({selection}).exp().clamp(min=1e-3).sum()\n"
    assert (2, "SL102") in assumed(code) + open_(code)
    assert "SL102" not in discharged_by(code) or (2, "SL102") in assumed(code)


@pytest.mark.parametrize(("arguments", "selection"), KNOWN.values(), ids=KNOWN.keys())
def test_what_is_computed_in_sight_is_taken_to_pick_something(arguments: str, selection: str) -> None:
    assert open_(f"def f({arguments}):\n    return ({selection}).mean()\n") == []


@pytest.mark.parametrize(
    "test", ["mask.any()", "mask.sum() > 0", "mask.numel() > 0", "x[mask].numel() > 0", "len(x[mask]) > 0"]
)
def test_a_test_on_the_path_shows_that_it_picks_something(test: str) -> None:
    assert open_(f"def f(x, mask):\n    if {test}:\n        return x[mask].mean()\n") == []


@pytest.mark.parametrize("loop", ["for k in d:", "for k in d.keys():", "for k in range(3):"])
def test_a_key_or_place_that_a_loop_takes_is_no_list_of_places(loop: str) -> None:
    assert open_(f"def f(d):\n    {loop}\n        print(d[k].mean())\n") == []


@pytest.mark.parametrize("mask", ["m", "m.unsqueeze(1) * m.unsqueeze(2)"])
def test_a_mean_weighed_by_a_mask_or_a_product_of_masks_may_be_one_of_nothing(mask: str) -> None:
    code = f"def f(x, m):\n    pairs = {mask}\n    return (x * pairs).sum() / pairs.sum()\n"
    assert (3, "SL502") in open_(code)


@pytest.mark.parametrize(
    "loss", ["F.cross_entropy(x[:, n:], y - n)", "F.nll_loss(F.log_softmax(x[:, n:], 1), y)"]
)
def test_a_loss_runs_along_other_dimensions_than_that_of_the_classes(loss: str) -> None:
    assert open_(f"def f(x, y, n):\n    return {loss}\n") == []
    assert open_(f"def f(x, y, n):\n    return {loss.replace('[:, n:]', '[n:]')}\n") == [(2, "SL502")]
