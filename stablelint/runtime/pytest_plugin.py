"""`pytest --stablelint-guard`: a test whose training step turns non-finite fails with the expression that
did it. `pytest --stablelint-audit`: a test whose training steps fail a check of the audit fails.

Inert without the options: neither torch nor the guard is imported.
"""

from __future__ import annotations

from collections.abc import Generator
from importlib.util import find_spec

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    group = parser.getgroup("stablelint")
    group.addoption(
        "--stablelint-guard",
        action="store_true",
        default=False,
        help="watch the training steps of every test and fail at the first NaN or Inf, naming its expression",
    )
    group.addoption(
        "--stablelint-audit",
        action="store_true",
        default=False,
        help="audit the training steps of every test and fail where a check of data, model or loop fails",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Refuse the option early where it cannot work."""
    asked = [one for one in ("--stablelint-guard", "--stablelint-audit") if config.getoption(one)]
    if not asked:
        return
    if find_spec("torch") is None:
        raise pytest.UsageError(f"{asked[0]} needs torch: pip install 'stablelint[verify]'")
    from stablelint.runtime.release import installed_too_old

    if (reason := installed_too_old()) is not None:
        raise pytest.UsageError(f"{asked[0]}: {reason}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Run the test under a guard, or an audit."""
    if item.config.getoption("--stablelint-audit"):
        from stablelint.runtime.audit import Audit

        with Audit() as audit:
            result = yield
        if audit.failed:
            pytest.fail(str(audit), pytrace=False)
        return result
    if not item.config.getoption("--stablelint-guard"):
        return (yield)
    from stablelint.runtime.guard import Guard

    with Guard():
        return (yield)
