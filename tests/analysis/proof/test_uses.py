"""What becomes of a result: where no gradient comes back from it, and where an infinity is what is meant."""

import pytest

from tests.analysis.support import open_

DISTANCES = """
def f(a, b, kept, self=None):
    d = torch.sqrt(((a - b) ** 2).sum(-1))
    {}
"""


@pytest.mark.parametrize(
    ("use", "felt"),
    [
        ("return d.argmin(-1)", False),
        ("return (d < 0.5).sum()", False),
        ("return a[torch.argsort(d * 2)]", False),
        ("return d.detach().cpu().numpy()", False),
        ("return d.max().item()", False),
        ("return d.detach() if kept else d.argmin()", False),
        ("return d.detach() if kept else d", True),
        ("return d.argmin(-1), d", True),
        ("kept.append(d); return d.argmin(-1)", True),
        ("kept.d = d; return d.argmin(-1)", True),
        ("d.sum().backward(); return d.argmin(-1)", True),
        ("F.relu(d).mean().backward(); return d < 1", True),
        ("kept(d); return d.argmin(-1)", True),
        ("self.log('d', d); return d.argmin(-1)", True),
        ("kept['d'] = d; return d.argmin(-1)", True),
        ("yield d; return d.argmin(-1)", True),
        ("e = {'d': d}; return e, d.argmin(-1)", True),
        ("e = [d]; return torch.stack(e), d.argmin(-1)", True),
        ("e = [x for x in d]; return e, d.argmin(-1)", True),
        ("g = lambda: d; return g, d.argmin(-1)", True),
        ("e = (d, d.argmin(-1)); return e", True),
        ("return d.topk(3)", True),
        ("e = d; kept += [e]; return d.argmin(-1)", True),
        ("global g; g = d; return d.argmin(-1)", True),
        ("for x in d:\n        kept.append(x)\n    return d.argmin(-1)", True),
        ("kept += [d]; return d.argmin(-1)", True),
        ("e = dict(d=d); i = d.argmin(); return e, i", True),
        ("e = d or 0; i = d.argmin(); return e, i", True),
        ("e = *d, 1; i = d.argmin(); return e, i", True),
        ("e = d; i = (e * 2).argmin(); e = 0; return i", False),
        ("b[0] = d; return d.argmin(-1)", True),
        ("b += d; return d.argmin(-1)", True),
        ("if kept:\n        d = d * 2\n    return d", True),
        ("for _ in range(3):\n        d = d * 2\n    return d", True),
        ("def g():\n        return d\n    return g, d.argmin(-1)", True),
        ("e = {'d': d}; i = d.argmin(-1); d = 0; return e, i", True),
        ("e = [x for x in d]; i = d.argmin(-1); d = 0; return e, i", True),
    ],
)
def test_a_gradient_comes_back_from_whatever_may_be_kept(use: str, felt: bool) -> None:
    assert ("SL105" in [rule for _, rule in open_(DISTANCES.format(use))]) is felt


FUNCTION = """
class Length({base}):
    @staticmethod
    def {method}(ctx, x):
        y = torch.sqrt((x**2).sum(-1))
        ctx.save_for_backward(x, y)
        return y
"""


@pytest.mark.parametrize(
    ("base", "method", "felt"),
    [
        ("torch.autograd.Function", "forward", False),
        ("torch.autograd.Function", "backward", True),
        ("nn.Module", "forward", True),
    ],
)
def test_a_gradient_that_is_written_by_hand_is_not_that_of_the_forward_pass(
    base: str, method: str, felt: bool
) -> None:
    assert bool(open_(FUNCTION.format(base=base, method=method))) is felt
