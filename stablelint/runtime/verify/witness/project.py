"""What the files of a project tell of its functions: how they are called there, and the settings it has."""

from __future__ import annotations

import ast
import contextlib
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import islice, takewhile
from pathlib import Path

from stablelint.runtime.verify.replay.expression import substituted
from stablelint.syntax.names import is_literal

_CALLS = 4  # of one name, at most
_ROOTS = (".git", "pyproject.toml", "setup.py", "setup.cfg")
_FOREIGN = ("site-packages", "node_modules")
_OTHERS = 400  # files of the project that are read for calls of a constructor
_FOLLOWED = 3  # names behind names that are spelled out
_BLOCK = re.compile(r"^```(?:python|py)\s*\n(.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Example:
    """The texts of a call's arguments, the local names in them spelled out."""

    positional: tuple[str, ...]
    named: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        """As it stands between parentheses."""
        return ", ".join((*self.positional, *(f"{name}={value}" for name, value in self.named)))


class Project:
    """The texts of a project's files, by path; those of a page are what stands in its blocks of code."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self.sources = sources
        # Pages first, then tests, then the others.
        paths = sorted(sources, key=lambda path: (path.endswith(".py"), "test" not in path, path))
        parsed = ((path, _parsed(path, sources[path])) for path in paths)
        self.trees = {path: tree for path, tree in parsed if tree is not None}
        self.settings = _settings(self.trees.values())
        self.lines = {path: text.splitlines() for path, text in sources.items()}
        self._examples: dict[str, list[Example]] = {}

    def examples(self, name: str) -> list[Example]:
        """How the project calls a function or class, or, for `Class.method`, that method of an object it makes."""
        if name not in self._examples:
            needed = f"{name.partition('.')[0]}("
            trees = (tree for path, tree in self.trees.items() if needed in self.sources[path])
            found = dict.fromkeys(example for tree in trees for example in _examples(tree, name))
            self._examples[name] = list(found)[:_CALLS]
        return self._examples[name]


def root_of(files: Iterable[str]) -> str:
    """The resolved folder of the project that files are of, as far as its packages and its version control tell.

    What keeps a whole home, or all temporary files, under version control is no project.
    """
    root = _common(files)
    while (root / "__init__.py").exists():
        root = root.parent
    wide = {Path.home().resolve(), Path(tempfile.gettempdir()).resolve()}
    inside = (root, *takewhile(lambda each: each not in wide, root.parents))
    found = (each for each in inside if any((each / name).exists() for name in _ROOTS))
    return os.path.realpath(next(found, root))


def read_project(files: Iterable[str], root: str) -> Project:
    """The files, and those below `root` in which calls and settings may stand: those that are near first."""
    near = islice(dict.fromkeys([*_texts(str(_common(files))), *_texts(root)]), _OTHERS)
    sources = {}
    for name in dict.fromkeys([*files, *near]):
        with contextlib.suppress(OSError):  # a link may lead nowhere
            sources[name] = Path(name).read_text(encoding="utf-8-sig", errors="replace")
    return Project(sources)


def _common(files: Iterable[str]) -> Path:
    common = Path(os.path.commonpath(list(files)))
    return common if common.is_dir() else common.parent


def _texts(top: str) -> Iterator[str]:
    """Code and pages, the first of a folder, without those of environments."""
    for folder, inner, names in islice(os.walk(top), _OTHERS):
        foreign = "pyvenv.cfg" in names
        inner[:] = sorted(name for name in inner if name[0] != "." and name not in _FOREIGN and not foreign)
        if not foreign:
            yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith((".py", ".md")))


def _settings(trees: Iterable[ast.Module]) -> dict[str, str]:
    """The values, as text, that the options of the project's command lines have where nobody gives them.

    Those that its configurations write, too: fields of data classes, and attributes of what is no `self`.
    """
    found: dict[str, str] = {}
    for node in (node for tree in trees for node in ast.walk(tree)):
        found |= _settings_of(node)
    return found


def _parsed(path: str, text: str) -> ast.Module | None:
    if path.endswith(".py"):
        with contextlib.suppress(SyntaxError, ValueError):
            return ast.parse(text)
        return None
    found = ast.Module([], [])
    for number, block in enumerate(_BLOCK.findall(text)):
        with contextlib.suppress(SyntaxError, ValueError):
            holder = ast.FunctionDef(f"block_{number}", ast.arguments([], [], None, [], [], None, []), [], [])
            holder.body = ast.parse(block).body
            found.body.append(ast.copy_location(holder, ast.Pass(lineno=1, col_offset=0)))
    return found


def _examples(tree: ast.Module, name: str) -> Iterator[Example]:
    """The calls of `name` in a text, scope by scope."""
    owner, _, method = name.partition(".")
    scopes = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for scope in (*scopes, tree):
        own = list(_own(scope))
        values = _bound_once(own)
        for node in own:
            if isinstance(node, ast.Call) and _is_call_of(node.func, owner, method, values):
                starred = any(isinstance(part, ast.Starred) for part in node.args)
                if not starred and all(word.arg for word in node.keywords):
                    yield Example(
                        tuple(_spelled(part, values) for part in node.args),
                        tuple((str(word.arg), _spelled(word.value, values)) for word in node.keywords),
                    )


def _own(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope, in their order, without those of functions in it."""
    for node in ast.iter_child_nodes(scope):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield node
            yield from _own(node)


def _bound_once(nodes: Sequence[ast.AST]) -> dict[str, ast.expr]:
    stored = [node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)]
    values = {
        node.targets[0].id: node.value
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    return {name: value for name, value in values.items() if stored.count(name) == 1}


def _spelled(node: ast.expr, values: Mapping[str, ast.expr]) -> str:
    """The text of an expression with names replaced by what they stand for."""
    for _ in range(_FOLLOWED):
        node = substituted(deepcopy(node), values)
    return ast.unparse(node)


def _is_call_of(called: ast.expr, owner: str, method: str, values: Mapping[str, ast.expr]) -> bool:
    if not method:
        return owner in (getattr(called, "id", ""), getattr(called, "attr", ""))
    held = called
    if method not in ("forward", "__call__"):
        if not isinstance(called, ast.Attribute) or called.attr != method:
            return False
        held = called.value
    made = values.get(held.id) if isinstance(held, ast.Name) else held
    while isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute):
        if made.func.attr not in ("to", "cuda", "eval", "train", "double", "half"):
            break
        made = made.func.value
    return isinstance(made, ast.Call) and _is_call_of(made.func, owner, "", values)


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
