from __future__ import annotations

from stablelint.diagnostic import Binding
from tests.codemod.support import proposal, rewritten

GUARD = "$b.masked_fill($b.abs() < torch.finfo($b.dtype).eps, torch.finfo($b.dtype).eps)"


def test_a_line_that_gets_too_long_is_broken_at_the_arguments() -> None:
    source = "import torch\ndef f(overlap, denominators):\n    return overlap / denominators  # ratio\n"
    after = rewritten(source, proposal(source, "denominators", GUARD, occurrence=1, b="denominators"))
    assert after == (
        "import torch\ndef f(overlap, denominators):\n    return overlap / denominators.masked_fill(\n"
        "        denominators.abs() < torch.finfo(denominators.dtype).eps, "
        "torch.finfo(denominators.dtype).eps\n"
        "    )  # ratio\n"
    )


def test_a_line_stays_whole_where_the_file_has_lines_as_long() -> None:
    source = f"import torch\nx = '{'a' * 110}'\ny = a / b\n"
    after = rewritten(source, proposal(source, "b", GUARD, occurrence=source.count("b") - 1, b="b"))
    assert after.splitlines()[-1].startswith("y = a / b.masked_fill(b.abs() <")
    assert after.count("\n") == source.count("\n")


def test_the_line_is_broken_at_the_last_outermost_brackets() -> None:
    source = (
        "import torch\ndef f(a):\n    return (a - a.mean()) / (a.std(correction=0, dim=-1, keepdim=True))\n"
    )
    template = "$b + torch.finfo(torch.float32).eps"
    text = "a.std(correction=0, dim=-1, keepdim=True)"
    assert rewritten(source, proposal(source, text, template, b=text)).endswith(
        "    return (a - a.mean()) / (\n"
        "        a.std(correction=0, dim=-1, keepdim=True) + torch.finfo(torch.float32).eps\n    )\n"
    )


def test_a_call_around_the_rewrite_is_broken_before_the_rewrite_itself() -> None:
    source = "import torch\ndef f(s):\n    weights = torch.softmax(s.masked_fill(s.isinf(), value), dim=-1)\n"
    change = proposal(source, "value", "torch.finfo($s.dtype).smallest_normal", s=Binding("s"))
    assert rewritten(source, change).endswith(
        "    weights = torch.softmax(\n"
        "        s.masked_fill(s.isinf(), torch.finfo(s.dtype).smallest_normal), dim=-1\n    )\n"
    )


def test_the_break_has_the_newline_and_indentation_of_the_file() -> None:
    source = "import torch\r\nif a:\r\n\tfirst_value = second_value / third_value\r\n"
    after = rewritten(source, proposal(source, "third_value", GUARD, b="third_value"))
    assert ".masked_fill(\r\n\t\tthird_value.abs() < " in after
    assert after.endswith(".eps\r\n\t)\r\n")
