"""What a data set raises in these tests is noted as it is in a guarded process."""

import pytest


@pytest.fixture(autouse=True)
def sample_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    from stablelint.runtime.crash import arm

    fetcher = torch.utils.data._utils.fetch._MapDatasetFetcher
    monkeypatch.setattr(fetcher, "fetch", fetcher.fetch)  # as it is, after the test
    arm._tell_samples()


@pytest.fixture(autouse=True)
def not_run_again(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known where a program cannot be run again; tests that run it again say so."""
    if "run_again" not in request.keywords:
        from stablelint.runtime.crash.rerun import explore

        monkeypatch.setattr(explore, "_may_run_again", lambda _: False)
