"""The compiler's own kernels judged, and what is written of its options."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from stablelint.runtime.compare.compiling import script  # noqa: E402
from stablelint.runtime.compare.compiling.graph import judge_graph  # noqa: E402
from stablelint.runtime.compare.compiling.minimise import Minimiser, Reduced, operations_of  # noqa: E402

needs_a_compiler = pytest.mark.skipif(
    shutil.which("g++") is None, reason="inductor needs g++ for its kernels"
)


@pytest.fixture
def faulty() -> Iterator[None]:
    """Torch's own switch for a wrong kernel of `relu`."""
    with torch._inductor.config.patch({"cpp.inject_relu_bug_TESTING_ONLY": "accuracy"}):
        yield


def compile_by_inductor(graph: Any, inputs: Any) -> Any:
    return torch._dynamo.lookup_backend("inductor")(graph, inputs)


def graph_of(function: Any) -> Any:
    return torch.fx.symbolic_trace(function)


@needs_a_compiler
@pytest.mark.usefixtures("faulty")
def test_a_kernel_that_inductor_gets_wrong_is_judged_wrong() -> None:
    graph = graph_of(lambda x: (x * 2).relu() + 1)
    inputs = [torch.linspace(-1, 1, 8)]
    found = judge_graph(graph, compile_by_inductor(graph, inputs), inputs)
    assert found is not None
    assert found.wrong
    assert found.place == "result 1"


@pytest.mark.usefixtures("faulty")
def test_a_script_sets_the_options_of_the_compiler_that_the_program_set(tmp_path: Path) -> None:
    graph = graph_of(lambda x: x.relu())
    inputs = (torch.linspace(-1, 1, 8),)
    judged = judge_graph(graph, lambda x: torch.relu(x) + 1, inputs)
    assert judged is not None
    reduced = Reduced(graph, inputs, operations_of(graph)[0], judged)
    script.write(reduced, "inductor", None, tmp_path / "repro.py", "a fault")
    assert "cpp.inject_relu_bug_TESTING_ONLY = 'accuracy'" in (tmp_path / "repro.py").read_text()


def test_a_graph_is_cut_to_the_operation_at_fault_and_to_small_shapes() -> None:
    def wrong(graph: Any, inputs: Any) -> Any:
        for node in graph.graph.nodes:
            if node.target == "exp":
                node.target = "expm1"
        graph.recompile()
        return graph

    graph = graph_of(lambda x: (((x.sin() + 1).exp() * 2).cos().tanh() - 1).abs())
    found = Minimiser(graph, [torch.ones(64, 32)], wrong, 30.0).run()
    assert found is not None
    assert found.node.target == "exp"
    assert [node.target for node in operations_of(found.graph)] == ["exp"]
    assert found.inputs[0].numel() <= 4


def test_where_the_minifier_gives_up_the_beginning_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("torch._functorch.fx_minifier.minifier")
    graph = graph_of(lambda x: (x.sin() + 1).exp().cos())
    found = Minimiser(graph, [torch.ones(4)], lambda part, _: lambda x: part(x.sin()), 30.0).run()
    assert found is not None
    assert operations_of(found.graph)[0].target == "sin"


def test_without_time_nothing_is_found() -> None:
    graph = graph_of(lambda x: x.exp())
    assert Minimiser(graph, [torch.ones(4)], lambda part, _: torch.sin, 0.0).run() is None
