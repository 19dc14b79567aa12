"""What the sieve lets go must not need a second look; what it keeps may."""

import ast
from pathlib import Path

import pytest

from stablelint.syntax import operations
from stablelint.syntax.sieve import glance, words_of
from stablelint.syntax.walk import descendants

IMPORTS = {
    "torch": "torch",
    "nn": "torch.nn",
    "F": "torch.nn.functional",
    "np": "numpy",
    "cv2": "cv2",
    "math": "math",
}


def words(text: str, imports: dict[str, str] = IMPORTS) -> set[str]:
    return glance([ast.parse(text)], imports).words


@pytest.mark.parametrize(
    ("text", "operation"),
    [
        ("x.log_()", "log"),
        ("a / b", "div"),
        ("a / (b + 1)", "div"),
        ("a /= b", "div"),
        ("x ** -1", "div"),
        ("x ** 0.5", "sqrt"),
        ("x ** -0.5", "rsqrt"),
        ("x * x", "pow"),
        ("f(x).y * f(x).y", "pow"),
        ("x.square()", "pow"),
        ("x.normal_(0, 1)", "randn"),
        ("x.data", "detach"),
        ("np.power(x, y)", "pow"),
        ("np.power(x, 0.5)", "sqrt"),
        ("a @ b", "matmul"),
        ("x.masked_fill_(m, c)", "masked_fill"),
        ("x[m] = c", "where"),
        ("x[m]", "index"),
        ("a == b", "eq"),
        ("x.max()", "amax"),
        ("[x.exp() for x in y]", "exp"),
        ("f(g(lambda x: x.sqrt()))", "sqrt"),
        ("def f(x, y=torch.exp(z)): pass", "exp"),
        ("from torch import erf", "erf"),
        ("torch.distributions.Normal(m, s)", "torch.distributions.Normal"),
    ],
)
def test_what_applies_an_operation_holds_one_of_its_words(text: str, operation: str) -> None:
    assert words(text) & words_of(operation)


def test_every_spelling_of_an_operation_is_one_of_its_words() -> None:
    for spelling, operation in operations.spellings():
        text = spelling if "." in spelling else f"x.{spelling}"
        assert words(f"{text}(y)") & words_of(operation), (spelling, operation)


@pytest.mark.parametrize("text", ["math.log(x)", "cv2.sqrt(x)", "cv2.norm(x)"])
def test_what_leads_out_of_torch_has_no_word(text: str) -> None:
    assert not words(text) & (words_of("log") | words_of("sqrt") | words_of("norm"))


@pytest.mark.parametrize("text", ["a / 2", "a // b", "a % b", "print('log')", "x /= 3", "std = f(y)"])
def test_what_no_rule_speaks_of_has_no_word(text: str) -> None:
    assert not words(text) & (words_of("div") | words_of("log") | words_of("std"))


def test_a_text_that_is_formatted_is_no_remainder() -> None:
    assert not words("'%d of %d' % (n, total)") & words_of("remainder")
    assert words("n % total") & words_of("remainder")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("float('-inf')", "inf"),
        ("np.inf", "inf"),
        ("1e999", "inf"),
        ("math.nan", "nan"),
        ("float('nan')", "nan"),
        ("x * -1e9", "large"),
        ("1 - 1e-12", "1-eps"),
        ("0.9999999999", "1-eps"),
        ("x[0] * 256", "*256"),
        ("2**8 * x[0]", "*256"),
        ("x += y", "op="),
        ("x.add_(y)", "op="),
        ("nn.LayerNorm(n, 1e-12)", "~0"),
        ("torch.zeros(3, requires_grad=True)", "requires_grad"),
    ],
)
def test_numbers_that_matter_are_words(text: str, word: str) -> None:
    assert word in words(text)


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("w.requires_grad = True", True),
        ("a.requires_grad, b.requires_grad = flags", True),
        ("w.requires_grad = False", False),
        ("torch.zeros(3, requires_grad=False)", False),
        ("torch.zeros(3, requires_grad=flag)", True),
    ],
)
def test_to_ask_for_no_gradient_is_no_word(text: str, asks: bool) -> None:
    assert ("requires_grad" in words(text)) is asks


def test_an_eps_of_another_file_may_be_one_that_vanishes() -> None:
    imports = IMPORTS | {"EPS": "package.constants.EPS"}
    assert "~0" in words("nn.LayerNorm(n, eps=EPS)", imports)
    assert "~0" not in words("nn.LayerNorm(n, eps=1e-5)", imports)
    assert "~0" not in words("nn.LayerNorm(n, eps=config.eps)", imports)


def test_an_initialiser_is_told_from_the_method_of_that_name() -> None:
    wanted = words_of("init_normal_")
    assert words("nn.init.normal_(w)") & wanted
    assert words("normal_(w)", {"normal_": "torch.nn.init.normal_"}) & wanted
    assert not words("w.normal_()") & wanted


def test_a_name_bound_to_something_that_matters_is_remembered() -> None:
    text = """
self.criterion = nn.BCELoss()
step = torch.exp
LOW = -math.inf
FAR = -1e9
self.loss = given or nn.CrossEntropyLoss()
self.net = build(3)
x = y.exp
half = partial(torch.exp, out=z)
a, b = 1, math.inf
"""
    assert set(glance([ast.parse(text)], IMPORTS).bound) == {
        ("criterion", "BCELoss"),
        ("step", "exp"),
        ("LOW", "inf"),
        ("FAR", "large"),
        ("half", "exp"),
        ("a", "inf"),
        ("b", "inf"),
        ("loss", "CrossEntropyLoss"),
    }


def test_an_import_under_another_name_is_understood() -> None:
    assert "log" in words("ln(x)", {"ln": "torch.log"})
    assert "log" not in words("ln(x)", {})


def test_reads_and_calls_are_counted() -> None:
    seen = glance([ast.parse("f(f, g.f(1))\nf = 2")], {})
    assert seen.loads["f"] == 3
    assert {name: len(calls) for name, calls in seen.calls.items()} == {"f": 2}


@pytest.mark.parametrize(
    "text",
    [
        "a = b + c(d)[e:f]",
        "def f(x, *y, z=1) -> int:\n    return x if y else {k: v for k, v in z}",
        "class A(B):\n    x: int = 1",
    ],
)
def test_the_quick_walk_sees_what_the_slow_one_sees(text: str) -> None:
    bare = ast.expr_context | ast.operator | ast.unaryop | ast.cmpop | ast.boolop
    tree = ast.parse(text)
    expected = {id(node) for node in ast.walk(tree) if not isinstance(node, bare)}
    assert {id(node) for node in descendants(tree)} == expected


def test_what_stands_below_given_nodes_is_left_out() -> None:
    tree = ast.parse("def f():\n    return x\ny")
    assert glance([tree], {}, {id(tree.body[0])}).loads == {"y": 1}


def test_the_quick_walk_sees_every_kind_of_node() -> None:
    bare = ast.expr_context | ast.operator | ast.unaryop | ast.cmpop | ast.boolop
    for path in sorted(Path(ast.__file__).parent.glob("[a-d]*.py")):
        tree = ast.parse(path.read_bytes())
        expected = {id(node) for node in ast.walk(tree) if not isinstance(node, bare)}
        assert {id(node) for node in descendants(tree)} == expected, path
    patterns = """
match x:
    case {"a": [1, *rest], **others} | A(b=None) as c:
        global g
        async for i in y: print(f"{i!r:>{w}}")
try: pass
except* E as e: del e
def f(a, /, b=1, *c, d, e=2, **k): nonlocal_ = lambda: (yield)
"""
    tree = ast.parse(patterns)
    expected = {id(node) for node in ast.walk(tree) if not isinstance(node, bare)}
    assert {id(node) for node in descendants(tree)} == expected


def test_a_method_of_the_class_is_no_operation_though_a_layer_may_be() -> None:
    assert not words("self.normalize(x)") & words_of("normalize")
    assert words("F.normalize(x)") & words_of("normalize")
    assert words("self.softmax(x)") & words_of("softmax")
    assert words("self.normalize(x) + F.normalize(y)") & words_of("normalize")


def test_a_constructor_is_no_change_in_place() -> None:
    assert "op=" not in words("super().__init__()")
    assert "op=" in words("x.add_(1)")


def test_constants_are_absorbed_where_one_is_tiny() -> None:
    assert "1-eps" in words("1 - 1e-15")
    assert "1-eps" not in words("1024 * 4")


@pytest.mark.parametrize(
    ("made", "sized"),
    [
        ("nn.Linear(64, n)", True),
        ("nn.Conv2d(in_channels=64, out_channels=n, kernel_size=3)", True),
        ("nn.Conv2d(c.n, c.m, kernel_size=3)", False),
        ("nn.Linear(c.n, 64)", False),
        ("nn.Conv2d(in_channels=c.n, out_channels=64, kernel_size=3)", False),
        ("nn.Embedding(64, 32)", False),
        ("LinearBlock(c.n, 64)", True),
        ("nn.MaxPool2d(2)", False),
        ("Block(c.n, width=64)", True),
    ],
)
def test_a_layer_is_given_a_size_where_that_of_what_it_takes_is_written_out(made: str, sized: bool) -> None:
    seen = glance([ast.parse(f"def f(n):\n    return {made}")], {"nn": "torch.nn"})
    assert ("sized" in seen.words) is sized
