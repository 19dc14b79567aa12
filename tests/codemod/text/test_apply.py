import os
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from stablelint.codemod.text import apply
from stablelint.codemod.text.apply import Change, FileChanged, WriteRefused, write, write_together

BEFORE = b"y = torch.log(x)\r\n"
AFTER = b"y = torch.log(x.clamp_min(1e-6))\r\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "model.py"
    file.write_bytes(BEFORE)
    return file


def whole(path: Path) -> bool:
    """The original is there, and nothing beside it."""
    return path.read_bytes() == BEFORE and [item.name for item in path.parent.iterdir()] == [path.name]


def test_a_file_is_replaced_and_keeps_its_mode(path: Path) -> None:
    path.chmod(0o750)
    write(path, BEFORE, AFTER)
    assert path.read_bytes() == AFTER
    assert stat.S_IMODE(path.stat().st_mode) == 0o750
    assert [item.name for item in path.parent.iterdir()] == ["model.py"]


def test_a_file_that_needs_no_change_is_not_touched(path: Path) -> None:
    inode = path.stat().st_ino
    write(path, BEFORE, BEFORE)
    assert path.stat().st_ino == inode


def test_a_symbolic_link_stays_one(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.py"
    link.symlink_to("model.py")
    write(link, BEFORE, AFTER)
    assert link.is_symlink()
    assert path.read_bytes() == AFTER


def test_a_file_that_changed_meanwhile_is_left_alone(path: Path) -> None:
    path.write_bytes(b"other\n")
    with pytest.raises(FileChanged, match="changed since it was checked"):
        write(path, BEFORE, AFTER)
    assert path.read_bytes() == b"other\n"


def test_a_file_that_changes_while_it_is_written_is_left_alone(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meddle(descriptor: int) -> None:
        path.write_bytes(b"other\n")

    monkeypatch.setattr(apply.os, "fsync", meddle)
    with pytest.raises(FileChanged):
        write(path, BEFORE, AFTER)
    assert path.read_bytes() == b"other\n"
    assert len(list(path.parent.iterdir())) == 1


def test_a_file_that_is_gone_is_reported(path: Path) -> None:
    path.unlink()
    with pytest.raises(FileChanged, match="cannot be found"):
        write(path, BEFORE, AFTER)


def test_a_read_only_file_is_respected(path: Path) -> None:
    path.chmod(0o444)
    with pytest.raises(WriteRefused, match="read-only"):
        write(path, BEFORE, AFTER)
    assert whole(path)


def test_of_several_files_all_or_none_are_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = path.with_name("other.py")
    other.write_bytes(BEFORE)
    rename = os.replace

    def refuse(source: str, target: Path) -> None:
        if target == other:
            raise OSError(13, "Permission denied")
        rename(source, target)

    changes = [Change(one, BEFORE, AFTER) for one in (path, other)]
    with monkeypatch.context() as patched:
        patched.setattr(apply.os, "replace", refuse)
        with pytest.raises(WriteRefused, match="Permission denied") as refused:
            write_together(changes)
    assert refused.value.path == other
    assert path.read_bytes() == other.read_bytes() == BEFORE
    assert len(list(path.parent.iterdir())) == 2
    write_together(changes)
    assert path.read_bytes() == other.read_bytes() == AFTER


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WriteRefused):
        write(tmp_path, BEFORE, AFTER)


def test_a_full_disk_leaves_the_original(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(apply.os, "fsync", full)
    with pytest.raises(WriteRefused, match="No space left on device"):
        write(path, BEFORE, AFTER)
    assert whole(path)


def test_a_real_full_disk_leaves_the_original(path: Path) -> None:
    """A limit on the size of files, in a process of its own, stands for the full disk."""
    resource = pytest.importorskip("resource")
    assert resource
    program = f"""
        import resource, signal
        from pathlib import Path
        from stablelint.codemod.text.apply import WriteRefused, write
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            write(Path({str(path)!r}), {BEFORE!r}, b"#" * 100_000)
        except WriteRefused as refused:
            print("refused:", refused)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("refused:")
    assert "File too large" in done.stdout
    assert whole(path)


def test_an_interruption_leaves_the_original(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(source: str, target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(apply.os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write(path, BEFORE, AFTER)
    assert whole(path)


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_leaves_the_original(path: Path) -> None:
    path.parent.chmod(0o555)
    try:
        with pytest.raises(WriteRefused, match="not written"):
            write(path, BEFORE, AFTER)
    finally:
        path.parent.chmod(0o755)
    assert whole(path)
