"""Arguments for a function, from its text: what they are, and what error messages make of them."""

import ast
from dataclasses import replace
from itertools import islice

import pytest
import torch

from stablelint.runtime.verify.witness.arguments import (
    Arguments,
    Known,
    candidates,
    of_example,
    options,
    written,
)
from stablelint.runtime.verify.witness.project import Project
from stablelint.runtime.verify.witness.search import Failure, accepted, changes
from stablelint.runtime.verify.witness.uses import Uses, uses_of
from stablelint.runtime.verify.witness.variants import simplified, variants


def uses(text: str, method: bool = False) -> dict[str, Uses]:
    (node,) = ast.parse(text).body
    assert isinstance(node, ast.FunctionDef)
    return uses_of(node, method)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("def f(x, mask): return (x * mask).sum() / mask.sum()", "torch.rand(2, 4), torch.ones(2, 4)"),
        ("def f(x: Tensor, eps: float = 1e-8): return x", "torch.rand(2, 4)"),
        ("def f(x, m):\n    return x[m].mean()", "torch.rand(2, 4), torch.ones(2, 4, dtype=torch.bool)"),
        ("def f(x):\n    b, c, h, w = x.shape\n    return x", "torch.rand(2, 4, 8, 8)"),
        ("def f(z, y): return F.cross_entropy(z, y)", "torch.rand(2, 4), torch.zeros(2, dtype=torch.long)"),
        ("def f(n):\n    for _ in range(n): pass", "4"),
        ("def f(n):\n    return torch.zeros(n)", "4"),
        ("def f(x, kind):\n    if kind == 'l2': return x.norm()", "torch.rand(2, 4), 'l2'"),
        ("def f(g, x):\n    z, logdet = g(x)", "lambda *x, **k: (x[0], x[0]), torch.rand(2, 4)"),
        ("def f(grid):\n    x, y = grid", "(torch.rand(2, 4), torch.rand(2, 4))"),
        ("def f(m):\n    assert isinstance(m, nn.Linear)", "nn.Linear(4, 4)"),
        (
            "def f(x):\n    if isinstance(x, tuple): x, y = x\n    return x.exp()",
            "(torch.rand(2, 4), torch.rand(2, 4))",
        ),
        ("def f(k):\n    return Loss(**k)", "{}"),
        ("def f(b):\n    return b['x'] / b['eps']", "{'eps': 1e-08, 'x': torch.rand(2, 4)}"),
        (
            "def f(c): return c.data.eps + c.n_layers",
            "types.SimpleNamespace(data=types.SimpleNamespace(eps=1e-08), n_layers=4)",
        ),
        ("def f(x: 'Float[Tensor, \"b t\"]'): return x", "torch.rand(2, 3)"),
        ("def f(x: Tensor, *, dim: int): return x.sum(dim)", "torch.rand(2, 4), dim=4"),
    ],
)
def test_the_first_guess_follows_the_text(text: str, first: str) -> None:
    assert written(next(candidates(uses(text), Known()))) == first


def test_a_shape_in_the_docstring_is_taken() -> None:
    document = 'def f(x, y):\n    """Loss.\n\n    Args:\n        x (B, T, 8): scores\n    """\n    return x'
    assert uses(document)["x"].sides == ("B", "T", "8")
    assert written(next(candidates(uses(document), Known()))).startswith("torch.rand(2, 3, 8), ")


def test_a_message_about_a_side_mends_the_arguments() -> None:
    read = uses("def f(x): return x.sum()")
    arguments = next(candidates(read, Known()))
    told = Failure("RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x4 and 16x8)")
    assert "torch.rand(2, 16)" in [
        written(each) for each in islice(changes(arguments, told, read, Known()), 3)
    ]


@pytest.mark.parametrize(
    ("text", "message", "wanted"),
    [
        ("def f(x): return x", "KeyError: 'mask'", "{'mask': torch.ones(2, 4, dtype=torch.bool)}"),
        ("def f(x): return x", "missing 2 required arguments: 'ch' and 'lr'", "{'ch': 4, 'lr': 0.5}"),
        ("def f(x): return x", "'Tensor' object has no attribute 'astype'", "torch.rand(2, 4).numpy()"),
        ("def f(x): return x", "'Tensor' object has no attribute 'rate'", "types.SimpleNamespace(rate=4)"),
        (
            "def f(x, y=None): return x + y",
            "TypeError: unsupported operand",
            "torch.rand(2, 4), y=torch.rand(2, 4)",
        ),
        (
            "def f(net, x): return net(x, x)",
            "TypeError: takes 2 positional arguments but 3 were given",
            "torch.nn.Bilinear",
        ),
        ("def f(n: int): return g(n)", "AssertionError: ", "1"),
        (
            "def f(log): log.note(1)",
            "'types.SimpleNamespace' object has no attribute 'end'",
            "unittest.mock.",
        ),
        ("def f(x): return x", "RuntimeError: Boolean value of Tensor with more than one value", "0.5"),
        (
            "def f(x): return x",
            "IndexError: index 6 is out of bounds for dimension 1 with size 4",
            "torch.rand(2, 7)",
        ),
        ("def f(x): return x", "IndexError: tuple index out of range", "torch.rand(2, 3, 4)"),
        ("def f(x): return x", "linalg.cholesky: the input is not positive-definite.", "torch.eye(4)"),
        ("def f(x): return x", "TypeError: type Tensor doesn't define __round__ method", "0.5"),
        ("def f(x): return x", "sqrt(): argument 'input' must be Tensor, not int", "torch.tensor(0.5)"),
        (
            "def f(x): return x",
            "Index tensor must have the same number of dimensions as input tensor",
            "torch.zeros(2, 4, dtype=torch.long)",
        ),
        ("def f(x): return x", "shape '[1, 3, 1, 1]' is invalid for input of size 8", "torch.rand(3)"),
    ],
)
def test_what_an_error_names_is_changed(text: str, message: str, wanted: str) -> None:
    read = uses(text)
    first = next(candidates(read, Known()))
    if wanted.startswith("{"):
        first = (replace(first[0], kind="given", given="{}"),)
    told = Failure(message, (1,), frozenset(read))
    assert any(written(guess).startswith(wanted) for guess in islice(changes(first, told, read, Known()), 30))


def test_arguments_with_which_a_call_comes_further_are_changed_first() -> None:
    read = uses("def f(a, b):\n    a.split()\n    b.split()")

    def attempt(arguments: Arguments) -> Failure | None:
        for row, each in enumerate(arguments):
            if each.kind != "str":
                return Failure("'Tensor' object has no attribute 'split_'", (row,), frozenset({each.name}))
        return None

    assert written(next(accepted(read, candidates(read, Known()), attempt, 120, Known()))) == "'mean', 'mean'"


def test_settings_are_added_as_the_calls_ask_for_them() -> None:
    told = {"train.py": "p.add_argument('--n-bits', type=int, default=5)\nconfig.model.act = 'elu'"}
    known = Known(Project(told).settings)
    assert known.settings["act"] == "'elu'"
    read = uses("def f(args, x): return x / 2**args.n_bits")

    def attempt(arguments: Arguments) -> Failure | None:
        lacks = Failure("'types.SimpleNamespace' object has no attribute 'rate'")
        return None if "rate=0.5" in written(arguments) else lacks

    first = next(accepted(read, candidates(read, known), attempt, 9, known))
    assert written(first) == "types.SimpleNamespace(n_bits=5, rate=0.5), torch.rand(2, 4)"


def test_an_option_is_another_value_than_its_default() -> None:
    text = "def f(x, of, mean=True, kind='l1', act=None):\n    if kind == 'l2' or of == 'a' or of == 'b': return act(x)"
    found = [option.written() for option in options(uses(text), Known())]
    assert found == ["'b'", "mean=False", "kind='l2'", "act=torch.nn.Identity()"]


def test_what_becomes_of_the_attribute_is_told_of_the_constructors_parameter() -> None:
    (owner,) = ast.parse(
        "class A:\n def __init__(self, w, g):\n  self.w, self.g = w, g\n def f(self, x): return self.g(x * self.w.sum())"
    ).body
    assert isinstance(owner, ast.ClassDef)
    assert isinstance(owner.body[0], ast.FunctionDef)
    found = uses_of(owner.body[0], True, owner)
    assert ("tensor" in found["w"].kinds, "callable" in found["g"].kinds) == (True, True)


def test_every_variant_can_be_evaluated() -> None:
    for text in ("def f(x, mask): return x.sum() / mask.sum()", "def f(x, y): return F.cross_entropy(x, y)"):
        for arguments in islice(candidates(uses(text), Known()), 12):
            for changed in variants(arguments):
                values = eval(f"[{written(changed)}]", {"torch": torch})
                assert len(values) == len(arguments), written(changed)
            assert "rand" not in written(simplified(arguments))


def test_calls_of_the_project_are_found_with_what_their_names_stand_for() -> None:
    sources = {
        "a/model.py": "y = Loss(0.5)\nz = y.of(1)",
        "README.md": "Take it:\n```python\nx = torch.randn(2, 3)\nloss = Loss(margin=0.1).cuda()\nloss(x, x)\n```\n",
        "tests/test_loss.py": "def test():\n    kind = 'sum'\n    Loss(margin=0.2, reduction=kind)",
        "broken.py": "Loss(",
    }
    project = Project(sources)
    assert [each.text for each in project.examples("Loss")] == [
        "margin=0.1",
        "margin=0.2, reduction='sum'",
        "0.5",
    ]
    (forward,) = project.examples("Loss.forward")
    read = uses("def forward(self, a, b): return a", True)
    assert written(of_example(forward, read) or ()) == "torch.rand(2, 3), torch.rand(2, 3)"
    assert [each.text for each in project.examples("Loss.of")] == ["1"]
