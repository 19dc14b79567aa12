"""Which quotients are no numbers: `root / name` joins paths."""

from __future__ import annotations

import ast

from stablelint.syntax.names import dotted
from stablelint.syntax.remembered import remembered
from stablelint.syntax.walk import nodes_below

# What a path has and neither a tensor, an array, a text nor a container has; the same in every version of Python.
_OF_PATHS = frozenset(
    "exists is_file is_dir is_symlink mkdir rmdir unlink touch iterdir glob rglob parents stem suffix suffixes "
    "with_suffix with_name with_stem read_text write_text read_bytes write_bytes as_posix relative_to joinpath "
    "expanduser".split()
)
_TAKE_PATHS = frozenset("open Path torch.load".split())
_MODULES_OF_FILES = frozenset(("os", "shutil"))
_TEXTS = frozenset(("str", "os.fspath"))


@remembered
def joined_paths(root: ast.AST) -> frozenset[int]:
    """Identities of the quotients below a function or module that its use of them, or of what they join, shows.

    A path is asked for what tensors have not (`(root / name).exists()`), or handed to what opens files.
    """
    quotients = [node for node in nodes_below(root, ast.BinOp) if isinstance(node.op, ast.Div)]
    if not quotients:
        return frozenset()
    used = [node.value for node in nodes_below(root, ast.Attribute) if node.attr in _OF_PATHS]
    used += [
        _behind_text(one) for call in nodes_below(root, ast.Call) if _takes_path(call) for one in call.args
    ]
    names = {dotted(one) for one in used}
    used += [value for name, value in _assigned_once(root).items() if name in names]
    found = {id(one) for one in used}
    for one in quotients:  # each before those that it holds
        if id(one) in found:
            found.add(id(one.left))
            names.add(dotted(one.left))
    names.discard("")
    for one in reversed(quotients):
        if id(one.left) in found or dotted(one.left) in names:
            found.add(id(one))
    return frozenset(found)


def _takes_path(call: ast.Call) -> bool:
    name = dotted(call.func)
    return name in _TAKE_PATHS or name.partition(".")[0] in _MODULES_OF_FILES


def _behind_text(node: ast.expr) -> ast.expr:
    """What `str(path)` makes a text of."""
    return node.args[0] if isinstance(node, ast.Call) and node.args and dotted(node.func) in _TEXTS else node


def _assigned_once(root: ast.AST) -> dict[str, ast.expr]:
    """By name, what it is assigned, where that is one thing."""
    values: dict[str, list[ast.expr]] = {}
    for node in nodes_below(root, ast.Assign):
        for target in node.targets:
            values.setdefault(dotted(target), []).append(node.value)
    return {name: held[0] for name, held in values.items() if len(held) == 1}
