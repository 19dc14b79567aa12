"""Runs programs in forks of a process that has torch: a run costs no import.

Given the descriptor of a socket that listens, and names of modules to load before the forks. Who connects sends jobs,
each a JSON object with the descriptor that takes its output, and is answered each with its process and then with its
exit status.
"""

import atexit
import importlib
import json
import os
import random
import runpy
import socket
import sys
import threading
from pathlib import Path
from typing import NoReturn

import numpy
import torch
import torch.utils.data

from stablelint.runtime.process.start import Plan, named
from stablelint.runtime.verify.probe import install


def main() -> None:
    asked = socket.socket(fileno=int(sys.argv[1]))
    torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.5)  # the first optimizer loads a compiler
    for name in sys.argv[2:]:
        importlib.import_module(name)
    while True:
        jobs, _ = asked.accept()
        if os.fork() == 0:
            asked.close()
            serve(jobs)
        jobs.close()


def serve(jobs: socket.socket) -> NoReturn:
    """Runs the jobs of one process of the tests."""
    while True:
        job, outputs, *_ = socket.recv_fds(jobs, 1 << 18, 1)
        if not job:
            os._exit(0)
        task = json.loads(job)
        if task["plan"] is not None and task["plan"]["child"] == "stablelint.runtime.compare.compiling.child":
            importlib.import_module("torch._inductor.compile_fx")  # which each compiler of a fork would load
        process = os.fork()
        if process == 0:
            jobs.close()
            os._exit(run(task, outputs[0]))
        os.close(outputs[0])
        jobs.send(str(process).encode())
        status = os.waitpid(process, 0)[1]
        jobs.send(str(os.waitstatus_to_exitcode(status)).encode())


def run(job: dict, output: int) -> int:
    for stream in (1, 2):
        os.dup2(output, stream)
    if job["apart"]:
        os.setsid()
    os.chdir(job["folder"])
    os.environ.clear()  # of what this process was started with
    os.environ.update(job["environment"])
    os.environ["OMP_NUM_THREADS"] = "1"
    sys.path.insert(0, os.getcwd())
    for fresh in (torch.default_generator, random, numpy.random):  # as in a process of its own
        fresh.seed()
    ends: list = []
    atexit.register = lambda function, *args: ends.append((function, args)) or function
    os.environ[install._RELAUNCHED] = str(os.getpid())
    try:
        if job["plan"] is not None:
            start(Plan(**job["plan"]))
        command = job["command"]
        execute(command[command.index(sys.executable) + 1 :] if sys.executable in command else command[-1:])
        status = 0
    except SystemExit as leave:
        status = leave.code if isinstance(leave.code, int) else int(leave.code is not None)
        if isinstance(leave.code, str):
            print(leave.code, file=sys.stderr)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        status = 1
    threading._shutdown()
    for function, args in reversed(ends):
        function(*args)
    sys.stdout.flush()
    sys.stderr.flush()
    return status


def start(plan: Plan) -> None:
    """What a plan names is armed, as where a process begins with one."""
    if plan.early is not None:
        named(plan.early)(plan)
    importlib.import_module(plan.child).start(plan)


def execute(words: list[str]) -> None:
    """What the interpreter does with these words behind its name."""
    if words[0] == "-m":
        sys.argv = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    elif install.REGISTRY.plan is not None:  # code with probes is put together elsewhere
        launcher = Path(install.__file__).with_name("launch.py")
        sys.argv = [str(launcher), *words]
        exec(compile(launcher.read_text(), str(launcher), "exec"), {"__builtins__": __builtins__})
    else:
        sys.argv = words
        runpy.run_path(words[0], run_name="__main__")


main()
