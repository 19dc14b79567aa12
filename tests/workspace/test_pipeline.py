import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import fake_engine
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stablelint.config import Settings
from stablelint.diagnostic import Level
from stablelint.workspace import pool
from stablelint.workspace.files.discover import Candidate
from stablelint.workspace.kept import cache as cache_module
from stablelint.workspace.pipeline import check, check_text
from stablelint.workspace.result import CheckResult
from stablelint.workspace.selection import Selection
from stablelint.workspace.session import Request

SELECTION = Selection(
    frozenset({"SL101", "SL102", "SL201", "SL001"}), "/", off=frozenset({"SL103", "unguarded-sqrt"})
)
LOG = "import torch\ny = torch.log(x)\n"

pytestmark = pytest.mark.usefixtures("engine")


@pytest.fixture(autouse=True)
def _old_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files written a moment ago are trusted by their time stamp, as those of a real project are."""
    monkeypatch.setattr(cache_module, "_RACY_NS", 0)


def run(
    root: Path, *paths: str, level: Level = Level.LIKELY, selection: Selection = SELECTION, **more: object
) -> CheckResult:
    request = Request(Settings(root=root, level=level), selection, **more)  # type: ignore[arg-type]
    return check([str(root / path) for path in paths or (".",)], request, fake_engine.CATALOG)  # type: ignore[arg-type]


def found(result: CheckResult) -> list[tuple[str, int, str]]:
    return [(Path(item.filename).name, item.span.start.row, item.code) for item in result.diagnostics]


def forbid_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    def fail(*_: object) -> None:
        raise AssertionError("the engine was asked")

    monkeypatch.setattr(sys.modules["stablelint.analysis.check"], "check_source", fail)


def write_many(root: Path, count: int) -> None:
    filler = "# line\n" * 3000
    for number in range(count):
        (root / f"f{number:02}.py").write_text(LOG + filler)


def test_findings_come_in_order_of_file_and_place(tmp_path: Path) -> None:
    (tmp_path / "b.py").write_text(LOG)
    (tmp_path / "a.py").write_text(LOG + LOG)
    result = run(tmp_path)
    assert found(result) == [("a.py", 2, "SL101"), ("a.py", 4, "SL101"), ("b.py", 2, "SL101")]
    assert (result.files, result.lines) == (2, 6)


def test_files_without_torch_are_not_analysed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forbid_the_engine(monkeypatch)
    (tmp_path / "a.py").write_text("x = 1\n")
    assert run(tmp_path).lines == 1


def test_the_level_decides_what_is_shown_in_full_and_hides_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(LOG + "torch.exp(x)\n")
    for level, full, line in (
        (Level.LIKELY, [2], [3]),
        (Level.POSSIBLE, [2, 3], []),
        (Level.LIKELY, [2], [3]),
    ):
        result = run(tmp_path, level=level)
        assert found(result) == [("a.py", 2, "SL101"), ("a.py", 3, "SL201")]
        assert [item.span.start.row for item in result.shown] == full
        assert [item.span.start.row for item in result.rest] == line


def test_findings_below_a_confidence_can_be_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(LOG + "torch.exp(x)\n")
    request = Request(Settings(root=tmp_path, min_confidence=0.5), SELECTION)
    result = check([str(tmp_path)], request, fake_engine.CATALOG)  # type: ignore[arg-type]
    assert found(result) == [("a.py", 2, "SL101")]


def test_selection_does_not_need_a_new_analysis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.py").write_text(LOG)
    assert found(run(tmp_path, selection=Selection(frozenset(), "/"))) == []
    forbid_the_engine(monkeypatch)
    assert found(run(tmp_path)) == [("a.py", 2, "SL101")]


def test_what_was_proved_safe_is_counted_and_listed_on_demand(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\ntorch.sqrt(x)\n")
    selection = Selection(frozenset({"SL103"}), "/")
    assert run(tmp_path, selection=selection).discharge_counts == {"clamp": 1}
    assert run(tmp_path, selection=selection).discharged == ()
    (item,) = run(tmp_path, selection=selection, discharged=True).discharged
    assert item.discharged_by == "clamp"


def test_silenced_findings_are_counted_and_idle_comments_reported(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\ntorch.log(x)  # noqa: SL101\ny = 1  # noqa: SL101\n")
    result = run(tmp_path)
    assert found(result) == [("a.py", 3, "SL001")]
    assert result.silenced == 1


def test_a_comment_of_ours_for_a_rule_that_does_not_exist_is_idle(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\ntorch.log(x)  # stablelint: ignore[SL999]\n")
    assert ("a.py", 2, "SL001") in found(run(tmp_path))


def test_a_comment_for_a_rule_that_is_off_or_of_another_level_is_not_idle(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "import torch\ny = 1  # noqa: SL103\nz = 1  # stablelint: ignore[unguarded-sqrt]\ntorch.exp(x)  # noqa: SL201\n"
    )
    assert found(run(tmp_path)) == []


def test_a_second_run_asks_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.py").write_text(LOG)
    first = run(tmp_path)
    forbid_the_engine(monkeypatch)
    assert run(tmp_path) == first
    folder = tmp_path / ".stablelint_cache"
    assert (folder / ".gitignore").read_text() == "*\n"
    assert (folder / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")


def test_a_touched_file_is_recognised_by_its_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.py"
    path.write_text(LOG)
    first = run(tmp_path)
    os.utime(path, ns=(1, 1))
    forbid_the_engine(monkeypatch)
    assert run(tmp_path) == first


def test_a_changed_file_is_analysed_again(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(LOG)
    run(tmp_path)
    path.write_text("import torch\n\ny = torch.log(z)\n")
    assert found(run(tmp_path)) == [("a.py", 3, "SL101")]


def test_a_change_within_the_resolution_of_the_clock_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_module, "_RACY_NS", 10**12)
    path = tmp_path / "a.py"
    path.write_text(LOG)
    stamp = time.time_ns()
    os.utime(path, ns=(stamp, stamp))
    run(tmp_path)
    path.write_text(LOG.replace("log(x)", "abs(x)"))
    os.utime(path, ns=(stamp, stamp))
    assert found(run(tmp_path)) == []


def test_a_change_in_a_file_that_was_consulted_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other.txt"
    other.write_text("1")
    (tmp_path / "a.py").write_text(LOG + f"# reads {other}\n")
    first = run(tmp_path)
    with monkeypatch.context() as patch:
        forbid_the_engine(patch)
        assert run(tmp_path) == first
    other.write_text("2")
    forbid_the_engine(monkeypatch)
    assert "internal error" in run(tmp_path).problems[0].message


def test_without_the_cache_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(LOG)
    run(tmp_path, use_cache=False)
    assert [path.name for path in tmp_path.iterdir()] == ["a.py"]


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / ".stablelint_cache").write_text("a file in the way")
    (tmp_path / "a.py").write_text(LOG)
    assert found(run(tmp_path)) == [("a.py", 2, "SL101")]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_cache_changes_no_result(tmp_path: Path, data: st.DataObject) -> None:
    (tmp_path / "a.py").write_text(LOG)
    expected = found(run(tmp_path))
    for shard in (tmp_path / ".stablelint_cache").glob("*/*.jsonl"):
        content = shard.read_bytes()
        place = data.draw(st.integers(0, len(content) - 1))
        junk = data.draw(
            st.one_of(st.binary(max_size=4), st.sampled_from([b"0", b"null", b"[]", b'"x"', b"{}"]))
        )
        shard.write_bytes(content[:place] + junk + content[place + data.draw(st.integers(0, 3)) :])
        damaged = found(run(tmp_path))
        # A flipped digit may still make a well-formed entry; whatever it says, the run ends.
        assert len(damaged) <= len(expected) or damaged == expected
        shard.unlink(missing_ok=True)


@pytest.mark.parametrize(
    "entry",
    [
        '{"findings": [[1]]}',
        '{"findings": 3, "lines": 1}',
        '{"lines": "x", "silenced": 1}',
        "7",
        "null",
        "[]",
    ],
)
def test_a_malformed_entry_is_as_good_as_none(tmp_path: Path, entry: str) -> None:
    (tmp_path / "a.py").write_text(LOG)
    expected = run(tmp_path)
    (shard,) = (tmp_path / ".stablelint_cache").glob("*/*.jsonl")
    root, known = shard.read_text().split("\n")
    shard.write_text(f"{root}\n{json.dumps([*json.loads(known)[:3], json.loads(entry), 'a.py'])}")
    assert run(tmp_path) == expected


def test_runs_at_the_same_time_share_a_cache(tmp_path: Path) -> None:
    write_many(tmp_path, 6)
    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(lambda _: run(tmp_path), range(8)))
    assert all(result == results[0] for result in results)
    for shard in (tmp_path / ".stablelint_cache").glob("*/*"):
        assert shard.suffix == ".jsonl"
        assert all(map(json.loads, shard.read_text().split("\n")))


def test_processes_and_one_process_find_the_same(tmp_path: Path) -> None:
    write_many(tmp_path, 12)
    alone = run(tmp_path, use_cache=False, jobs=1)
    together = run(tmp_path, use_cache=False, jobs=2)
    assert together == alone
    assert len(together.diagnostics) == 12


def test_a_worker_that_dies_costs_only_its_own_file(tmp_path: Path) -> None:
    write_many(tmp_path, 10)
    (tmp_path / "f03.py").write_text("import torch  # CRASH\n" + "#\n" * 9000)
    result = run(tmp_path, jobs=2)
    assert len(result.diagnostics) == 9
    (problem,) = result.problems
    assert problem.filename == str(tmp_path / "f03.py")
    assert "died" in problem.message


@pytest.mark.parametrize(
    ("word", "message"),
    [("RAISE", "internal error: ValueError: the engine is broken"), ("DEEP", "nested too deeply")],
)
@pytest.mark.parametrize("count", [1, 10])
def test_an_engine_that_raises_costs_only_its_own_file(
    tmp_path: Path, word: str, message: str, count: int
) -> None:
    write_many(tmp_path, count)
    (tmp_path / "bad.py").write_text(f"import torch  # {word}\n")
    result = run(tmp_path, jobs=2)
    assert len(result.diagnostics) == count
    assert message in result.problems[0].message
    assert result.problems[0].filename == str(tmp_path / "bad.py")


def test_a_problem_is_reported_again_by_the_next_run(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch  # BAD SYNTAX\n")
    assert run(tmp_path).problems == run(tmp_path).problems != ()


def test_progress_counts_to_the_end(tmp_path: Path) -> None:
    write_many(tmp_path, 3)
    (tmp_path / "plain.py").write_text("x = 1\n")
    seen: list[tuple[int, int]] = []
    run(tmp_path, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(2, 4), (3, 4), (4, 4)]


def test_text_is_checked_as_if_it_stood_in_the_file(tmp_path: Path) -> None:
    request = Request(Settings(root=tmp_path), SELECTION)
    result = check_text(LOG.encode(), str(tmp_path / "new.py"), request, fake_engine.CATALOG)  # type: ignore[arg-type]
    assert found(result) == [("new.py", 2, "SL101")]
    assert result.sources == {str(tmp_path / "new.py"): LOG.encode()}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("count", [1, 10])
def test_a_file_that_takes_too_long_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(pool, "_LIMIT_SECONDS", 0.3)
    write_many(tmp_path, count)
    (tmp_path / "slow.py").write_text("import torch  # ENDLESS\n")
    result = run(tmp_path, jobs=2)
    assert len(result.diagnostics) == count
    assert [problem.message for problem in result.problems] == [
        "given up after 0.3 seconds of processor time"
    ]


def test_a_file_in_which_nothing_can_be_found_must_be_python_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text("x = 1\n")
    (tmp_path / "bad.py").write_text("x = 1\ny = = 2\n")
    for _ in range(2):  # the second time with what was kept of the first
        result = run(tmp_path)
        (problem,) = result.problems
        assert (Path(problem.filename or "").name, problem.message) == (
            "bad.py",
            "cannot parse: invalid syntax",
        )
        assert problem.position is not None
        assert problem.position.row == 2
        assert result.files == 1


def test_what_is_handed_out_before_anything_is_told_are_single_files() -> None:
    files = [Candidate(f"{n:03}.py", 0, 1000) for n in range(200)]
    chunks = pool._chunks(files, 2)
    assert [len(chunk) for chunk in chunks[:5]] == [1, 1, 1, 1, 3]
    assert sorted(path for chunk in chunks for path in chunk) == [file.path for file in files]
