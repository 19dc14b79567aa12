import os
import sys
from pathlib import Path

import pytest

from stablelint.config import Settings
from stablelint.workspace.files.discover import discover


def tree(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")


def found(root: Path, *paths: str, **settings: object) -> list[str]:
    discovery = discover([str(root / path) for path in paths or (".",)], Settings(root=root, **settings))  # type: ignore[arg-type]
    return [os.path.relpath(file.path, root) for file in discovery.files]


def test_walks_folders_for_python_files_in_order(tmp_path: Path) -> None:
    tree(tmp_path, "b.py", "a/z.py", "a/b/c.py", "notes.txt", "a/stub.pyi")
    assert found(tmp_path) == ["a/b/c.py", "a/z.py", "b.py"]


def test_leaves_out_what_nobody_wrote(tmp_path: Path) -> None:
    tree(tmp_path, "a.py", ".venv/x.py", "build/y.py", "pkg/node_modules/z.py", "lib/site-packages/t.py")
    assert found(tmp_path) == ["a.py"]


def test_a_named_file_is_taken_whatever_its_suffix_and_the_excludes(tmp_path: Path) -> None:
    tree(tmp_path, "build/y.py", "script")
    assert found(tmp_path, "build/y.py", "script") == ["build/y.py", "script"]


def test_force_exclude_holds_for_named_files(tmp_path: Path) -> None:
    tree(tmp_path, "build/y.py", "x.py")
    assert found(tmp_path, "build/y.py", "x.py", force_exclude=True) == ["x.py"]


def test_own_excludes_replace_or_extend_the_defaults(tmp_path: Path) -> None:
    tree(tmp_path, "build/y.py", "gen/a_pb2.py", "src/gen/b.py", "src/c.py")
    assert found(tmp_path, exclude=("gen",)) == ["build/y.py", "src/c.py"]
    assert found(tmp_path, extend_exclude=("*_pb2.py", "src/gen")) == ["src/c.py"]
    assert found(tmp_path, extend_exclude=("src/*.py",)) == ["gen/a_pb2.py"]


def test_a_file_given_twice_is_found_once(tmp_path: Path) -> None:
    tree(tmp_path, "a/b.py")
    assert found(tmp_path, "a", "a/b.py", ".") == ["a/b.py"]


def test_gitignore_holds_at_every_level_and_the_deepest_decides(tmp_path: Path) -> None:
    tree(tmp_path, "a.py", "old/b.py", "sub/c.py", "sub/d.py", "sub/deep/c.py", "out/e.py")
    (tmp_path / ".gitignore").write_text("# comment\n/old/\nc.py\nout\n")
    (tmp_path / "sub" / ".gitignore").write_text("!c.py\n/d.py\n")
    assert found(tmp_path) == ["a.py", "sub/c.py", "sub/deep/c.py"]
    assert len(found(tmp_path, respect_gitignore=False)) == 6


def test_gitignore_above_the_given_path_holds_up_to_the_repository(tmp_path: Path) -> None:
    tree(tmp_path, "repository/pkg/a.py", "repository/pkg/b.py")
    (tmp_path / ".gitignore").write_text("a.py\n")
    (tmp_path / "repository" / ".gitignore").write_text("b.py\n")
    (tmp_path / "repository" / ".git").mkdir()
    assert found(tmp_path / "repository", "pkg") == ["pkg/a.py"]


def test_an_ignored_folder_that_is_named_is_walked(tmp_path: Path) -> None:
    tree(tmp_path, "out/pkg/a.py", "out/b.py")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("out/\n")
    assert found(tmp_path, "out/pkg") == ["out/pkg/a.py"]
    assert discover([str(tmp_path)], Settings(root=tmp_path)).files == ()


def test_a_malformed_line_of_a_gitignore_is_skipped(tmp_path: Path) -> None:
    tree(tmp_path, "a.py", "b.py")
    (tmp_path / ".gitignore").write_text("!\nb.py\n")
    assert found(tmp_path) == ["a.py"]


def test_pathspec_is_imported_only_where_there_is_a_gitignore(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree(tmp_path, "a.py")
    monkeypatch.setitem(sys.modules, "pathspec", None)
    assert found(tmp_path) == ["a.py"]


def test_a_path_that_is_given_twice_is_one(tmp_path: Path) -> None:
    gone = str(tmp_path / "gone")
    assert len(discover([gone, gone], Settings(root=tmp_path)).problems) == 1


def test_missing_paths_and_folders_without_python_are_problems(tmp_path: Path) -> None:
    tree(tmp_path, "empty/notes.txt", "a.py")
    discovery = discover(
        [str(tmp_path / "gone"), str(tmp_path / "empty"), "", os.devnull, str(tmp_path / "a.py")],
        Settings(root=tmp_path),
    )
    assert [problem.message for problem in discovery.problems] == [
        "no such file or folder",
        "no Python files in this folder",
        "no such file or folder",
        "not a file; code from a pipe is read where the path is `-`",
    ]
    assert len(discovery.files) == 1


def test_a_file_with_two_names_is_checked_once(tmp_path: Path) -> None:
    tree(tmp_path, "b.py", "other/c.py")
    (tmp_path / "a.py").symlink_to("b.py")
    outside = tmp_path / "other" / "c.py"
    inside = tmp_path / "package"
    inside.mkdir()
    (inside / "d.py").symlink_to(outside)
    (inside / "e.py").symlink_to(outside)
    assert found(tmp_path) == ["b.py", "other/c.py"]
    assert found(tmp_path, "package", "package") == ["package/d.py"]


def test_links_do_not_lead_round_in_circles(tmp_path: Path) -> None:
    tree(tmp_path, "a/b.py")
    (tmp_path / "a" / "again").symlink_to(tmp_path)
    (tmp_path / "a" / "dangling.py").symlink_to(tmp_path / "gone.py")
    assert found(tmp_path) == ["a/b.py"]


def test_notebooks_are_found_but_for_copies_that_jupyter_keeps(tmp_path: Path) -> None:
    tree(tmp_path, "study.ipynb", "a.py", ".ipynb_checkpoints/study-checkpoint.ipynb")
    assert found(tmp_path) == ["a.py", "study.ipynb"]


def test_a_folder_whose_name_begins_another_has_its_own_answer(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src_more").mkdir()
    (tmp_path / "src_more" / "a.py").write_text("")
    found = discover([str(tmp_path / "src_more"), str(tmp_path / "src")], Settings(root=tmp_path))
    assert [problem.message for problem in found.problems] == ["no Python files in this folder"]
