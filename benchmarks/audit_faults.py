"""The planted faults under `stablelint audit` and, where it is installed, under torch-audit.

    python benchmarks/audit_faults.py [--page docs/audit.md]

A fault counts for stablelint where its check names it. It counts for torch-audit where that tool says anything
(warning or above) that it does not say of the sound program: the reader would have something to go by.
"""

import argparse
import contextlib
import io
import runpy
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import page
import torch
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.optim.optimizer import register_optimizer_step_post_hook

from stablelint.runtime.audit.child import AuditDone
from stablelint.runtime.audit.outcome import all_checks
from tests.runtime.audit.faults import FAULTS
from tests.runtime.audit.support import FRAMEWORKS, PROGRAMS, audited, named, planted

_STEPS = 10


def of_torch_audit(path: Path) -> set[tuple[str, str]]:
    """Rule and message of what torch-audit says of ten steps, in its mode without changes to the program."""
    from torch_audit import autopatch

    auditors: list[Any] = []
    optimizers: list[torch.optim.Optimizer] = []
    made = torch.optim.Optimizer.__init__

    def remember(self: torch.optim.Optimizer, *args: Any, **kwargs: Any) -> None:
        made(self, *args, **kwargs)
        optimizers.append(self)

    def patch(module: torch.nn.Module, _: object) -> None:
        held = {id(one) for each in optimizers for group in each.param_groups for one in group["params"]}
        if not auditors and any(id(one) in held for one in module.parameters()):
            options = {"every_n_steps": 1, "fail_level": "FATAL", "suppress_internal_errors": True}
            auditors.append(autopatch(module, optimizer=optimizers[-1], **options))

    def count(*_: object) -> None:
        taken.append(1)
        if len(taken) > _STEPS:
            raise AuditDone

    taken: list[int] = []
    hooks = [register_module_forward_pre_hook(patch), register_optimizer_step_post_hook(count)]
    torch.optim.Optimizer.__init__ = remember  # type: ignore[method-assign]
    try:
        with contextlib.suppress(AuditDone, Exception):
            runpy.run_path(str(path), run_name="__main__")
    finally:
        torch.optim.Optimizer.__init__ = made  # type: ignore[method-assign]
        for hook in hooks:
            hook.remove()
    found = [one for auditor in auditors for one in auditor.finish(report=False).findings]
    serious = [one for one in found if one.severity.value != "INFO"]
    return {(one.rule_id, str(one.module_path)) for one in serious}


def rows() -> Iterator[tuple[str, str, bool, bool | None]]:
    """Family and name of every fault, and whether either tool has it."""
    family = {one.name: one.family for one in all_checks()}
    try:
        import torch_audit  # noqa: F401

        sound = {path.stem: of_torch_audit(path) for path in PROGRAMS.glob("*.py")}
        for name, said in sorted(sound.items()):
            print(f"torch-audit on the sound {name}: {sorted(said)}", file=sys.stderr)
    except ImportError:
        sound = {}
    for fault in FAULTS:
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            path = planted(fault, Path(folder))
            ours = named(audited(path), fault)
            theirs = bool(of_torch_audit(path) - sound[fault.program]) if sound else None
        yield family[fault.check], f"{fault.program}: {fault.name}", ours, theirs


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    counts: dict[str, Counter[str]] = {}
    loops: Counter[str] = Counter()
    for family, name, ours, theirs in rows():
        print(
            f"{'yes' if ours else 'no':4}{'–' if theirs is None else 'yes' if theirs else 'no':4}{name}",
            file=sys.stderr,
        )
        loop = name.partition(":")[0].partition("_")[0]
        loops.update({loop: 1, f"{loop} named": int(ours)} if loop in FRAMEWORKS else {})
        of = counts.setdefault(family, Counter())
        of.update({"all": 1, "ours": int(ours), "theirs": int(bool(theirs))})
    lines = ["| faults | planted | stablelint | torch-audit |", "| --- | ---: | ---: | ---: |"]
    total: Counter[str] = sum(counts.values(), Counter())
    for family, of in [*counts.items(), ("all", total)]:
        lines.append(f"| {family} | {of['all']} | {of['ours']} | {of['theirs']} |")
    programs = len({one.program for one in FAULTS})
    within = ", ".join(
        f"{loops[f'{one} named']} of {loops[one]} under {FRAMEWORKS[one]}" for one in FRAMEWORKS
    )
    text = "\n".join([*lines, "", f"In {programs} programs; of these {within}."])
    print(text)
    if options.page:
        page.fill(options.page, "faults", text)


if __name__ == "__main__":
    main()
