from pathlib import Path

import pytest

from stablelint.config import ConfigError, Settings, load, override
from stablelint.diagnostic import Level, Position, Problem


def project(folder: Path, text: str) -> Path:
    path = folder / "pyproject.toml"
    path.write_text(text)
    return path


def refused(folder: Path, text: str) -> tuple[Problem, ...]:
    project(folder, text)
    with pytest.raises(ConfigError) as caught:
        load(folder)
    return caught.value.problems


def test_reads_every_key(tmp_path: Path) -> None:
    path = project(
        tmp_path,
        """
        [tool.stablelint]
        select = ["SL1"]
        ignore = ["SL102"]
        extend-select = ["SL602"]
        exclude = ["vendored"]
        extend-exclude = ["*_pb2.py"]
        force-exclude = true
        respect-gitignore = false
        level = "possible"
        rules = ["lint_rules"]
        cache-dir = ".cache"
        baseline = "known.json"
        output-format = "concise"
        jobs = 3
        unsafe-fixes = true
        [tool.stablelint.per-file-ignores]
        "tests/*" = ["ALL"]
        """,
    )
    settings = load(tmp_path / "src" / "a.py")
    assert settings == Settings(
        root=tmp_path,
        source=path,
        select=("SL1",),
        ignore=("SL102",),
        extend_select=("SL602",),
        per_file_ignores={"tests/*": ("ALL",)},
        exclude=("vendored",),
        extend_exclude=("*_pb2.py",),
        force_exclude=True,
        respect_gitignore=False,
        level=Level.POSSIBLE,
        rules=(tmp_path / "lint_rules",),
        cache_dir=tmp_path / ".cache",
        baseline=tmp_path / "known.json",
        output_format="concise",
        jobs=3,
        unsafe_fixes=True,
        lines=settings.lines,
    )
    assert settings.place("level") == (str(path), Position(10, 1))
    assert settings.place("per-file-ignores") == (str(path), Position(17, 1))


def test_the_nearest_file_with_a_section_holds(tmp_path: Path) -> None:
    project(tmp_path, "[tool.stablelint]\njobs = 2\n")
    inner = tmp_path / "package"
    inner.mkdir()
    project(inner, "[project]\nname = 'x'\n")
    assert load(inner).jobs == 2
    assert load(inner).root == tmp_path


def test_without_a_section_the_repository_is_the_root(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "src").mkdir()
    assert load(tmp_path / "src") == Settings(root=tmp_path)


def test_an_explicit_file_is_read_whatever_its_name(tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text("[tool.stablelint]\njobs = 5\n")
    assert load(tmp_path, other).jobs == 5


def test_an_explicit_file_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        load(tmp_path, tmp_path / "gone.toml")


def test_an_unknown_key_is_refused_with_its_line_and_the_nearest_key(tmp_path: Path) -> None:
    (problem,) = refused(tmp_path, '[project]\nselct = 1\n[tool.stablelint]\njobs = 1\nselct = ["SL1"]\n')
    assert problem.message == 'unknown key "selct" in [tool.stablelint]'
    assert problem.position == Position(5, 1)
    assert problem.hint == 'did you mean "select"?'


def test_a_key_like_no_other_gets_the_list(tmp_path: Path) -> None:
    (problem,) = refused(tmp_path, "[tool.stablelint]\nwwwww = 1\n")
    assert problem.hint is not None
    assert problem.hint.startswith("known keys: baseline, cache-dir")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('select = "SL1"', '"select" in [tool.stablelint] must be a list of strings'),
        ("select = [1]", '"select" in [tool.stablelint] must be a list of strings'),
        ("jobs = 0", '"jobs" in [tool.stablelint] must be an integer of 1 or more'),
        ("jobs = true", '"jobs" in [tool.stablelint] must be an integer of 1 or more'),
        ("force-exclude = 1", '"force-exclude" in [tool.stablelint] must be true or false'),
        ("cache-dir = 1", '"cache-dir" in [tool.stablelint] must be a string'),
        ('level = "high"', '"level" in [tool.stablelint] must be "likely" or "possible"'),
        (
            'per-file-ignores = {"a" = "SL1"}',
            '"per-file-ignores" in [tool.stablelint] must be a table of lists',
        ),
        ('output-format = "xml"', '"output-format" in [tool.stablelint] must be one of "full"'),
    ],
)
def test_a_value_of_the_wrong_type_is_refused(tmp_path: Path, line: str, expected: str) -> None:
    (problem,) = refused(tmp_path, f"[tool.stablelint]\n{line}\n")
    assert problem.message.startswith(expected)
    assert problem.position == Position(2, 1)


def test_all_wrong_keys_are_named_at_once(tmp_path: Path) -> None:
    assert len(refused(tmp_path, "[tool.stablelint]\nx = 1\ny = 2\njobs = 'a'\n")) == 3


def test_malformed_toml_is_one_error_with_its_place(tmp_path: Path) -> None:
    (problem,) = refused(tmp_path, "[tool.stablelint]\nselect = [\n")
    assert problem.message.startswith("malformed TOML: ")
    assert problem.filename == str(tmp_path / "pyproject.toml")
    (problem,) = refused(tmp_path, "a = 1\nb = = 2\n")
    assert problem.position == Position(2, 5)


def test_a_file_that_is_not_utf_8_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_bytes(b"# \xff")
    with pytest.raises(ConfigError, match="not UTF-8"):
        load(tmp_path)


def test_a_section_that_is_no_table_is_refused(tmp_path: Path) -> None:
    (problem,) = refused(tmp_path, "[tool]\nstablelint = 2\n")
    assert problem.message == "[tool.stablelint] must be a table"
    project(tmp_path, "tool = 1\n")
    assert load(tmp_path).source is None


def test_overriding_leaves_what_is_not_given(tmp_path: Path) -> None:
    settings = Settings(root=tmp_path, jobs=3)
    assert override(settings, jobs=None, level=Level.POSSIBLE) == Settings(
        root=tmp_path, jobs=3, level=Level.POSSIBLE
    )
