"""`check` imports neither torch nor what it reads; a cached run imports nothing heavy at all."""

import subprocess
import sys
from pathlib import Path

SOURCE = """\
import torch
import torch.nn.functional as F
raise SystemExit("this file was executed")


def f(x):
    return torch.log(F.softmax(x, dim=-1))
"""


def modules_after(folder: Path, *arguments: str) -> set[str]:
    program = f"""
import sys
from stablelint.cli.main import main
code = main({list(arguments)!r})
print("MODULES", *sys.modules)
raise SystemExit(code)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "executed" not in done.stderr
    return set(done.stdout.rsplit("MODULES ", 1)[1].split())


def test_torch_is_never_imported_and_a_cached_run_imports_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "a.py").write_text(SOURCE)
    (tmp_path / "torch_user.py").write_text(SOURCE)
    cold = modules_after(tmp_path, "check", "-j", "1")
    assert not cold & {"torch", "numpy", "a", "torch_user"}
    cached = modules_after(tmp_path, "check", "-j", "1")
    assert not cached & {"torch", "numpy", "rich", "pathspec", "shtab", "multiprocessing.pool"}
    assert "stablelint.analysis.check" not in cached


def test_fix_imports_no_torch_either(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(SOURCE)
    assert "torch" not in modules_after(tmp_path, "fix", "-j", "1")
