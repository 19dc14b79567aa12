from tests.matchers.support import findings


def test_a_value_that_a_mask_picks_for_an_assignment_is_hidden_not_guarded() -> None:
    body = """
    def f(x):
        out = torch.zeros_like(x)
        root = torch.sqrt(x)
        out[x > 0] = root[x > 0]
        return out
    """
    assert findings("SL503", body) == ["root = torch.sqrt(x)"]
