import pytest

from stablelint.diagnostic import Binding
from tests.codemod.support import proposal, rewritten, withheld

TEMPLATE = "torch.log_softmax($z, dim=1)"


def fixed(body: str) -> str:
    source = "import torch\ndef f(z, t):\n" + body
    after = rewritten(source, proposal(source, "torch.log(p)", TEMPLATE, z=Binding("z")))
    return after.removeprefix("import torch\ndef f(z, t):\n")


@pytest.mark.parametrize(
    "given",
    ["p = torch.softmax(z, dim=1)", "p: torch.Tensor = torch.softmax(z, dim=1)", "p = torch.linalg.inv(z)"],
)
def test_an_assignment_without_a_reader_goes(given: str) -> None:
    assert fixed(f"    {given}\n    return torch.log(p)\n") == "    return torch.log_softmax(z, dim=1)\n"


def test_a_chain_of_assignments_goes() -> None:
    body = "    e = torch.exp(z)\n    s = e.sum(1)\n    p = e / s\n    return torch.log(p)\n"
    assert fixed(body) == "    return torch.log_softmax(z, dim=1)\n"


@pytest.mark.parametrize(
    "kept",
    [
        "    p = torch.softmax(z, dim=1)\n    show(p)\n",
        "    p = self.net(z)\n",
        "    p = torch.softmax(z, dim=1); q = 1\n",
        "    p = torch.softmax(z, dim=1)\n    if t:\n        p = 1\n    show(p)\n",
        "    p = q = torch.softmax(z, dim=1)\n",
        "    global p\n    p = torch.softmax(z, dim=1)\n",
        "    p = torch.softmax(z, dim=1)\n    p += 1\n",
        "    if t:\n        p = torch.softmax(z, dim=1)\n",
        "    p = torch.softmax(z, dim=1)\n    g = lambda: p\n",
        "    self.p = torch.softmax(z, dim=1)\n",
    ],
)
def test_what_may_matter_stays(kept: str) -> None:
    assert fixed(f"{kept}    return torch.log(p)\n") == f"{kept}    return torch.log_softmax(z, dim=1)\n"


def test_a_comment_above_stands_above_what_comes_next() -> None:
    body = "    # probabilities\n    p = torch.softmax(z, dim=1)\n    return torch.log(p)\n"
    assert fixed(body) == "    # probabilities\n    return torch.log_softmax(z, dim=1)\n"


@pytest.mark.parametrize(
    "given",
    [
        "    p = torch.softmax(z, dim=1)  # probabilities\n",
        "    # probabilities\n    p = torch.softmax(z, dim=1)\n    n = 1\n",
    ],
)
def test_what_a_comment_speaks_of_is_no_fix_to_lose(given: str) -> None:
    with pytest.raises(AssertionError, match="of which a comment speaks"):
        fixed(f"{given}    return torch.log(p)\n")


def test_an_assignment_that_the_fix_itself_reads_stays() -> None:
    source = "import torch\ndef f(z):\n    p = z.exp()\n    return torch.log(p / z)\n"
    template = "torch.log($x.clamp_min(torch.finfo($x.dtype).tiny))"
    after = rewritten(source, proposal(source, "torch.log(p / z)", template, x="p / z"))
    assert "    p = z.exp()\n    ratio = p / z\n    return torch.log(ratio.clamp_min(" in after


def test_blank_lines_around_a_removed_assignment_do_not_meet() -> None:
    body = "    q = t\n\n    p = torch.softmax(z, dim=1)\n\n    return torch.log(p) + q\n"
    assert fixed(body) == "    q = t\n\n    return torch.log_softmax(z, dim=1) + q\n"


def over(body: str) -> str:
    source = "import torch\ndef f(x):\n" + body
    change = proposal(source, "w / w.sum(1)", "torch.softmax($z, dim=1)", z=Binding("x"))
    return rewritten(source, change).removeprefix("import torch\ndef f(x):\n")


def test_an_assignment_that_is_overwritten_unread_goes() -> None:
    body = "    w = torch.exp(x)\n    n = 1\n    w = w / w.sum(1)\n    return w, n\n"
    assert over(body) == "    n = 1\n    w = torch.softmax(x, dim=1)\n    return w, n\n"


@pytest.mark.parametrize(
    "first",
    [
        "    w = torch.exp(x)\n    show(w)\n",
        "    w = torch.exp(x)\n    w += 1\n",
        "    w = self.net(x)\n",
        "    g = lambda: w\n    w = torch.exp(x)\n",
        "    if x:\n        w = torch.exp(x)\n",
    ],
)
def test_an_assignment_that_is_read_before_it_is_overwritten_stays(first: str) -> None:
    rest = "    w = {}\n    return w\n"
    assert over(first + rest.format("w / w.sum(1)")) == first + rest.format("torch.softmax(x, dim=1)")


def test_names_of_a_module_stay() -> None:
    source = "import torch\np = torch.softmax(z, dim=1)\ny = torch.log(p)\n"
    after = rewritten(source, proposal(source, "torch.log(p)", TEMPLATE, z=Binding("z")))
    assert after == "import torch\np = torch.softmax(z, dim=1)\ny = torch.log_softmax(z, dim=1)\n"


def test_an_assignment_that_reads_the_name_it_binds_ends_the_chain() -> None:
    body = "    p = z\n    p = p * 2\n    p = torch.log(p)\n    return p\n"
    assert fixed(body) == "    p = z\n    p = torch.log_softmax(z, dim=1)\n    return p\n"


def test_one_of_several_values_of_a_name_goes_with_all_that_reads_it() -> None:
    other = "    p = torch.exp(z)\n    show(p)\n"
    body = f"    p = torch.softmax(z, dim=1)\n    y = torch.log(p)\n{other}    return y\n"
    assert fixed(body) == f"    y = torch.log_softmax(z, dim=1)\n{other}    return y\n"


@pytest.mark.parametrize("other", ["    p += 1\n", "    del p\n"])
def test_a_value_that_is_changed_or_taken_away_stays(other: str) -> None:
    body = f"    p = torch.softmax(z, dim=1)\n    y = torch.log(p)\n{other}    p = 2\n    return y\n"
    assert "    p = torch.softmax(z, dim=1)\n" in fixed(body)


def test_a_name_that_the_docstring_speaks_of_does_not_go() -> None:
    body = "    '''The focal loss of `p_t`.'''\n    p_t = torch.exp(-t)\n    return p_t - 1\n"
    source = "import torch\ndef f(z, t):\n" + body
    given = proposal(source, "p_t - 1", "torch.expm1(-$t)", t=Binding("t"))
    assert "docstring speaks" in withheld(source, given)


@pytest.mark.parametrize(("others", "is_gone"), [("", True), ("    print(at)\n", False)])
def test_names_that_are_given_together_go_together(others: str, is_gone: bool) -> None:
    source = (
        "import torch\ndef f(x):\n    top, at = torch.max(x, 1)\n    e = torch.exp(x - top)\n"
        f"{others}    return torch.log(e)\n"
    )
    change = proposal(source, "torch.log(e)", "$x", x=Binding("x"))
    assert ("top, at" not in rewritten(source, change)) is is_gone
