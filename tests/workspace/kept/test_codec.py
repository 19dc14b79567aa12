import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from stablelint.diagnostic import (
    Applicability,
    Diagnostic,
    Edit,
    Fix,
    Level,
    Position,
    Problem,
    Severity,
    Span,
    Status,
    Step,
)
from stablelint.workspace.kept import codec

positions = st.builds(Position, st.integers(1, 10**6), st.integers(1, 10**4))
spans = st.builds(Span, positions, positions)
fixes = st.builds(
    Fix,
    st.sampled_from(Applicability),
    st.text(),
    st.lists(st.builds(Edit, spans, st.text()), max_size=3).map(tuple),
)
diagnostics = st.builds(
    Diagnostic,
    code=st.text(),
    name=st.text(),
    filename=st.just("f.py"),
    span=spans,
    message=st.text(),
    severity=st.sampled_from(Severity),
    status=st.sampled_from(Status),
    level=st.sampled_from(Level),
    expression=st.text(),
    derivation=st.lists(st.builds(Step, st.text(), spans, st.none() | st.text()), max_size=3).map(tuple),
    fix=st.none() | fixes,
    fix_withheld=st.none() | st.text(),
    discharged_by=st.none() | st.text(),
    url=st.text(),
)


@given(diagnostics)
def test_what_is_written_is_read_back(diagnostic: Diagnostic) -> None:
    assert codec.decode(json.loads(json.dumps(codec.encode(diagnostic))), "f.py") == diagnostic


@given(diagnostics)
def test_the_file_name_is_that_of_the_reader(diagnostic: Diagnostic) -> None:
    assert codec.decode(codec.encode(diagnostic), "g.py") == replace(diagnostic, filename="g.py")


@given(st.builds(Problem, st.text(), st.just("f.py"), st.none() | positions, st.none() | st.text()))
def test_problems_are_read_back(problem: Problem) -> None:
    assert codec.decode_problem(json.loads(json.dumps(codec.encode_problem(problem))), "f.py") == problem


places = st.tuples(
    st.sampled_from(["", "/p/", "/p/a.py:", "/p/a.py:f", "/p/a.py:A.f", ":_g", "C:\\a.py:f"]),
    st.sampled_from(["", "=", "()", "eps", "f()"]),
)


@given(st.frozensets(places))
def test_what_a_file_asks_is_read_back(asked: frozenset[tuple[str, str]]) -> None:
    read = list(codec.decode_asks(json.loads(json.dumps(codec.encode_asks(asked)))))
    assert sorted(read) == sorted(asked)
