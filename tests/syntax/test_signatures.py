import ast

from stablelint.syntax.signatures import defaults_of, parameters, placed


def test_parameters_and_their_defaults_in_every_place() -> None:
    (function,) = ast.parse("def f(a, b=1, /, c=2, *rest, d, e=3, **more): ...").body
    assert isinstance(function, ast.FunctionDef)
    assert [one.arg for one in placed(function.args)] == ["a", "b", "c"]
    assert [one.arg for one in parameters(function.args)] == ["a", "b", "c", "d", "e"]
    defaults = {one.arg: ast.unparse(default) for one, default in defaults_of(function)}
    assert defaults == {"b": "1", "c": "2", "e": "3"}
