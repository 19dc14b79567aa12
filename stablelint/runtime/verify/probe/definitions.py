"""A module's text for what it defines: nothing that its statements raise keeps it from being loaded."""

from __future__ import annotations

import ast

from stablelint.syntax.names import names_in


def only_definitions(tree: ast.Module, whole: bool = False) -> None:
    """Leave imports, definitions and constants in a tree, in place; one that raises is as if it were not there.

    `whole` leaves its other statements, too. Of what is behind `__name__ == "__main__"` only names stay whose values
    do not come from the file's own code: its functions may read them.
    """
    tree.body = _definitions(tree.body, whole)
    ast.fix_missing_locations(tree)


def _definitions(body: list[ast.stmt], whole: bool) -> list[ast.stmt]:
    kept: list[ast.stmt] = []
    for node in body:
        match node:
            case ast.ImportFrom(module="__future__") | ast.Expr(value=ast.Constant()):
                kept.append(node)
            case ast.Import() | ast.ImportFrom() | ast.Assign() | ast.AnnAssign():
                kept.append(_suppressed(node))
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                kept.append(_suppressed(node))
            case ast.If() if "__name__" in ast.unparse(node.test):
                named = [each for each in node.body if isinstance(each, ast.Assign | ast.Expr)]
                kept += _definitions([each for each in named if not _calls_own(each, body)], False)
            case ast.If():
                node.body = _definitions(node.body, whole) or [_nothing(node)]
                node.orelse = _definitions(node.orelse, whole)
                kept.append(_suppressed(node))  # its test may ask for what was left out
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="add_argument" | "set_defaults"))):
                kept.append(_suppressed(node))  # the options of a command line are constants, too
            case ast.Try():
                node.body = [_bare(part) for part in _definitions(node.body, whole)] or [_nothing(node)]
                node.orelse, node.finalbody = _definitions(node.orelse, whole), []
                for handler in node.handlers:
                    handler.body = _definitions(handler.body, whole) or [_nothing(node)]
                kept.append(node)
            case _ if whole and not isinstance(node, ast.If):
                kept.append(_suppressed(node))
    return kept


def _calls_own(node: ast.stmt, body: list[ast.stmt]) -> bool:
    """Whether a statement calls a function or a class that the module defines."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    own = {each.name for each in body if isinstance(each, kinds)}
    return not names_in(node).isdisjoint(own)


def _nothing(place: ast.stmt) -> ast.stmt:
    return ast.copy_location(ast.Pass(), place)


def _suppressed(node: ast.stmt) -> ast.Try:
    """The statement, whatever it raises."""
    names: list[ast.expr] = [ast.Name(name, ast.Load()) for name in ("Exception", "SystemExit")]
    caught = ast.ExceptHandler(ast.Tuple(names, ast.Load()), None, [_nothing(node)])
    return ast.copy_location(ast.Try([node], [caught], [], []), node)


def _bare(node: ast.stmt) -> ast.stmt:
    """The statement as it was: a `try` of the program's own decides what its errors mean."""
    return node.body[0] if isinstance(node, ast.Try) and len(node.body) == 1 else node
