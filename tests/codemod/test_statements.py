import pytest

from stablelint.codemod.propose import propose
from stablelint.codemod.text.edits import apply_edits
from stablelint.diagnostic import Binding
from tests.codemod.support import diagnostic, proposal, rewritten, withheld

STEP = """\
import torch

def step(scaler, loss, model, optimizer):
    scaler.scale(loss).backward()
    # clip
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # why
    scaler.step(optimizer)
"""
CLIP = "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"
UNSCALE = "$s.unscale_($o)"
NAMES = {"s": Binding("scaler"), "o": Binding("optimizer")}


def test_a_statement_is_inserted_before_another_and_its_comment() -> None:
    after = rewritten(STEP, proposal(STEP, CLIP, UNSCALE, kind="insert-before", **NAMES))
    assert after == STEP.replace("    # clip", "    scaler.unscale_(optimizer)\n    # clip")


def test_a_statement_is_inserted_after_another_and_its_comment() -> None:
    after = rewritten(STEP, proposal(STEP, CLIP, UNSCALE, kind="insert-after", **NAMES))
    assert after == STEP.replace("# why\n", "# why\n    scaler.unscale_(optimizer)\n")


def test_the_anchor_need_not_be_the_finding() -> None:
    anchor = "scaler.scale(loss).backward()"
    after = rewritten(STEP, proposal(STEP, CLIP, UNSCALE, kind="insert-after", anchor=anchor, **NAMES))
    assert after == STEP.replace(f"{anchor}\n", f"{anchor}\n    scaler.unscale_(optimizer)\n")


def test_an_insertion_at_the_end_of_a_file_without_a_newline() -> None:
    source = "import torch\nif a:\n\tb()"
    after = rewritten(source, proposal(source, "b()", "c($x)", kind="insert-after", x=Binding("a + 1")))
    assert after == "import torch\nif a:\n\tb()\n\tc(a + 1)"


def test_an_insertion_before_a_decorated_function_goes_above_its_decorators() -> None:
    source = "import torch\n@jit\n@other\ndef f():\n    pass\n"
    change = proposal(source, "def f():\n    pass", "x = 1", kind="insert-before")
    assert rewritten(source, change) == "import torch\nx = 1\n@jit\n@other\ndef f():\n    pass\n"


def test_a_template_of_several_statements_is_indented() -> None:
    source = "import torch\r\nwith a:\r\n  b()\r\n"
    change = proposal(source, "b()", "if $x:\n    torch.relu($x)", kind="insert-before", x=Binding("q"))
    assert (
        rewritten(source, change) == "import torch\r\nwith a:\r\n  if q:\r\n      torch.relu(q)\r\n  b()\r\n"
    )


def test_a_shared_line_is_left_alone() -> None:
    for source in ("a(); b(); c()\n", "if a: b()\n", "b();\n", "x = lambda: b()\nfor i in x: b()\n"):
        occurrence = source.count("b()") - 1
        reason = withheld(source, proposal(source, "b()", "c()", kind="insert-before", occurrence=occurrence))
        assert reason == "the statement shares its line with another"


def test_nothing_is_inserted_where_it_is_never_reached() -> None:
    source = "def f():\n    return b()\n"
    assert "never be executed" in withheld(source, proposal(source, "b()", "c()", kind="insert-after"))


def test_a_statement_is_deleted_with_its_line() -> None:
    source = "a()\nb(\n  1,\n)\nc()\n"
    assert rewritten(source, proposal(source, "b(\n  1,\n)", "", kind="delete")) == "a()\nc()\n"


def test_the_only_statement_of_a_suite_becomes_pass() -> None:
    source = "if a:\n    b()\n"
    assert rewritten(source, proposal(source, "b()", "", kind="delete")) == "if a:\n    pass\n"


def test_a_statement_with_a_comment_is_not_deleted() -> None:
    source = "a()\nb()  # why\n"
    assert "comment" in withheld(source, proposal(source, "b()", "", kind="delete"))


def test_an_element_that_a_comment_speaks_of_is_not_deleted() -> None:
    lines = "net = nn.Sequential(\n    a,\n    nn.Softmax(1)  # probabilities\n)\n"
    assert "comment" in withheld(lines, proposal(lines, "nn.Softmax(1)", "", kind="delete"))


def test_an_element_is_deleted_with_its_comma() -> None:
    lines = "net = nn.Sequential(\n    a,\n    nn.Softmax(1),\n)\n"
    change = proposal(lines, "nn.Softmax(1)", "", kind="delete")
    assert rewritten(lines, change) == "net = nn.Sequential(\n    a,\n)\n"
    for before, after in [
        ("n = S(a, nn.Softmax(1))\n", "n = S(a)\n"),
        ("n = S(nn.Softmax(1), a)\n", "n = S(a)\n"),
        ("n = [nn.Softmax(1)]\n", "n = []\n"),
        ("n = [a, nn.Softmax(1),]\n", "n = [a,]\n"),
        ("n = S(\n    a,\n    nn.Softmax(1)\n)\n", "n = S(\n    a\n)\n"),
    ]:
        assert rewritten(before, proposal(before, "nn.Softmax(1)", "", kind="delete")) == after
    operand = "n = a + nn.Softmax(1)\n"
    assert "can be deleted" in withheld(operand, proposal(operand, "nn.Softmax(1)", "", kind="delete"))


def test_a_statement_moves_with_its_comment() -> None:
    source = "for b in d:\n    opt.step()\n    loss.backward()\n    clip(m)  # after\nend()\n"
    change = proposal(source, "clip(m)", "", kind="move-before", anchor="opt.step()")
    assert rewritten(source, change) == (
        "for b in d:\n    clip(m)  # after\n    opt.step()\n    loss.backward()\nend()\n"
    )


def test_a_statement_does_not_move_into_another_block() -> None:
    source = "opt.step()\nif a:\n    clip(m)\n"
    change = proposal(source, "clip(m)", "", kind="move-before", anchor="opt.step()")
    assert "different blocks" in withheld(source, change)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("if a:\n    y = f(x)  # why\n    z()\n", "if a:\n    with c():\n        y = f(x)  # why\n    z()\n"),
        ("if a:\n\ty = f(x)\n\tz()\n", "if a:\n\twith c():\n\t\ty = f(x)\n\tz()\n"),
        ("y = f(\n    x,\n)\n", "with c():\n    y = f(\n        x,\n    )\n"),
        ("y = f(x)", "with c():\n    y = f(x)"),
        ("y = f(x)\r\nz()\r\n", "with c():\r\n    y = f(x)\r\nz()\r\n"),
        (
            "for _ in range(3):\n    for i in range(n):\n        f(x)\n",
            "with c():\n    for _ in range(3):\n        for i in range(n):\n            f(x)\n",
        ),
        ("if a:\n    y = f(x)\nz()\n", "with c():\n    if a:\n        y = f(x)\nz()\n"),
        ("if a():\n    y = f(x)\n", "if a():\n    with c():\n        y = f(x)\n"),
        (
            "if a:\n    g()\nelif b:\n    f(x)\n",
            "if a:\n    g()\nelif b:\n    with c():\n        f(x)\n",
        ),
        ("for b in bs:\n    f(x)\n", "for b in bs:\n    with c():\n        f(x)\n"),
        (
            "for i in range(n):\n    f(x)\n    g()\n",
            "for i in range(n):\n    with c():\n        f(x)\n    g()\n",
        ),
        (
            "for b in f(x):\n  # each\n\n  g(b)\nelse:\n  h()\n",
            "with c():\n  for b in f(x):\n    # each\n\n    g(b)\n  else:\n    h()\n",
        ),
    ],
)
def test_a_statement_is_put_under_a_with_as_it_stands(before: str, after: str) -> None:
    assert (
        rewritten(
            before, proposal(before, "f(\n    x,\n)" if "(\n" in before else "f(x)", "c()", kind="wrap")
        )
        == after
    )


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("y = f(x); z()\n", "shares its line"),
        ('y = f(x), """a\nb"""\n', "one step further in"),
        ("def g(x):\n    for y in f(x):\n        yield y\n", "generator"),
    ],
)
def test_what_would_not_be_the_same_under_a_with_stays(source: str, reason: str) -> None:
    assert reason in withheld(source, proposal(source, "f(x)", "c()", kind="wrap"))


def test_keywords_are_added_or_changed() -> None:
    for before, after in [
        ("y = x.std()\n", "y = x.std(correction=0)\n"),
        ("y = x.std(1)\n", "y = x.std(1, correction=0)\n"),
        ("y = x.std((1),)\n", "y = x.std((1), correction=0)\n"),
        ("y = x.std(dim=1, correction=1)\n", "y = x.std(dim=1, correction=0)\n"),
        ("y = x.std(\n    1,\n)\n", "y = x.std(\n    1,\n    correction=0,\n)\n"),
    ]:
        text = before.removeprefix("y = ").rstrip("\n")
        assert rewritten(before, proposal(before, text, "correction=0", kind="set-keywords")) == after
    source = "y = x.std(**given)\n"
    assert "**" in withheld(source, proposal(source, "x.std(**given)", "correction=0", kind="set-keywords"))


def test_keyword_values_are_templates() -> None:
    source = "import torch as t\ny = x.sum()\n"
    change = proposal(source, "x.sum()", "dtype=torch.float32", kind="set-keywords")
    assert rewritten(source, change) == "import torch as t\ny = x.sum(dtype=t.float32)\n"


MODEL = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        self.loss = nn.BCELoss(reduction="sum")

    def forward(self, x, y):
        return self.loss(torch.sigmoid(self.body(x)), y)
"""

LOSS = "self.loss(torch.sigmoid(self.body(x)), y)"


def test_rewrites_that_belong_together_are_one_fix() -> None:
    other = proposal(MODEL, "nn.BCELoss", "torch.nn.BCEWithLogitsLoss")
    change = proposal(MODEL, "torch.sigmoid(self.body(x))", "$z", z="self.body(x)", also=(other,))
    after = rewritten(MODEL, change, finding=LOSS)
    assert 'self.loss = nn.BCEWithLogitsLoss(reduction="sum")' in after
    assert "return self.loss(self.body(x), y)" in after


def test_when_one_part_cannot_be_made_none_is() -> None:
    other = proposal(MODEL, "nn.BCELoss", "$missing")
    change = proposal(MODEL, "torch.sigmoid(self.body(x))", "$z", z="self.body(x)", also=(other,))
    assert "nothing is known" in withheld(MODEL, change, finding=LOSS)
    twice = proposal(MODEL, "torch.sigmoid(self.body(x))", "$z", z="self.body(x)")
    change = proposal(MODEL, "self.body(x)", "torch.relu($z)", z="x", also=(twice,))
    assert "same code" in withheld(MODEL, change, finding=LOSS)


@pytest.mark.parametrize(
    ("call", "is_reasoned"),
    [
        ("x.std(\n        dim=0,  # rows\n        correction=1,  # of a sample\n    )", True),
        ("x.std(\n        dim=0,  # rows\n        correction=1,\n    )", False),
        ("x.std(dim=0, correction=1)  # of a sample", False),
    ],
)
def test_an_argument_with_a_comment_of_its_own_stays(call: str, is_reasoned: bool) -> None:
    source = f"def f(x):\n    return {call}\n"
    at = call.partition("  # of")[0] if not is_reasoned else call
    change = proposal(source, at, "correction=0", kind="set-keywords")
    if is_reasoned:
        assert "tells why" in withheld(source, change)
    else:
        assert "correction=0" in rewritten(source, change)


def test_a_statement_that_is_too_long_for_its_line_is_opened_at_its_last_brackets() -> None:
    source = "import torch\n\n\ndef f(first_denominator):\n    return 1 / first_denominator\n"
    template = "first_denominator = $x.clamp_min(torch.finfo($x.dtype).eps * 1000 + first_offset)"
    change = proposal(
        source, "first_denominator", template, kind="insert-before", occurrence=1, x="first_denominator"
    )
    assert (
        "    first_denominator = first_denominator.clamp_min(\n"
        "        torch.finfo(first_denominator.dtype).eps * 1000 + first_offset\n"
        "    )\n    return 1 / first_denominator\n"
    ) in rewritten(source, change)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("with c():\n    g()\ny = f(x)\n", "with c():\n    g()\n    y = f(x)\n"),
        ("with d():\n    g()\ny = f(x)\n", "with d():\n    g()\nwith c():\n    y = f(x)\n"),
        ("with c():\n    g()\n\ny = f(x)\n", "with c():\n    g()\n\nwith c():\n    y = f(x)\n"),
        ("with c(): g()\ny = f(x)\n", "with c(): g()\nwith c():\n    y = f(x)\n"),
    ],
)
def test_a_statement_goes_on_with_the_block_right_above_it(before: str, after: str) -> None:
    assert rewritten(before, proposal(before, "f(x)", "c()", kind="wrap")) == after


def test_statements_that_follow_on_each_other_are_put_under_one_with() -> None:
    source = "y = f(x)\nz = g(\n    x\n)\n\nw = h(x)\n"
    wrapped = [proposal(source, part, "c()", kind="wrap") for part in ("f(x)", "g(\n    x\n)", "h(x)")]
    found = [propose(source.encode(), diagnostic(source, one)).fix for one in wrapped]
    edits = [edit for fix in found if fix is not None for edit in fix.edits]
    assert apply_edits(source.encode(), edits).decode() == (
        "with c():\n    y = f(x)\n    z = g(\n        x\n    )\n\nwith c():\n    w = h(x)\n"
    )


def test_a_line_that_an_argument_makes_too_long_is_broken() -> None:
    call = "torch.load('a_folder_of_long_name/weights.pth')"
    source = f"import torch\n\n\ndef f(net):\n    net.load_state_dict({call})\n"
    change = proposal(source, call, "map_location='cpu'", kind="set-keywords")
    after = rewritten(source, change)
    assert max(map(len, after.splitlines())) <= 88
    assert "map_location='cpu'" in after


@pytest.mark.parametrize(
    ("comment", "is_above"), [("# loss = x.sum()", False), ("# the loss", True), ("# loss", True)]
)
def test_a_statement_goes_above_the_comment_of_the_next_and_below_code_that_is_commented_out(
    comment: str, is_above: bool
) -> None:
    source = f"import torch\n\n\ndef f(x):\n    loss = x.mean()\n    {comment}\n    return loss\n"
    change = proposal(source, "return loss", "torch.ones(1)", kind="insert-before", anchor="return loss")
    lines = rewritten(source, change).splitlines()
    assert (lines.index("    torch.ones(1)") < lines.index(f"    {comment}")) is is_above


def test_two_branches_of_a_test_are_not_made_the_same() -> None:
    source = "if gpu:\n    s = load(f)\nelse:\n    s = load(f, map_location='cpu')\n"
    change = proposal(source, "load(f)", "map_location='cpu'", kind="set-keywords")
    assert "both branches of the test on line 1 would be the same" in withheld(source, change)
    other = source.replace("'cpu'", "'meta'")
    assert "s = load(f, map_location='cpu')\nelse" in rewritten(other, change)
