"""What a data set raises in these tests is noted as it is in a guarded process."""

import pytest


@pytest.fixture(autouse=True)
def sample_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    from stablelint.runtime.crash import arm

    fetcher = torch.utils.data._utils.fetch._MapDatasetFetcher
    monkeypatch.setattr(fetcher, "fetch", fetcher.fetch)  # as it is, after the test
    arm._tell_samples()
