"""Element types are known from annotations, casts of modules, contexts and settings."""

import ast

import pytest

from stablelint.analysis.values.annotations import annotated
from stablelint.analysis.values.value import Kind
from tests.analysis.support import open_, unmet

DIVIDED = "return 1 / (s.relu() + 1e-8)\n"

HALF = {
    "an annotation": f"def f(s: torch.HalfTensor):\n    {DIVIDED}",
    "an annotated shape": (
        f"from jaxtyping import Float16\nfrom torch import Tensor\ndef f(s: Float16[Tensor, 'b n']):\n    {DIVIDED}"
    ),
    "a constructor": f"def f():\n    s = torch.rand(3, dtype=torch.float16)\n    {DIVIDED}",
    "a filled constructor": f"def f(n):\n    s = torch.full((3,), n, dtype=torch.half)\n    {DIVIDED}",
    "a scatter into a constructor": (
        f"def f(i, x: torch.HalfTensor):\n    s = torch.zeros(3, dtype=torch.half)\n"
        f"    s = s.scatter_add(0, i, x)\n    {DIVIDED}"
    ),
    "a masked fill": f"def f(s: torch.HalfTensor, m):\n    s = s.masked_fill(m, 0.0)\n    {DIVIDED}",
    "the dtype of another": f"def f(x, y: torch.HalfTensor):\n    s = x.to(y.dtype)\n    {DIVIDED}",
    "the type of another": f"def f(x, y: torch.HalfTensor):\n    s = x.type_as(y)\n    {DIVIDED}",
    "a reduction": f"def f(x):\n    s = x.sum(-1, dtype=torch.float16)\n    {DIVIDED}",
    "a default of the file": f"torch.set_default_dtype(torch.float16)\ndef f():\n    s = torch.rand(3)\n    {DIVIDED}",
    "a default type": f"torch.set_default_tensor_type(torch.HalfTensor)\ndef f():\n    s = torch.rand(3)\n    {DIVIDED}",
    "a layer": f"def f(x):\n    s = nn.Linear(3, 3).to(torch.float16)(x)\n    {DIVIDED}",
    "a layer cast in place": (
        f"def f(x):\n    net = nn.Linear(3, 3)\n    net.to(dtype=torch.float16)\n    s = net(x)\n    {DIVIDED}"
    ),
    "a Sequential": f"def f(x):\n    s = nn.Sequential(nn.Linear(3, 3), nn.ReLU()).to(torch.float16)(x)\n    {DIVIDED}",
    "autocast": (
        f"def f(x):\n    fc = nn.Linear(3, 3)\n    with torch.autocast('cuda'):\n        s = fc(x)\n        {DIVIDED}"
    ),
    "autocast of a function": f"@torch.autocast('cuda')\ndef f(x):\n    s = nn.Linear(3, 3)(x)\n    {DIVIDED}",
    "a product under autocast": (
        f"def f(x):\n    with torch.autocast('cuda'):\n        s = (x @ x).abs()\n        {DIVIDED}"
    ),
    "a model's parameters": (
        "class M(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.fc = nn.Linear(3, 3)\n\n"
        "    def forward(self, x):\n        return self.fc(x)\n\n"
        f"def f(x):\n    model = M().cuda().to(torch.float16)\n    s = model(x)\n    {DIVIDED}"
    ),
}

WIDER = {
    "bfloat16": f"def f(s: torch.BFloat16Tensor):\n    {DIVIDED}",
    "a cast back": f"def f(s: torch.HalfTensor):\n    s = s.float()\n    {DIVIDED}",
    "a model cast back": f"def f(x):\n    s = nn.Linear(3, 3).to(torch.float16).float()(x)\n    {DIVIDED}",
    "autocast on the CPU": f"def f(x):\n    with torch.autocast('cpu'):\n        s = nn.Linear(3, 3)(x)\n        {DIVIDED}",
    "a softmax under autocast": (
        f"def f(x):\n    with torch.autocast('cuda'):\n        s = (x @ x).softmax(-1)\n        {DIVIDED}"
    ),
    "autocast switched off": (
        f"def f(x):\n    with torch.autocast('cuda', enabled=False):\n        s = nn.Linear(3, 3)(x)\n        {DIVIDED}"
    ),
    "a reduction in float32": f"def f(x: torch.HalfTensor):\n    s = x.sum(-1, dtype=torch.float32)\n    {DIVIDED}",
    "a default of float64": f"torch.set_default_dtype(torch.float64)\ndef f():\n    s = torch.rand(3)\n    {DIVIDED}",
}


@pytest.mark.parametrize("program", HALF.values(), ids=HALF.keys())
def test_an_eps_is_lost_in_half_precision(program: str) -> None:
    assert [code for _, code in open_(program)] == ["SL402"]


@pytest.mark.parametrize("program", WIDER.values(), ids=WIDER.keys())
def test_an_eps_is_kept_in_a_wider_type(program: str) -> None:
    assert unmet(program) == []


def test_a_mask_constant_beyond_half() -> None:
    program = """
    def f(net, x, mask):
        scores = nn.Linear(3, 3).to(torch.float16)(x)
        scores = scores + (1.0 - mask[:, None]) * {}
        return torch.softmax(scores, -1)
    """
    assert [code for _, code in open_(program.format("-1e9"))] == ["SL403"]
    assert open_(program.format("-10000.0")) == []


@pytest.mark.parametrize(
    "annotation",
    ["torch.BoolTensor", "Bool[Tensor, 'b n']", "Optional[torch.BoolTensor]", "torch.BoolTensor | None"],
)
def test_a_mask_is_known_by_its_annotation(annotation: str) -> None:
    program = f"""
    from typing import Optional
    from jaxtyping import Bool
    from torch import Tensor

    def f(x: torch.Tensor, chosen: {annotation}):
        return x[chosen].mean()
    """
    assert "SL502" in {code for _, code in open_(program)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tensor", (Kind.TENSOR, None)),
        ("torch.Tensor", (Kind.TENSOR, None)),
        ("'torch.Tensor'", (Kind.TENSOR, None)),
        ("Optional[torch.Tensor]", (Kind.TENSOR, None)),
        ("torch.Tensor | None", (Kind.TENSOR, None)),
        ("None | Tensor", (Kind.TENSOR, None)),
        ("Union[Tensor, None]", (Kind.TENSOR, None)),
        ("Tensor | float", (Kind.UNKNOWN, None)),
        ("Annotated[Tensor, 'b n']", (Kind.TENSOR, None)),
        ("torch.cuda.HalfTensor", (Kind.TENSOR, "float16")),
        ("jaxtyping.Float64[torch.Tensor, '*batch']", (Kind.TENSOR, "float64")),
        ("Float[np.ndarray, 'n']", (Kind.UNKNOWN, None)),
        ("float", (Kind.NUMBER, None)),
        ("pathlib.Path", (Kind.FOREIGN, None)),
        ("np.ndarray", (Kind.ARRAY, None)),
        ("'not an annotation ('", (Kind.UNKNOWN, None)),
        ("list[Tensor]", (Kind.UNKNOWN, None)),
        ("3", (Kind.UNKNOWN, None)),
    ],
)
def test_what_an_annotation_says(text: str, expected: tuple[Kind, str | None]) -> None:
    assert annotated(ast.parse(text, mode="eval").body) == expected


def test_nothing_is_said_without_one() -> None:
    assert annotated(None) == (Kind.UNKNOWN, None)


@pytest.mark.parametrize(("dtype", "found"), [("torch.float64", False), ("torch.float32", True)])
def test_a_double_beside_a_number_of_unknown_sort_stays_a_double(dtype: str, found: bool) -> None:
    code = f"""
    def adjusted(logits, beta):
        p = torch.sigmoid(logits.to({dtype})).pow(-beta)
        return torch.log(1 / (torch.clamp(p, min=1 + 1e-10) - 1))
    """
    assert ("SL410" in [code for _, code in open_(code)]) is found


@pytest.mark.parametrize(
    "made",
    ["m % -0.5", "torch.fmod(m, -0.5)", "m // -0.5", "torch.tanh(m)", "torch.lerp(m, m, 0.5)"],
)
def test_what_a_fraction_or_a_function_makes_of_truth_values_holds_fractions(made: str) -> None:
    code = (
        f"def f(x: torch.Tensor):\n    m = x > 0\n    s = {made}\n    s[0] = -1\n    return torch.log1p(s)\n"
    )
    assert unmet(code)


CAST_MODELS = {
    "bound to its name": "model = model.half()",
    "in place": "model.half()",
    "an attribute": "h.model = model.half()\n    model = h.model",
}


@pytest.mark.parametrize("cast", CAST_MODELS.values(), ids=CAST_MODELS)
def test_what_a_model_yields_that_was_cast_is_half(cast: str) -> None:
    program = f"def f(model, x, y, h):\n    {cast}\n    return F.mse_loss(model(x), y)\n"
    assert [code for _, code in open_(program)] == ["SL401"]
    assert open_(program.replace(cast, "pass")) == []


def test_a_tensor_that_was_cast_for_nothing_stays_what_it_was() -> None:
    assert unmet(f"def f(s: torch.Tensor):\n    s.half()\n    {DIVIDED}") == []


@pytest.mark.parametrize(
    ("dtype", "is_half"), [("torch.half", True), ("torch.bfloat16", False), ("kind", False)]
)
def test_a_default_that_some_function_sets_holds_for_the_whole_program(dtype: str, is_half: bool) -> None:
    program = f"def setup(kind):\n    torch.set_default_dtype({dtype})\n\n"
    program += "def f():\n    return torch.log(torch.tensor(1e-9))\n"
    assert (unmet(program) == []) is not is_half


@pytest.mark.parametrize(
    "made",
    [
        "torch.where(m, m.T, 0.5)",
        "torch.where(m, m, x)",
        "x.bool().clamp(min=0.5)",
        "x.long().clamp(0.5, 2.5) - 1",
    ],
)
def test_truth_values_and_integers_beside_fractions_become_fractions(made: str) -> None:
    code = f"def f(x: torch.Tensor):\n    m = x > 0\n    v = {made}\n    v += x.sigmoid() - 0.7\n    return torch.log(v)\n"
    assert (5, "SL101") in unmet(code)
