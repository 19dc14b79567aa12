import json
import subprocess
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


def test_it_leaves_without_a_word_when_the_editor_does() -> None:
    pytest.importorskip("pygls", reason="the language server is not installed")
    talk = [
        {"id": 1, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}},
        {"method": "initialized", "params": {}},
        {"id": 2, "method": "shutdown"},
        {"method": "exit"},
    ]
    said = [json.dumps({"jsonrpc": "2.0"} | message).encode() for message in talk]
    done = subprocess.run(
        [sys.executable, "-m", "stablelint", "server"],
        input=b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(one), one) for one in said),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
