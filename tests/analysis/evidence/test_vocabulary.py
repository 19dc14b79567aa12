"""What names say."""

from __future__ import annotations

import pytest

from stablelint.analysis.evidence import vocabulary


@pytest.mark.parametrize("name", ["adj", "adjacency", "adj_t", "adj_matrix", "adjacency_mat"])
def test_an_adjacency_tells_which_things_have_to_do_with_which(name: str) -> None:
    assert vocabulary.names_ties(name)


@pytest.mark.parametrize("name", ["adjust", "adjusted", "adjective", "num_adj"])
def test_no_other_word_tells_of_neighbours(name: str) -> None:
    assert not vocabulary.names_ties(name)


@pytest.mark.parametrize("name", ["ln_var", "log_sigma_sq", "z_logvar", "__logvar__"])
def test_a_logarithm_is_known_by_many_names(name: str) -> None:
    assert vocabulary.names_a_logarithm(name)


@pytest.mark.parametrize(
    ("name", "holds"), [("mask", True), ("attention_mask", True), ("num_mask", False), ("masked", False)]
)
def test_a_mask_holds_zeros_and_ones(name: str, holds: bool) -> None:
    assert vocabulary.names_a_mask(name) is holds


def test_the_logarithm_of_a_scale_is_no_scale() -> None:
    assert vocabulary.names_a_scale("sample_var")
    assert not vocabulary.names_a_scale("log_var")
