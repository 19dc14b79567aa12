"""What becomes of a result: where no gradient comes back from it, and where an infinity is what is meant."""

import pytest

from tests.analysis.support import open_, proved

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
        ("return float(d.max())", False),
        ("return d < torch.rand_like(d)", False),
        ("return torch.distributions.Categorical(logits=d).sample()", False),
        ("e = torch.distributions.Normal(a, 1 + d); return e.sample(d.shape).mean(0)", False),
        ("e = torch.distributions.Normal(a, 1 + d); return e.rsample()", True),
        ("e = torch.distributions.Normal(a, 1 + d); i = e.sample(); return e.log_prob(i)", True),
        ("e = torch.distributions.Normal(a, 1 + d); return e, e.sample()", True),
        ("return kept.Normal(a, 1 + d).sample()", True),
        ("return d < torch.rand(d.shape[1:], dtype=d.dtype)", False),
        ("return torch.tensor([d.max(), 1.0])", False),
        ("return torch.tensor([(d * e).mean() for e in b])", False),
        ("return torch.as_tensor(d)", True),
        ("return torch.tensor(d), [d for e in d]", True),
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


GATHERED = """
def f(x, rows, kept, found_before=None):
    {}
    for row in rows:
        d = torch.sqrt(((x - row) ** 2).sum(-1))
        found.append(d.mean())
    {}
"""


@pytest.mark.parametrize(
    ("begun", "use", "felt"),
    [
        ("found = []", "return torch.tensor(found)", False),
        ("found = []", "found = torch.tensor(found).unsqueeze(1); return found + found.T", False),
        ("found = []", "n = len(found); return torch.tensor(found) / n", False),
        ("found = []", "return torch.tensor([found, found])", False),
        (
            "found = []",
            "found = torch.tensor(found)\n    if kept:\n        found = found * 2\n    return found",
            True,
        ),
        ("found = []", "return torch.stack(found)", True),
        ("found = []", "return torch.as_tensor(torch.stack(found))", True),
        ("found = []", "return torch.tensor(found), found", True),
        ("found = []", "found = torch.stack(found); return found", True),
        ("found = []", "kept.extend(found); return torch.tensor(found)", True),
        ("found = []", "other = found; return torch.tensor(found), other", True),
        ("found = []", "found[0].backward(); return torch.tensor(found)", True),
        ("found = []", "sum(found).backward(); return torch.tensor(found)", True),
        ("found = []", "kept(found); return torch.tensor(found)", True),
        ("found = []", "g = lambda: found; found = torch.tensor(found); return g", True),
        ("found = []", "found = torch.tensor(found); found = []; found.append(d); return found", True),
        ("found = []", "found += [d]; return torch.tensor(found)", True),
        ("found = kept", "return torch.tensor(found)", True),
        ("found = other = []", "kept.append(other); return torch.tensor(found)", True),
        ("kept = [] if kept is None else kept; found = kept", "return torch.tensor(found)", True),
        ("global found; found = []", "return torch.tensor(found)", True),
    ],
)
def test_a_list_that_is_made_a_tensor_of_numbers_passes_no_gradient(begun: str, use: str, felt: bool) -> None:
    assert ("SL105" in [rule for _, rule in open_(GATHERED.format(begun, use))]) is felt


def test_a_list_may_be_a_callers() -> None:
    given = "def f(x, row, found=None):\n    if found is None:\n        found = []\n"
    body = "    found.append(torch.sqrt(((x - row) ** 2).sum(-1)))\n    return torch.tensor(found)\n"
    assert "SL105" in [rule for _, rule in open_(given + body)]


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


DIVISORS = """
@torch.no_grad()
def f(x, v, w, kept=None):
    e = torch.exp(v)
    {}
"""


@pytest.mark.parametrize(
    ("use", "told"),
    [
        ("return (x - w) / e", False),
        ("return (x - w) ** 2 / (2 * e + 1e-8)", False),
        ("return (x / e).sum(-1)", False),
        ("return 1 / (1 + e)", True),
        ("return e.reciprocal()", True),
        ("return torch.log(x / e)", True),
        ("y = x / e; return w / y", True),
        ("y = 1 / e; return w / y", True),
        ("y = w / (e / 2); return y * x", False),
        ("return torch.where(x > 0, torch.log(x / e), 0)", True),
        ("return torch.rand_like(e) < e", False),
        ("return torch.rand(e.shape[1], device=e.device) < e.view(e.size(0), -1)", False),
        ("accepted = e.clamp(min=1e-3).sqrt() > 0.5; return accepted", False),
        ("return e / (1 + e)", True),
        ("return torch.exp(w) / e", True),
        ("return x * 2**w / e", True),
        ("return torch.exp(w) * x / e", True),
        ("return x / e, e", True),
        ("kept(e); return x / e", True),
        ("return x / (e * w)", True),
        ("return x / (e - e.mean())", True),
        ("return e / x > 1", True),
        ("return e > e.mean()", True),
        ("return e.argmax()", True),
        ("return e < torch.full_like(x, 2.0) / e", True),
        ("return torch.full_like(x, e)", True),
        ("return x / e.half()", True),
    ],
)
def test_an_exponential_that_divides_or_is_compared_may_be_infinite_where_no_gradient_is(
    use: str, told: bool
) -> None:
    assert ((3, "SL201") not in proved(DIVISORS.format(use))) is told


def test_an_exponential_that_divides_may_not_be_infinite_where_a_gradient_is() -> None:
    assert (2, "SL201") not in proved("def f(x, v):\n    return (x - v) / torch.exp(v)")
    assert (2, "SL201") in proved("def f(x, v):\n    return (x - v) / torch.exp(v.detach())")


def test_an_exponential_in_half_precision_is_infinite_where_its_quotient_is_not_0() -> None:
    of_half = "@torch.no_grad()\ndef f(x, v):\n    return x / torch.exp(v.half())"
    assert (3, "SL201") not in proved(of_half)
