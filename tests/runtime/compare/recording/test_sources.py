"""What is watched besides operations: of files, those that a run has left."""

from pathlib import Path

from stablelint.runtime.compare.recording.sources import _modified


def test_a_folder_that_is_opened_to_be_deleted_is_no_file_that_a_run_left(tmp_path: Path) -> None:
    file = tmp_path / "state.txt"
    file.touch()
    assert _modified(str(file)) == file.stat().st_mtime_ns
    assert _modified(str(tmp_path)) == 0
    assert _modified(str(tmp_path / "missing")) == 0
