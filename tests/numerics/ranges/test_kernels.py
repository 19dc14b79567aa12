"""The ranges hold under every instruction set that torch has kernels for and this processor has."""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import torch

# ATen and oneDNN choose their kernels each for itself; the ladder of what a processor has, in ATen's words.
CAPABILITIES = ("default", "avx2", "avx512")
ONEDNN = {"default": "SSE41", "avx2": "AVX2", "avx512": "DEFAULT"}
ROOT = Path(__file__).parents[3]


@cache
def best_capability() -> str:
    """The widest kernels that torch chooses where nothing tells it to choose others."""
    if "ATEN_CPU_CAPABILITY" not in os.environ:
        return torch.backends.cpu.get_cpu_capability().lower()
    free = {key: value for key, value in os.environ.items() if key != "ATEN_CPU_CAPABILITY"}
    asked = "import torch; print(torch.backends.cpu.get_cpu_capability())"
    answer = subprocess.run(
        [sys.executable, "-c", asked], env=free, capture_output=True, text=True, check=True
    )
    return answer.stdout.strip().lower()


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_ranges_hold_under_each_instruction_set(capability: str) -> None:
    best = best_capability()
    if best not in CAPABILITIES and capability != "default":
        pytest.skip(f"torch calls this processor's kernels {best!r}")
    if capability == best and "ATEN_CPU_CAPABILITY" not in os.environ:
        pytest.skip(f"{capability} is what test_sampled runs under here")
    if best in CAPABILITIES and CAPABILITIES.index(capability) > CAPABILITIES.index(best):
        pytest.skip(f"this processor has no {capability}; its best is {best}")
    chosen = {"ATEN_CPU_CAPABILITY": capability, "ONEDNN_MAX_CPU_ISA": ONEDNN[capability]}
    sampled = subprocess.run(
        [sys.executable, "-m", "tests.numerics.ranges.sampled"],
        env={**os.environ, **chosen, "OMP_NUM_THREADS": "1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert sampled.returncode == 0, sampled.stderr
    ran_under, *failures = sampled.stdout.splitlines()
    assert ran_under.lower() == capability
    assert not failures, "\n".join(failures)
