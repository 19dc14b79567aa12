"""What a value is on the paths that meet in it."""

from stablelint.analysis.values.lists import elements_of, is_list, last_of, leaves
from stablelint.analysis.values.value import Graph, Kind, Value


def met(graph: Graph, *paths: Value) -> Value:
    return Value("phi", graph.fresh(), Kind.UNKNOWN, {str(place): path for place, path in enumerate(paths)})


def test_paths_that_meet_again_and_again_are_walked_once() -> None:
    graph = Graph()
    ends = [graph.sequence([]), graph.constant(1), graph.constant(2)]
    value = met(graph, ends[0], ends[1])
    for _ in range(100):
        value = met(graph, value, value, ends[2])
    assert [id(leaf) for leaf in leaves(value)] == [id(end) for end in ends]
    assert not is_list(value)
    assert is_list(met(graph, ends[0], met(graph, ends[0], graph.sequence([ends[1]]))))


def test_a_list_that_may_have_grown_on_many_paths_holds_each_element_once() -> None:
    graph = Graph()
    one, two = graph.constant(1), graph.constant(2)
    value = graph.sequence([one])
    for _ in range(100):
        value = met(graph, value, value)
    value = met(graph, value, graph.sequence([two]))
    assert elements_of(value) == [one, two]
    assert last_of(value) is None
    assert last_of(value.operands["0"]) is one
