"""What a reduction makes of the zeros of a row."""

import pytest

from tests.analysis.support import violated


@pytest.mark.parametrize(
    ("mixed", "shown"),
    [
        ("torch.stack([p, q]).mean(dim=0)", True),
        ("torch.stack([p, q]).sum(0) / 2", True),
        ("torch.cat([p, q]).mean(dim=0)", False),
    ],
)
def test_several_answers_to_one_question_rule_the_same_out(mixed: str, shown: bool) -> None:
    code = f"""
        class Divergence(nn.Module):
            def forward(self, logits, others, target):
                p, q = F.softmax(logits, dim=1), F.softmax(others, dim=1)
                return F.kl_div(({mixed}).log(), target)
    """
    assert (4, "SL101") in violated(code) if shown else violated(code) == []
