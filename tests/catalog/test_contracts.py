"""The sampled property that holds for every page: its contract tells the truth, and its fixes cure."""

import pytest
import torch

from stablelint.catalog import Rule, load_catalog
from stablelint.runtime.rules.laws import laws

torch.set_num_threads(1)
RULES = load_catalog(entry_points=False).rules


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_page_keeps_its_laws(rule: Rule) -> None:
    assert not {law.title: broken for law in laws(rule) if (broken := law.check()) is not None}
