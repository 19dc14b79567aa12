"""`stablelint run` as a process: what it passes through, and what it says."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from cli.conftest import Outcome
from cli.here import run_here

pytest.importorskip("torch")
pytest_plugins = ["pytester"]

FAULTY = """
import sys
import torch
torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Linear(3, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
print("arguments", sys.argv[1:])
for step in range(6):
    p = model(torch.randn(4, 3)).softmax(-1)
    if step == 3:
        p = p * torch.tensor([1.0, 0.0])
    optimizer.zero_grad()
    loss = -torch.log(p).mean()
    loss.backward()
    optimizer.step()
print("the end")
"""


def stablelint(*arguments: str, folder: Path, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "stablelint", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "NO_COLOR": "1"},
        **options,  # type: ignore[call-overload]
    )


def here(*arguments: str, folder: Path) -> Outcome:
    """The same in this process, where the command runs in a fork."""
    return run_here(folder, *arguments)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(FAULTY)
    return path


CHILDREN = """
import multiprocessing, runpy, sys, torch

def work(rank):
    runpy.run_path("train.py")

if __name__ == "__main__":
    way = sys.argv[1]
    if way == "torch":
        torch.multiprocessing.spawn(work)
    elif way == "pool":
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            pool.map(work, [0])
    else:
        child = multiprocessing.get_context(way).Process(target=work, args=(0,))
        child.start()
        child.join()
        sys.exit(child.exitcode)
"""


@pytest.mark.parametrize("way", ["spawn", "pool", "torch"])
def test_a_child_ends_without_a_traceback_and_its_parent_too(script: Path, way: str) -> None:
    (script.parent / "start.py").write_text(CHILDREN)
    done = stablelint("run", "--", sys.executable, "start.py", way, folder=script.parent)
    assert done.returncode == 1
    assert "the end" not in done.stdout
    assert "torch.log(p)" in done.stderr
    assert "Traceback" not in done.stderr
    assert "NonFiniteError" not in done.stderr


def test_names_the_expression_and_stops(script: Path, forked: None) -> None:
    done = here("run", "--", sys.executable, "train.py", "--lr", "1", folder=script.parent)
    assert done.code == 1
    assert done.out == "arguments ['--lr', '1']\n"
    assert "train.py:14:13" in done.err
    assert "torch.log(p)" in done.err
    assert "bit for bit" in done.err
    assert "Traceback" not in done.err


def test_json_has_event_cause_fix_and_verification(script: Path, forked: None) -> None:
    log = script.parent / "events.jsonl"
    done = here(
        *("run", "--output-format", "json", "--log", str(log), "--", sys.executable, "train.py"),
        folder=script.parent,
    )
    assert done.out == "arguments []\n"
    payload = json.loads(done.err)
    assert {"event", "cause", "fix", "verification"} <= set(payload)
    event = payload["event"]
    assert event["expression"] == "torch.log(p)"
    assert event["step"] == 3
    assert event["location"] == {"row": 14, "column": 13}
    assert event["operands"][0]["zero"] == 4
    assert payload["cause"]["code"].startswith("SL")
    assert json.loads(log.read_text())["event"] == event


def test_further_steps_are_taken_with_the_fix(script: Path, forked: None) -> None:
    text = FAULTY.replace("torch.tensor([1.0, 0.0])", "0")
    script.write_text(text.replace("-torch.log(p).mean()", "(p / p.norm(dim=-1, keepdim=True)).mean()"))
    command = ("run", "--verify-steps", "2", "--", sys.executable, "train.py")
    done = here(*command, folder=script.parent)
    assert "2 more steps with the fix stayed finite" in done.err
    assert done.out == "arguments []\n"
    refused = here("run", "--verify-steps", "-1", "--", "true", folder=script.parent)
    assert refused.code == 2
    assert "not a number of steps" in refused.err


def test_keep_going_lets_the_script_end_and_tells_the_fault_but_not_what_it_leads_to(
    script: Path, forked: None
) -> None:
    done = here(
        *("run", "--keep-going", "--output-format", "json", "--output-file", "report.json"),
        *("--", sys.executable, "train.py"),
        folder=script.parent,
    )
    assert done.code == 1
    assert done.out.endswith("the end\n")
    payload = json.loads((script.parent / "report.json").read_text())
    assert payload["event"]["expression"] == "torch.log(p)"
    assert payload["event"]["step"] == 3
    assert "later" not in payload


def test_a_python_without_torch_is_named(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)
    python = next((tmp_path / "bare").glob("[bS]*/python*"))
    done = stablelint("run", "--", str(python), "-c", "import torch", folder=tmp_path)
    assert done.returncode == 1
    assert "ModuleNotFoundError" in done.stderr
    assert f"{python} has no torch" in done.stderr


def test_a_thread_ends_without_a_traceback(script: Path, forked: None) -> None:
    body = textwrap.indent(FAULTY, "    ")
    script.write_text(
        f"import threading, torch\ndef train():{body}\nthreading.Thread(target=train).start()\n"
    )
    done = here("run", "--", sys.executable, "train.py", folder=script.parent)
    assert done.code == 1
    assert "torch.log(p)" in done.err
    assert "Traceback" not in done.err


def test_a_process_without_its_guard_is_no_healthy_one(tmp_path: Path) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("")
    (tmp_path / "train.py").write_text("import torch\nprint('the end')\n")
    done = stablelint("run", "--", sys.executable, "train.py", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "the end\n")
    assert done.stderr.startswith("error: a process was not guarded: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("code", "expected"),
    [("raise SystemExit(7)", 7), ("pass", 0), ("1 / 0", 1)],
    ids=["its own code", "success", "a crash"],
)
def test_passes_on_the_exit_code(code: str, expected: int, tmp_path: Path) -> None:
    done = stablelint("run", "--", sys.executable, "-c", code, folder=tmp_path)
    assert done.returncode == expected
    assert "did not import torch" in done.stderr


def test_runs_a_module_though_a_library_asks_for_torch_before_it_is_imported(script: Path) -> None:
    script.write_text("import importlib.util\nassert importlib.util.find_spec('torch')\n" + FAULTY)
    done = stablelint("run", "--", "-m", "train", folder=script.parent)
    assert "train.py:16:13" in done.stderr


def test_runs_under_pytest(tmp_path: Path, forked: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # which takes longer than the test
    body = textwrap.indent(FAULTY, "    ")
    (tmp_path / "test_train.py").write_text(f"def test_training():{body}")
    done = here("run", "--", sys.executable, "-m", "pytest", "-q", "test_train.py", folder=tmp_path)
    assert done.code == 1
    assert "torch.log(p)" in done.err


def test_the_pytest_option_fails_the_test_with_the_expression(pytester: pytest.Pytester) -> None:
    body = textwrap.indent(FAULTY, "    ")
    pytester.makepyfile(
        test_train=f"def test_training():{body}",
        test_plain="import sys\ndef test_plain():\n    assert 'torch' not in sys.modules",
    )
    # in processes of their own: pytester takes back what is imported in between, and torch is imported but once
    words = ("-q", "-p", "no:cacheprovider")
    assert pytester.runpytest_subprocess(*words, "test_plain.py", timeout=120).ret == 0
    guarded = pytester.runpytest_subprocess(*words, "test_train.py", "--stablelint-guard", timeout=120)
    assert guarded.ret == 1
    assert "`torch.log(p)`" in guarded.stdout.str()


def test_a_healthy_run_says_how_many_steps_it_saw(script: Path, forked: None) -> None:
    script.write_text(FAULTY.replace("step == 3", "False"))
    done = here("run", "--", sys.executable, "train.py", folder=script.parent)
    assert done.code == 0
    assert "6 steps, no NaN and no Inf" in done.err


def test_the_two_dashes_may_be_left_out(tmp_path: Path) -> None:
    script = tmp_path / "echo.py"
    script.write_text("import sys; print(sys.argv[1:])")
    for words in (["echo.py", "-x", "--", "y"], ["--keep-going", "--", "echo.py", "-x", "--", "y"]):
        done = stablelint("run", *words, folder=tmp_path)
        assert (done.returncode, done.stdout) == (0, "['-x', '--', 'y']\n")
    assert stablelint("run", "--keepgoing", "echo.py", folder=tmp_path).returncode == 2


def test_an_unknown_command_is_said_so(tmp_path: Path) -> None:
    done = stablelint("run", "--", "no-such-command-here", folder=tmp_path)
    assert done.returncode == 2
    assert "no such command" in done.stderr
    assert stablelint("run", folder=tmp_path).returncode == 2


def test_signals_reach_the_command(tmp_path: Path) -> None:
    code = (
        "import signal, sys, time; signal.signal(15, lambda *_: sys.exit(9)); "
        "print('up', flush=True); time.sleep(60)"
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "stablelint", "run", "--", sys.executable, "-c", code],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 9
    process.stdout.close()


def test_the_users_own_sitecustomize_still_runs(script: Path) -> None:
    (script.parent / "own").mkdir()
    (script.parent / "own" / "sitecustomize.py").write_text("print('own', flush=True)\n")
    environment = {**os.environ, "PYTHONPATH": str(script.parent / "own")}
    done = subprocess.run(
        [sys.executable, "-m", "stablelint", "run", "--", sys.executable, "-c", "pass"],
        cwd=script.parent,
        capture_output=True,
        text=True,
        env=environment,
        timeout=60,
    )
    assert done.stdout.count("own") == 2  # once for this process, once for the command


def test_nothing_is_loaded_before_torch_is(tmp_path: Path) -> None:
    names = "name.startswith(('torch', 'stablelint'))"
    code = f"import sys; print([name for name in sys.modules if {names}])"
    done = stablelint("run", "--", sys.executable, "-c", code, folder=tmp_path)
    loaded = [
        "stablelint",
        "stablelint.runtime",
        "stablelint.runtime.process",
        "stablelint.runtime.process.start",
    ]
    assert done.stdout.strip() == str(loaded)


STEPS_THEN = """
import os, signal, sys, torch
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(5):
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
os.kill(os.getpid(), getattr(signal, sys.argv[1]))
"""


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM"])
def test_a_killed_command_is_said_so_with_the_steps_that_it_took(
    name: str, tmp_path: Path, forked: None
) -> None:
    (tmp_path / "train.py").write_text(STEPS_THEN)
    done = here("run", "--", sys.executable, "train.py", name, folder=tmp_path)
    assert done.code == 128 + getattr(signal, name)
    assert f"ended by {name}" in done.err
    assert "5 steps" in done.err


def test_an_interrupt_reaches_the_command(tmp_path: Path) -> None:
    code = "import time\ntry:\n    print('up', flush=True)\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    exit(5)"
    process = subprocess.Popen(
        [sys.executable, "-m", "stablelint", "run", "--", sys.executable, "-c", code],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 5
    process.stdout.close()


def test_another_interpreter_is_lent_nothing(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)
    python = next((tmp_path / "bare").glob("[bS]*/python*"))
    code = (
        "import importlib.util, sys; names = 'torch', 'stablelint'\n"
        "try:\n    import torch\nexcept ImportError:\n    pass\n"
        "print([name for name in names if importlib.util.find_spec(name)], "
        "[entry for entry in sys.path if 'stablelint' in entry])"
    )
    done = stablelint("run", "--", str(python), "-c", code, folder=tmp_path)
    assert done.stdout == "[] []\n"


def test_a_guard_without_torch_says_what_is_missing(tmp_path: Path) -> None:
    root = str(Path(__file__).parents[3])
    code = f"import sys; sys.path.insert(0, {root!r}); import stablelint; stablelint.guard()"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)
    python = next((tmp_path / "bare").glob("[bS]*/python*"))
    done = subprocess.run([str(python), "-c", code], capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("ImportError: the guard needs torch")


def test_a_program_on_standard_input_is_shown_as_it_came(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "stablelint", "run", "--", sys.executable, "-"]
    program = FAULTY + "print(sys.stdin.read())\n"
    done = subprocess.run(words, input=program, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "--> standard input:14:13" in done.stderr
    assert "torch.log(p)" in done.stderr
