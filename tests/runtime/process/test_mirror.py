"""A folder in which a program finds its files, and changes none."""

import os
import time
from pathlib import Path

from stablelint.runtime.process.mirror import mirrored


def test_has_what_was_there_and_takes_what_is_written(tmp_path: Path) -> None:
    source, into = tmp_path / "source", tmp_path / "into"
    (source / "kept").mkdir(parents=True)
    for name in ("rows.csv", "last.pt"):
        (source / "kept" / name).write_text("1")
    os.utime(source / "kept" / "rows.csv", (0, 0))
    (source / "made").mkdir()
    (source / "made" / "now.txt").touch()
    mirrored(source, into, time.time() - 60)
    assert not (into / "made").exists()
    (into / "kept" / "more.csv").write_text("2")
    assert (into / "kept" / "rows.csv").read_text() == "1"
    assert not (into / "kept" / "last.pt").exists()
    assert not (source / "kept" / "more.csv").exists()


def test_links_to_folders_that_nothing_was_written_in(tmp_path: Path) -> None:
    source, into = tmp_path / "source", tmp_path / "into"
    (source / "data" / "deep").mkdir(parents=True)
    mirrored(source, into, time.time() + 60)
    assert (into / "data").is_symlink()
