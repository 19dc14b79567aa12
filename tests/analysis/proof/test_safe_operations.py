"""What is finite at every operand, in each spelling: nothing is said by default."""

import pytest

from tests.analysis.support import function, open_, unmet

SAFE = [
    "torch.sqrt(F.relu(x))",  # the gradient of relu is 0 at 0, whatever comes from above
    "x.norm()",
    "torch.norm(x)",
    "x.norm(dim=-1, keepdim=True)",
    "torch.linalg.vector_norm(x)",
    "torch.linalg.norm(x, dim=1)",
    "torch.cdist(x, x)",
    "F.pairwise_distance(x, x + 1)",
    "nn.PairwiseDistance()(x, x + 1)",
    "F.normalize(x)",
    "torch.nn.functional.normalize(x, dim=-1)",
    "F.cosine_similarity(x, x + 1)",
    "torch.cosine_similarity(x, x + 1)",
    "nn.CosineSimilarity(dim=1)(x, x + 1)",
    "torch.atan2(x, x)",
    "x.atan2(x.relu())",
    "torch.std(x, dim=0)",
    "x.std()",
    "x.std(dim=-1, keepdim=True)",
    "torch.ones(4).std()",
    "x.relu().prod()",
    "torch.prod(x.relu(), dim=0)",
    "x.relu().cumprod(dim=0)",
    "torch.cumprod(1 - torch.sigmoid(x), dim=-1)",
    "F.binary_cross_entropy(torch.rand(3), x.clamp(0, 1).round())",
    "F.binary_cross_entropy(x.clamp(0, 1), torch.ones(3))",
    "nn.BCELoss()(x.clamp(0, 1), torch.zeros(3))",
    "F.kl_div(F.log_softmax(x, dim=-1), torch.zeros(3))",
    "nn.KLDivLoss(reduction='batchmean')(x.log_softmax(-1), torch.eye(3))",
    "F.scaled_dot_product_attention(x, x, x, attn_mask=torch.full((4, 4), float('-inf')))",
    "torch.view_as_complex(x).abs()",
    "torch.view_as_complex(x).angle()",
    "torch.abs(x)",
    "F.softmax(x.masked_fill(x > 0, torch.finfo(x.dtype).min), dim=-1)",
    "x.masked_fill(x > 0, torch.finfo(torch.float32).min).softmax(-1)",
    "torch.softmax(torch.where(x > 0, x, torch.finfo(x.dtype).min), dim=-1)",
    "F.softplus(torch.tensor(100.0))",
    "F.softplus(x)",
    "nn.Softplus()(x)",
    "F.batch_norm(torch.ones(4, 3), None, None, training=True)",
    "nn.BatchNorm1d(3)(torch.ones(4, 3))",
    "F.layer_norm(x, (3,))",
    "F.cross_entropy(x, torch.arange(3))",
    "F.binary_cross_entropy_with_logits(x, torch.ones(3))",
    "torch.logsumexp(x, dim=-1)",
    "F.logsigmoid(x)",
    "torch.log1p(x.abs())",
    "torch.log1p(F.relu(x))",
    "torch.expm1(-x.abs())",
    "torch.exp(-x.pow(2))",
    "torch.exp(-x * x / 2)",
    "torch.exp(x * -x)",
    "torch.exp(-F.softplus(x))",
    "torch.sigmoid(x) / 2",
    "x / 3",
    "x / x.shape[0]",
    "x / 2 ** 0.5",
    "x * torch.rsqrt(torch.tensor(64.0))",
    "F.gelu(x) / 1.702",
    "1 / (1 + x.abs())",
    "1 / (1 + x ** 2)",
    "torch.sqrt(1 + x.pow(2))",
    "torch.log(2 + torch.tanh(x))",
    "torch.log(torch.tensor(10000.0))",
    "torch.sinh(torch.tanh(x))",
    "torch.exp(torch.tanh(x) * 5)",
    "torch.acos(torch.tanh(x) * 0.99)",
    "x ** 2",
    "x ** 3",
    "torch.pow(x, 2)",
    "2 ** torch.tanh(x)",
]


@pytest.mark.parametrize("line", SAFE)
def test_a_safe_operation(line: str) -> None:
    assert unmet(function(line)) == []


IMPORTED = [
    ("from torch import norm", "norm(x)"),
    ("from torch import std as spread", "spread(x, dim=0)"),
    ("from torch.nn.functional import normalize", "normalize(x)"),
    ("from torch.nn.functional import normalize as unit", "unit(x, dim=-1)"),
    ("from torch.nn.functional import softplus", "torch.exp(-softplus(x))"),
    ("from torch.linalg import vector_norm", "vector_norm(x)"),
    ("import torch.linalg as LA", "LA.vector_norm(x, dim=-1)"),
    ("import torch as th", "th.cdist(x, x)"),
    ("import torch as T", "T.nn.functional.normalize(x)"),
    ("from torch import nn as layers", "layers.Softplus()(x)"),
    ("from torch.nn import functional as fn", "fn.cosine_similarity(x, x)"),
    ("from torch.special import expit, log1p", "log1p(expit(x))"),
]


@pytest.mark.parametrize(("statement", "line"), IMPORTED)
def test_a_safe_operation_under_another_name(statement: str, line: str) -> None:
    assert unmet(f"{statement}\n" + function(line)) == []


@pytest.mark.parametrize(
    ("before", "line"),
    [
        ("n = torch.linalg.vector_norm\ny = n(x)", "y"),
        ("norm = nn.Softplus()\nd = norm(x)", "torch.exp(-d)"),
        ("d = x.abs()\nd = d + 1", "x / d"),
        ("d = 1 + x.abs()\ne = d", "x / e"),
        ("a, b = x.abs() + 1, x", "b / a"),
        ("lowest = torch.finfo(x.dtype).min\ny = x.masked_fill(x > 0, lowest)", "y.softmax(-1)"),
        ("u = F.normalize(x, dim=-1)\ns = (u @ u.T)", "s / 0.07"),
        ("temperature = 0.07\ny = x / temperature", "y.softmax(-1)"),
    ],
)
def test_a_safe_operation_through_variables(before: str, line: str) -> None:
    assert open_(function(line, before=before)) == []


@pytest.mark.parametrize(
    ("attribute", "line"),
    [
        ("nn.CosineSimilarity(dim=-1)", "self.part(x, x)"),
        ("nn.PairwiseDistance()", "self.part(x, x)"),
        ("nn.Softplus()", "torch.exp(-self.part(x))"),
        ("nn.LogSoftmax(dim=-1)", "F.nll_loss(self.part(x), torch.arange(3))"),
        ("nn.BatchNorm1d(3)", "self.part(x)"),
        ("nn.CrossEntropyLoss()", "self.part(x, torch.arange(3))"),
        ("nn.BCEWithLogitsLoss()", "self.part(x, torch.ones(3))"),
        ("nn.Sequential(nn.Linear(3, 3), nn.Softplus())", "x / (1 + self.part(x))"),
        ("0.07", "x / self.part"),
        ("8 ** -0.5", "x * self.part"),
        ("1e-5", "x / (x.norm(dim=-1, keepdim=True) + self.part)"),
        ("1e-12", "torch.sqrt(x.pow(2).sum() + self.part)"),
    ],
)
def test_a_safe_operation_through_an_attribute(attribute: str, line: str) -> None:
    program = f"""
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.part = {attribute}

        def forward(self, x):
            return {line}
    """
    assert open_(program) == []
