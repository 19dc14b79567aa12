"""Whatever the operand and its surroundings, the rewritten text means the substituted tree."""

import ast
import copy

from hypothesis import given, settings
from hypothesis import strategies as st

from stablelint.codemod.propose import propose
from stablelint.codemod.text.edits import apply_edits
from stablelint.codemod.text.source import SourceText
from stablelint.diagnostic import Applicability, Binding, Proposal
from tests.codemod.support import diagnostic

NAMES = st.sampled_from(["a", "b", "probs", "self.weight", "é"])
ATOMS = NAMES | st.sampled_from(["1", "2.5", "0x10", "1e-6", "None", "'s'", "x[0]", "...", "1j"])


BINARY = st.sampled_from(["+", "-", "*", "/", "//", "%", "**", "@", "<<", "&", "^", "|"])
LOGIC = st.sampled_from(["<", "==", "is not", "and", "or", "not in"])
SHAPES = st.sampled_from(
    [
        "{0} {op} {1}",
        "{0} {logic} {1}",
        "{0}\n        {op} {1}",
        "({0}  # why\n    {op} {1})",
        "-{0}",
        "~{0}",
        "not {0}",
        "{0}.sum()",
        "{0}[\n        0,\n    ]",
        "torch.exp({0})",
        "torch.stack([{0}, {1}], dim=0)",
        "({0}, {1})",
        "{0} if {1} else {0}",
        "lambda q: {0}",
        "[{0} for q in {1}]",
    ]
)


@st.composite
def operands(draw: st.DrawFn, depth: int = 3) -> str:
    if depth == 0 or draw(st.booleans()):
        return draw(ATOMS)
    parts = [draw(operands(depth - 1)) for _ in range(2)]
    texts = [part if part.isidentifier() else f"({part})" for part in parts]
    return draw(SHAPES).format(*texts, op=draw(BINARY), logic=draw(LOGIC))


OPERANDS = operands()

TEMPLATES = st.sampled_from(
    [
        "$x",
        "-$x",
        "$x.clamp_min(1e-6)",
        "$x ** 2",
        "2 ** $x",
        "1 - $x",
        "$x - 1",
        "torch.log($x)",
        "torch.log(1 + $x)",
        "torch.where($x > 0, 1, 0)",
        "$x if torch else 0",
        "not $x",
        "$x[0]",
        "x[$x]",
        "[$x]",
        "torch.sum(*$x)",
        "torch.log($x, dim=-1)",
        "lambda: $x",
        "($x, 1)",
        "$x @ torch.eye(2) / 3",
        "a < $x < b",
    ]
)

CONTEXTS = st.sampled_from(
    [
        "y = {}",
        "y = -{}",
        "y = ({}) ** 2",
        "y = {} ** 2",
        "y = 2 ** {}",
        "y = 3 - {} - 1",
        "y = {}.mean().item()",
        "y = f({}, k={})",
        "y = f(*{}, **{})",
        "y = a if {} else b",
        "y = [{} for a in b if {}]",
        "y = x[{}]",
        "y = not {}",
        "y = lambda q: {}",
        "y = {}, 1",
        "y = a @ {} @ b",
        "y = a < {} < b",
        "y = a and {} or b",
        "if {}:\n    pass\nelif {}:\n    pass",
        "while ({}):\n\tpass",
        "def f(a={}):\n    return({})",
        "async def f():\n    await {}\n    return (yield {})",
        "x = 1; y = {}; z = 2",
        "with {} as g:\n    pass",
        "assert {}, 'no'",
        "for i in {}: print(({}))",
        "y = {{**{}}}",
        "y = (z := {})",
        "y = print(({}))",
    ]
)


class _Substitute(ast.NodeTransformer):
    def __init__(self, value: ast.expr) -> None:
        self.value = value

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return copy.deepcopy(self.value) if node.id in ("HERE", "__mv_x") else node


def tree_of(text: str) -> ast.expr:
    statement = ast.parse(f"(\n{text}\n)").body[0]
    assert isinstance(statement, ast.Expr)
    return statement.value


def begins_with_a_sign(tree: ast.expr) -> bool:
    """Whether the first term of an expression has a sign, in parentheses or not: `-a + b`, `(-a) + b`."""
    while isinstance(tree, ast.BinOp):
        tree = tree.left
    return isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub)


def expected_dump(source: str, template: str, operand: str) -> str:
    tree = ast.parse(source.replace("$x", "__mv_x"))
    value = _Substitute(tree_of(operand)).visit(tree_of(template.replace("$x", "__mv_x")))
    return ast.dump(_Substitute(value).visit(tree))


@settings(max_examples=120)
@given(CONTEXTS, TEMPLATES, OPERANDS)
def test_a_rewrite_means_the_substituted_tree(context: str, template: str, operand: str) -> None:
    head = "import torch\n"
    first = "torch.log(" + operand + ")"
    holes = context.count("{}")
    source = head + context.format(*([first] + ["other"] * (holes - 1)))
    start = source.index(first)
    decoded = SourceText.of_text(source)
    inner = start + len("torch.log(")
    span = decoded.span(start, start + len(first))
    binding = Binding(operand, decoded.span(inner, inner + len(operand)))
    found = propose(
        source.encode(),
        diagnostic(source, Proposal(template, Applicability.SAFE, span, {"x": binding}, "m")),
    )
    signs = begins_with_a_sign(tree_of(operand)) or "-{}" in context or "-({})" in context
    signs = signs or operand.lstrip("(")[:1].isdigit()
    if template == "-$x" and signs:
        return  # written without the two signs, or with one at a number: another tree of the same value
    if found.fix is None and str(found.fix_withheld).endswith(
        ("number of Python's, and no tensor", "is complex")
    ):
        return  # what has no methods of a tensor keeps its text
    assert found.fix is not None, found.fix_withheld
    after = apply_edits(source.encode(), found.fix.edits).decode()
    marked = head + context.format(*(["HERE"] + ["other"] * (holes - 1)))
    assert ast.dump(ast.parse(after)) == expected_dump(marked, template, operand)
    assert after.count("# why") == source.count("# why")
    # Outside the finding all is as it was, but for line breaks and their commas, and parentheses now needless or needed.
    assert _packed(after).startswith(_packed(source[: start - 1]))
    assert _packed(after).endswith(_packed(source[start + len(first) + 1 :]))


def _packed(text: str) -> str:
    return "".join(text.split()).translate(str.maketrans("", "", "()")).rstrip(",")


@settings(max_examples=60)
@given(OPERANDS)
def test_a_rewrite_of_nothing_changes_nothing_but_needless_parentheses(operand: str) -> None:
    source = f"import torch\ny = torch.log({operand})\n"
    start = source.index("torch.log(")
    decoded = SourceText.of_text(source)
    span = decoded.span(start, len(source) - 1)
    inner = decoded.span(start + 10, len(source) - 2)
    made = Proposal("torch.log($x)", Applicability.SAFE, span, {"x": Binding(operand, inner)}, "m")
    found = propose(source.encode(), diagnostic(source, made))
    assert found.fix is not None
    after = apply_edits(source.encode(), found.fix.edits).decode()
    assert ast.dump(ast.parse(after)) == ast.dump(ast.parse(source))
