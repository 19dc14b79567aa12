"""Guards that stand elsewhere than at the operation: in a test, a group, a caller, a table."""

import pytest

from tests.analysis.support import open_, violated


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(
            """
            def distances(x: torch.Tensor):
                squared = torch.cdist(x, x).pow(2)
                same = squared.eq(0).float()
                squared = squared + same * 1e-16
                return (1.0 - same) * torch.sqrt(squared)
            """,
            id="zeros lifted by their own test",
        ),
        pytest.param(
            """
            EPS = {torch.float32: 1e-7, torch.float64: 1e-15}

            def unit(x: torch.Tensor):
                return x / x.norm(dim=-1, keepdim=True).clamp_min(EPS[x.dtype])
            """,
            id="a table of positive numbers",
        ),
        pytest.param(
            """
            def weights(index: torch.Tensor, x: torch.Tensor, size: int):
                count = torch.zeros(size).scatter_add(0, index, torch.ones_like(x))
                return (1.0 / count)[index]
            """,
            id="groups that are read by their own index",
        ),
        pytest.param(
            """
            def normalise(weight: torch.Tensor, index: torch.Tensor, size: int):
                degree = torch.zeros(size).scatter_add(0, index, torch.ones_like(weight))
                root = degree.pow(-0.5)
                root = root.masked_fill(root == float("inf"), 0.0)
                return root[index] * weight
            """,
            id="empty groups, whose gradient reaches no element",
        ),
        pytest.param(
            """
            def clip(x, low, high):
                return x + (x.clamp(low, high) - x).detach()

            def scale(z, log_scale):
                return z * torch.exp(clip(log_scale, -5.0, 3.0))
            """,
            id="a clamp that lets the gradient through",
        ),
        pytest.param(
            """
            def _mean(values):
                return sum(values) / len(values)

            def log(rows):
                values = [row for row in rows if row > 0]
                return _mean(values) if len(values) > 0 else 0.0
            """,
            id="a test before the only call",
        ),
        pytest.param(
            """
            def weights(y: torch.Tensor):
                return (1.0 / y.bincount())[y]
            """,
            id="a histogram that is read by what it counts",
        ),
        pytest.param(
            """
            def twice(x: torch.Tensor, low: torch.Tensor):
                n = (x > low).sum(-1)
                both = (n * 2).float()
                if (n == 0).any():
                    return x
                return x / both.unsqueeze(-1)
            """,
            id="a test of what the divisor was made from before",
        ),
        pytest.param(
            """
            def share(x: torch.Tensor, low: torch.Tensor, others: list):
                for other in others:
                    n = (x > low).sum()
                    if n == 0 or len(other) < 3:
                        continue
                    x = x / n
                return x
            """,
            id="either of two tests leaves the loop",
        ),
    ],
)
def test_a_guard_that_stands_elsewhere_is_followed(code: str) -> None:
    assert open_(code) == []


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (
            """
            def weights(index: torch.Tensor, other: torch.Tensor, size: int):
                count = torch.zeros(size).scatter_add(0, index, torch.ones(9))
                return (1.0 / count)[other]
            """,
            [(3, "SL102")],
        ),
        (
            """
            def rotate(v: torch.Tensor, flag: torch.Tensor):
                safe = torch.where(flag, torch.ones_like(v), v)
                return v / safe.norm(dim=-1, keepdim=True)
            """,
            [(3, "SL102")],
        ),
        (
            """
            def weights(y: torch.Tensor, other: torch.Tensor):
                return (1.0 / y.bincount())[other]
            """,
            [(2, "SL102")],
        ),
        (
            """
            def pooled(x: torch.Tensor, labels: torch.Tensor, group: torch.Tensor):
                found, _ = torch.unique(labels, return_inverse=True)
                count = torch.zeros(found.numel()).scatter_add_(0, group, torch.ones(9))
                return torch.zeros(found.numel()).scatter_add_(0, group, x) / count
            """,
            [(4, "SL102")],
        ),
        (
            """
            def twice(x: torch.Tensor, low: torch.Tensor):
                n = (x > low).sum(-1)
                both = (n * 2).float()
                if (n == 0).all():
                    return x
                return x / both.unsqueeze(-1)
            """,
            [(6, "SL102")],
        ),
        (
            """
            def per_query(hits: torch.Tensor, labels: torch.Tensor, label: int, count: int):
                total = torch.zeros(len(labels))
                total[torch.where(labels == label)[0]] = count
                return hits / total
            """,
            [(4, "SL102")],
        ),
        (
            """
            def reduced(x: torch.Tensor, kind: str = "sum"):
                if kind == "max" or kind == "min":
                    return x.relu().amax(-1)
                return x.exp().sum(-1) + 1

            def total(x: torch.Tensor):
                return reduced(x, "max").log()
            """,
            [(7, "SL101")],
        ),
        (
            """
            def share(x: torch.Tensor, low: torch.Tensor, others: list):
                for other in others:
                    n = (x > low).sum()
                    if n == 0 and len(other) < 3:
                        continue
                    x = x / n
                return x
            """,
            [(6, "SL102")],
        ),
    ],
)
def test_what_only_looks_like_one_is_not(code: str, expected: list[tuple[int, str]]) -> None:
    assert violated(code) == expected


def test_unscaling_in_a_loop_over_the_optimizers_is_unscaling() -> None:
    code = """
    def train(model, optimizers, scaler, loss):
        scaler.scale(loss).backward()
        {between}
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            scaler.step(optimizer)
        scaler.update()
    """
    unscaled = "for optimizer in optimizers:\n            scaler.unscale_(optimizer)"
    assert (4, "SL406") in open_(code.format(between="pass"))
    assert open_(code.format(between=unscaled)) == []


def test_a_minimum_less_a_maximum_is_not_above_zero() -> None:
    code = """
    def logaddexp(x: torch.Tensor, y: torch.Tensor):
        low, high = torch.minimum(x, y), torch.maximum(x, y)
        return (low - high).exp().log1p() + high
    """
    assert open_(code) == []


def test_a_nucleus_keeps_its_first_token() -> None:
    code = """
    def nucleus(logits: torch.Tensor, p: float):
        ordered, _ = torch.sort(logits, descending=True)
        share = ordered.softmax(-1).cumsum(-1)
        return ordered.masked_fill(share > p, float("-inf")).softmax(-1)
    """
    assert open_(code) == []


def test_a_count_has_no_gradient_and_what_it_divides_has() -> None:
    code = """
    def pooled(embedding: nn.Embedding, tokens: torch.Tensor):
        keep = (tokens != 0).float()
        count = keep.sum(1, keepdim=True)
        average = (embedding(tokens) * keep.unsqueeze(-1)).sum(1) / count
        return torch.where(count == 0, torch.zeros_like(average), average)
    """
    assert (4, "SL503") in open_(code)


def test_a_test_in_the_constructor_holds_for_what_the_object_keeps() -> None:
    code = """
    class Scale(nn.Module):
        def __init__(self, weights):
            super().__init__()
            self.count = int((weights > 0).sum())
            {test}

        def forward(self, x: torch.Tensor):
            return x / self.count
    """
    refuses = "if self.count < 1:\n                raise ValueError(weights)"
    assert open_(code.format(test=refuses)) == []
    assert open_(code.format(test="assert self.count > 0")) == []
    assert open_(code.format(test="pass")) == [(8, "SL102")]


def test_a_mode_that_every_caller_of_today_passes_leaves_the_others_in_view() -> None:
    code = """
    def _reduced(x: torch.Tensor, chosen: torch.Tensor, kind: str):
        x = x[chosen > 0]
        if kind == "sum":
            return x.sum()
        return x.mean()

    def loss(x: torch.Tensor, chosen: torch.Tensor):
        return _reduced(x, chosen, "sum")
    """
    assert open_(code) == [(5, "SL502")]


CHECKED = """
def require(condition, what):
    if not condition:
        raise ValueError(what)

def positive(x: torch.Tensor, *, name="x"):
    assert (x > 0).all(), name

def some(mask):
    {first}
    if mask.sum() == 0:
        raise RuntimeError

def mean(x: torch.Tensor, mask: torch.Tensor, n, scale: torch.Tensor):
    require(n > 0, "n")
    positive(scale, name="scale")
    some(mask)
    return (x * mask).sum() / mask.sum() / n + torch.log(scale)
"""


def test_what_a_function_refuses_does_not_get_past_its_call() -> None:
    assert open_(CHECKED.format(first="pass")) == []


def test_a_check_that_may_be_skipped_says_nothing() -> None:
    assert open_(CHECKED.format(first="if mask.is_cuda:\n        return")) == [(18, "SL502")]
