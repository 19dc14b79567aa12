import pytest

from tests.matchers.support import findings

MAKE = """
def make(model):
    {cast}
    return torch.optim.{optimizer}
"""
ADAM = "Adam(model.parameters(), lr=1e-3)"


@pytest.mark.parametrize(
    "cast",
    [
        "model.half()",
        "model = model.half()",
        "model = model.to(torch.float16)",
        "model.to('cuda', dtype=torch.half)",
    ],
)
@pytest.mark.parametrize(
    "optimizer", [ADAM, "AdamW(model.parameters(), eps=1e-8)", "RMSprop(model.parameters())"]
)
def test_an_optimizer_of_half_parameters(cast: str, optimizer: str) -> None:
    assert len(findings("SL413", MAKE.format(cast=cast, optimizer=optimizer))) == 1


def test_a_layer_that_is_made_half_at_once() -> None:
    code = "net = nn.Linear(2, 2).half()\nopt = torch.optim.Adam(net.parameters())\n"
    assert len(findings("SL413", code)) == 1


@pytest.mark.parametrize(
    ("cast", "optimizer"),
    [
        ("model.half()", "Adam(model.parameters(), eps=1e-4)"),
        ("model.half()", "SGD(model.parameters(), lr=0.1)"),
        ("model.half().float()", ADAM),
        ("model = model.to(torch.bfloat16)", ADAM),
        ("other = model.half()\n    model = model.float()", ADAM),
        ("x = torch.ones(2).half()", ADAM),
    ],
)
def test_an_optimizer_whose_eps_the_parameters_hold(cast: str, optimizer: str) -> None:
    assert findings("SL413", MAKE.format(cast=cast, optimizer=optimizer)) == []
