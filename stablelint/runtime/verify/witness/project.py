"""What the other files of a project tell: how its classes are called, and the settings of its command lines."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Mapping

from stablelint.runtime.verify.replay.expression import is_literal


class Project:
    """The texts of a project's files, by path."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self._sources = sources
        self.settings = settings(sources)
        self.lines = {path: text.splitlines() for path, text in sources.items()}
        self._calls: dict[str, list[str]] = {}

    def call_texts(self, name: str) -> list[str]:
        """The arguments of calls of `name`, as in `call_texts`."""
        if name not in self._calls:
            self._calls[name] = call_texts(self._sources, name)
        return self._calls[name]


def call_texts(sources: Mapping[str, str], name: str, most: int = 4) -> list[str]:
    """The arguments of calls of `name` in texts of files, where all of them are literals; those of tests first."""
    found: dict[str, None] = {}
    for path in sorted(sources, key=lambda each: ("test" not in each, each)):
        if f"{name}(" not in sources[path]:
            continue
        try:
            tree = ast.parse(sources[path])
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and name in (
                getattr(node.func, "id", ""),
                getattr(node.func, "attr", ""),
            ):
                parts = [*node.args, *(keyword.value for keyword in node.keywords)]
                if all(map(is_literal, parts)) and all(keyword.arg for keyword in node.keywords):
                    found[ast.unparse(node).partition("(")[2][:-1]] = None
        if len(found) >= most:
            break
    return list(found)[:most]


def settings(sources: Mapping[str, str]) -> dict[str, str]:
    """The values, as text, that the options of the project's command lines have where nobody gives them.

    Those that its configurations write, too: fields of data classes, and attributes of what is no `self`.
    """
    found: dict[str, str] = {}
    for text in sources.values():
        with contextlib.suppress(SyntaxError, ValueError):
            for node in ast.walk(ast.parse(text)):
                found |= _settings_of(node)
    return found


def _settings_of(node: ast.AST) -> dict[str, str]:
    match node:
        case ast.Call(func=ast.Attribute(attr="add_argument"), args=[*names], keywords=words):
            texts = [name.value for name in names if isinstance(name, ast.Constant)]
            value = _setting({word.arg: word.value for word in words})
            return {str(text)[2:].replace("-", "_"): value for text in texts if str(text).startswith("--")}
        case ast.Assign(targets=[ast.Attribute(value=owner, attr=name)], value=given):
            own = ast.unparse(owner).startswith("self")
            return {name: ast.unparse(given)} if not own and is_literal(given) else {}
        case ast.ClassDef(body=body, decorator_list=[_, *_]):
            fields = [each for each in body if isinstance(each, ast.AnnAssign) and each.value is not None]
            return {
                each.target.id: ast.unparse(each.value)
                for each in fields
                if isinstance(each.target, ast.Name) and each.value is not None and is_literal(each.value)
            }
    return {}


def _setting(words: Mapping[str | None, ast.expr]) -> str:
    match words.get("action"), words.get("default"), words.get("choices"), words.get("type"):
        case ast.Constant(value="store_true" | "store_false" as action), _, _, _:
            return str(action == "store_false")
        case _, ast.expr() as default, _, _ if is_literal(default) and ast.unparse(default) != "None":
            return ast.unparse(default)
        case _, _, (
            ast.List(elts=[ast.Constant() as first, *_]) | ast.Tuple(elts=[ast.Constant() as first, *_])
        ), _:
            return ast.unparse(first)
        case _, _, _, ast.Name(id="float"):
            return "0.5"
        case _, _, _, ast.Name(id="int"):
            return "4"
    return "'a'"
