"""Calls that are followed, within a budget of statements."""

from __future__ import annotations

from ...support import open_


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
