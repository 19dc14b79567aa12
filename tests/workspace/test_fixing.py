"""What `fix` writes, and what it answers for files that are no longer what `check` has seen."""

from dataclasses import replace
from pathlib import Path

import pytest

from stablelint.catalog import load_catalog
from stablelint.codemod.propose import propose
from stablelint.config import Settings
from stablelint.diagnostic import Applicability, Level, Problem, Status
from stablelint.workspace.fixing import FileFix, Wanted, fix_files
from stablelint.workspace.pipeline import check
from stablelint.workspace.selection import Selection
from stablelint.workspace.session import Request
from tests.codemod.support import CLAMPED_LOG, diagnostic, proposal

SELECTION = Selection(frozenset({"SL202"}), "/")


def test_a_file_that_has_gone_meanwhile_is_a_problem_and_the_others_are_answered(tmp_path: Path) -> None:
    here, gone = str(tmp_path / "a.py"), str(tmp_path / "gone.py")
    Path(here).write_text("import torch\n\n\ndef f(z):\n    return torch.log(torch.softmax(z, -1))\n")
    request = Request(Settings(root=tmp_path), SELECTION, jobs=1)
    (finding,) = check([here], request, load_catalog()).diagnostics
    found = [finding, replace(finding, filename=gone)]
    fixed, missing = fix_files(found, request, Wanted(SELECTION))
    assert isinstance(fixed, FileFix)
    assert fixed.filename == here
    assert b"log_softmax" in fixed.after
    assert missing == Problem("cannot read this file: No such file or directory", gone)


def test_an_import_goes_with_what_a_fix_takes_away_unless_others_take_it_from_there(tmp_path: Path) -> None:
    code = "import torch\nfrom torch import softmax\n\n\ndef f(z):\n    return torch.log(softmax(z, -1))\n"
    paths = [tmp_path / name for name in ("a.py", "__init__.py", "taken.py")]
    for path in paths:
        path.write_text(code)
    (tmp_path / "taker.py").write_text("from taken import *\n")
    request = Request(Settings(root=tmp_path), SELECTION, jobs=1)
    found = check([str(path) for path in paths], request, load_catalog()).diagnostics
    left = {
        one.filename: one.after
        for one in fix_files(found, request, Wanted(SELECTION))
        if isinstance(one, FileFix)
    }
    assert [b"import softmax" in left[str(path)] for path in paths] == [False, True, True]
    assert all(b"torch.log_softmax(z" in one for one in left.values())


@pytest.mark.parametrize(
    ("status", "level", "written"),
    [
        (Status.UNGUARDED, Level.POSSIBLE, False),
        (Status.VIOLATED, Level.POSSIBLE, True),
        (Status.UNGUARDED, Level.LIKELY, True),
    ],
)
def test_a_bound_is_written_where_its_operand_is_shown_to_come_to_its_edge_or_proved_to(
    status: Status, level: Level, written: bool
) -> None:
    source = "import torch\ny = torch.log(x)\n"
    bound = replace(proposal(source, "torch.log(x)", CLAMPED_LOG, x="x"), applicability=Applicability.UNSAFE)
    found = propose(source.encode(), replace(diagnostic(source, bound), status=status, level=level))
    assert found.fix is not None
    assert (found.fix.applicability is Applicability.UNSAFE) is written
    assert Wanted(SELECTION, unsafe=True).accepts(found) is written
    assert Wanted(SELECTION, verified=True).accepts(found)
    assert not Wanted(SELECTION).accepts(found)


def test_what_was_likely_before_a_fix_of_its_file_is_mended_with_it(tmp_path: Path) -> None:
    source = tmp_path / "a.py"
    body = "        return var.log() - prior_var.log()\n"
    source.write_text(f"import torch\n\n\nclass GaussianLoss:\n    def ratio(self, var, prior_var):\n{body}")
    request = Request(Settings(root=tmp_path), Selection(frozenset({"SL101"}), "/"), jobs=1)
    found = check([str(source)], request, load_catalog()).diagnostics
    assert [item.level for item in found] == [Level.LIKELY, Level.LIKELY]
    (fixed,) = fix_files(found, request, Wanted(request.selection, unsafe=True))
    assert isinstance(fixed, FileFix)
    assert fixed.after.decode().count("clamp_min(") == 2
    assert len(fixed.applied) == 2
