import re
import subprocess
import sys
from pathlib import Path

import pytest

import stablelint

FAULTY = "import torch\n\n\ndef loss(p):\n    return torch.log(torch.softmax(p, -1))\n"


def test_a_path_and_its_text_give_the_same(tmp_path: Path) -> None:
    path = tmp_path / "loss.py"
    path.write_text(FAULTY)
    [found] = stablelint.check(path)
    assert (found.code, found.span.start) == ("SL202", stablelint.Position(5, 12))
    assert found.filename == str(path)
    assert stablelint.check(str(path)) == [found]
    assert stablelint.check(tmp_path) == [found]
    assert stablelint.check(FAULTY, filename=path) == [found]
    assert stablelint.check(FAULTY.encode(), filename=path) == [found]


def test_rules_are_chosen_by_the_call_and_by_the_project(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.stablelint]\nignore = ["SL2"]\n')
    path = tmp_path / "loss.py"
    path.write_text(FAULTY)
    assert stablelint.check(path) == []
    assert [item.code for item in stablelint.check(path, select=["SL202"])] == ["SL202"]
    assert stablelint.check(path, select=["SL2"], ignore=["SL202"]) == []


def test_a_fix_is_returned_and_not_written(tmp_path: Path) -> None:
    path = tmp_path / "loss.py"
    path.write_text(FAULTY)
    fixed = FAULTY.replace("torch.log(torch.softmax(p, -1))", "torch.log_softmax(p, dim=-1)")
    assert stablelint.fix(path) == stablelint.fix(FAULTY) == fixed
    assert path.read_text() == FAULTY
    assert stablelint.check(fixed) == []
    assert stablelint.fix("") == ""
    possible = "import torch\n\n\ndef f(x):\n    return torch.log(torch.relu(x))\n"
    assert stablelint.fix(possible) == possible
    assert "clamp_min" in stablelint.fix(possible, unsafe=True)


@pytest.mark.parametrize("target", ["nowhere.py", Path("nowhere.py"), "import torch\ndef (:\n", "."])
def test_what_cannot_be_read_is_one_error(
    target: str | Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for function in (stablelint.check, stablelint.fix):
        with pytest.raises(stablelint.CheckError) as caught:
            function(target)
        assert len(caught.value.problems) == 1


def test_settings_that_cannot_be_used_are_an_error_with_their_place(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.stablelint]\nselct = ["SL1"]\n')
    with pytest.raises(stablelint.CheckError, match="unknown key") as caught:
        stablelint.check(FAULTY, filename=tmp_path / "loss.py")
    assert caught.value.problems[0].position == stablelint.Position(2, 1)


def test_every_public_name_is_there_and_none_brings_torch_before_it_is_used() -> None:
    code = "import sys, stablelint; stablelint.check, stablelint.fix, stablelint.Diagnostic; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
    for name in stablelint._HOME_OF:
        assert getattr(stablelint, name) is not None
        assert name in dir(stablelint)


def test_a_type_checker_sees_every_public_name() -> None:
    package = Path(stablelint.__file__).parent
    shown = re.findall(
        r"^    from (\S+) import (\w+) as \2$", (package / "__init__.py").read_text(), re.MULTILINE
    )
    assert {name: module for module, name in shown} == stablelint._HOME_OF
    assert (package / "py.typed").exists()
