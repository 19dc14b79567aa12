"""What a rule takes over from one that it replaces."""

import pytest

from stablelint.analysis.check import AnalysisOptions, check_source
from stablelint.catalog import load_catalog
from stablelint.diagnostic import Diagnostic, Status
from tests.analysis.support import open_

CATALOG = load_catalog(entry_points=False)


def found(returned: str) -> Diagnostic:
    code = f"import torch\n\ndef mean(loss: torch.Tensor, mask: torch.Tensor):\n    return {returned}\n"
    (one,) = check_source(code.encode(), "losses.py", CATALOG, AnalysisOptions()).diagnostics
    return one


@pytest.mark.parametrize(
    "sum_of", ["{}.sum()", "{}.sum(1)", "{}.sum(dim=(1, 2), keepdim=True)", "torch.sum({}, -1)"]
)
def test_the_mean_over_a_mask_rests_on_the_evidence_of_its_division(sum_of: str) -> None:
    whole = found(f"{sum_of.format('(loss * mask)')} / {sum_of.format('mask')}")
    division = found(f"loss.sum() / {sum_of.format('loss')}")
    assert (whole.code, whole.status) == ("SL502", Status.UNGUARDED)
    assert division.code == "SL102"
    assert {"in_loss", "own_measure"} <= {reason.fact for reason in whole.because}
    assert whole.confidence == pytest.approx(division.confidence)


def test_sums_over_other_dimensions_are_no_mean() -> None:
    assert found("(loss * mask).sum(1) / mask.sum(0)").code == "SL102"


def test_a_loss_that_a_setting_chooses_is_judged_by_the_one_that_takes_a_sigmoid() -> None:
    program = """
    class M(nn.Module):
        def __init__(self, multi):
            super().__init__()
            self.loss = nn.BCELoss() if multi else nn.CrossEntropyLoss()

        def several(self, z, y):
            return self.loss(torch.sigmoid(z), y)
    """
    assert [code for _, code in open_(program)] == ["SL304"]
    assert [code for _, code in open_(program.replace("nn.BCELoss() if multi else ", ""))] == ["SL301"]


@pytest.mark.parametrize(
    ("reader", "codes"),
    [("return ratio - 1", ["SL209"]), ("return ratio - 1, ratio * x", ["SL201", "SL209"]),
     ("n = ratio.view(-1)\n    return ratio - 1", ["SL209"])],
)  # fmt: skip
def test_a_form_does_not_answer_for_a_part_that_others_take(reader: str, codes: list[str]) -> None:
    source = f"import torch\n\n\ndef f(x: torch.Tensor):\n    ratio = torch.exp(x)\n    {reader}\n"
    told = check_source(source.encode(), "a.py", CATALOG, AnalysisOptions()).diagnostics
    assert sorted(one.code for one in told) == codes
