"""What names tell where nothing else is known."""

from __future__ import annotations

import pytest

from stablelint.analysis.values.hints import hint

from ..support import likely


@pytest.mark.parametrize("name", ["adj", "adjacency", "adj_t", "adj_matrix", "adjacency_mat"])
def test_a_node_may_have_no_neighbour(name: str) -> None:
    code = f"""
        class Convolution(nn.Module):
            def forward(self, x, {name}):
                return {name} @ x / {name}.sum(-1, keepdim=True)
        """
    assert likely(code) == [(3, "SL102")]


@pytest.mark.parametrize("name", ["adjust", "adjusted", "adjective", "num_adj"])
def test_no_other_word_tells_of_neighbours(name: str) -> None:
    assert hint(name) is None
