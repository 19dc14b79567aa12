import fake_engine
import pytest


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_engine.install(monkeypatch)
