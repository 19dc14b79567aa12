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


def test_an_equal_value_of_another_path_is_not_what_is_hidden() -> None:
    body = """
    def f(x, y, plain):
        inner = 1 - x * x
        if plain:
            return torch.sqrt(inner)
        root = torch.sqrt(1 - x * x)
        return torch.where(inner > 0, root, y)
    """
    assert findings("SL503", body) == ["root = torch.sqrt(1 - x * x)"]
