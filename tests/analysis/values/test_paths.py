"""What one of several paths makes of a value is seen behind the place at which they meet."""

import pytest

from tests.analysis.support import findings, open_, unmet, violated

FOUND = {
    "an optional mask": (
        """
        def f(s, text_mask=None):
            if text_mask is not None:
                s = s.masked_fill(text_mask == 0, float("-inf"))
            return torch.softmax(s, -1)
        """,
        "SL501",
    ),
    "an optional mask in place": (
        """
        def f(s, text_mask=None):
            if text_mask is not None:
                s.masked_fill_(text_mask == 0, float("-inf"))
            return F.softmax(s, dim=-1)
        """,
        "SL501",
    ),
    "a rearrangement behind the branch": (
        """
        def f(q, k, text_mask=None):
            s = q @ k.transpose(-2, -1)
            if text_mask is not None:
                s = s.masked_fill(text_mask.unsqueeze(1) == 0, float("-inf"))
            s = s.view(1, 2, 3)
            return F.softmax(s, dim=-1)
        """,
        "SL501",
    ),
    "a softmax on one path": (
        """
        def f(z, y, flag):
            if flag:
                z = torch.softmax(z, -1)
            return F.cross_entropy(z, y)
        """,
        "SL301",
    ),
    "a softmax on the other path": (
        """
        def f(z, y, flag):
            p = z if flag else torch.softmax(z, -1)
            return nn.CrossEntropyLoss()(p, y)
        """,
        "SL301",
    ),
    "one of three paths": (
        """
        def f(z, y, kind):
            if kind == "a":
                p = torch.softmax(z, -1)
            elif kind == "b":
                p = z + 1
            else:
                p = z
            return F.cross_entropy(p, y)
        """,
        "SL301",
    ),
    "the path in training": (
        """
        class M(nn.Module):
            def f(self, z, y):
                if self.training:
                    z = torch.softmax(z, -1)
                return F.cross_entropy(z, y)
        """,
        "SL301",
    ),
    "two tests that can both hold": (
        """
        def f(z, y, flag, other):
            if flag:
                z = torch.softmax(z, -1)
            if other:
                return F.cross_entropy(z, y)
            return z
        """,
        "SL301",
    ),
}

SILENT = {
    "a finite mask": """
        def f(s, mask=None):
            if mask is not None:
                s = s.masked_fill(mask == 0, torch.finfo(s.dtype).min)
            return torch.softmax(s, -1)
        """,
    "a causal mask": """
        def f(s, causal: bool):
            if causal:
                s = s.masked_fill(torch.triu(torch.ones(4, 4), diagonal=1).bool(), float("-inf"))
            return torch.softmax(s, -1)
        """,
    "no softmax on any path": """
        def f(z, y, flag):
            p = z * 2 if flag else z
            return F.cross_entropy(p, y)
        """,
    "the same test twice": """
        def f(z, y, flag):
            if flag:
                z = torch.softmax(z, -1)
            if not flag:
                return F.cross_entropy(z, y)
            return z
        """,
    "a test that implies the other": """
        def f(z, y, flag, other):
            if flag:
                z = torch.softmax(z, -1)
            if other and not flag:
                return F.cross_entropy(z, y)
            return z
        """,
    "a value made from the branch and the same test": """
        def f(z, y, flag):
            if flag:
                z = torch.softmax(z, -1)
            z = z.view(3, 4)
            return z.mean() if flag else F.cross_entropy(z, y)
        """,
    "a zero under one test only": """
        def f(x, flag):
            n = x.relu() if flag else x.abs() + 1
            if not flag:
                return torch.log(n)
            return n
        """,
    "an output for evaluation": """
        class M(nn.Module):
            def forward(self, z):
                if not self.training:
                    z = torch.softmax(z, -1)
                return z

        def step(z, y):
            return F.cross_entropy(M()(z), y)
        """,
    "different values under two tests": """
        def f(a, b, one, two):
            p = a if one else b
            q = a if two else b
            return 1 / ((p - q).abs() + 0.1)
        """,
}


@pytest.mark.parametrize(("program", "code"), FOUND.values(), ids=FOUND.keys())
def test_a_flaw_of_one_path_is_found(program: str, code: str) -> None:
    assert [found for _, found in open_(program)] == [code]


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT.keys())
def test_paths_that_no_run_takes_are_left_out(program: str) -> None:
    assert unmet(program) == []


def test_a_choice_that_a_caller_makes_is_only_possible() -> None:
    program = """
    class Head(nn.Module):
        def __init__(self, normalise):
            super().__init__()
            self.normalise = normalise

        def forward(self, z):
            if self.normalise:
                z = torch.softmax(z, -1)
            return z

    def step(head: Head, z, y):
        return F.cross_entropy(Head(y)(z), y)
    """
    assert [code for _, code in open_(program)] == ["SL301"]


def test_opposite_choices_are_different_values() -> None:
    program = """
    def f(a: torch.Tensor, flag):
        low, high = (a, a * 2) if flag else (a * 2, a)
        return 1 / (high - low)
    """
    assert violated(program) == []


def test_a_rewrite_of_the_whole_is_withheld_where_only_one_path_holds_it() -> None:
    program = """
    def f(z, flag):
        p = torch.softmax(z, -1)
        if flag:
            p = p * 0.5
        return torch.log(p)
    """
    (found,) = findings(program)
    assert (found.code, found.proposals) == ("SL202", ())
    assert found.fix_withheld is not None


def test_the_part_is_changed_where_its_path_computes_it() -> None:
    program = """
    def f(z, y, flag):
        if flag:
            p = torch.softmax(z, -1)
        else:
            p = z * 2
        return F.cross_entropy(p, y)
    """
    (found,) = findings(program)
    assert found.expression == "torch.softmax(z, -1)"
    assert [proposal.template for proposal in found.proposals] == ["$z"]
