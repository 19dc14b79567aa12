"""What a call that is made may not do."""

import os
import signal
import time

import pytest

from stablelint.runtime.process.confined import in_child, limited


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a child is forked")
def test_a_call_that_heeds_no_signal_is_killed_and_named_and_one_that_crashes_is_named() -> None:
    def work() -> None:
        with limited(0.01, "share(torch.rand(2, 4))"):
            sum(range(10**13))

    def crash() -> None:
        with limited(60.0, "crash()"):
            os.kill(os.getpid(), signal.SIGTERM)

    assert in_child(work, time.perf_counter() + 3600) == "share(torch.rand(2, 4))"
    assert in_child(crash, time.perf_counter() + 3600) == "crash()"
    assert in_child(lambda: None, time.perf_counter() + 3600) is None
