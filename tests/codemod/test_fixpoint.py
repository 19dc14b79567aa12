import ast
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from stablelint.codemod.fixpoint import MAX_ROUNDS, FixOutcome, fix_source
from stablelint.codemod.text.source import SourceText
from stablelint.diagnostic import Applicability, Binding, Diagnostic, Proposal, Span
from tests.codemod.differential.tried import fixed
from tests.codemod.support import diagnostic, proposal

Template = Callable[[ast.Call], str]


def span(source: SourceText, node: ast.expr) -> Span:
    start = source.offset_of_bytes(node.lineno, node.col_offset)
    return source.span(start, source.offset_of_bytes(node.end_lineno or 0, node.end_col_offset or 0))


def linter(template: Template, function: str = "log") -> Callable[[bytes], Sequence[Diagnostic]]:
    """A toy check: every `torch.log(x)` is a finding unless `x` is a call of `clamp_min`."""

    def diagnose(source: bytes) -> list[Diagnostic]:
        text = SourceText.decode(source).text
        decoded = SourceText.of_text(text)
        found = []
        for node in ast.walk(ast.parse(text)):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            if node.func.attr != function or "clamp_min" in ast.unparse(node.args[0]).rpartition(").")[2]:
                continue
            operand = Binding(decoded.slice(span(decoded, node.args[0])), span(decoded, node.args[0]))
            made = Proposal(template(node), Applicability.SAFE, span(decoded, node), {"x": operand}, "m")
            found.append(diagnostic(text, made))
        return found

    return diagnose


def clamp(node: ast.Call) -> str:
    return "torch.log($x.clamp_min(1e-6))"


def run(source: str, template: Template = clamp) -> FixOutcome:
    return fix_source(source.encode(), linter(template), lambda item: True)


def test_findings_are_fixed_and_a_second_run_changes_nothing() -> None:
    outcome = run("import torch\ny = torch.log(a)\nz = torch.log(b) + torch.log(a)\n")
    assert outcome.source.decode() == (
        "import torch\ny = torch.log(a.clamp_min(1e-6))\n"
        "z = torch.log(b.clamp_min(1e-6)) + torch.log(a.clamp_min(1e-6))\n"
    )
    assert len(outcome.applied) == 3
    assert outcome.rounds == 2  # two fixes of one line
    again = run(outcome.source.decode())
    assert again.source == outcome.source
    assert not again.changed
    assert not again.withheld


def test_what_reads_a_value_that_another_fix_changes_waits_for_it() -> None:
    source = (
        "import torch\n\n\ndef f(x):\n    mean = x.mean(-1, keepdim=True)\n"
        "    var = (x**2).mean(-1, keepdim=True) - mean**2\n    return (x - mean) * torch.rsqrt(var + 1e-5)\n"
    )
    after, applied = fixed(source, unsafe=True)
    assert (
        "var = torch.var(x, dim=-1, keepdim=True, correction=0)\n    return (x - mean) * torch.rsqrt(var + 1e-5)"
        in after
    )
    assert {item.code for item in applied} == {"SL214", "SL103"}


def test_a_line_that_two_fixes_make_too_long_is_broken_as_one() -> None:
    line = "logarithm = torch.log(numerator_of_slope) - 2 * torch.log(denominator)"
    after = run(
        f"import torch\n{line}\n", lambda _: "torch.log($x.clamp_min(smallest_of_the_normal_numbers))"
    )
    assert after.source.decode() == (
        "import torch\nlogarithm = torch.log(\n"
        "    numerator_of_slope.clamp_min(smallest_of_the_normal_numbers)\n"
        ") - 2 * torch.log(denominator.clamp_min(smallest_of_the_normal_numbers))\n"
    )


def test_nested_findings_take_further_rounds() -> None:
    outcome = run("import torch\ny = torch.log(torch.log(torch.log(a)))\n")
    assert outcome.source.decode().count("clamp_min") == 3
    assert outcome.rounds == 3
    assert not outcome.withheld


def test_findings_that_are_not_accepted_stay() -> None:
    source = b"import torch\ny = torch.log(a)\nz = torch.log(b)\n"
    outcome = fix_source(source, linter(clamp), lambda item: "(b)" in item.expression)
    assert b"torch.log(a)\nz = torch.log(b.clamp_min(1e-6))" in outcome.source
    assert [item.expression for item in outcome.applied] == ["torch.log(b)"]


def test_a_fix_that_leaves_the_finding_is_withdrawn() -> None:
    outcome = run("import torch\ny = torch.log(a)\n", lambda node: "torch.log($x + 0)")
    assert outcome.source == b"import torch\ny = torch.log(a)\n"
    assert "another finding: SL101" in (outcome.withheld[0].fix_withheld or "")
    same = run("import torch\ny = torch.log(a)\n", lambda node: "torch.log($x)")
    assert same.withheld[0].fix_withheld == "the finding would still be there"


def test_a_bad_fix_does_not_take_the_good_ones_with_it() -> None:
    def template(node: ast.Call) -> str:
        return "torch.log($x + 0)" if ast.unparse(node.args[0]) == "c" else clamp(node)

    names = "abcdefg"
    source = "import torch\n" + "".join(f"y = torch.log({name})\n" for name in names)
    outcome = run(source, template)
    assert outcome.source.decode() == "import torch\n" + "".join(
        f"y = torch.log({name})\n" if name == "c" else f"y = torch.log({name}.clamp_min(1e-6))\n"
        for name in names
    )
    assert [item.expression for item in outcome.withheld] == ["torch.log(c)"]
    assert len(outcome.applied) == len(names) - 1


def test_a_refused_fix_takes_no_equal_one_with_it_that_waited_for_another() -> None:
    source = (
        "import torch\ndef f(a):\n    return torch.log(a)\n"
        "def g(b):\n    a = torch.log(b)\n    return torch.log(a)\n"
    )
    outcome = run(source, lambda node: "torch.log($x + 1)" if node.lineno == 3 else clamp(node))
    assert outcome.source.decode() == (
        "import torch\ndef f(a):\n    return torch.log(a)\n"
        "def g(b):\n    a = torch.log(b.clamp_min(1e-6))\n    return torch.log(a.clamp_min(1e-6))\n"
    )


def test_a_finding_around_a_fixed_one_is_not_new() -> None:
    def diagnose(source: bytes) -> list[Diagnostic]:
        text = source.decode()
        decoded = SourceText.of_text(text)
        outer = [
            diagnostic(text, Proposal("1", Applicability.DISPLAY, span(decoded, node), {}, "m"), code="SL102")
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.BinOp)
        ]
        return [*linter(clamp)(source), *outer]

    source = b"import torch\ny = 1 / torch.log(a)\n"
    outcome = fix_source(source, diagnose, lambda item: item.code == "SL101")
    assert outcome.source == b"import torch\ny = 1 / torch.log(a.clamp_min(1e-6))\n"


def test_what_was_there_unshown_is_not_new() -> None:
    def diagnose(source: bytes) -> list[Diagnostic]:
        text = source.decode()
        if "clamp_min" not in text:
            return list(linter(clamp)(source))
        return [diagnostic(text, proposal(text, "y / b", "y"), code="SL102")]

    source = "import torch\ny = torch.log(a)\nz = y / b\n"
    unshown = [diagnostic(source, proposal(source, "y / b", "y"), code="SL102")]
    refused = fix_source(source.encode(), diagnose, lambda item: item.code == "SL101")
    assert refused.source == source.encode()
    made = fix_source(source.encode(), diagnose, lambda item: item.code == "SL101", unshown)
    assert b"torch.log(a.clamp_min(1e-6))" in made.source


def test_each_of_equal_findings_that_one_fix_mends_is_counted() -> None:
    def diagnose(source: bytes) -> list[Diagnostic]:
        text = source.decode()
        if "a = 1" in text:
            return []
        made = proposal(text, "b = torch.log(a)", "a = 1", kind="insert-before")
        return [diagnostic(text, made, finding="torch.log(a)")] * 2

    outcome = fix_source(b"import torch\nb = torch.log(a)\nc = torch.log(a)\n", diagnose, lambda item: True)
    assert len(outcome.applied) == 2


def test_of_two_fixes_that_meet_the_safe_one_is_made_and_mends_what_the_other_was_for() -> None:
    def diagnose(source: bytes) -> list[Diagnostic]:
        text = source.decode()
        if "log(p)" not in text:
            return []
        unsafe = proposal(text, "p * torch.log(p)", "torch.zeros_like($p)", p="p")
        outer = diagnostic(text, replace(unsafe, applicability=Applicability.UNSAFE), code="SL210")
        inner = diagnostic(text, proposal(text, "torch.log(p)", "torch.log_softmax(z, 0)"), code="SL202")
        return [outer, inner]

    outcome = fix_source(b"import torch\ny = p * torch.log(p)\n", diagnose, lambda item: True)
    assert outcome.source == b"import torch\ny = p * torch.log_softmax(z, 0)\n"
    assert [(item.code, item.fix is None) for item in outcome.applied] == [("SL202", False), ("SL210", True)]
    assert outcome.uncovered == 0


def test_of_two_unsafe_fixes_that_meet_that_of_the_surer_finding_is_made() -> None:
    def diagnose(source: bytes) -> list[Diagnostic]:
        text = source.decode()
        if "torch.log(q)" not in text:
            return []
        bound = diagnostic(text, proposal(text, "1 - torch.log(q)", "$q.clamp_min(1e-6)", q="q"))
        stable = diagnostic(text, proposal(text, "torch.log(q)", "torch.log_softmax(z, 0)"))
        return [replace(bound, confidence=0.1), replace(stable, confidence=0.9)]

    outcome = fix_source(b"import torch\ny = 1 - torch.log(q)\n", diagnose, lambda item: True)
    assert outcome.source == b"import torch\ny = 1 - torch.log_softmax(z, 0)\n"


def test_a_fix_that_comes_to_light_behind_another_is_made_and_counted() -> None:
    def diagnose(source: bytes) -> list[Diagnostic]:
        text = source.decode()
        if "expm1" not in text:
            made = proposal(text, "torch.exp(q) - 1", "torch.expm1($q)", q="q")
            return [diagnostic(text, made, code="SL209")]
        bounded = proposal(text, "q", "$q.clamp(max=80.0)", q="q")
        return [] if "clamp" in text else [diagnostic(text, bounded, code="SL201")]

    outcome = fix_source(b"import torch\ny = torch.exp(q) - 1\n", diagnose, lambda item: True)
    assert outcome.source == b"import torch\ny = torch.expm1(q.clamp(max=80.0))\n"
    assert (len(outcome.applied), outcome.uncovered) == (2, 1)


def test_a_value_gets_its_name_once_in_a_function() -> None:
    def template(node: ast.Call) -> str:
        return "torch.log($x.clamp_min(0)).clamp_min($x)"

    def function(name: str) -> str:
        return f"def {name}(a, b):\n    y = torch.log(a / b)\n    return y - 2 * torch.log(a / b)\n"

    outcome = run("import torch\n" + function("f") + function("g"), template)
    text = outcome.source.decode()
    assert text.count("    ratio = a / b\n    y = torch.log(ratio.clamp_min(0)).clamp_min(ratio)\n") == 2
    assert text.count("    return y - 2 * torch.log(ratio.clamp_min(0)).clamp_min(ratio)\n") == 2
    assert len(outcome.applied) == 4
    assert outcome.rounds == 2


def test_a_check_that_never_settles_is_stopped() -> None:
    def diagnose(source: bytes) -> list[Diagnostic]:
        text = source.decode()
        node = next(item for item in ast.walk(ast.parse(text)) if isinstance(item, ast.Constant))
        place = span(SourceText.of_text(text), node)
        return [diagnostic(text, Proposal(str(node.value + 1), Applicability.SAFE, place, {}, "m"))]

    outcome = fix_source(b"x = 0\n", diagnose, lambda item: True)
    assert outcome.rounds <= MAX_ROUNDS


def test_reasons_of_fixes_that_cannot_be_made_are_reported() -> None:
    outcome = run("import torch\ny = torch.log(  # why\n    a)\n")
    assert not outcome.applied
    assert outcome.withheld[0].fix_withheld == "a comment inside the expression would be lost"


def test_encoding_newlines_and_byte_order_mark_survive() -> None:
    source = b"\xef\xbb\xbfimport torch\r\ns = '\xc3\xa9'; y = torch.log(a)\r\n"
    outcome = fix_source(source, linter(clamp), lambda item: True)
    assert outcome.source == source.replace(b"(a)", b"(a.clamp_min(1e-6))")


@pytest.mark.parametrize(
    ("applicability", "is_made"), [(Applicability.SAFE, True), (Applicability.UNSAFE, False)]
)
def test_what_a_safe_fix_had_covered_is_no_new_finding(applicability: Applicability, is_made: bool) -> None:
    def diagnose(source: bytes) -> list[Diagnostic]:
        text = source.decode()
        if "expm1" in text:
            return [
                replace(
                    diagnostic(text, proposal(text, "torch.expm1(x)", "_", x="x")), code="SL201", proposals=()
                )
            ]
        made = replace(
            proposal(text, "torch.exp(x) - 1", "torch.expm1($x)", x="x"), applicability=applicability
        )
        return [replace(diagnostic(text, made), code="SL209")]

    outcome = fix_source(b"import torch\ny = torch.exp(x) - 1\n", diagnose, lambda item: True)
    assert (b"expm1" in outcome.source) is is_made
    assert bool(outcome.applied) is is_made


def test_the_last_of_those_that_do_without_a_name_takes_its_assignment_away() -> None:
    source = "import torch\ndef f(x, y):\n    p = x.exp()\n    if y:\n        return torch.log(p)\n    return torch.log(p)\n"
    outcome = run(source, lambda node: "x")
    assert outcome.source.decode() == (
        "import torch\ndef f(x, y):\n    if y:\n        return x\n    return x\n"
    )
    assert outcome.rounds == 2


def test_equal_findings_of_two_rules_are_all_mended_in_one_run() -> None:
    twin = "        f = torch.where(n > 0, f.sum(dim={0}) / n, zero)\n"
    source = (
        "import torch\n\n\ndef reduce(f, kind):\n    n = (~torch.isnan(f)).float()\n    zero = torch.zeros(1)\n"
        f"    if kind == 'mean':\n        n = n.sum(dim=1)\n{twin.format(1)}"
        f"        n = (n > 0).float().sum(dim=0)\n{twin.format(0)}"
        f"    elif kind == 'batch':\n        n = n.sum(dim=0)\n{twin.format(0)}"
        f"    elif kind == 'channel':\n        n = n.sum(dim=1)\n{twin.format(1)}    return f\n"
    )
    once = fixed(source, unsafe=True)[0]
    assert once.count("/ n,") == 0
    assert fixed(once, unsafe=True)[0] == once
