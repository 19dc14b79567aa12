"""Odd and bad input: every valid file is analysed, every other one is a problem with its place."""

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from cProfile import Profile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablelint.analysis.check import AnalysisOptions, check_source
from stablelint.catalog import Catalog, load_catalog
from stablelint.diagnostic import FileReport, Level, Status

HEAD = "import torch\n"


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(entry_points=False)


def check(source: str | bytes, catalog: Catalog) -> FileReport:
    data = source if isinstance(source, bytes) else textwrap.dedent(source).encode()
    return check_source(data, "sample.py", catalog, AnalysisOptions(discharged=True))


def rows(report: FileReport, code: str) -> list[int]:
    return [d.span.start.row for d in report.diagnostics if d.code == code]


ODD = {
    "walrus": "def f(x):\n    if (n := x.sum()) is not None:\n        return torch.log(n)\n",
    "match": "def f(x, m):\n    match m:\n        case {'a': [1, *_]} | None:\n            return torch.log(x)\n",
    "async": "async def f(x):\n    async with x as y:\n        async for z in y:\n            await torch.log(z)\n",
    "star arguments": "def f(*args, **kwargs):\n    return torch.log(*args, **kwargs)\n",
    "positional only": "def f(x, /, y=1, *, z: float = 2):\n    return torch.log(x)\n",
    "decorators": "@(lambda g: g)\n@torch.no_grad()\ndef f(x):\n    return torch.log(x)\n",
    "nested classes": "class A:\n    class B:\n        def f(self, x):\n            return torch.log(x)\n",
    "class in function": "def f(x):\n    class A:\n        y = torch.log(x)\n    return A.y\n",
    "lambda default": "def f(x, g=lambda y, z=[]: y):\n    return torch.log(g(x))\n",
    "starred target": "def f(x):\n    a, *b, (c, d) = x\n    return torch.log(a)\n",
    "global and nonlocal": "def f(x):\n    global y\n    def g():\n        nonlocal x\n        x = torch.log(x)\n    g()\n",
    "try star": "def f(x):\n    try:\n        x = torch.log(x)\n    except* ValueError as e:\n        pass\n",
    "comprehensions": "def f(x):\n    return [{k: torch.log(v) for k, v in y.items()} for y in x if y]\n",
    "generator": "def f(x):\n    y = yield torch.log(x)\n    yield from y\n",
    "chained comparison": "def f(x):\n    return torch.log(x) if 0 < x <= 1 != x else x\n",
    "delete": "def f(x):\n    y = x\n    del y\n    return torch.log(x)\n",
    "f-string": "def f(x):\n    return f'{torch.log(x)!r:>{10}}'\n",
    "slices": "def f(x):\n    x[..., None, ::2] = torch.log(x)[:, -1:]\n    return x\n",
    "semicolons": "def f(x): y = torch.log(x); return y\n",
    "inherits from itself": "class A(A):\n    def f(self, x):\n        return torch.log(self.g(x))\n",
    "bases in a circle": "class A(B): pass\nclass B(A):\n    def f(self, x):\n        return torch.log(self.g(x))\n",
    "calls itself": "def f(x):\n    return torch.log(f(x))\n",
    "huge integer": "N = 10 ** 400\ndef f(x):\n    return torch.log(x * float(10 ** 400) + int(1e308))\n",
    "endless ranges": "def f(x):\n    for i in range(int(float('inf')), 3):\n        x = torch.log(x / i)\n    return x\n",
    "infinite bounds": "def f(x):\n    for i in range(int(1e9)):\n        x = torch.log(x.clamp(math.inf))\n    return x\n",
    "empty range": "def f(x):\n    return torch.log(torch.empty(3).uniform_(2, 1) + torch.rand(2).uniform_(0, 0))\n",
    "operands left out": "def f(x, *xs):\n    y = torch.div(x) + torch.sub(other=x) - torch.pow(x) + torch.exp()\n"
    "    return torch.nn.ReLU()(), torch.nn.Identity()(x)(), torch.log(torch.div(*xs)), y.softmax(dim=0)\n",
    "super as a value": "class A(torch.nn.Module):\n    def f(self, x):\n"
    "        return super()(super(), x), isinstance(x, super()), torch.log(x.to(super()))\n",
    "negative bound of abs": "def f(x):\n    if x.abs() < -1:\n        return torch.log(x)\n    return x\n",
}


@pytest.mark.parametrize("name", ODD)
def test_odd_syntax_is_analysed(name: str, catalog: Catalog) -> None:
    report = check(HEAD + ODD[name], catalog)
    assert report.problems == ()
    assert report.lines > 1


@pytest.mark.parametrize(
    "name", ["walrus", "match", "async", "nested classes", "decorators", "semicolons", "generator"]
)
def test_a_log_is_found_in_odd_places(name: str, catalog: Catalog) -> None:
    report = check(HEAD + ODD[name], catalog)
    found = [d for d in (*report.diagnostics, *report.discharged) if d.code.startswith("SL1")]
    assert [d for d in found if d.expression.startswith("torch.log(")]


@pytest.mark.parametrize("data", [b"", b"\n", b"# torch\n", b"\xef\xbb\xbf", b"'torch'", b"import torch"])
def test_a_file_without_code_is_clean(data: bytes, catalog: Catalog) -> None:
    report = check(data, catalog)
    assert (report.problems, report.diagnostics) == ((), ())


BODY = "import torch\ndef f(p):\n    z = torch.softmax(p, -1)  # \u00e9\n    return torch.log(z)\n"


@pytest.mark.parametrize(
    "data",
    [
        BODY.encode(),
        b"\xef\xbb\xbf" + BODY.encode(),
        BODY.replace("\n", "\r\n").encode(),
        BODY.replace("\n", "\r").encode(),
        BODY.replace("def f", "\fdef f").encode(),
        BODY.replace("    z", "\tz").replace("    return", "\treturn").encode(),
        ("# -*- coding: latin-1 -*-" + BODY.replace("import", ";import", 1).replace(";", "\n")).encode(
            "latin-1"
        ),
    ],
    ids=["plain", "BOM", "CRLF", "CR", "form feed", "tabs", "latin-1"],
)
def test_positions_do_not_depend_on_how_the_text_is_stored(data: bytes, catalog: Catalog) -> None:
    report = check(data, catalog)
    assert report.problems == ()
    found = [d for d in report.diagnostics if d.expression == "torch.log(z)"]
    assert found
    lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    for diagnostic in found:
        assert b"torch.log(z)" in lines[diagnostic.span.start.row - 1]


def test_columns_count_characters(catalog: Catalog) -> None:
    report = check("import torch\ndef f(p):\n    return 'é€𝄞', torch.log(torch.softmax(p, -1))\n", catalog)
    assert {d.span.start.column for d in report.diagnostics} == {19}


@pytest.mark.parametrize(
    ("source", "row"),
    [
        ("import torch\ndef f(:\n    pass\n", 2),
        ("import torch\nx = (1,\n", 2),
        ("import torch\n  x = 1\n", 2),
        ("import torch\nprint 'x'\n", 2),
    ],
)
def test_a_syntax_error_is_a_problem_with_its_place(source: str, row: int, catalog: Catalog) -> None:
    (problem,) = check(source.encode(), catalog).problems
    assert problem.message.startswith("cannot parse: ")
    assert problem.position is not None
    assert problem.position.row == row


@pytest.mark.parametrize(
    "data",
    [b"import torch\nx = '\xff'\n", b"# coding: no-such-codec\nimport torch\n", b"import torch\nx = '\0'\n"],
    ids=["not UTF-8", "unknown codec", "null byte"],
)
def test_undecodable_text_is_a_problem(data: bytes, catalog: Catalog) -> None:
    (problem,) = check(data, catalog).problems
    assert problem.message.startswith(("cannot decode: ", "cannot parse: "))


def deep() -> Iterator[tuple[str, str]]:
    yield "sum", "def f(x):\n    return torch.log(" + " + ".join(["x"] * 700) + ")\n"
    yield "methods", "def f(x):\n    return x" + ".log()" * 300 + "\n"
    yield "parentheses", "def f(x):\n    return torch.log(" + "(" * 80 + "x" + ")" * 80 + ")\n"
    yield "ternaries", "def f(x, m):\n    return torch.log(" + "x if m else " * 80 + "x)\n"
    yield (
        "ifs",
        "def f(x):\n"
        + "".join(" " * i + f"if x > {i}:\n" for i in range(1, 60))
        + " " * 60
        + "torch.log(x)\n",
    )
    yield "functions", "".join(" " * i + f"def f{i}(x):\n" for i in range(60)) + " " * 60 + "torch.log(x)\n"


@pytest.mark.parametrize(("name", "source"), list(deep()), ids=[name for name, _ in deep()])
def test_deep_nesting_is_analysed(name: str, source: str, catalog: Catalog) -> None:
    report = check(HEAD + source, catalog)
    assert report.problems == ()
    assert report.diagnostics or report.discharged


def test_nesting_that_python_refuses_is_a_problem(catalog: Catalog) -> None:
    (problem,) = check(HEAD + "x = " + " + ".join(["1"] * 20_000) + "\n", catalog).problems
    assert "nested too deeply" in problem.message  # some versions of Python parse it


def test_a_function_too_deep_to_analyse_costs_only_its_own_findings(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stablelint.analysis.files.opened._STACK", 0)
    deep_body = " + ".join(["x"] * 900)
    source = (
        HEAD
        + f"def deep(x):\n    return torch.log({deep_body})\ndef f(x):\n    return torch.log(torch.softmax(x, 0))\n"
    )
    report = check(source, catalog)
    assert [p.position.row for p in report.problems if p.position] == [2]
    assert 5 in [d.span.start.row for d in report.diagnostics]


def large() -> Iterator[tuple[str, str]]:
    yield "branches", "".join(f"    if m == {i}:\n        x = torch.log(x + {i})\n" for i in range(300))
    yield "loops", "".join(f"    for i{i} in range(m):\n        x = x / (x - i{i})\n" for i in range(100))
    yield (
        "constants",
        "    t = {" + ", ".join(f"'{i}': [{i}, 'a']" for i in range(5_000)) + "}\n    torch.log(x)\n",
    )
    yield "joins", "".join(f"    if m[{i}]:\n        x, m = m / x, torch.log(x + m)\n" for i in range(120))
    yield "statements", "".join(f"    x{i} = torch.sqrt(x) / {i + 1}\n" for i in range(600))


def calls(code: str, catalog: Catalog) -> int:
    """How many functions of Python a check of `code` calls: its cost, whatever else the machine does."""
    with Profile(subcalls=False, builtins=False) as profile:
        report = check(code, catalog)
    assert report.problems == ()
    return sum(entry.callcount for entry in profile.getstats())


@pytest.mark.parametrize(("name", "body"), list(large()), ids=[name for name, _ in large()])
def test_a_large_function_does_not_stall(name: str, body: str, catalog: Catalog) -> None:
    assert calls(HEAD + "def f(x, m):\n" + body + "    return x\n", catalog) < 3_000_000


def test_the_cost_grows_with_the_lines(catalog: Catalog) -> None:
    def cost(count: int) -> int:
        functions = (
            f"def f{i}(x, y):\n    a = torch.log(x) / y\n    return torch.exp(a)\n" for i in range(count)
        )
        return calls(HEAD + "".join(functions), catalog)

    cost(5)
    assert cost(160) < 6 * cost(40)  # quadratic growth would be 16


def test_the_recursion_limit_and_the_collector_are_left_as_they_were(catalog: Catalog) -> None:
    import gc

    before = sys.getrecursionlimit(), gc.isenabled()
    check(HEAD + ODD["calls itself"], catalog)
    assert (sys.getrecursionlimit(), gc.isenabled()) == before


def test_what_is_checked_is_neither_imported_nor_run() -> None:
    script = """
        import sys
        from stablelint.analysis.check import AnalysisOptions, check_source
        from stablelint.catalog import load_catalog
        source = b"import torch, antigravity\\nraise SystemExit(3)\\nx = torch.log(torch.zeros(1))\\n"
        check_source(source, "sample.py", load_catalog(entry_points=False), AnalysisOptions())
        print("torch" in sys.modules, "antigravity" in sys.modules)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.split()) == (0, ["False", "False"]), done.stderr


NAMES = st.sampled_from(["x", "y", "z", "torch", "self", "(0)", "(1e-8)", "None", "float('inf')", "[]"])
FORMS = """
torch.log({}) | ({} / {}) | {}.sum() | torch.softmax({}, -1) | {}[{}] | -{} | {} ** {} | ({} if {} else {})
torch.where({} > 0, {}, {}) | {}.clamp({}, {}) | f({}) | {} and {} | [{} for y in {}] | (lambda y: {})({})
torch.arange({}, {}) | {}.abs() < {} | int({})
"""
CALLS = st.sampled_from([form.strip() for line in FORMS.strip().splitlines() for form in line.split(" | ")])
EXPRESSIONS = st.recursive(
    NAMES,
    lambda inner: st.builds(lambda c, a: c.format(*a), CALLS, st.tuples(inner, inner, inner)),
    max_leaves=6,
)


@settings(max_examples=60)
@given(first=EXPRESSIONS, second=EXPRESSIONS, third=EXPRESSIONS)
def test_no_expression_makes_the_analysis_fail(first: str, second: str, third: str, catalog: Catalog) -> None:
    body = f"    y = {first}\n    if {second}:\n        y = {third}\n    return y\n"
    source = f"{HEAD}def f(x, self=1):\n{body}z = f({first})\n"
    report = check(source, catalog)
    assert report.problems == ()
    assert all(d.status is not Status.DISCHARGED for d in report.diagnostics)


def test_objects_that_refer_to_each_other_are_followed(catalog: Catalog) -> None:
    source = """\
        import torch

        class Part:
            def __init__(self, whole):
                self.whole = whole

        class Whole:
            def __init__(self, width):
                self.width = width
                self.part = Part(self)

            def rest(self, x):
                return self.part.whole.part, x

        def f(x, y):
            first, second = Whole(3), Whole(3)
            part = first.rest(x)[0]
            again = second.rest(y)[0]
            return torch.log(x) + part.whole.width + again.whole.part.whole.width
        """
    report = check(source, catalog)
    assert report.problems == ()
    assert rows(report, "SL101") == [19]


def test_what_is_below_the_level_has_its_place_alone(catalog: Catalog) -> None:
    source = b"import torch\n\ndef f(x, mask):\n    return x / mask.item(), torch.log(mask.sum() * 0)\n"
    whole = check_source(source, "a.py", catalog, AnalysisOptions())
    short = check_source(source, "a.py", catalog, AnalysisOptions(level=Level.LIKELY))
    assert [(d.code, d.span, d.message) for d in whole.diagnostics] == [
        (d.code, d.span, d.message) for d in short.diagnostics
    ]
    below = [d for d in short.diagnostics if d.level is Level.POSSIBLE]
    assert below
    assert not any(d.derivation or d.proposals for d in below)
    assert any(d.derivation for d in whole.diagnostics if d.level is Level.POSSIBLE)
