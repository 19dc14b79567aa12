"""The options of a command line, by the attribute that each sets."""

import ast

import pytest

from stablelint.analysis.files.options import options_in, yields_options


def options(text: str) -> dict[str, str]:
    made = options_in(ast.parse(text))
    assigned = [node for node in made.body if isinstance(node, ast.Assign)] if made is not None else []
    return {ast.unparse(node.targets[0]): ast.unparse(node.value) for node in assigned}


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("p.add_argument('--eps', type=float, default=1e-6)", {"eps": "1e-06"}),
        ("p.add_argument('-e', '--log-eps', default=1)", {"log_eps": "1"}),
        ("p.add_argument('-e', default=1)", {"e": "1"}),
        ("p.add_argument('--eps', dest='tiny', default=1)", {"tiny": "1"}),
        ("p.add_argument('--eps', dest=name, default=1)", {}),
        ("p.add_argument(name, default=1)", {}),
        ("p.add_argument('eps', default=1)", {}),
        ("p.add_argument('--eps', type=float)", {}),
        ("p.add_argument('--eps', default=1, required=True)", {}),
        ("p.add_argument('--eps', type=float, default='1e-6')", {}),
        ("p.add_argument('--norm', action='store_true')", {"norm": "False"}),
        ("p.add_argument('--norm', action='store_false')", {"norm": "True"}),
        ("p.add_argument('--norm', action='count')", {}),
        ("p.add_argument('--eps', default=1)\nq.add_argument('--eps', default=1)", {"eps": "1"}),
        ("p.add_argument('--eps', default=1)\nq.add_argument('--eps', default=2)", {}),
        ("p.add_argument('--eps')\nq.add_argument('--eps', default=2)", {}),
        ("p.add_argument('--eps', default=1)\np.set_defaults(eps=0)", {}),
        ("p.add_argument('--eps', default=1)\nargs.eps = 0", {}),
    ],
)
def test_the_default_of_an_option(text: str, known: dict[str, str]) -> None:
    assert options(text) == known


@pytest.mark.parametrize(
    ("body", "does"),
    [
        ("return parser.parse_args()", True),
        ("args = parser.parse_args()\n    check(args)\n    return args", True),
        ("args = parser.parse_args()\n    return args, parser", False),
        ("args = load()\n    return args", False),
        ("parser.parse_args()", False),
    ],
)
def test_a_function_that_yields_them(body: str, does: bool) -> None:
    (function,) = ast.parse(f"def f():\n    {body}\n").body
    assert isinstance(function, ast.FunctionDef)
    assert yields_options(function) is does
