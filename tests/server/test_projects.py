"""What the server knows of the project of a file."""

from pathlib import Path

import pytest

pytest.importorskip("pygls", reason="the language server is not installed")

from server.editor import FAULTY
from stablelint.server import projects
from stablelint.server.projects import Projects


def test_a_text_at_which_the_analysis_fails_is_told_and_the_next_one_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "loss.py")
    project = Projects().of(path)

    def failing(*_: object, **__: object) -> None:
        raise TypeError("no such thing")

    with monkeypatch.context() as patched:
        patched.setattr(projects, "check_text", failing)
        [problem] = project.check(path, FAULTY.encode()).problems
    assert problem.message == "internal error: TypeError: no such thing"
    assert [item.code for item in project.check(path, FAULTY.encode()).diagnostics] == ["SL202"]
