"""A setting that is not known, or that is no usual one, proves nothing by what its default would make of a result."""

import pytest

from tests.analysis.support import proved, unmet

HEAD = "@torch.no_grad()\ndef f(x: torch.Tensor, w: torch.Tensor, a: float, m: str):\n"

OPEN = {
    "the scale of an elu": "torch.log(F.elu(x, a) + 1.01)",
    "the scale of a celu": "torch.log(F.celu(x, alpha=a) + 1.01)",
    "the ends of a hard tangent": "torch.sqrt(1 - F.hardtanh(x, -1, a))",
    "the slope below 0": "torch.log(-F.leaky_relu(-x.abs() - 1, a))",
    "the sharpness of a softplus": "torch.sqrt(F.softplus(x, beta=a))",
    "the digits of a rounding": "1 / torch.round(x.clamp(min=0.6), decimals=a)",
    "tens that are rounded to": "1 / torch.round(x.clamp(min=0.6), decimals=-1)",
    "how a quotient is rounded": "1 / torch.div(x.clamp(0.5, 0.7), 1, rounding_mode=m)",
    "what stands for a NaN": "torch.log(torch.nan_to_num(x.sqrt() + 1, nan=a))",
    "how a loss is reduced": "torch.sqrt(101 - F.binary_cross_entropy(x.sigmoid(), w.sigmoid(), reduction=m))",
    "how a border is filled": "torch.log(F.pad(x.abs() + 1, (1, 1), mode=m))",
    "the start of a draw": "torch.log(x.clone().uniform_(a, 1))",
    "the order of a norm": "torch.log(torch.norm(x.abs() + 1, p=a) - 0.5)",
    "a norm that no element is below": "torch.log(torch.norm(x.abs() + 1, p=-1) - 0.5)",
    "the norm that is divided by": "torch.sqrt(1.1 - F.normalize(x, p=a))",
    "a count that is divided by": "torch.sqrt(1.1 - F.normalize(x, p=0))",
    "what is added to a product": "torch.log(F.linear(x.abs() + 1, x.abs() + 1, w))",
    "what a product is multiplied with": "torch.log(torch.addmm(x.abs() + 1, x.abs(), w.abs(), alpha=a))",
    "the step of a row": "torch.log(torch.arange(10, -10, a))",
    "the weights of classes": "torch.sqrt(F.cross_entropy(x, w.long(), weight=w))",
    "the weights of elements": "torch.sqrt(F.binary_cross_entropy(x.sigmoid(), w.sigmoid(), weight=w))",
    "a loss of rows that may not be chances": "torch.sqrt(F.ctc_loss(x, w, w, w))",
    "weights that attention drops": "torch.log(F.scaled_dot_product_attention(x, x, w.abs() + 1, dropout_p=0.5))",
    "rows that attention masks": "torch.log(F.scaled_dot_product_attention(x, x, w.abs() + 1, attn_mask=x > 0))",
    "what divides a window": "torch.log(F.avg_pool2d(x.abs() + 1, 2, divisor_override=-4))",
    "windows of zeros alone": ("torch.log(F.conv1d(x.abs()[None] + 1, w.abs()[:, :, None] + 1, padding=1))"),
    "windows whose elements cancel": "1 / F.avg_pool1d(torch.where(x == 0, 1.0, x), 2)",
    "rows that are shortened": "torch.log(F.embedding(w.long(), x.abs() + 1, max_norm=0.1) - 0.5)",
    "what a whole tensor is filled with": "torch.log(torch.full((3,), 1e-50))",
    "a draw below what single precision holds": "torch.log(torch.empty(3).uniform_(1e-50, 1e-49))",
    "a bound that bytes do not hold": "1 / torch.clamp(x.byte(), 0, -2)",
    "bounds that cross": "1 / torch.clamp(x, 1, 0)",
}
PROVED = {
    "windows without a border": "torch.log(F.conv1d(x.abs()[None] + 1, w.abs()[:, :, None] + 1))",
    "any slope": "torch.log(F.leaky_relu(x.abs() + 1, a))",
    "a draw from below 0": "torch.log1p(-torch.empty(3).uniform_(-0.999, 1).abs())",
    "a draw below its end": "torch.log(2 - torch.empty(3).uniform_(1, 2))",
    "a known scale": "torch.log(F.elu(x, 0.5) + 0.6)",
    "a known divisor": "torch.log(F.avg_pool2d(x.abs() + 1, 2, divisor_override=4))",
    "weights that are not negative": "torch.sqrt(F.cross_entropy(x, w.long(), weight=w.abs()))",
    "attention to all": "torch.log(F.scaled_dot_product_attention(x, x, w.abs() + 1))",
    "a norm of a known order": "torch.log(torch.norm(x.abs() + 1, p=3) - 0.5)",
}


@pytest.mark.parametrize("expression", OPEN.values(), ids=OPEN)
def test_nothing_is_proved_by_a_default_in_its_place(expression: str) -> None:
    assert unmet(f"{HEAD}    return {expression}")


@pytest.mark.parametrize("expression", PROVED.values(), ids=PROVED)
def test_what_holds_for_the_settings_is_proved(expression: str) -> None:
    code = f"{HEAD}    return {expression}"
    assert proved(code)
    assert not unmet(code)
