"""Runs programs in forks of a process that has torch: a run costs no import.

Reads jobs from standard input, one JSON object a line, and answers each with its exit status.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import random
import runpy
import sys
import traceback

import numpy
import torch
import torch._dynamo
import torch.utils.data

import stablelint.runtime.compare.compiling.child  # loaded before the forks
import stablelint.runtime.compare.recording.child  # noqa: F401
from stablelint.runtime.compare.recording import sources
from stablelint.runtime.process.start import Plan


def main() -> None:
    for line in sys.stdin:
        job = json.loads(line)
        process = os.fork()
        if process == 0:
            os._exit(run(job))
        status = os.waitpid(process, 0)[1]
        print(os.waitstatus_to_exitcode(status), flush=True)


def run(job: dict) -> int:
    output = os.open(job["output"], os.O_WRONLY | os.O_CREAT)
    for stream in (1, 2):
        os.dup2(output, stream)
    os.chdir(job["folder"])
    os.environ.update(job["extra"])
    sys.argv = job["command"][-1:]
    sys.path.insert(0, os.getcwd())
    for fresh in (torch.default_generator, random, numpy.random):  # as in a process of its own
        fresh.seed()
    ends: list = []
    atexit.register = lambda function, *args: ends.append((function, args)) or function
    plan = Plan(**job["plan"])
    try:
        sources.install(plan)
        importlib.import_module(plan.child).start(plan)
        runpy.run_path(sys.argv[0], run_name="__main__")
        status = 0
    except SystemExit as leave:
        status = int(leave.code or 0)
    except BaseException:
        traceback.print_exc()
        status = 1
    for function, args in reversed(ends):
        function(*args)
    sys.stdout.flush()
    sys.stderr.flush()
    return status


main()
