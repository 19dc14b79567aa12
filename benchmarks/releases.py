"""Downloads and unpacks the releases named in ecosystem.toml, once; what is called `owner/name` is a commit on GitHub.

$STABLELINT_RELEASES names another list of the file: `unseen` holds packages that no rule was tried on.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import urllib.request
import zipfile
from pathlib import Path

LIST = Path(__file__).with_name("ecosystem.toml")
NAME = os.environ.get("STABLELINT_RELEASES", "releases")
CACHE = Path(os.environ.get("STABLELINT_ECOSYSTEM", "~/.cache/stablelint-eco")).expanduser()


def releases(only: list[str] | None = None, table: str = NAME) -> dict[str, str]:
    """Name and version of each pinned release; `only` restricts and orders the names, and may not name another."""
    pinned: dict[str, str] = tomllib.loads(LIST.read_text(encoding="utf-8"))[table]
    unknown = sorted(set(only or ()) - pinned.keys())
    if unknown:
        raise SystemExit(f"not in [{table}] of {LIST.name}: {', '.join(unknown)}")
    return {name: pinned[name] for name in only or pinned}


def fetch(name: str, version: str) -> Path:
    """The folder with the unpacked release or commit; it is downloaded when it is not there yet."""
    tree = CACHE / f"{name.replace('/', '+')}-{version}"
    if tree.is_dir():
        return tree
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        archive = (_commit if "/" in name else _download)(name, version, Path(scratch))
        unpacked = Path(scratch) / "unpacked"
        _unpack(archive, unpacked)
        os.replace(unpacked, tree)
    return tree


def _commit(name: str, version: str, folder: Path) -> Path:
    url = f"https://github.com/{name}/archive/{version}.tar.gz"
    return Path(urllib.request.urlretrieve(url, folder / f"{version}.tar.gz")[0])


def _download(name: str, version: str, folder: Path) -> Path:
    requirement = f"{name}=={version}"
    options = ["--no-deps", "--prefer-binary", "--no-build-isolation", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "download", "-q", *options, "-d", str(folder), requirement]
    done = subprocess.run(command, capture_output=True, text=True)
    archives = [path for path in folder.iterdir() if path.is_file()]
    if done.returncode or not archives:
        raise SystemExit(f"cannot download {requirement}:\n{done.stderr[-800:]}")
    return archives[0]


def _unpack(archive: Path, target: Path) -> None:
    if archive.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(archive) as opened:
            opened.extractall(target)
    else:
        with tarfile.open(archive) as opened:
            opened.extractall(target, filter="data")


def python_files(tree: Path) -> list[Path]:
    """Every Python file of a release, in a stable order."""
    return sorted(path for path in tree.rglob("*.py") if path.is_file())


def count_lines(files: list[Path]) -> int:
    """Lines of all the files together, blank ones and comments included."""
    return sum(path.read_bytes().count(b"\n") for path in files)
