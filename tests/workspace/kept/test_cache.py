"""What is kept of a file that rests on another one."""

import os
from pathlib import Path

import pytest

from stablelint.analysis.files.project import interface_of
from stablelint.syntax.content import digest
from stablelint.workspace.files.discover import Candidate
from stablelint.workspace.kept.cache import Cache, context_digest

HELPER = "import torch\n\ndef f(x):\n    return x + 1\n\ndef g(x):\n    print(x)\n"


def kept(folder: Path, *names: str) -> tuple[Candidate, Path]:
    """A file in the cache whose entry rests on another file, by its content or by what it shows under some names."""
    path, helper = folder / "a.py", folder / "helper.py"
    path.write_text("import helper\n")
    helper.write_text(HELPER)
    interface = interface_of(str(helper))
    assert interface is not None
    shown = [interface.digest_of(names), *names] if names else []
    file = Candidate(str(path), path.stat().st_mtime_ns, path.stat().st_size)
    cache = Cache(str(folder / "cache"), "context" * 4, str(folder))
    entry = {"lines": 1, "consulted": {str(helper): " ".join([digest(HELPER.encode()), *shown])}}
    cache.put(file, digest(path.read_bytes()), entry)
    cache.save()
    return file, helper


def is_known(folder: Path, file: Candidate) -> bool:
    cache = Cache(str(folder / "cache"), "context" * 4, str(folder))
    known = cache.get(file) is not None
    cache.save()
    return known


@pytest.mark.parametrize(
    "edited", [HELPER.replace("print(x)", "print(x, x)"), f"# more\n{HELPER}", f"{HELPER}H = 1\n"]
)
def test_an_edit_that_it_cannot_see_leaves_it(edited: str, tmp_path: Path) -> None:
    file, helper = kept(tmp_path, "f", "g")
    helper.write_text(edited)
    assert is_known(tmp_path, file)
    helper.write_text(edited + "\n")  # once it was told anew
    assert is_known(tmp_path, file)


def test_what_a_file_shows_after_an_edit_is_looked_up_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, helper = kept(tmp_path, "f", "g")
    helper.write_text(f"# more\n{HELPER}")
    assert is_known(tmp_path, file)
    monkeypatch.setattr("stablelint.analysis.files.project.interface_of", None)
    assert is_known(tmp_path, file)


@pytest.mark.parametrize(
    ("names", "known"), [((), False), (("f",), False), (("f", "g"), False), (("g",), True)]
)
def test_an_edit_of_what_it_looked_up_does_not(names: tuple[str, ...], known: bool, tmp_path: Path) -> None:
    file, helper = kept(tmp_path, *names)
    helper.write_text(HELPER.replace("x + 1", "x + 2"))
    assert is_known(tmp_path, file) is known
    assert Cache(str(tmp_path / "cache"), "context" * 4, str(tmp_path)).last(file.path) is not None


def test_by_its_content_alone_any_edit_counts(tmp_path: Path) -> None:
    file, helper = kept(tmp_path)
    helper.write_text(HELPER + "\n")
    assert not is_known(tmp_path, file)


@pytest.mark.parametrize(
    ("added", "known"), [("lib.py", False), ("lib", False), ("lib.txt", True), ("c.py", True)]
)
def test_what_comes_into_a_folder_counts_where_it_was_missed(added: str, known: bool, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("import lib\n")
    file = Candidate(str(path), path.stat().st_mtime_ns, path.stat().st_size)
    cache = Cache(str(tmp_path / "cache"), "context" * 4, str(tmp_path))
    cache.put(
        file,
        digest(path.read_bytes()),
        {"lines": 1, "consulted": {f"{tmp_path}{os.sep}": os.sep.join(["lib", "src"])}},
    )
    cache.save()
    assert is_known(tmp_path, file)
    (tmp_path / added).touch() if "." in added else (tmp_path / added).mkdir()
    assert is_known(tmp_path, file) is known


@pytest.mark.parametrize("name", ["code.py", "weights.json"])
def test_results_hold_for_the_program_that_found_them(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "package").mkdir()
    monkeypatch.setattr("stablelint.__file__", str(tmp_path / "__init__.py"))
    (tmp_path / "package" / name).write_text("1")
    before = context_digest()
    assert context_digest() == before
    (tmp_path / "package" / name).write_text("12")
    assert context_digest() != before
