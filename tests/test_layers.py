"""A layer imports only what stands to its left; torch is imported by the runtime alone."""

import ast
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "stablelint"
ORDER = [
    "numerics",
    "syntax",
    "catalog",
    "analysis",
    "codemod",
    "runtime",
    "workspace",
    "report",
    "server",
    "cli",
]
SIBLINGS = {frozenset(("codemod", "runtime"))}
INNER = {  # what stands beside them imports any
    "analysis": ["files", "values", "interpret", "proof", "matching", "evidence"],
    "codemod": ["text", "flow", "templates", "layout", "proof", "guards"],
    "runtime": [
        "process",
        "program",
        "tensors",
        "tracing",
        "rules",
        "audit",
        "crash",
        "guard",
        "compare",
        "verify",
    ],
    "runtime/verify": ["replay", "operands", "probe", "witness", "runs", "output"],
    "runtime/guard": ["reporting", "tensors", "source", "watching", "replay", "explaining", "integrations"],
}
LEAVES = {"diagnostic", "config", "records", "__init__"}
PROMPT = [
    "analysis",
    "codemod",
    "numerics",
    "runtime/audit",
    "runtime/crash",
]  # that import what they need at once
PARTS = [*PROMPT, "runtime/verify"]  # without a circle
LATE = {"propose.py"}  # loads what does the work where there is work
BESIDE = {"matchers": "analysis"}  # packages that stand at the level of another


@cache
def imports(path: Path) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found += ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            module = node.module or ""
            found.append((node.lineno, module))
            found += ((node.lineno, f"{module}.{alias.name}") for alias in node.names)
    return found


def rank(layer: str) -> int:
    layer = BESIDE.get(layer, layer)
    return -1 if layer in LEAVES or layer.startswith("__") else ORDER.index(layer)


MODULES = sorted(PACKAGE.rglob("*.py"))


def test_every_package_has_its_place() -> None:
    packages = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert packages <= {*ORDER, *BESIDE}


def layer_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("layer", sorted({*map(layer_of, MODULES)} - {"__main__", "__init__"}))
def test_imports_point_to_the_left(layer: str) -> None:
    for path in (one for one in MODULES if layer_of(one) == layer):
        for line, module in imports(path):
            parts = module.split(".")
            if parts[0] == "torch":
                assert layer == "runtime", f"{path}:{line}: torch outside the runtime"
            if parts[0] != "stablelint" or len(parts) == 1 or parts[1].startswith("__"):
                continue
            place = f"{path}:{line}: {layer} imports {parts[1]}"
            assert rank(parts[1]) <= rank(layer), place
            assert frozenset((layer, parts[1])) not in SIBLINGS, place


def test_the_face_of_the_package_loads_nothing() -> None:
    statements = ast.parse((PACKAGE / "__init__.py").read_text("utf-8")).body
    loaded = {node.module for node in statements if isinstance(node, ast.ImportFrom)}
    assert loaded == {"__future__", "typing"}
    assert not any(isinstance(node, ast.Import) for node in statements)


@pytest.mark.parametrize("layer", INNER)
def test_within_a_layer_imports_point_to_the_left_too(layer: str) -> None:
    order = INNER[layer]
    assert set(order) == {
        path.name for path in (PACKAGE / layer).iterdir() if (path / "__init__.py").exists()
    }
    for part in order:
        for path in (PACKAGE / layer / part).rglob("*.py"):
            for line, module in imports(path):
                inner, _, rest = module.partition(f"stablelint.{layer.replace('/', '.')}.")
                named = rest.partition(".")[0]
                if not inner and named in order:
                    assert order.index(named) <= order.index(part), f"{path}:{line}: {part} imports {module}"


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def imported_files(path: Path, files: set[str]) -> set[str]:
    """Files of the package that a file names in its imports: in functions and for types alone, too."""
    named = {module for _, module in imports(path)} & files - {dotted(path)}
    return {one for one in named if not any(other.startswith(f"{one}.") for other in named)}


@pytest.mark.parametrize("part", PARTS)
def test_no_file_imports_itself_through_others(part: str) -> None:
    files = {dotted(path): path for path in MODULES}
    pending = {name: imported_files(path, set(files)) for name, path in files.items()}
    while leaves := [name for name, named in pending.items() if not named & pending.keys()]:
        for name in leaves:
            del pending[name]
    knots = {name: named & pending.keys() for name, named in pending.items()}
    of_part = "stablelint." + part.replace("/", ".")
    assert not [name for name in sorted(knots) if name.startswith(of_part)]


@pytest.mark.parametrize("part", PROMPT)
def test_no_import_within_the_package_is_deferred(part: str) -> None:
    for path in (one for one in (PACKAGE / part).rglob("*.py") if one.name not in LATE):
        for function in ast.walk(ast.parse(path.read_text("utf-8"))):
            late = ast.walk(function) if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) else ()
            for node in late:
                if isinstance(node, ast.ImportFrom):
                    assert not (node.module or "").startswith("stablelint"), f"{path}:{node.lineno}"
