"""A class and its bases: which of them has a method, and which subclasses another one."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from stablelint.analysis.files.modules import ACCESSORS, ClassInfo, FunctionInfo
from stablelint.analysis.values.state import Frame, quiet_frame
from stablelint.analysis.values.value import Kind
from stablelint.syntax.names import dotted, last_name, names_layer

_DEPTH = 8
# Whose decorators keep methods.
_KEEPING = sys.stdlib_module_names | {"type", "typing_extensions", "attr", "attrs"}
_HOOKS = frozenset({"__new__", "__init_subclass__"})
_KNOWN_ROOTS = sys.stdlib_module_names | {"torch", "object", "dict", "list", "tuple", "Exception"}


def ancestors(info: ClassInfo, frame: Frame) -> tuple[ClassInfo, ...]:
    """The class and its bases whose source can be read, in the order in which Python asks them."""
    known = frame.session.lineage.get(id(info))
    if known is None:
        frame.session.lineage[id(info)] = (info,)  # what a class that inherits from itself sees
        found = {
            id(one): one for one in reversed([*_ancestors(info, frame, 0)])
        }  # each behind all that inherit from it
        known = frame.session.lineage[id(info)] = (
            info,
            *(one for one in reversed(found.values()) if one is not info),
        )
    return known


def _ancestors(info: ClassInfo, frame: Frame, depth: int) -> Iterator[ClassInfo]:
    yield info
    if depth > _DEPTH:
        return
    for base in info.node.bases:
        found = _base(base, info, frame)
        if found is not None and found is not info:
            yield from _ancestors(found, frame, depth + 1)


def _base(node: ast.expr, info: ClassInfo, frame: Frame) -> ClassInfo | None:
    if not isinstance(node, ast.Name | ast.Attribute):
        return None
    value = frame.session.interpreter.evaluate(node, quiet_frame(info.module, frame))
    return value.data if value.kind is Kind.CLASS else None


def accessors(info: ClassInfo, frame: Frame) -> list[FunctionInfo]:
    """The methods of a class through which any attribute of its objects is set and read."""
    return [one.methods[name] for one in ancestors(info, frame) for name in ACCESSORS if name in one.methods]


def find_method(info: ClassInfo, name: str, frame: Frame) -> FunctionInfo | None:
    """The method of that name, the class's own or inherited."""
    for ancestor in ancestors(info, frame):
        found = ancestor.methods.get(name)
        if found is not None:
            return found
    return None


def is_patched(info: ClassInfo, name: str, frame: Frame) -> bool:
    """Whether a file that defines a class, or a base up to the one that has a method, sets that anew."""
    for ancestor in ancestors(info, frame):
        if not ancestor.patched.isdisjoint((name, "")):
            return True
        if name in ancestor.methods:
            break
    return False


def overriding(info: ClassInfo, name: str, frame: Frame) -> list[ClassInfo]:
    """The subclasses in the same file for which a name stands for something else, their own or inherited."""
    own = definition(info, name, frame)
    below = (c for c in info.subclasses if info in ancestors(c, frame))
    return [c for c in below if definition(c, name, frame) is not own]


def definition(info: ClassInfo, name: str, frame: Frame) -> FunctionInfo | ast.expr | None:
    """The method of that name, or what a class body assigns to it, whichever is nearest."""
    for ancestor in ancestors(info, frame):
        found = ancestor.methods.get(name) or ancestor.fields.get(name)
        if found is not None:
            return found
    return None


def is_module(info: ClassInfo) -> bool:
    """Whether a class has a `forward`, as modules do, or a base that can have one."""
    return "forward" in info.methods or bool(info.node.bases)


def is_dataclass(info: ClassInfo) -> bool:
    """Whether the class body's annotated fields become `__init__` parameters."""
    decorators = [d.func if isinstance(d, ast.Call) else d for d in info.node.decorator_list]
    return is_tuple(info) or any(last_name(decorator) == "dataclass" for decorator in decorators)


def is_remade(info: ClassInfo, frame: Frame) -> bool:
    """Whether a decorator, a metaclass or a base may change a class, or `__new__` makes objects of another one."""
    decorators = (d.func if isinstance(d, ast.Call) else d for d in info.node.decorator_list)
    if "__new__" in info.methods or any(_is_foreign(decorator, info) for decorator in decorators):
        return True
    above = ancestors(info, frame) if info.node.bases or info.node.keywords else ()
    kinds = ((k.value, one) for one in above for k in one.node.keywords if k.arg == "metaclass")
    hooks = (one.methods.keys() & _HOOKS for one in above[1:])
    return any(_is_foreign(kind, one) for kind, one in kinds) or any(hooks)


def _is_foreign(maker: ast.expr, info: ClassInfo) -> bool:
    """Whether a decorator or metaclass is of a package of which it is not known that its classes keep their methods."""
    return _qualified(maker, info).partition(".")[0] not in _KEEPING


def is_tuple(info: ClassInfo) -> bool:
    """Whether an instance is a tuple of the fields, too."""
    return any(_qualified(base, info) == "typing.NamedTuple" for base in info.node.bases)


def definitions(info: ClassInfo, name: str, frame: Frame) -> Iterator[FunctionInfo]:
    """The method of that name, those that it overrides and may call, and those of the file that override it."""
    below = (c for c in info.subclasses if info in ancestors(c, frame))
    return (c.methods[name] for c in (*ancestors(info, frame), *below) if name in c.methods)


def inherits_from(info: ClassInfo, package: str, frame: Frame) -> bool:
    """Whether a class has a base that is, by its name, one of a package that is not read."""
    return any(
        _qualified(base, above).startswith(package)
        for above in ancestors(info, frame)
        for base in above.node.bases
    )


def keeps_of_layer(info: ClassInfo, attr: str, frame: Frame) -> bool:
    """Whether a class inherits from a layer of torch, and no method in sight sets this attribute anew."""
    known = list(ancestors(info, frame))
    bases = (_qualified(base, above) for above in known for base in above.node.bases)
    return any(map(names_layer, bases)) and not any(attr in above.reassigned for above in known)


def has_unseen_base(info: ClassInfo, frame: Frame) -> bool:
    """Whether a class has a base that is not read, other than those of Python and of torch."""
    return any(
        _base(base, above, frame) is None and _qualified(base, above).partition(".")[0] not in _KNOWN_ROOTS
        for above in ancestors(info, frame)
        for base in above.node.bases
    )


def _qualified(base: ast.expr, info: ClassInfo) -> str:
    first, _, rest = dotted(base).partition(".")
    return ".".join(filter(None, (info.module.imports.get(first, first), rest)))
