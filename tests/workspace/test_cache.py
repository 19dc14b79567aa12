"""What is kept of a file that rests on another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablelint.analysis.files.project import interfaces_of
from stablelint.syntax.content import digest
from stablelint.workspace.cache import Cache
from stablelint.workspace.discover import Candidate

HELPER = "import torch\n\ndef f(x):\n    return x + 1\n\ndef g(x):\n    print(x)\n"


def kept(folder: Path, interface: int | None) -> tuple[Candidate, Path]:
    """A file in the cache whose entry rests on another file, by its content and perhaps by one of its interfaces."""
    path, helper = folder / "a.py", folder / "helper.py"
    path.write_text("import helper\n")
    helper.write_text(HELPER)
    shown = "" if interface is None else f" {interfaces_of(str(helper))[interface]}"
    file = Candidate(str(path), path.stat().st_mtime_ns, path.stat().st_size)
    cache = Cache(str(folder / "cache"), "context" * 4, str(folder))
    entry = {"lines": 1, "consulted": {str(helper): digest(HELPER.encode()) + shown}}
    cache.put(file, digest(path.read_bytes()), entry)
    cache.save()
    return file, helper


def is_known(folder: Path, file: Candidate) -> bool:
    cache = Cache(str(folder / "cache"), "context" * 4, str(folder))
    known = cache.get(file) is not None
    cache.save()
    return known


@pytest.mark.parametrize("interface", [0, 1])
def test_an_edit_that_no_other_file_can_see_leaves_it(interface: int, tmp_path: Path) -> None:
    file, helper = kept(tmp_path, interface)
    helper.write_text(HELPER.replace("print(x)", "print(x, x)"))
    assert is_known(tmp_path, file)
    helper.write_text(HELPER.replace("print(x)", "print(x, x, x)"))  # once it was told anew
    assert is_known(tmp_path, file)


@pytest.mark.parametrize("interface", [None, 0, 1])
def test_an_edit_that_other_files_can_see_does_not(interface: int | None, tmp_path: Path) -> None:
    file, helper = kept(tmp_path, interface)
    helper.write_text(HELPER.replace("x + 1", "x + 2"))
    assert not is_known(tmp_path, file)


def test_rows_matter_to_what_may_name_them(tmp_path: Path) -> None:
    file, helper = kept(tmp_path, 1)
    helper.write_text(f"# more\n{HELPER}")
    assert is_known(tmp_path, file)
    file, helper = kept(tmp_path, 0)
    helper.write_text(f"# more\n{HELPER}")
    assert not is_known(tmp_path, file)


def test_by_its_content_alone_any_edit_counts(tmp_path: Path) -> None:
    file, helper = kept(tmp_path, None)
    helper.write_text(HELPER + "\n")
    assert not is_known(tmp_path, file)
