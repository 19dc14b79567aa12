"""What is run later, or goes on where something was raised: a generator, the lines behind a `with`."""

import pytest

from tests.analysis.support import assumed, open_, proved

LATER = {
    "a name that is bound anew": """
        @torch.no_grad()
        def f(x: torch.Tensor):
            y = x.abs() + 1
            logs = (torch.log(y) for _ in range(1))
            y = x
            return list(logs)
        """,
    "a tensor that is written into": """
        @torch.no_grad()
        def f(x: torch.Tensor):
            y = x.abs() + 1
            logs = (torch.log(y + i) for i in range(3))
            y.mul_(-5)
            return sum(logs)
        """,
    "a global of the same name as what is bound anew": """
        y = torch.ones(3)
        @torch.no_grad()
        def f(x: torch.Tensor):
            y = x.abs() + 1
            logs = (torch.log(y) for _ in range(1))
            y = x
            return list(logs)
        """,
    "what a function keeps that has the name of one of Python's": """
        kept = []
        def sum(values):
            kept.append(values)
        @torch.no_grad()
        def f(x: torch.Tensor):
            y = x.abs() + 1
            sum(torch.log(y + i) for i in range(3))
            y.mul_(-5)
            return list(kept[0])
        """,
    "what an object keeps that has a method of a list": """
        @torch.no_grad()
        def f(x: torch.Tensor, store):
            y = x.abs() + 1
            store.extend(torch.log(y + i) for i in range(3))
            y.mul_(-5)
            return list(store)
        """,
}
AT_ONCE = """
    @torch.no_grad()
    def f(x: torch.Tensor):
        y = x.abs() + 1
        total = sum(torch.log(y + i) for i in range(3))
        y = x
        return total
    """
IN_A_LIST = """
    @torch.no_grad()
    def f(x: torch.Tensor):
        y, found = x.abs() + 1, []
        found.extend(torch.log(y + i) for i in range(3))
        y = x
        return found
    """
UNTOUCHED = """
    @torch.no_grad()
    def f(x: torch.Tensor):
        y = x.abs() + 1
        logs = (torch.log(y + i) for i in range(3))
        return sum(logs)
    """
SWALLOWED = {
    "an exit that says so": """
        class Quiet:
            def __enter__(self): return self
            def __exit__(self, *error): return True
        @torch.no_grad()
        def f(x: torch.Tensor):
            with Quiet():
                if (x <= 0).any():
                    raise ValueError
            return torch.log(x)
        """,
    "a generator that goes on": """
        from contextlib import contextmanager
        @contextmanager
        def quiet():
            try:
                yield
            except ValueError:
                pass
        @torch.no_grad()
        def f(x: torch.Tensor):
            with quiet():
                if (x <= 0).any():
                    raise ValueError
            return torch.log(x)
        """,
}
RAISED_ON = """
    class Loud:
        def __enter__(self): return self
        def __exit__(self, *error): return False
    @torch.no_grad()
    def f(x: torch.Tensor):
        with Loud():
            if (x <= 0).any():
                raise ValueError
        return torch.log(x)
    """


@pytest.mark.parametrize("code", LATER.values(), ids=LATER)
def test_a_generator_sees_what_its_names_stand_for_when_it_is_run(code: str) -> None:
    assert "SL101" in {rule for _, rule in open_(code)}


@pytest.mark.parametrize(
    "code",
    [AT_ONCE, IN_A_LIST, UNTOUCHED],
    ids=["consumed where it stands", "put into a list", "nothing changed"],
)
def test_a_generator_whose_names_keep_their_values_is_proved(code: str) -> None:
    assert "SL101" in {rule for _, rule in proved(code)}


@pytest.mark.parametrize("code", SWALLOWED.values(), ids=SWALLOWED)
def test_what_a_context_swallows_has_tested_nothing(code: str) -> None:
    assert "SL101" in {rule for _, rule in open_(code)}


def test_a_context_that_lets_errors_pass_keeps_what_was_tested() -> None:
    assert "SL101" in {rule for _, rule in proved(RAISED_ON)}


def test_what_a_cache_hands_out_is_assumed_to_be_left_alone() -> None:
    code = """
        import functools
        @functools.lru_cache
        def table(n):
            return torch.ones(n + 1)
        def f():
            return torch.log(table(3))
        """
    assert "SL101" in {rule for _, rule in assumed(code)}


@pytest.mark.parametrize("kept", ["[lambda: e for e in (1, 0)]", "tuple((e, lambda: e) for e in (1, 0))[0]"])
def test_functions_of_a_comprehension_share_what_it_loops_over(kept: str) -> None:
    code = "def f(x):\n    e = 1\n    g = {}\n    return 1 / (x.abs() + g[-1]())\n"
    assert proved(code.format(kept)) == []
    assert proved(code.format("[lambda e=1: e]")) == [(4, "SL102")]
