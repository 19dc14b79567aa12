from __future__ import annotations

import sys

import pytest
from cli.conftest import Run, project, run

__all__ = ["project", "run"]


def test_without_its_packages_the_server_says_what_to_install(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith(("stablelint.server", "pygls."))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pygls", None)
    outcome = run("server")
    assert outcome.code == 2
    assert "error: the language server is not installed" in outcome.err
    assert "pip install 'stablelint[server]'" in outcome.err
