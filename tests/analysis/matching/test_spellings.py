"""One flaw, however it is spelled, is one finding of one rule."""

import pytest

from tests.analysis.support import function, open_

SPELLINGS = {
    "SL101": [
        "torch.log(F.relu(x))",
        "F.relu(x).log()",
        "F.relu(x).log_()",
        "torch.log2(torch.relu(x))",
        "x.relu().log10()",
        "torch.log(input=x.relu())",
        "torch.log(nn.ReLU()(x))",
        "torch.log(torch.abs(x.relu()))",
        "torch.log(x.clamp(min=0))",
        "torch.log(torch.clamp(x, 0, 1))",
        "torch.log(x.relu().view(-1))",
        "torch.log(x.relu().sum(dim=-1))",
        "torch.log(x.relu().mean(-1))",
        "torch.log1p(-x.clamp(0, 1))",
        "torch.log(x.norm(dim=-1))",
        "torch.log(torch.norm(x, dim=-1))",
        "torch.log(torch.linalg.norm(x, dim=-1))",
    ],
    "SL102": [
        "x / x.relu()",
        "x.div(x.relu())",
        "torch.div(x, x.relu())",
        "torch.true_divide(x, x.relu())",
        "1 / x.relu()",
        "torch.reciprocal(x.relu())",
        "x.relu().reciprocal()",
        "x.relu() ** -1",
        "torch.pow(x.clamp(min=0), -1)",
        "x.clamp(min=0).pow(-1)",
        "x / (x.relu() + 0.0)",
        "x / (x - x)",
        "x / (x > 0).sum()",
        "x / torch.count_nonzero(x)",
    ],
    "SL103": [
        "torch.sqrt(x.clamp(min=0))",
        "x.clamp(min=0).sqrt()",
        "x.clamp(min=0).sqrt_()",
        "x.clamp(min=0) ** 0.5",
        "x.clamp(min=0).pow(0.5)",
        "torch.pow(x.clamp(min=0), 0.5)",
        "torch.pow(x.clamp(min=0), 1 / 3)",
        "torch.rsqrt(x.clamp(min=0))",
        "x.relu() ** -0.5",
        "x.clamp(min=0).rsqrt()",
    ],
    "SL104": [
        "torch.acos(x.clamp(-1, 1))",
        "x.clamp(-1, 1).acos()",
        "torch.arccos(torch.clamp(x, -1, 1))",
        "x.clamp(min=-1, max=1).arcsin()",
        "torch.atanh(torch.tanh(x))",
        "torch.logit(torch.sigmoid(x))",
        "torch.erfinv(torch.tanh(x))",
    ],
    "SL202": [
        "torch.log(torch.softmax(x, dim=-1))",
        "torch.log(x.softmax(-1))",
        "F.softmax(x, dim=1).log()",
        "nn.Softmax(dim=1)(x).log()",
        "torch.log(torch.nn.functional.softmax(x, -1))",
        "torch.special.softmax(x, -1).log()",
    ],
    "SL203": [
        "torch.log(torch.sigmoid(x))",
        "x.sigmoid().log()",
        "torch.log(F.sigmoid(x))",
        "torch.log(nn.Sigmoid()(x))",
        "torch.log(1 - torch.sigmoid(x))",
        "torch.log1p(-torch.sigmoid(x))",
        "torch.log(torch.special.expit(x))",
    ],
    "SL204": [
        "torch.log(torch.exp(x).sum(-1))",
        "x.exp().sum(dim=-1).log()",
        "torch.log(torch.sum(torch.exp(x), dim=1))",
        "torch.log(torch.exp(x) + torch.exp(y))",
    ],
    "SL205": ["torch.log(1 + torch.exp(x))", "torch.log(torch.exp(x) + 1)", "torch.log1p(x.exp())", "(1 + x.exp()).log()"],
    "SL206": [
        "torch.exp(x) / torch.exp(x).sum(-1, keepdim=True)",
        "x.exp() / x.exp().sum(dim=-1, keepdim=True)",
        "torch.exp(x).div(torch.sum(torch.exp(x), -1, keepdim=True))",
    ],
    "SL207": ["1 / (1 + torch.exp(-x))", "1.0 / (1.0 + (-x).exp())", "torch.reciprocal(1 + torch.exp(-x))"],
    "SL301": [
        "F.cross_entropy(F.softmax(x, dim=1), y)",
        "F.cross_entropy(x.softmax(1), y)",
        "nn.CrossEntropyLoss()(torch.softmax(x, 1), y)",
        "torch.nn.functional.cross_entropy(input=torch.softmax(x, dim=1), target=y)",
    ],
    "SL303": ["F.nll_loss(F.softmax(x, dim=1), y)", "nn.NLLLoss()(x.softmax(1), y)"],
    "SL304": [
        "F.binary_cross_entropy(torch.sigmoid(x), y)",
        "nn.BCELoss()(x.sigmoid(), y)",
        "nn.BCELoss(reduction='sum')(nn.Sigmoid()(x), y)",
    ],
    "SL305": [
        "F.binary_cross_entropy_with_logits(torch.sigmoid(x), y)",
        "nn.BCEWithLogitsLoss()(x.sigmoid(), y)",
    ],
    "SL501": [
        "torch.softmax(x.masked_fill(y == 0, float('-inf')), dim=-1)",
        "x.masked_fill(y == 0, -torch.inf).softmax(-1)",
        "F.softmax(torch.where(y == 0, float('-inf'), x), dim=-1)",
        "nn.Softmax(dim=-1)(x.masked_fill(~(y > 0), float('-inf')))",
    ],
}  # fmt: skip
CASES = [(code, line) for code, lines in SPELLINGS.items() for line in lines]


@pytest.mark.parametrize(("code", "line"), CASES, ids=[f"{code}-{line}" for code, line in CASES])
def test_a_flaw_in_each_spelling(code: str, line: str) -> None:
    assert open_(function(line, parameters="x: torch.Tensor, y: torch.Tensor")) == [(2, code)]


@pytest.mark.parametrize(
    ("statement", "line"),
    [
        ("from torch import log", "log(x.relu())"),
        ("from torch import log as ln", "ln(x.relu())"),
        ("import torch as th", "th.log(th.relu(x))"),
        ("import torch.nn.functional as func", "torch.log(func.relu(x))"),
        ("from torch.nn import functional", "torch.log(functional.relu(x))"),
        ("from torch.nn.functional import relu", "torch.log(relu(x))"),
    ],
)
def test_a_flaw_under_another_name(statement: str, line: str) -> None:
    assert "SL101" in {code for _, code in open_(f"{statement}\n" + function(line))}


@pytest.mark.parametrize(
    "program",
    [
        "def f(x: torch.Tensor):\n    from torch import log\n    return log(x.relu())\n",
        "def f(x: torch.Tensor):\n    import torch.nn.functional as G\n    return torch.log(G.relu(x))\n",
        "async def f(x: torch.Tensor):\n    return torch.log(torch.relu(x))\n",
        "class A:\n    @staticmethod\n    def f(x):\n        return torch.log(torch.relu(x))\n",
        "class A:\n    @classmethod\n    def f(cls, x):\n        return torch.log(torch.relu(x))\n",
        "class A:\n    @property\n    def f(self):\n        return torch.log(torch.relu(self.x))\n",
        "class A:\n    class B:\n        def f(self, x):\n            return torch.log(torch.relu(x))\n",
        "def f(x):\n    def g(y):\n        return torch.log(torch.relu(y))\n    return g(x)\n",
        "def f(x):\n    yield torch.log(torch.relu(x))\n",
        "def f(x):\n    return {k: torch.log(torch.relu(v)) for k, v in x.items()}\n",
        "def f(x):\n    while x.sum() > 0:\n        x = torch.log(torch.relu(x))\n    return x\n",
        "def f(x):\n    try:\n        return x\n    except ValueError:\n        return torch.log(torch.relu(x))\n",
        "def f(x):\n    match x.ndim:\n        case 1:\n            return torch.log(torch.relu(x))\n",
        "def f(x):\n    return f'{torch.log(torch.relu(x))}'\n",
        "if True:\n    def f(x):\n        return torch.log(torch.relu(x))\n",
        "x = torch.randn(3, requires_grad=True)\nprint(torch.log(torch.relu(x)))\n",
        "@torch.jit.script\ndef f(x):\n    return torch.log(torch.relu(x))\n",
    ],
)
def test_a_flaw_wherever_it_stands(program: str) -> None:
    assert [code for _, code in open_(program)] == ["SL101"]


@pytest.mark.parametrize(
    "spectrum",
    ["torch.fft.fftn(x)", "torch.fft.fftshift(torch.fft.fft2(x))", "torch.view_as_real(torch.fft.ifft2(x))"],
)
def test_a_spectrum_of_silence_is_0(spectrum: str) -> None:
    code = f"""
        class Whitening(nn.Module):
            def forward(self, x):
                return 1 / {spectrum}.abs()
    """
    assert open_(code) == [(3, "SL102")]
