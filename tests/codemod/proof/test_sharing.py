import pytest

from stablelint.codemod.proof.sharing import callers_of_chain, check_taken_alone
from stablelint.codemod.propose import propose
from stablelint.codemod.text.locate import Tree
from stablelint.codemod.text.source import SourceText
from stablelint.codemod.withheld import Withheld
from stablelint.diagnostic import Applicability, Binding
from tests.codemod.support import HEAD, diagnostic, proposal, rewritten, span_of


def reason(source: str, changed: str, finding: str) -> str | None:
    change = proposal(source, changed, "$z", z="z")
    return propose(source.encode(), diagnostic(source, change, finding=finding)).fix_withheld


def test_a_value_for_the_finding_alone_may_change() -> None:
    source = "def f(z, t):\n    p = softmax(z)\n    return loss(p, t)\n"
    assert reason(source, "softmax(z)", "loss(p, t)") is None


def test_what_stands_in_the_finding_may_change() -> None:
    assert reason("print(loss(softmax(z), t))\n", "softmax(z)", "loss(softmax(z), t)") is None


@pytest.mark.parametrize(
    "use", ["    show(p)\n", "    return lambda: p\n", "    if p.max() > 1:\n        pass\n"]
)
def test_a_value_that_is_used_elsewhere_may_not(use: str) -> None:
    source = "def f(z, t):\n    p = softmax(z)\n    loss(p, t)\n" + use
    assert reason(source, "softmax(z)", "loss(p, t)") == "`p`, which would change, is used on line 4 too"


def test_what_reads_the_name_before_reads_another_value() -> None:
    body = "    z = p + 1\n    p = softmax(z)\n    loss(p, t)\n"
    assert reason(f"def f(p, t):\n{body}", "softmax(z)", "loss(p, t)") is None
    deferred = f"def f(p, t):\n    g = lambda: p\n{body}    return g\n"
    assert "line 2" in (reason(deferred, "softmax(z)", "loss(p, t)") or "")


def test_a_loop_comes_back_to_what_reads_the_name_before() -> None:
    looped = "def f(p, t):\n    for _ in t:\n        z = p + 1\n        p = softmax(z)\n        loss(p, t)\n"
    assert "line 3" in (reason(looped, "softmax(z)", "loss(p, t)") or "")


def test_a_name_of_another_function_is_another_value() -> None:
    source = "def f(z, t):\n    p = softmax(z)\n    loss(p, t)\ndef g(p):\n    return p\n"
    assert reason(source, "softmax(z)", "loss(p, t)") is None


def test_an_attribute_is_looked_for_in_the_whole_file() -> None:
    source = "class A:\n    def a(self, z):\n        self.p = softmax(z)\n        loss(self.p, 1)\n"
    assert reason(source, "softmax(z)", "loss(self.p, 1)") is None
    shared = source + "def g(a):\n    return a.p\n"
    assert "line 6" in (reason(shared, "softmax(z)", "loss(self.p, 1)") or "")


@pytest.mark.parametrize("line", ["p, q = softmax(z), 1", "p = q = softmax(z)", "p[0] = softmax(z)"])
def test_a_value_that_goes_elsewhere_may_not_change(line: str) -> None:
    source = f"def f(z, t):\n    loss(p, t)\n    {line}\n"
    assert reason(source, "softmax(z)", "loss(p, t)") == "the value that would change may be used elsewhere"


def test_one_elementwise_function_more_is_no_second_computation() -> None:
    source = "import torch\n\n\ndef f(x):\n    ratio = torch.exp(x)\n    return ratio * x, ratio - 1\n"
    given = proposal(source, "ratio - 1", "torch.expm1($x)", x=Binding("x"))
    assert "    return ratio * x, torch.expm1(x)\n" in rewritten(source, given)


def test_what_nobody_else_reads_is_computed_in_one() -> None:
    source = "import torch\n\n\ndef f(x):\n    ratio = torch.exp(x)\n    return ratio - 1\n"
    given = proposal(source, "ratio - 1", "torch.expm1($x)", x=Binding("x"))
    assert rewritten(source, given) == "import torch\n\n\ndef f(x):\n    return torch.expm1(x)\n"


def test_what_a_model_returns_changes_for_all_who_call_it_and_the_fix_says_so() -> None:
    source = (
        f"{HEAD}\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return F.softmax(self.fc(x), 1)\n\n\n"
        "def train(x, y):\n    net = Net()\n    loss = F.cross_entropy(net(x), y)\n    return loss, net(x)\n"
    )
    made = proposal(source, "F.softmax(self.fc(x), 1)", "$z", z="self.fc(x)")
    found = propose(source.encode(), diagnostic(source, made))
    assert found.fix is not None
    assert found.fix.applicability is Applicability.UNSAFE
    assert "as on line 12, 13, then" in (found.fix.caution or "")


def test_a_value_that_the_finding_reads_twice_may_not() -> None:
    source = "def f(q, a):\n    b = q / a\n    return where(a > 0, b, a + b)\n"
    change = proposal(source, "q / a", "q / other", a=Binding("a"))
    finding = diagnostic(source, change, finding="where(a > 0, b, a + b)")
    withheld_as = propose(source.encode(), finding).fix_withheld
    assert withheld_as == "`b`, which would change, is read 2 times in the finding"


@pytest.mark.parametrize(
    ("other", "is_alone"),
    [
        ("n = out.size(0)", True),
        ("best = out.argmax(1)", True),
        ("accuracy(out, y)", False),
        ("hits = out > 0.5", False),
    ],
)
def test_what_a_loss_takes_of_a_model_may_change_where_no_other_reads_it(other: str, is_alone: bool) -> None:
    source = f"def step(model, x, y):\n    out = model(x)\n    loss = bce(out.view(-1), y)\n    {other}\n    return loss\n"
    tree = Tree(SourceText.of_text(source))
    takers = [span_of(source, "bce(out.view(-1), y)")]
    if is_alone:
        check_taken_alone(tree, takers)
    else:
        with pytest.raises(Withheld, match="`out`, which would change, is used on line 4 too"):
            check_taken_alone(tree, takers)


def test_a_model_that_a_helper_runs_elsewhere_too_is_used_there() -> None:
    source = (
        "def step(self, x, y):\n    loss = bce(apply(self.net, x), y)\n    return loss\n\n\n"
        "def act(self, x):\n    return choose(apply({other}, x))\n"
    )
    for other in ("self.net", "self.policy"):
        tree = Tree(SourceText.of_text(text := source.format(other=other)))
        takers = [span_of(text, "bce(apply(self.net, x), y)")]
        if other == "self.net":
            with pytest.raises(
                Withheld, match=r"`self\.net`, whose result would change, is run on line 7 too"
            ):
                check_taken_alone(tree, takers)
        else:
            check_taken_alone(tree, takers)


def test_a_name_that_is_looked_up_by_its_text_is_shared() -> None:
    source = "def f(z, t):\n    p = softmax(z)\n    return loss(p, t), locals()['p']\n"
    expected = "what the value that would change is bound to may be looked up by its name"
    assert reason(source, "softmax(z)", "loss(p, t)") == expected


@pytest.mark.parametrize(
    ("other", "is_made"),
    [
        ("best = net(x).argmax(1)", True),
        ("n = net(x).shape[0] - 1", True),
        ("hits = net(x) > 0.5", False),
        ("hits = (net(x).view(-1) > 0.5).sum()", False),
        ("out = net(x)\n    hits = 1 - out", False),
    ],
)
def test_a_layer_stays_where_others_compute_with_its_results(other: str, is_made: bool) -> None:
    chain = "nn.Sequential(nn.Linear(2, 1), nn.Sigmoid())"
    source = f"def step(x, y):\n    net = {chain}\n    loss = bce(net(x), y)\n    {other}\n    return loss\n"
    tree = Tree(SourceText.of_text(source))
    span, takers = span_of(source, chain), [span_of(source, "bce(net(x), y)")]
    if is_made:
        assert "as on line 3, 4," in (callers_of_chain(tree, span, takers) or "")
    else:
        with pytest.raises(Withheld, match="which would change, is used on line"):
            callers_of_chain(tree, span, takers)


def test_a_layer_that_is_added_to_a_list_is_left_where_it_is() -> None:
    source = "layers = [nn.Linear(2, 1)]\nlayers += [nn.Sigmoid()]\nnet = nn.Sequential(*layers)\nrows[0]\n"
    with pytest.raises(Withheld, match="the layer is added to others on line 2"):
        callers_of_chain(Tree(SourceText.of_text(source)), span_of(source, "nn.Sigmoid()"), [])


def test_a_chain_without_a_name_is_looked_for_nowhere() -> None:
    source = "def made(rows):\n    first = rows[0]\n    return nn.Sequential(first, nn.Sigmoid())\n"
    chain = span_of(source, "nn.Sequential(first, nn.Sigmoid())")
    assert callers_of_chain(Tree(SourceText.of_text(source)), chain, []) is None
