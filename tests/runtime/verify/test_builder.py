"""From a finding and its fix to a site."""

import pytest

from stablelint.diagnostic import (
    Applicability,
    Binding,
    Diagnostic,
    Edit,
    Fix,
    Level,
    Position,
    Proposal,
    Severity,
    Span,
    Status,
)
from stablelint.runtime.verify.builder import build_site
from stablelint.runtime.verify.site import Site, Verdict
from tests.runtime.verify.support import call, replay

SOURCE = """\
import torch
from torch.nn import functional as F


def loss(z, y):
    p = torch.softmax(z, dim=-1)
    é = "wide"; q = -torch.log(p) * y
    return q.sum()


def flat(z, y):
    z = z.view(-1)
    return torch.log(z)
"""


def _span(text: str, row: int) -> Span:
    line = SOURCE.splitlines()[row - 1]
    column = line.index(text) + 1
    return Span(Position(row, column), Position(row, column + len(text)))


def _site(
    span: Span,
    *edits: Edit,
    bindings: dict[str, Binding] | None = None,
    fix: bool = True,
    template: str = "",
    source: str = SOURCE,
) -> Site:
    proposal = Proposal(template, Applicability.SAFE, span, bindings or {}, "")
    found = Diagnostic(
        "SL202",
        "log-of-softmax",
        "m.py",
        span,
        "message",
        Severity.ERROR,
        Status.VIOLATED,
        Level.LIKELY,
        "torch.log(p)",
        proposals=(proposal,),
        fix=Fix(Applicability.SAFE, "why", edits) if fix else None,
    )
    return build_site(found, None, source.encode())


def test_the_fix_of_the_whole_finding() -> None:
    span = _span("torch.log(p)", 7)
    site = _site(span, Edit(span, "F.log_softmax(z, dim=-1)"), bindings={"x": Binding("z")})
    assert (site.original, site.fixed) == ("torch.log(p)", "F.log_softmax(z, dim=-1)")
    assert site.model == "torch.log(torch.softmax(z, dim=-1))"
    assert site.probe_span == span


def test_an_edit_of_a_part_is_read_in_the_whole() -> None:
    span = _span("torch.log(p)", 7)
    inner = Span(Position(7, span.start.column + 10), Position(7, span.start.column + 11))
    site = _site(span, Edit(inner, "p.clamp_min(1e-9)"), bindings={"x": Binding("p")})
    assert site.fixed == "torch.log(p.clamp_min(1e-9))"
    assert site.model is None


def test_an_edit_beyond_the_finding_widens_the_site() -> None:
    span = _span("torch.log(p)", 7)
    wider = _span("-torch.log(p) * y", 7)
    site = _site(span, Edit(wider, "F.cross_entropy(z, y)"), bindings={"x": Binding("z")})
    assert site.original == "-torch.log(p) * y"
    assert site.probe_span == wider
    assert site.span == span, "the place of the finding is still told"


def test_of_a_wide_edit_only_what_it_changes_is_judged() -> None:
    span = _span("torch.log(p)", 7)
    wider = _span("-torch.log(p) * y", 7)
    site = _site(span, Edit(wider, "-F.log_softmax(z, -1) * y"), bindings={"x": Binding("z")})
    assert (site.original, site.fixed) == ("torch.log(p)", "F.log_softmax(z, -1)")
    assert site.probe_span == span


def test_a_name_that_is_made_of_itself_is_not_spelled_out() -> None:
    span = _span("torch.log(z)", 13)
    assert _site(span, Edit(span, "torch.log(y)"), bindings={"x": Binding("y")}).model is None


@pytest.mark.parametrize(
    ("between", "model"),
    [("pass", "torch.log(torch.softmax(z, dim=-1))"), ("z = 2 * z", None), ("p = z", None)],
)
def test_a_name_is_what_the_last_statement_on_every_way_bound_it_to(between: str, model: str | None) -> None:
    source = f"""\
import torch


def loss(z, p=None):
    if p is None:
        z = z.view(-1)
        p = torch.softmax(z, dim=-1)
        if z.sum() > 0:
            {between}
        z = torch.log(p)
    return z
"""
    span = Span(Position(10, 13), Position(10, 25))
    site = _site(span, Edit(span, "torch.log_softmax(z, dim=-1)"), source=source)
    assert site.model == model


def test_names_that_the_fix_binds_are_spelled_out() -> None:
    span = _span("torch.log(p)", 7)
    place = _span('é = "wide"', 7).start  # where the statement starts, behind its indentation
    hoist = Edit(Span(place, place), "held = p.clamp_min(1e-9)\n    ")
    imported = Edit(Span(Position(2, 1), Position(2, 1)), "import math\n")
    site = _site(span, hoist, imported, Edit(span, "torch.log(held)"), bindings={"x": Binding("p")})
    assert site.fixed == "torch.log(p.clamp_min(1e-09))"


def test_a_line_that_the_fix_breaks_is_still_one_expression() -> None:
    span = _span("torch.log(p)", 7)
    whole = _span("-torch.log(p) * y", 7)
    inner = Span(Position(7, span.start.column + 10), Position(7, span.start.column + 11))
    opened = Edit(Span(whole.start, whole.start), "(\n        ")
    closed = Edit(Span(whole.end, whole.end), "\n    )")
    site = _site(span, opened, Edit(inner, "p.clamp_min(1e-9)"), closed, bindings={"x": Binding("p")})
    assert site.fixed == "torch.log(p.clamp_min(1e-9))"
    assert site.probe_span == span, "what else stands on the line is not judged"


def test_a_fix_elsewhere_is_no_fix_of_the_expression() -> None:
    span = _span("torch.log(p)", 7)
    other = _span("torch.softmax(z, dim=-1)", 6)
    site = _site(span, Edit(other, "z"))
    assert site.fixed is None
    assert site.has_fix
    assert not _site(span, fix=False).has_fix


def test_where_the_fix_puts_one_the_result_is_dropped() -> None:
    span = _span("torch.log(p)", 7)
    for template, hidden in (
        ("torch.where($c, $x, 1)", "1.0 - (p > 0) * 1.0"),
        ("torch.where($c, 1, $x)", "(p > 0) * 1.0"),
        ("torch.where($x > 0, $x, 1)", None),
    ):
        edit = Edit(span, "torch.log(torch.where(p > 0, p, 1))")
        site = _site(span, edit, bindings={"x": Binding("p"), "c": Binding("p > 0")}, template=template)
        assert site.hidden == hidden


def test_a_built_site_is_replayed_across_statements() -> None:
    import torch

    span = _span("torch.log(p)", 7)
    site = _site(span, Edit(span, "F.log_softmax(z, dim=-1)"), bindings={"x": Binding("z")})
    z = torch.tensor([[0.0, 300.0]])
    source = SOURCE.encode()
    captured = call(p=torch.softmax(z, -1), z=z)
    assert replay(site, [captured], source=source).decision.verdict is Verdict.CONFIRMED
    calm = torch.tensor([[0.0, 1.0]])
    captured = call(p=torch.softmax(calm, -1), z=calm)
    assert replay(site, [captured], source=source).decision.verdict is Verdict.LATENT


@pytest.mark.parametrize(
    ("spelled", "hidden"),
    [
        ("torch.where(s < 1e-5, s, 1 - torch.exp(-s))", "(s < 1e-05) * 1.0"),
        ("torch.where(s > 1e-5, 1 - torch.exp(-s), s)", "1.0 - (s > 1e-05) * 1.0"),
        ("(1 - torch.exp(-s)).where(s > 1, s)", "1.0 - (s > 1) * 1.0"),
        ("torch.where(1 - torch.exp(-s) > 0.5, s, 0)", None),
        ("1 - torch.exp(-s)", None),
    ],
)
def test_what_a_where_drops_costs_no_digits(spelled: str, hidden: str | None) -> None:
    from stablelint.analysis.check import AnalysisOptions, check_source
    from stablelint.catalog import load_catalog

    source = f"import torch\n\n\ndef saturating(s):\n    return {spelled}\n".encode()
    catalog = load_catalog()
    report = check_source(source, "m.py", catalog, AnalysisOptions())
    (found,) = [item for item in report.diagnostics if catalog.rules[item.code].expect == "inaccurate"]
    site = build_site(found, catalog.rules[found.code], source)
    assert (site.hidden, site.guards_hidden) == (hidden, False)


def test_the_conditions_of_the_fix_are_known_of_the_operands() -> None:
    from stablelint.analysis.check import AnalysisOptions, check_source
    from stablelint.catalog import load_catalog
    from stablelint.codemod.propose import propose_all

    source = (
        b"import torch\n\n\ndef share(x: torch.Tensor, y: torch.Tensor):\n    return x / (x == y).sum()\n"
    )
    catalog = load_catalog()
    report = check_source(source, "m.py", catalog, AnalysisOptions())
    (found,) = [item for item in propose_all(source, report.diagnostics) if item.code == "SL102"]
    site = build_site(found, catalog.rules["SL102"], source)
    assert site.fixed is not None
    assert {"integral(b)", "nonnegative(b)"} <= set(site.facts)
    assert replay(site, source=source).decision.verdict is Verdict.LATENT
