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


def test_what_both_branches_are_made_of_is_not_hidden() -> None:
    body = """
    def f(x, scale):
        x = x / x.std(0)
        spread = (x.T @ x - torch.eye(x.size(1))).pow(2)
        spread[~torch.eye(x.size(1), dtype=bool)] *= scale
        return spread.sum() + torch.where(x.std(0) > 0, x, 2 * x).sum()
    """
    assert findings("SL503", body) == []


def test_the_size_of_an_operand_tells_nothing_of_its_elements() -> None:
    body = """
    def f(x, y):
        shares = x / x.sum(1)
        return torch.where(torch.arange(x.size(1)) > 2, shares, y)
    """
    assert findings("SL503", body) == []
