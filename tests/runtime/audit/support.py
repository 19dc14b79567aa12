"""Programs run under the audit in this process."""

import runpy
from importlib.util import find_spec
from pathlib import Path

from stablelint.runtime.audit import Audit
from stablelint.runtime.audit.child import AuditDone
from tests.runtime.audit.faults import Fault

PROGRAMS = Path(__file__).parent / "programs"
FRAMEWORKS = {"lightning": "lightning", "trainer": "transformers"}  # by the first word of a program's name
_BESIDE = {"transformers": "accelerate"}  # what the loop of a framework asks for


def missing(program: str) -> str | None:
    """The library that a program's loop needs and that is not installed."""
    library = FRAMEWORKS.get(program.partition("_")[0])
    wanted = [library, _BESIDE.get(library)] if library is not None else []
    return next((one for one in wanted if one is not None and find_spec(one) is None), None)


def audited(path: Path, steps: int = 10, batches: int | None = None) -> Audit:
    """The audit of a program, ended after so many steps, of so many batches an epoch."""

    def end() -> None:
        found.finish()
        raise AuditDone

    found = Audit(steps, end, batches)
    try:
        with found:
            runpy.run_path(str(path), run_name="__main__")
    except Exception as error:  # a program may also end by its fault
        print(f"{path.name}: {error}")
    except AuditDone:
        pass
    return found


def planted(fault: Fault, folder: Path) -> Path:
    """The program with the fault in it."""
    text = (PROGRAMS / f"{fault.program}.py").read_text()
    assert text.count(fault.old) >= 1, fault.old
    path = folder / f"{fault.program}.py"
    path.write_text(text.replace(fault.old, fault.new))
    return path


def named(found: Audit, fault: Fault) -> bool:
    """Whether the check of the fault failed or warned, with what the fault names."""
    for one in (*found.failed, *found.warned):
        if one.check.name == fault.check:
            told = [one.outcome.evidence, *one.outcome.subjects]
            if one.outcome.location is not None:
                told.append(one.outcome.location.expression)
                told.append(str(one.outcome.location.filename))
            return any(fault.names in text for text in told)
    return False
