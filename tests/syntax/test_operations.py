import pytest

from stablelint.syntax.operations import canonical, function, method, module
from stablelint.syntax.spellings import MODULES, OPERATIONS


@pytest.mark.parametrize(
    ("qualified", "name"),
    [
        ("torch.log", "log"),
        ("torch.special.log1p", "log1p"),
        ("torch.special.expit", "sigmoid"),
        ("torch.nn.functional.softmax", "softmax"),
        ("torch.linalg.vector_norm", "vector_norm"),
        ("torch.arccos", "acos"),
        ("torch.true_divide", "div"),
        ("torch.absolute", "abs"),
    ],
)
def test_a_function_has_one_canonical_name(qualified: str, name: str) -> None:
    operation = function(qualified)
    assert operation is not None
    assert operation.name == name


@pytest.mark.parametrize(
    ("spelling", "name", "in_place"),
    [
        ("log", "log", False),
        ("log_", "log", True),
        ("clamp_", "clamp", True),
        ("masked_fill_", "masked_fill", True),
        ("true_divide", "div", False),
        ("softmax", "softmax", False),
    ],
)
def test_a_method_may_work_in_place(spelling: str, name: str, in_place: bool) -> None:
    found = method(spelling)
    assert found is not None
    operation, inplace = found
    assert (operation.name, inplace) == (name, in_place)


@pytest.mark.parametrize("name", ["numpy.log", "torch.nonsense", "math.log", "log"])
def test_a_strange_function_is_none_of_ours(name: str) -> None:
    assert function(name) is None


@pytest.mark.parametrize("name", ["nonsense", "nonsense_", "append", "_"])
def test_a_strange_method_is_none_of_ours(name: str) -> None:
    assert method(name) is None


def test_canonical_names_are_known_by_themselves() -> None:
    operation = canonical("log")
    assert operation is not None
    assert operation.parameters == ("input",)
    assert canonical("ln") is None


@pytest.mark.parametrize(
    "qualified", ["torch.nn.Softmax", "torch.nn.Sigmoid", "torch.nn.BCELoss", "torch.nn.LogSoftmax"]
)
def test_a_module_stands_for_a_function(qualified: str) -> None:
    assert module(qualified) is not None


def test_a_strange_module_is_none_of_ours() -> None:
    assert module("torch.nn.Nonsense") is None


def test_an_operation_has_one_row_and_a_function_one_operation() -> None:
    rows = [row.partition("+")[0].split() for row in OPERATIONS.splitlines() if row]
    assert all(len(row) > 2 for row in rows)
    names = [name for name, *_ in rows]
    assert len(set(names)) == len(names)
    functions = [
        spelling for _, _, *spellings in rows for spelling in spellings if not spelling.startswith(".")
    ]
    assert len(set(functions)) == len(functions)
    assert {row.split()[1] for row in MODULES.splitlines() if row} - set(names) == {
        "identity",
        "layer_output",
        "linear_module",
        "norm_module",
    }
