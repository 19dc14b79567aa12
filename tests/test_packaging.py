"""The wheel holds the program and its rule pages, and works without torch."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from _pytest.assertion.rewrite import AssertionRewriter

import stablelint

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)],
        check=True,
        capture_output=True,
    )
    (path,) = folder.glob("*.whl")
    return path


def test_the_wheel_holds_the_pages_and_nothing_of_the_tests(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    pages = {path.relative_to(ROOT / "rules").as_posix() for path in (ROOT / "rules").rglob("*.md")}
    assert pages == {
        name.removeprefix("stablelint/_rules/") for name in names if name.startswith("stablelint/_rules/")
    }
    assert not [name for name in names if name.split("/")[0] in ("tests", "fixtures", "rules")]


def test_the_wheel_asks_for_torch_only_to_verify(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    needed = [
        line for line in archive.read(metadata).decode().splitlines() if line.startswith("Requires-Dist: ")
    ]
    assert any("torch" in line for line in needed)
    assert all("extra ==" in line for line in needed if "torch" in line or "numpy" in line)


def test_an_unpacked_wheel_finds_its_pages(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]);"
        "from stablelint.cli.main import main; main(['rule', 'SL101'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("# unguarded-log")


def test_pytest_does_not_complain_where_the_package_is_loaded_before_it() -> None:
    """`verify -- pytest` loads it first; under `-W error` a complaint would end the run."""
    assert AssertionRewriter.is_rewrite_disabled(stablelint.__doc__ or "")
