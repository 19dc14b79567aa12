"""What a method yields whatever it is passed is known also where a function calls more than is followed."""

import pytest

from tests.analysis.support import open_

MANY = "\n".join(f"    y = y + Actor({n})(x + {n})" for n in range(60))
PROGRAM = f"""
class Actor(nn.Module):
    def __init__(self, most=2.0):
        super().__init__()
        self.most, self.mean, self.scale = most, nn.Linear(3, 4), nn.Linear(3, 4)

    def forward(self, x, above=0.0):
        y = torch.relu(x)
        z = y + 1
        z = z.clamp(min=above)
        return (self.mean(z), self.scale(z).clamp(-20.0, self.most))

def f(x, y, n):
    actor = Actor()
{MANY}
    {{}}
    mean, log_scale = actor({{}})
    return log_scale.exp() + 1 / {{}}
"""


@pytest.mark.parametrize(
    ("before", "given", "divisor", "told"),
    [
        ("pass", "x", "4", set()),
        ("pass", "x", "log_scale.exp()", set()),
        ("pass", "x", "log_scale", {"SL102"}),
        ("pass", "x", "(log_scale - actor(x)[1] + 1)", {"SL102"}),
        ("actor.most = n", "x", "4", {"SL201"}),
        ("actor.forward = n", "x", "4", {"SL201"}),
        ("actor.register_forward_hook(n)", "x", "4", {"SL201"}),
        ("pass", "x, n", "4", {"SL201"}),
    ],
)
def test_a_bound_that_a_method_puts_is_known(before: str, given: str, divisor: str, told: set[str]) -> None:
    assert {rule for _, rule in open_(PROGRAM.format(before, given, divisor))} == told
