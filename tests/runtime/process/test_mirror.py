"""A folder in which a program finds its files, and changes none."""

import time
from pathlib import Path

from stablelint.runtime.process.mirror import mirrored


def test_has_what_was_there_and_takes_what_is_written(tmp_path: Path) -> None:
    source, into = tmp_path / "source", tmp_path / "into"
    (source / "data").mkdir(parents=True)
    (source / "data" / "rows.csv").write_text("1")
    mirrored(source, into, time.time() + 60)
    (into / "data" / "more.csv").write_text("2")
    assert (into / "data" / "rows.csv").read_text() == "1"
    assert [one.name for one in (source / "data").iterdir()] == ["rows.csv"]


def test_lacks_what_was_written_since(tmp_path: Path) -> None:
    source, into = tmp_path / "source", tmp_path / "into"
    source.mkdir()
    (source / "last.pt").write_text("weights")
    mirrored(source, into, 0.0)
    assert not (into / "last.pt").exists()


def test_links_to_folders_of_very_many_files(tmp_path: Path) -> None:
    source, into = tmp_path / "source", tmp_path / "into"
    (source / "many" / "deep" / "deeper").mkdir(parents=True)
    for number in range(600):
        (source / "many" / f"{number}.txt").touch()
    mirrored(source, into, time.time() + 60)
    assert (into / "many" / "deep" / "deeper").resolve() == source / "many" / "deep" / "deeper"
    assert (into / "many" / "599.txt").exists()
