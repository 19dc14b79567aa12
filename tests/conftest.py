"""What holds for every test."""

from __future__ import annotations

import signal

from hypothesis import settings

# A shell that starts a job in the background makes it deaf to Ctrl-C, and with it all that the job starts; the
# tests that interrupt a command need one that hears.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes is no law: a busy machine would fail it.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
