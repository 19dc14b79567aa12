"""A fix on the function around it: results, what is written, gradients, before and after."""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from types import ModuleType

import pytest
import torch

from stablelint.runtime.verify.outcome import Counts, FunctionShown
from stablelint.runtime.verify.replay.compare import Case, Result, Role
from stablelint.runtime.verify.replay.evaluate import Outcome
from stablelint.runtime.verify.replay.function import judged, rebuilt
from stablelint.runtime.verify.replay.values import Call
from stablelint.runtime.verify.site import Request, Verdict
from stablelint.runtime.verify.verdict import Decision, with_function
from stablelint.runtime.verify.verify import verify
from tests.runtime.verify.programs import site_at
from tests.runtime.verify.support import LOG, site

SOURCE = """\
import torch


def scaled(x, total):
    total /= x.sum()
    return total.log()
"""


def module_of(source: str) -> ModuleType:
    module = ModuleType("made")
    exec(compile(source, "made.py", "exec"), vars(module))
    return module


def call(value: float) -> Callable[[Callable[..., object]], tuple[object, Mapping[str, object]]]:
    def again(function: Callable[..., object]) -> tuple[object, Mapping[str, object]]:
        values = {"x": torch.full((3,), value), "total": torch.ones(3)}
        return function(**values), values

    return again


def test_a_fix_that_writes_elsewhere_changes_the_function() -> None:
    function = module_of(SOURCE).scaled
    same = rebuilt(function, SOURCE.replace("x.sum()", "x.sum().clamp_min(1e-12)").encode())
    other = rebuilt(function, SOURCE.replace("total /= x.sum()", "total = total / x.sum()").encode())
    assert (same and judged(function, same, None, [call(2.0)]).healthy_change) == 0.0
    changed = judged(function, other, None, [call(2.0)]).healthy_change
    assert changed is not None
    assert changed > 1, "what the caller sees of `total` is another value"


def test_the_failing_call_is_told_in_words() -> None:
    function = module_of(SOURCE).scaled
    fixed = rebuilt(function, SOURCE.replace("x.sum()", "x.sum().clamp_min(1e-12)").encode())
    shown = judged(function, fixed, call(0.0), [])
    assert (shown.original, shown.fixed, shown.original_text) == ("inf", "finite", "3 of 3 inf")
    assert FunctionShown(**json.loads(json.dumps(asdict(shown)))) == shown


def test_an_import_that_a_fix_brings_is_there() -> None:
    function = module_of(SOURCE).scaled
    fixed = rebuilt(
        function,
        SOURCE.replace("import torch\n", "import torch\nimport cmath\n")
        .replace("total.log()", "total.log() + cmath.pi")
        .encode(),
    )
    assert fixed is not None
    result, _ = call(1.0)(fixed)
    assert isinstance(result, torch.Tensor)


def test_an_import_that_raises_and_is_no_matter_of_the_fix_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "no_vocabulary.py").write_text(
        "raise FileNotFoundError('vocabulary.txt')\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    function = module_of(SOURCE).scaled
    again = rebuilt(
        function, SOURCE.replace("import torch\n", "import torch\nimport no_vocabulary\n").encode()
    )
    assert again is not None
    assert isinstance(call(1.0)(again)[0], torch.Tensor)


def _failed(nan: int = 0, inf: int = 0, how: str = "forward") -> Decision:
    outcome = Outcome(forward=Counts(1, nan, inf))
    result = Result(Case(Call({}), Role.CAPTURED, "captured call 1"), outcome, Outcome(), original_failed=how)
    return Decision(Verdict.CONFIRMED, result)


@pytest.mark.parametrize(
    ("decision", "seen", "consumes", "verdict"),
    [
        (_failed(inf=1), FunctionShown("finite", "finite"), False, Verdict.HANDLED),
        (_failed(nan=1), FunctionShown("finite", "finite"), False, Verdict.CONFIRMED),
        (_failed(nan=1), FunctionShown("finite", "finite"), True, Verdict.HANDLED),
        (_failed(inf=1), FunctionShown("gradient", "finite"), True, Verdict.CONFIRMED),
        (_failed(inf=1), FunctionShown("inf", "finite", 1, 40.0), False, Verdict.DIVERGES),
        (_failed(how="accuracy"), FunctionShown("finite", "finite", 1, 40.0), False, Verdict.CONFIRMED),
        (_failed(inf=1), FunctionShown("inf", "raised"), False, Verdict.INEFFECTIVE),
        (_failed(inf=1), None, True, Verdict.CONFIRMED),
    ],
)
def test_the_function_has_the_last_word(
    decision: Decision, seen: FunctionShown | None, consumes: bool, verdict: Verdict
) -> None:
    subject = site("torch.log(x)", "torch.log(x.clamp_min(1e-12))", {"x": "x"})
    assert with_function(subject, decision, seen, consumes).verdict is verdict


MINER = """\
import torch


@torch.no_grad()
def weights(mat):
    logs = -torch.log(1 - 0.25 * mat**2)
    bad = torch.isinf(logs)
    logs[bad] = 0
    found = torch.exp(logs - logs.max())
    return found * ~bad


print(weights(torch.tensor([[2.0, 0.5], [1.0, 2.0]])).sum())
"""


def test_a_value_that_the_next_lines_deal_with_is_no_fault_of_the_command(
    tmp_path: Path, forked: None
) -> None:
    path = tmp_path / "mine.py"
    path.write_text(MINER, encoding="utf-8")
    original, fixed = "torch.log(1 - 0.25 * mat**2)", "torch.log((1 - 0.25 * mat**2).clamp_min(1e-30))"
    fault = site_at(path, original, fixed, {"x": "1 - 0.25 * mat**2"}, **LOG)
    text = MINER.replace(original, fixed).encode()
    with open(tmp_path / "output.txt", "wb") as output:
        request = Request(
            [fault],
            {str(path): path.read_bytes()},
            [sys.executable, "mine.py"],
            lambda chosen: {str(path.resolve()): text} if chosen else {},
            directory=tmp_path,
            search_seconds=0.0,
            rerun=False,
            output=output.fileno(),
        )
        (report,) = verify(request).report.sites
    assert report.verdict is Verdict.HANDLED
    assert "the function's result is finite all the same; with the fix it is another one" in report.notes
