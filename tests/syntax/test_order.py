import ast

import pytest

from stablelint.syntax.order import keeps_order, order_readers


@pytest.mark.parametrize(
    "line",
    [
        "p.argmax(-1)",
        "torch.argmax(p, dim=1)",
        "p.max(1)[1]",
        "p.topk(5).indices",
        "torch.sort(p).indices",
        "_, best = p.max(1)",
        "_, best = torch.topk(p, 5)",
    ],
)
def test_the_order_is_all_that_these_look_at(line: str) -> None:
    tree = ast.parse(line)
    (reader,) = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "p"]
    assert order_readers(tree, "p") == {reader}


@pytest.mark.parametrize(
    "line",
    [
        "p > 0.5",
        "p.max(1)",
        "p.max(1)[0]",
        "p.topk(5).values",
        "top, best = p.max(1)",
        "q.argmax()",
        "print(p)",
    ],
)
def test_these_look_at_values(line: str) -> None:
    assert order_readers(ast.parse(line), "p") == set()


@pytest.mark.parametrize(
    "call", ["torch.softmax(z, -1)", "z.log_softmax(1)", "F.logsigmoid(z)", "sigmoid(z)"]
)
def test_increasing_functions_keep_the_order(call: str) -> None:
    assert keeps_order(ast.parse(call, mode="eval").body)


@pytest.mark.parametrize("code", ["torch.softmin(z, -1)", "z.abs()", "softmax", "-z"])
def test_others_do_not(code: str) -> None:
    assert not keeps_order(ast.parse(code, mode="eval").body)
