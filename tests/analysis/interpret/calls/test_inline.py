"""Calls that are followed, within a budget of statements."""

import pytest

from ...support import findings, open_, unmet


def test_a_long_call_leaves_statements_to_the_function_that_makes_it() -> None:
    few, many = ("\n".join(["                x = torch.relu(x + 1)"] * count) for count in (30, 400))
    code = f"""
        class Net(nn.Module):
            def loss(self, x, y):
                return F.binary_cross_entropy(self.forward(x), y)

            def forward(self, x):
                x = self.features(x)
{few}
                return torch.sigmoid(x)

            def features(self, x):
{many}
                return x
    """
    assert open_(code) == [(3, "SL304")]


@pytest.mark.parametrize(
    ("passed", "codes"),
    [("self.judge(x)", ["SL304"]), ("x", []), ("torch.relu(x)", [])],
)
def test_a_public_method_is_looked_at_with_the_probabilities_that_a_call_passes(
    passed: str, codes: list[str]
) -> None:
    code = f"""
    class Judge(nn.Module):
        def forward(self, x):
            return torch.sigmoid(x)

    class GAN(nn.Module):
        def __init__(self):
            super().__init__()
            self.judge = Judge()

        def adversarial_loss(self, guess, truth):
            return F.binary_cross_entropy(guess, truth)

        def training_step(self, x):
            return self.adversarial_loss({passed}, torch.ones(4, 1))
    """
    found = findings(code)
    assert [d.code for d in found] == codes
    assert all(not d.proposals and d.fix_withheld for d in found)


def test_what_a_body_yields_that_was_cut_off_is_no_answer_for_the_next_call() -> None:
    waiting = "\n".join(["        waited = waited + 1"] * 150)
    code = f"""
    def _ones(waited):
{waiting}
        return torch.ones(3)

    def _late(waited):
{waiting}
        return _ones(0)

    def direct():
        return torch.log(_ones(0))

    def nested():
        return torch.log(_late(0))
    """
    assert unmet(code) == [(311, "SL101")]


@pytest.mark.parametrize(("said", "told"), [("", True), (' -> "Path"', False), (" -> Optional[str]", False)])
def test_what_a_function_says_to_yield_text_is_divided_by_nothing(said: str, told: bool) -> None:
    code = f"def find(n){said}:\n    return n.parent\n\ndef f(n, k):\n    return find(n) / k\n"
    assert ((5, "SL102") in open_(code)) is told
