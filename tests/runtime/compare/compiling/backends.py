"""Backends that each get one operation wrong."""

import operator
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F


def replacing(target: Any, wrong: Callable[..., Any]) -> Callable[..., Any]:
    def backend(graph: Any, inputs: Any) -> Any:
        for node in graph.graph.nodes:
            if node.target == target:
                node.op, node.target = "call_function", wrong
        graph.recompile()
        return graph

    return backend


class WrongGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x.sigmoid()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient * ctx.saved_tensors[0].sigmoid()


other_gelu = replacing(torch._C._nn.gelu, lambda x, **_: F.gelu(x, approximate="tanh"))
dropped_epsilon = replacing(F.layer_norm, lambda x, shape, w, b, eps: F.layer_norm(x, shape, w, b, 0.0))
half_sum = replacing("sum", lambda x, *args, **how: x.half().sum(*args, **how).float())
half_product = replacing(operator.matmul, lambda a, b: (a.bfloat16() @ b.bfloat16()).float())
swapped_operands = replacing(operator.sub, lambda a, b: b - a)
other_dimension = replacing(F.softmax, lambda x, *_, **__: x.softmax(0))
other_slope = replacing(F.leaky_relu, lambda x, *_: F.leaky_relu(x, 0.02))
lost_constant = replacing(operator.add, lambda a, b: a if isinstance(b, float) else a + b)
wrong_gradient = replacing("sigmoid", lambda x: WrongGradient.apply(x))
unstable_logarithm = replacing("log_softmax", lambda x, dim: x.softmax(dim).log())
truncated_root = replacing("sqrt", lambda x: x.sqrt().bfloat16().float())
other_variance = replacing("var", lambda x, *args, **how: x.var(*args, **how, correction=0))


other_momentum = replacing(
    F.batch_norm, lambda x, m, v, w, b, train, _, eps: F.batch_norm(x, m, v, w, b, train, 0.2, eps)
)


def right(graph: Any, inputs: Any) -> Any:
    return graph
