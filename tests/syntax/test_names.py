import ast

import pytest

from stablelint.syntax.names import base_name, bound_by, imported_names, normalise


def bound(statement: str, package: str = "") -> dict[str, str]:
    node = ast.parse(statement).body[0]
    assert isinstance(node, ast.Import | ast.ImportFrom)
    return dict(imported_names(node, package))


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("import torch", {"torch": "torch"}),
        ("import torch.nn.functional", {"torch": "torch"}),
        ("import torch.nn.functional as F", {"F": "torch.nn.functional"}),
        ("import torch as t, numpy as np", {"t": "torch", "np": "numpy"}),
        ("from torch import log", {"log": "torch.log"}),
        ("from torch import log as ln, nn", {"ln": "torch.log", "nn": "torch.nn"}),
        ("from torch import *", {}),
        ("from . import losses", {"losses": "pkg.sub.losses"}),
        ("from .losses import nll", {"nll": "pkg.sub.losses.nll"}),
        ("from ..ops import log as l", {"l": "pkg.ops.log"}),
        ("from .. import ops", {"ops": "pkg.ops"}),
    ],
)
def test_what_an_import_binds(statement: str, expected: dict[str, str]) -> None:
    assert bound(statement, "pkg.sub") == expected


def test_a_relative_import_beyond_the_top_does_not_fail() -> None:
    assert bound("from ....a import b", "pkg") == {"b": "a.b"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("torch.nn.modules.loss.BCELoss", "torch.nn.BCELoss"),
        ("torch.nn.modules.activation.Softmax", "torch.nn.Softmax"),
        ("torch.Tensor.log", "torch.log"),
        ("torch.nn.functional.softmax", "torch.nn.functional.softmax"),
        ("numpy.log", "numpy.log"),
    ],
)
def test_one_name_for_each_thing(name: str, expected: str) -> None:
    assert normalise(name) == expected
    assert normalise(expected) == expected


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("x = y", {"x"}),
        ("for a, b in c: ...", {"a", "b"}),
        ("import torch.nn, numpy as np", {"torch", "np"}),
        ("def f(x): ...", {"f"}),
        ("try: ...\nexcept E as error: ...", {"error"}),
        ("match x:\n    case {'a': [b, *c], **d}: ...", {"b", "c", "d"}),
    ],
)
def test_what_a_statement_binds(statement: str, expected: set[str]) -> None:
    assert {name for node in ast.walk(ast.parse(statement)) for name in bound_by(node)} == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("x.T[0].view(-1)", "x"), ("f(x)", "f"), ("(a + b).sum()", "")]
)
def test_the_name_that_an_expression_reads(text: str, expected: str) -> None:
    assert base_name(ast.parse(text, mode="eval").body) == expected
