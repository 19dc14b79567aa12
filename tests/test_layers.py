"""A layer imports only what stands to its left; torch is imported by the runtime alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "stablelint"
ORDER = ["numerics", "syntax", "catalog", "analysis", "codemod", "runtime", "workspace", "report", "cli"]
SIBLINGS = {frozenset(("codemod", "runtime"))}
INNER = {
    "analysis": ["files", "values", "interpret", "matching", "levels"]
}  # what stands beside them imports any
LEAVES = {"diagnostic", "config", "__init__"}
BESIDE = {"matchers": "analysis"}  # packages that stand at the level of another


def imports(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            module = node.module or ""
            yield node.lineno, module
            if module == "stablelint":
                yield from ((node.lineno, f"stablelint.{alias.name}") for alias in node.names)


def loaded(path: Path) -> Iterator[tuple[int, str]]:
    """What a file imports when it is itself imported: not within a function, not for types alone."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            yield node.lineno, node.module or ""
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def rank(layer: str) -> int:
    layer = BESIDE.get(layer, layer)
    return -1 if layer in LEAVES or layer.startswith("__") else ORDER.index(layer)


MODULES = sorted(PACKAGE.rglob("*.py"))


def test_every_package_has_its_place() -> None:
    packages = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert packages <= {*ORDER, *BESIDE}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_to_the_left(path: Path) -> None:
    layer = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if layer == "__main__":
        return
    for line, module in imports(path):
        parts = module.split(".")
        if parts[0] == "torch":
            assert layer == "runtime", f"{path}:{line}: torch outside the runtime"
        if parts[0] != "stablelint" or len(parts) == 1 or parts[1].startswith("__"):
            continue
        place = f"{path}:{line}: {layer} imports {parts[1]}"
        assert rank(parts[1]) <= rank(layer), place
        assert frozenset((layer, parts[1])) not in SIBLINGS, place


@pytest.mark.parametrize("layer", INNER)
def test_within_a_layer_imports_point_to_the_left_too(layer: str) -> None:
    order = INNER[layer]
    assert set(order) == {
        path.name for path in (PACKAGE / layer).iterdir() if (path / "__init__.py").exists()
    }
    for part in order:
        for path in (PACKAGE / layer / part).rglob("*.py"):
            for line, module in loaded(path):
                parts = module.split(".")
                if parts[:2] == ["stablelint", layer] and len(parts) > 2 and parts[2] in order:
                    assert order.index(parts[2]) <= order.index(part), (
                        f"{path}:{line}: {part} imports {module}"
                    )
