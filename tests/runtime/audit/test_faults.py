"""Every planted fault is named by its check; the sound programs raise one warning at most in all."""

import random
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from stablelint.runtime.audit import outcome  # noqa: E402
from stablelint.runtime.audit.outcome import all_checks  # noqa: E402
from tests.runtime.audit.faults import FAULTS, Fault  # noqa: E402
from tests.runtime.audit.support import PROGRAMS, audited, missing, named, planted  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
TRAINING = ("overfits-one-batch", "usable-rate")  # they train
SOUND = sorted(path.stem for path in PROGRAMS.glob("*.py"))


@pytest.fixture(autouse=True)
def one_thread():  # type: ignore[no-untyped-def]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def needs(program: str) -> None:
    library = missing(program)
    if library is not None:
        pytest.skip(f"{library} is not installed")


@pytest.mark.parametrize("fault", FAULTS, ids=lambda one: f"{one.program}: {one.name}")
def test_names_the_fault(fault: Fault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs(fault.program)
    quick = [one for one in all_checks() if one.name == fault.check or one.name not in TRAINING]
    monkeypatch.setattr(outcome, "all_checks", lambda: quick)  # the sound programs ask all
    random.seed(1)
    torch.manual_seed(1)
    found = audited(planted(fault, tmp_path))
    assert named(found, fault), str(found)
    assert not found.run.trouble


@pytest.mark.parametrize("program", SOUND)
def test_a_sound_program_passes(program: str) -> None:
    needs(program)
    found = audited(PROGRAMS / f"{program}.py")
    assert len(found.run.steps) >= 10
    assert not (*found.failed, *found.warned), str(found)
    assert not found.run.trouble
    assert not [one for one in found.results if "could not be decided" in one.outcome.evidence]


def test_a_mask_of_padding_may_leave_out_nothing(tmp_path: Path) -> None:
    path = tmp_path / "padding.py"
    text = (
        (PROGRAMS / "attention.py").read_text().replace("(tokens, mask, labels)", "(tokens, ~mask, labels)")
    )
    path.write_text(text.replace("hidden = self.enc", "mask = ~mask\n        hidden = self.enc"))
    assert not audited(path).failed


def test_a_kind_that_has_not_come_yet_is_no_constant_feature(tmp_path: Path) -> None:
    path = tmp_path / "kinds.py"
    text = (PROGRAMS / "regression.py").read_text()
    path.write_text(
        text.replace(
            "training = Tens",
            "features[:, 3:5] = torch.tensor([1.0, 0]) * (features[:, 3:4] > 0)\ntraining = Tens",
            1,
        )
    )
    assert "varying-features" not in {one.check.name for one in audited(path).warned}


LATE = Fault(
    "classifier",
    "train() before the first epoch only",
    "    model.train()\n",
    "    if epoch == 1: model.train()\n",
    "trained-in-training-mode",
    "Net",
)


@pytest.mark.parametrize("batches", [None, 4])
def test_what_comes_behind_the_first_epoch_is_seen(batches: int | None, tmp_path: Path) -> None:
    path = planted(LATE, tmp_path)
    path.write_text(
        path.read_text().replace("200", "900").replace("[:160]", "[:860]").replace("160:", "860:")
    )
    found = audited(path, batches=batches)
    assert len(found.run.steps) == 10
    assert named(found, LATE)
    (remedy,) = [one.outcome.remedy for one in found.failed if one.check.name == LATE.check]
    assert remedy is not None
    assert "puts it into evaluation mode" in remedy


def test_what_is_clipped_while_an_evaluation_is_waited_for_is_not_late(tmp_path: Path) -> None:
    path = planted(LATE, tmp_path)
    text = path.read_text().replace("200", "900").replace("[:160]", "[:860]").replace("160:", "860:")
    clipped = "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n        optimizer.step()"
    path.write_text(text.replace("optimizer.step()", clipped))
    assert "clipping-order" not in {one.check.name for one in audited(path).failed}


def test_no_evaluation_is_waited_for_where_no_loader_waits(tmp_path: Path) -> None:
    path = planted(LATE, tmp_path)
    text = path.read_text().replace("200", "900").replace("[:160]", "[:860]")
    path.write_text(text.replace("test(model, 'cpu', te)", "model.eval()").replace("te = ", "# "))
    assert not named(audited(path), LATE)


def test_the_page_lists_every_check() -> None:
    page = (Path(__file__).parents[3] / "docs" / "audit.md").read_text("utf-8")
    for one in all_checks():
        assert f"`{one.name}` | {one.sentence} | {one.needs} |" in page


def test_every_check_has_a_fault_that_it_finds() -> None:
    unplanted = {"environment", "half-gradients", "room-at-the-peak"}  # nothing, a model in float16, a GPU
    assert {one.name for one in all_checks()} - unplanted == {one.check for one in FAULTS}
