import ast
import sys

import pytest

from stablelint.syntax.newer import without_type_parameters
from stablelint.syntax.source import parse, syntax_problem

NEWER = [
    "def f[T](x: T) -> T:\n    return x\n",
    "async def f[T: int, *Ts, **P](x: T) -> T:\n    return x\n",
    "class Box[T](Base):\n    def get[U](self, x: U) -> T: return x\n",
    "class Box[é]:\n    x = y\n",
    "type Pair = tuple[int, int]\nx = Pair\n",
    "type Pair[A, B: dict[str, int]] = tuple[A, B]\n",
    "def f[\n    T,  # any\n\n    U,\n](x: T, y: U): return x\n",
    "if a:\n    type é[ü] = list[ü]; y = é\n",
]


@pytest.mark.parametrize("text", NEWER)
def test_type_parameters_are_blanked_where_they_stand(text: str) -> None:
    known = without_type_parameters(text)
    assert known is not None
    source = parse(text.encode(), "a.py")
    assert syntax_problem(text.encode(), "a.py") is None
    assert len(known.splitlines()) == len(text.splitlines())
    old = [n for n in ast.walk(ast.parse(known)) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    assert old
    assert all(source.segment(n) == n.id for n in old)


def test_an_alias_is_bound_to_its_name() -> None:
    known = without_type_parameters("type Pair[A] = list[A]\n")
    assert known is not None
    body = ast.parse(known).body[0]
    assert isinstance(body, ast.Assign)
    assert ast.unparse(body) == "Pair = list[A]"


@pytest.mark.parametrize(
    "text",
    [
        "type = 3\n",
        "type (x)\n",
        "type[0] = 1\n",
        "x = def_[1]\n",
        "def f(x): return x[0]\n",
        "print(type, x)\n",
        "a = (\n",
    ],
)
def test_older_code_is_left_alone(text: str) -> None:
    assert without_type_parameters(text) is None


def test_what_is_no_python_stays_a_problem() -> None:
    text = b"def f[T](x: T):\n    return x x\n"
    problem = syntax_problem(text, "a.py")
    assert problem is not None
    assert problem.message.startswith("cannot parse")


def test_what_a_later_python_may_read_is_said_with_the_one_that_read_it() -> None:
    problem = syntax_problem(b"x = a b\n", "a.py")
    assert problem is not None
    assert problem.hint is not None
    assert f"read as Python {sys.version_info.major}.{sys.version_info.minor}" in problem.hint
    unclosed = syntax_problem(b"x = (\n", "a.py")
    assert unclosed is not None
    assert unclosed.hint is None, "no Python reads that"
