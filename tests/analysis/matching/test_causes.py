"""One cause, one finding, at the place to change, with the steps that lead there."""

import pytest

from stablelint.diagnostic import Applicability, Diagnostic, Status
from tests.analysis.support import IMPORTS, body, findings, open_, report, unmet

ABOVE = IMPORTS.count("\n")


def only(code: str) -> Diagnostic:
    (found,) = findings(code)
    return found


def steps(diagnostic: Diagnostic) -> list[tuple[int, str]]:
    """(line, what it says) of each step."""
    return [(step.span.start.row - ABOVE, step.text) for step in diagnostic.derivation]


def test_a_softmax_by_hand_is_one_finding() -> None:
    program = """
    def f(s: torch.Tensor):
        e = torch.exp(s)
        return e / e.sum(dim=-1, keepdim=True)
    """
    assert open_(program) == [(3, "SL206")]


def test_the_logarithm_of_a_sum_of_exponentials_is_one_finding() -> None:
    program = """
    def f(s: torch.Tensor):
        return torch.log(torch.exp(s).sum(dim=-1))
    """
    assert open_(program) == [(2, "SL204")]


def test_an_entropy_of_a_softmax_is_one_finding_with_a_safe_fix() -> None:
    found = only("""
    def entropy(z: torch.Tensor):
        p = torch.softmax(z, dim=-1)
        return -(p * torch.log(p)).sum(-1)
    """)
    assert found.code == "SL202"
    assert found.proposals[0].applicability is Applicability.SAFE


def test_an_entropy_of_a_sigmoid_is_one_finding_with_a_safe_fix() -> None:
    found = only("""
    def entropy(z: torch.Tensor):
        p = torch.sigmoid(z)
        return -p * torch.log(p)
    """)
    assert found.code == "SL203"


def test_a_standard_deviation_is_flagged_once() -> None:
    program = """
    def f(x: torch.Tensor):
        v = x.var(dim=0, unbiased=False)
        std = torch.sqrt(v)
        return (x - x.mean(dim=0)) / std
    """
    lines = [line for line, _ in unmet(program)]
    assert len(lines) == 1


def test_a_logarithm_used_twice_is_flagged_once() -> None:
    program = """
    def f(z: torch.Tensor, a, b):
        q = torch.log(torch.relu(z))
        return (q * a).sum() + (q * b).sum()
    """
    assert open_(program) == [(2, "SL101")]


@pytest.mark.parametrize(
    ("returned", "codes"),
    [
        ("1 / torch.sqrt(x)", ["SL103"]),
        ("y / torch.sqrt(x).unsqueeze(-1)", ["SL103"]),
        ("torch.log(x / y)", ["SL101", "SL102"]),
        ("torch.exp(x / y)", ["SL102", "SL201"]),
        ("torch.log(torch.exp(x) / torch.exp(x).sum())", ["SL206", "SL229"]),
        ("1 / torch.exp(x)", ["SL102", "SL201"]),
        ("torch.log1p(torch.erf(y * x.sqrt()))", ["SL101", "SL103"]),
        ("torch.acos(x / y)", ["SL102", "SL104"]),
    ],
)
def test_what_the_mend_of_another_would_not_end_is_told_itself(returned: str, codes: list[str]) -> None:
    found = open_(f"def f(x: torch.Tensor, y: torch.Tensor):\n    return {returned}\n")
    assert sorted(code for _, code in found) == codes


def test_a_function_called_twice_is_flagged_where_it_stands() -> None:
    program = """
    def entropy(p):
        return -(p * torch.log(p)).sum()

    def f(a: torch.Tensor, b: torch.Tensor):
        return entropy(torch.softmax(a, -1)) + entropy(torch.softmax(b, -1))
    """
    assert unmet(program) == [(2, "SL210")]


def test_two_causes_are_two_findings() -> None:
    program = """
    def f(a: torch.Tensor, b: torch.Tensor):
        u = torch.log(torch.relu(a))
        return u + torch.log(torch.relu(b))
    """
    assert open_(program) == [(2, "SL101"), (3, "SL101")]


def test_the_chain_runs_from_the_source_to_the_operand() -> None:
    found = only("""
    def f(x: torch.Tensor):
        y = torch.relu(x)
        z = y * 2
        return torch.log(z)
    """)
    assert found.code == "SL101"
    lines = [line for line, _ in steps(found)]
    assert lines == [2, 3]
    assert found.span.start.row - ABOVE == 4
    assert "relu" in steps(found)[0][1]


def test_the_chain_names_the_softmax_and_where_it_lies() -> None:
    found = only("""
    def f(z: torch.Tensor):
        p = torch.softmax(z, dim=-1)

        q = p
        return torch.log(q)
    """)
    assert (found.code, found.span.start.row - ABOVE) == ("SL202", 5)
    assert (2, True) in [(line, "softmax" in text) for line, text in steps(found)]
    assert all(step.filename is None for step in found.derivation)


def test_each_step_stands_where_its_text_is() -> None:
    program = """
    def scale(x):
        return torch.relu(x)

    def f(x: torch.Tensor):
        d = scale(x)
        return 1 / d
    """
    found = only(program)
    lines = (IMPORTS + body(program)).splitlines()
    for step in found.derivation:
        row = lines[step.span.start.row - 1]
        assert row[step.span.start.column - 1 :].strip()
    assert found.expression == "1 / d"


def test_columns_count_characters_not_bytes() -> None:
    found = only("def f(x: torch.Tensor):\n    return 'größe', torch.log(torch.relu(x))\n")
    assert found.span.start.column == len("    return 'größe', ") + 1
    assert found.expression == "torch.log(torch.relu(x))"


def test_known_operations_violate_and_unknown_operands_are_unguarded() -> None:
    by_line = {
        d.span.start.row - ABOVE: d.status
        for d in report("""
        def f(x: torch.Tensor, y: torch.Tensor):
            a = torch.log(torch.relu(x))
            b = torch.log(y)
            return a + b
        """).diagnostics
    }
    assert by_line == {2: Status.VIOLATED, 3: Status.UNGUARDED}


def test_discharged_obligations_are_counted_and_kept_apart() -> None:
    answer = report("""
    def f(x: torch.Tensor):
        return torch.log(x.clamp(min=1e-3)) + torch.log(torch.relu(x) + 1e-3)
    """)
    assert answer.diagnostics == ()
    assert [d.status for d in answer.discharged] == [Status.DISCHARGED] * 2
    assert dict(answer.discharge_counts) == {"clamp": 1, "eps": 1}


def test_a_gradient_alone_is_said_to_be_one() -> None:
    found = only("def f(x: torch.Tensor):\n    return torch.sqrt(x.clamp(min=0))\n")
    assert "gradient" in found.message


def test_the_order_is_that_of_the_file_and_the_same_each_time() -> None:
    program = """
    def f(x: torch.Tensor):
        return torch.log(torch.relu(x))

    def g(x: torch.Tensor):
        return 1 / torch.relu(x), torch.log(torch.relu(x))
    """
    first, second = report(program), report(program)
    assert first == second
    assert [d.sort_key for d in first.diagnostics] == sorted(d.sort_key for d in first.diagnostics)


def test_a_root_that_becomes_a_norm_answers_for_no_division_by_it() -> None:
    code = "def f(x, y):\n    rmse = ((x - y) ** 2).mean().sqrt()\n    return x / rmse\n"
    assert [found for _, found in open_(code)] == ["SL105", "SL102"]
