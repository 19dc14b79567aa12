"""The sampled property that holds for every page: its contract tells the truth, and its fixes cure."""

from __future__ import annotations

import pytest
import torch

from stablelint.catalog import load_catalog
from stablelint.runtime.rules.laws import Law, laws

torch.set_num_threads(1)

LAWS = [
    pytest.param(law, id=f"{rule.code}-{law.title}")
    for rule in load_catalog(entry_points=False).rules.values()
    for law in laws(rule)
]


@pytest.mark.parametrize("law", LAWS)
def test_a_page_keeps_its_law(law: Law) -> None:
    assert law.check() is None
