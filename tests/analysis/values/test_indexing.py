"""What an index takes away, and what it adds."""

import pytest

from stablelint.analysis.values.indexing import adds_dimensions, keeps_all, parts_of
from stablelint.analysis.values.value import Graph, Kind, Value
from tests.analysis.support import open_

_GRAPH = Graph()


def _index(*parts: object) -> Value:
    values = [part if isinstance(part, Value) else _GRAPH.constant(part) for part in parts]
    return values[0] if len(values) == 1 else _GRAPH.sequence(values)


def _slice(*bounds: object) -> Value:
    data = tuple(map(_GRAPH.constant, bounds))
    return Value("slice", _GRAPH.fresh(), Kind.FOREIGN, data=data)


_ALL = _slice(None, None, None)


@pytest.mark.parametrize(
    ("index", "keeps", "adds"),
    [
        (_index(None), True, True),
        (_index(_ALL, None), True, True),
        (_index(..., None), True, True),
        (_index(..., _ALL), True, False),
        (_index(_slice(1, None, None)), False, False),
        (_index(_slice(None, None, 2), None), False, True),
        (_index(0, None), False, True),
        (_index(0), False, False),
        (_GRAPH.unknown("mask"), False, False),
    ],
)
def test_an_index(index: Value, keeps: bool, adds: bool) -> None:
    assert (keeps_all(index), adds_dimensions(index)) == (keeps, adds)


def test_an_index_has_a_part_for_each_dimension_that_it_speaks_of() -> None:
    assert len(parts_of(_index(..., None, 0))) == 3
    assert len(parts_of(_index(0))) == 1


def test_an_element_of_what_is_not_known_need_not_be_a_tensor() -> None:
    code = "def f(sizes, n):\n    return sizes[0] % n\n"
    assert open_(code) == []
    assert open_(code.replace("sizes,", "sizes: torch.Tensor,")) == [(2, "SL114")]


def test_the_mean_that_comes_with_a_deviation_is_no_place() -> None:
    code = "def f(x):\n    s, m = torch.std_mean(x, dim=0)\n    return torch.sqrt(m)\n"
    assert (3, "SL103") in open_(code)
