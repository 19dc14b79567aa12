"""What imports a file comes before it; size decides among equals, and a circle of imports is no obstacle."""

from pathlib import Path

import pytest

from stablelint.workspace.files.discover import Candidate
from stablelint.workspace.files.order import importers_first

PROJECT = {
    "pkg/__init__.py": "from .core import *\n",
    "pkg/core.py": "from . import __version__\nX = 1\n",
    "pkg/sub/model.py": "from ..core import X\n",
    "scripts/train.py": "import torch\nfrom pkg import X\n",
    "scripts/big.py": "from pkg.sub.model import f\n" + "#\n" * 40,
}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Candidate]:
    for name, text in PROJECT.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return {name: Candidate(str(tmp_path / name), 0, len(text)) for name, text in PROJECT.items()}


def ordered(files: dict[str, Candidate], *left_out: str) -> list[str]:
    names = {file.path: name for name, file in files.items()}
    wanted = [file for name, file in files.items() if name not in left_out]
    return [names[file.path] for file in importers_first(wanted, files.values())]


def test_a_file_comes_behind_those_that_import_it(files: dict[str, Candidate]) -> None:
    row = ordered(files)
    assert row[0] == "scripts/big.py"
    assert row.index("scripts/big.py") < row.index("pkg/sub/model.py") < row.index("pkg/core.py")
    assert row.index("scripts/train.py") < row.index("pkg/__init__.py") < row.index("pkg/core.py")


def test_a_package_that_is_not_examined_leads_on_to_what_it_imports(files: dict[str, Candidate]) -> None:
    row = ordered(files, "pkg/__init__.py", "pkg/sub/model.py")
    assert row == ["scripts/big.py", "scripts/train.py", "pkg/core.py"]


def test_files_that_import_each_other_are_all_there(files: dict[str, Candidate], tmp_path: Path) -> None:
    (tmp_path / "pkg/core.py").write_text("import scripts.train\n")
    assert sorted(ordered(files)) == sorted(PROJECT)
