"""A slice of the programs that `benchmarks/differential.py` runs, and the dangers that the judge must see."""

import ast
import random
import textwrap
from functools import cache
from itertools import islice

import pytest
import torch

from stablelint.diagnostic import Applicability
from tests.codemod.differential.cores import Core, cores
from tests.codemod.differential.healthy import DOCUMENTED, forms, moved
from tests.codemod.differential.judge import Case, differences
from tests.codemod.differential.programs import Program, programs
from tests.codemod.differential.tried import CATALOG, drawn, fixed, tried

torch.set_num_threads(1)
PARTS = 6


@cache
def some_drawn() -> list[tuple[Program, Core]]:
    return list(islice(drawn(18), None, None, 11))


@pytest.mark.parametrize("part", range(PARTS))
def test_safe_fixes_leave_generated_programs_as_they_were(part: int) -> None:
    results = [tried(program, core) for program, core in some_drawn()[part::PARTS]]
    wrong = [
        (item.program.kind, item.program.code, item.differences[0], item.fixed)
        for item in results
        if item.differences
    ]
    assert wrong == []
    changed = {item.program.kind for item in results if item.fixed != item.program.source}
    assert len(changed) > 2


def test_unsafe_fixes_leave_what_is_finite_as_it_was() -> None:
    some_forms = list(forms(18, every=3))
    found = [one for item in some_forms for one in moved(*item, rounds=12)]
    assert len(some_forms) > 60
    assert [one for one in found if not any(name in one.after for name in DOCUMENTED)] == []


def test_unsafe_fixes_keep_what_a_name_is_given_anew_for() -> None:
    rng, changed, wrong = random.Random(18), 0, []
    for core in cores(CATALOG, rng, Applicability.UNSAFE):
        if CATALOG.rules[core.code].expect != "non-finite" or not any(core.operands.values()):
            continue
        for program in programs(core, rng):
            made = fixed(program.source, unsafe=True)[0] if program.kind.startswith("named anew") else ""
            if made and made != program.source:
                changed += 1
                found = differences(program, made, core, [Case("float32", (3, 4))])
                wrong += [(core.text, one.what, made) for one in found if one.what != "autocast"]
    assert changed > 20
    assert wrong == []


def test_the_judge_sees_a_bound_that_moves_a_healthy_value() -> None:
    core = Core("SL101", ast.parse("torch.log(x)", mode="eval").body, {"x": (0.5, 3.0)})
    source = "import torch\n\n\ndef f(x):\n    return torch.log(x)\n"
    found = moved(core, source, source.replace("(x)\n", "(x.clamp_min(1e-6))\n"))
    # In float16 1e-6 is below what has a finite gradient.
    assert {one.sort for one in found} == {"float64", "float32", "bfloat16"}


SOFTMAX = """
    function by default; function in an attribute; layer; overridden method; overridden property; decorated helper;
    replaced helper; no_grad; inference_mode; set_grad_enabled; grad disabled by a call; helper without gradient;
    retain_grad; hook; returned too; operand written; operand's alias written; operand's data written; nonlocal; walrus;
    waited
"""
OFFSET = "default; attribute; class attribute; fixed attribute; global; closure"
DANGERS = [
    pytest.param(text, code, " ".join(kind.split()), id=" ".join(kind.split()))
    for text, code, kinds in (
        ("torch.log(F.softmax(x, dim=-1))", "SL202", SOFTMAX),
        ("torch.log(1 + x)", "SL208", OFFSET),
    )
    for kind in kinds.split(";")
]


@pytest.mark.parametrize(("text", "code", "kind"), DANGERS)
def test_the_judge_sees_what_an_unproved_rewrite_changes(
    text: str, code: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = Core(code, ast.parse(text, mode="eval").body, {"x": (0.5, 3.0)})
    program = next(item for item in programs(core, random.Random(2)) if item.kind == kind)
    assert tried(program, core).differences == ()
    monkeypatch.setattr("stablelint.codemod.rewrite.caution", lambda file, proposal: None)
    careless = tried(program, core)
    assert (
        careless.differences or careless.fixed == program.source
    )  # what the analysis itself sees is not offered


def test_the_logarithm_of_a_scale_is_bounded_once_where_it_is_handed_over() -> None:
    source = """
        import torch


        class Model(torch.nn.Module):
            def draw(self, mu, logvar):
                std = torch.exp(0.5 * logvar)
                return mu + torch.randn_like(std) * std

            def forward(self, x):
                mu, logvar = self.encode(x)
                z = self.draw(mu, logvar)
                return z, -0.5 * torch.sum(1 + logvar - mu**2 - logvar.exp())
        """
    made = fixed(textwrap.dedent(source), unsafe=True)[0]
    assert made.count("clamp") == 1
    assert "logvar = logvar.clamp(-80.0, 20.0)\n        z = self.draw(mu, logvar)" in made
