"""What of a file is looked at: risky functions, what passes values to them, and the body around them."""

from pathlib import Path

from stablelint.analysis.files.indexing import module_of
from stablelint.analysis.matching.review import index_of
from stablelint.analysis.matching.roots import Survey, survey
from stablelint.catalog import load_catalog
from stablelint.syntax.source import parse

NEEDS = index_of(load_catalog()).needs
RISKY = "def _entropy(p):\n    return torch.log(p)\n"
CALLER = "def f(x):\n    y = torch.sigmoid(x)\n    z = _entropy(y)\n    y = z + 1\n    return y\n"


def surveyed(text: str, package: str = "package") -> Survey:
    source = parse(f"import torch\n{text}".encode(), "m.py")
    return survey(module_of(source, Path("m.py"), package), NEEDS, lambda: False, dict)


def test_a_function_that_only_passes_values_on_ends_with_the_last_call() -> None:
    assert {root.function.name: root.ending for root in surveyed(CALLER + RISKY).roots} == {
        "f": 2,
        "_entropy": 0,
    }


def test_calls_whose_results_nobody_passes_on_are_idle() -> None:
    text = "def f(x):\n    a = g(x)\n    b = h(x)\n    return _entropy(a)\n"
    (root, _) = surveyed(text + RISKY).roots
    kept, spare = root.function.node.body[:2]
    assert id(spare) in root.idle
    assert id(kept) not in root.idle


def test_in_a_script_a_call_may_stand_for_any_method() -> None:
    assert [root.ending for root in surveyed(CALLER + RISKY, package="").roots] == [0, 0]
    assert surveyed(RISKY, package="").body_tells


def test_the_body_tells_where_it_computes_or_calls_something() -> None:
    assert not surveyed(RISKY + "N = 3\n").body_tells
    assert surveyed(RISKY + "N = torch.log(M)\n").body_tells
    assert surveyed(RISKY + "N = _entropy(M)\n").body_tells
    assert surveyed(RISKY.replace("(p)", "(p=torch.rand(3))", 1)).body_tells
