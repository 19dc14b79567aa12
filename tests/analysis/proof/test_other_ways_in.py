"""A tensor is written into through whatever holds it, reads its bits, or is passed as another argument."""

import pytest

from tests.analysis.support import assumed, open_, unmet

WAYS = {
    "a mapping with a default": 'd = collections.defaultdict(list, a=t)\nd["a"].mul_(k)',
    "mappings in a chain": 'collections.ChainMap({"a": t})["a"].mul_(k)',
    "an entry of an entry": 'd = collections.defaultdict(dict)\nd["a"][k] = t\nd["a"]["b"].mul_(k)',
    "all entries": 'k["a"] = t\nfor v in k.values():\n    v.mul_(2)',
    "an entry by number": 'd = k\nd["a"] = t\nfor i in d:\n    d[i][0] = 0',
    "what a call has made": 'g(a=t)["a"]["b"].mul_(k)',
    "an attribute that unseen code had": "k.a = t\ng(k)\nk.a.mul_(2)",
    "a mapping of parameters": 'nn.ParameterDict({"a": t})["a"].data.mul_(k)',
    "bits": "t.view(torch.int16).mul_(k)",
    "the result of an unknown function": "torch.special.i0e(x, out=t)",
    "one of its results": "torch.linalg.both(x, out=(t, x))",
    "an unknown function in place": "F.feature_alpha_dropout(t, inplace=True)",
    "a comparison": "torch.eq(x, k, out=t)",
}


@pytest.mark.parametrize("way", WAYS)
def test_what_was_written_through_another_way_is_not_known(way: str) -> None:
    lines = ["t = x.abs() + 1", *WAYS[way].splitlines(), "return 1 / t"]
    code = "import collections\ndef f(x: torch.Tensor, k, g):\n" + "".join(f"    {line}\n" for line in lines)
    assert (len(lines) + 2, "SL102") in unmet(code)


def test_an_entry_that_was_tested_is_written_into_by_its_name() -> None:
    code = """
    def f(batch):
        x = batch["x"]
        if (x > 0).all():
            batch["x"][0] = 0
            return 1 / x
    """
    assert (5, "SL102") in unmet(code)


@pytest.mark.parametrize("call", ["all_reduce(t, async_op=True)", "broadcast(t, 0, async_op=True)"])
def test_other_processes_may_write_though_the_result_is_taken(call: str) -> None:
    code = f"""
    def f(x: torch.Tensor):
        t = x.abs() + 1
        work = torch.distributed.{call}
        work.wait()
        return 1 / t
    """
    assert (5, "SL102") in assumed(code)


def test_another_argument_may_be_the_same_tensor() -> None:
    code = """
    def f(x: torch.Tensor, y: torch.Tensor):
        x.clamp_(min=1)
        y.sub_(1)
        return 1 / x
    """
    assert (4, "SL102") in assumed(code)


@pytest.mark.parametrize("found", ["max(-1)", "sort()", "topk(2)", "median(0)", "cummax(0)"])
@pytest.mark.parametrize("place", ["[1]", "[-1]", "[k]"])
def test_where_something_is_found_may_be_at_0(found: str, place: str) -> None:
    code = f"def f(x: torch.Tensor, k):\n    return 1 / (x.abs() + 1).{found}{place}, 1 / (x.abs() + 1).{found}[0][1:]"
    assert len(open_(code)) == 1


def test_a_star_import_may_bind_a_constant_anew() -> None:
    code = "EPS = 1\nfrom elsewhere import *\ndef f(x: torch.Tensor):\n    return x / EPS"
    assert unmet(code) == [(4, "SL102")]
    assert unmet(code.replace("EPS = 1\nfrom elsewhere import *", "from elsewhere import *\nEPS = 1")) == []


@pytest.mark.parametrize(
    "made", ["torch.full((4, 4), 2.0).reshape_as(x > 0)", "3 + torch.bitwise_not(torch.arange(1, 5))"]
)
def test_numbers_stay_numbers_beside_truth_values(made: str) -> None:
    assert unmet(f"def f(x):\n    return 1 / ({made} - 2) , 1 / (2 + {made})")[0] == (2, "SL102")


def test_the_product_of_nothing_is_1() -> None:
    code = "def f(x: torch.Tensor):\n    return 1 / (torch.prod(x[x > 1]) - 1)"
    assert unmet(code) == [(2, "SL102")]
