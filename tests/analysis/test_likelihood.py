"""Which broken obligations are reported unasked, and which only where everything is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablelint.analysis.check import AnalysisOptions, check_source
from stablelint.diagnostic import Level

from .support import CATALOG, IMPORTS, body, likely, possible


def levels(folder: Path, code: str, file: str = "layers.py") -> dict[str, set[Level]]:
    """Levels by rule of a program that stands in a package, so that others may call its functions."""
    path = folder / "package" / file
    path.parent.mkdir(parents=True)
    for parent in (path.parent, folder / "package"):
        (parent / "__init__.py").touch()
    found = check_source((IMPORTS + body(code)).encode(), str(path), CATALOG, AnalysisOptions(root=folder))
    shown: dict[str, set[Level]] = {}
    for diagnostic in found.diagnostics:
        shown.setdefault(diagnostic.code, set()).add(diagnostic.level)
    return shown


ROOT_OF_SQUARES = """
def {name}(x: torch.Tensor):
    return torch.sqrt(x.clamp(min=0))
"""


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("distance", Level.LIKELY),
        ("reconstruction_loss", Level.LIKELY),
        ("_scale", Level.POSSIBLE),
        ("predict", Level.POSSIBLE),
        ("_loss_term", Level.LIKELY),
    ],
)
def test_a_bad_gradient_is_likely_where_something_shows_that_one_is_taken(
    tmp_path: Path, name: str, level: Level
) -> None:
    assert levels(tmp_path, ROOT_OF_SQUARES.format(name=name))["SL103"] == {level}


def test_a_docstring_that_speaks_of_differentiation_shows_it(tmp_path: Path) -> None:
    code = '''
    def _root(x: torch.Tensor):
        """A differentiable root."""
        return torch.sqrt(x.clamp(min=0))
    '''
    assert levels(tmp_path, code)["SL103"] == {Level.LIKELY}


def test_no_gradient_is_felt_in_a_function_that_is_only_called_without_one(tmp_path: Path) -> None:
    code = """
    class Assigner(nn.Module):
        @torch.no_grad()
        def forward(self, boxes):
            return self.sides(boxes)

        def sides(self, boxes):
            return boxes.clamp(min=0).sqrt()
    """
    assert "SL103" not in levels(tmp_path, code)


@pytest.mark.parametrize(
    ("operand", "level"),
    [
        ("x", Level.LIKELY),  # what a caller gives may be silent, padded or constant
        ("torch.relu(self.layer(x))", Level.LIKELY),
        ("self.layer(x)", Level.POSSIBLE),
        ("torch.randn_like(x)", Level.POSSIBLE),
        ("self.weight", Level.POSSIBLE),
        ("torch.softmax(x, -1)", Level.POSSIBLE),
        ("self.anything(x)", Level.POSSIBLE),
    ],
)
def test_a_norm_vanishes_with_raw_data_and_not_with_what_a_network_yields(
    tmp_path: Path, operand: str, level: Level
) -> None:
    code = f"""
    class Unit(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 3)
            self.weight = nn.Parameter(torch.randn(3, 3))

        def forward(self, x):
            v = {operand}
            return 1.0 / v.norm(dim=-1)
    """
    assert levels(tmp_path, code)["SL102"] == {level}


def test_advantages_are_constant_where_nothing_was_won() -> None:
    code = """
    def update(critic, batch):
        advantages = batch.returns - critic(batch.obs)
        return (advantages - advantages.mean()) / advantages.std()
    """
    assert (3, "SL106") in likely(code)


@pytest.mark.parametrize(
    ("file", "level"), [("accuracy.py", Level.LIKELY), ("metrics/accuracy.py", Level.POSSIBLE)]
)
def test_the_nan_of_a_metric_over_nothing_is_its_answer(tmp_path: Path, file: str, level: Level) -> None:
    code = """
    def accuracy(hits: torch.Tensor, target: torch.Tensor):
        return hits.sum() / (target == 3).sum()
    """
    assert levels(tmp_path, code, file)["SL102"] == {level}


@pytest.mark.parametrize(
    ("comment", "shown"),
    [
        ("# NaN where nothing was seen, which nanmean ignores", False),
        ("# never zero: every row holds its own token", False),
        ("# BUG: this is NaN for an empty mask", True),
        ("# mean over the mask", True),
    ],
)
def test_a_comment_that_tells_of_the_bad_value_as_meant_is_believed(comment: str, shown: bool) -> None:
    code = f"""
    def average(x: torch.Tensor, mask: torch.Tensor):
        count = (mask == 1).sum(-1)
        {comment}
        return x.sum(-1) / count
    """
    assert ((4, "SL102") in likely(code)) is shown
    assert ((4, "SL102") in possible(code)) is not shown


def test_a_sigmoid_is_far_from_zero_but_for_its_logarithm() -> None:
    assert likely("def f(x: torch.Tensor):\n    return 1 / torch.sigmoid(x)\n") == []
    assert likely("def f(x: torch.Tensor):\n    return torch.sigmoid(x).log()\n") == [(2, "SL203")]


def test_vectors_divided_by_a_component_of_their_own_cross_its_plane() -> None:
    assert likely("def f(points):\n    return points[..., :2] / points[..., 2:]\n") == [(2, "SL102")]
    assert likely("def f(points, scale):\n    return points[..., :2] / scale[..., 2:]\n") == []


def test_a_log_scale_that_an_object_keeps_is_seldom_large(tmp_path: Path) -> None:
    code = """
    class Head(nn.Module):
        def forward(self, x, log_var):
            return x * self.logit_scale.exp(), log_var.exp()
    """
    found = check_source((IMPORTS + body(code)).encode(), "program.py", CATALOG, AnalysisOptions())
    kept, given = (
        {d.level for d in found.diagnostics if d.code == "SL201" and d.expression.startswith(name)}
        for name in ("self", "log_var")
    )
    assert (kept, given) == ({Level.POSSIBLE}, {Level.LIKELY})


@pytest.mark.parametrize(
    ("cosine", "shown"),
    [("(a * b).sum(-1)", True), ("(a.trace() - 1) / 2", True), ("a", False), ("a.clamp(-0.99, 0.99)", False)],
)
def test_a_computed_cosine_passes_one_by_rounding(cosine: str, shown: bool) -> None:
    code = f"def f(a: torch.Tensor, b: torch.Tensor):\n    return torch.acos({cosine})\n"
    assert likely(code) == ([(2, "SL104")] if shown else [])


def test_an_odd_function_is_zero_where_its_operand_is() -> None:
    code = """
    def slerp(a: torch.Tensor, b: torch.Tensor, t: float):
        angle = torch.acos((a * b).sum(-1).clamp(-0.9999, 1))
        return torch.sin(t * angle) / torch.sin(angle) * a
    """
    assert (3, "SL102") in likely(code)


def test_a_batch_is_not_padding_throughout_and_a_row_of_it_can_be() -> None:
    code = """
    def mean(x: torch.Tensor, attention_mask: torch.Tensor, labels: torch.Tensor):
        chosen = labels != -100
        return (x * {mask}).sum({dim}) / {mask}.sum({dim})
    """
    pairs = [("attention_mask", "", set()), ("attention_mask", "-1", {"SL102"}), ("chosen", "", {"SL502"})]
    for mask, dim, expected in pairs:
        shown = {rule for _, rule in likely(code.format(mask=mask, dim=dim))}
        assert shown & {"SL102", "SL502"} == expected, (mask, dim)


@pytest.mark.parametrize(
    "code",
    [
        """
        def finished(lengths: torch.Tensor, cut: torch.Tensor):
            done = lengths[~cut.bool()]
            if len(done) == 0:
                done = torch.zeros(1)
            return done.float().mean()
        """,
        """
        def ratio(x: torch.Tensor, mask: torch.Tensor, flat: bool):
            if flat:
                chosen = x.flatten()
            else:
                chosen = x[mask.bool()]
            return torch.mean(chosen) if chosen.numel() > 0 else torch.tensor(0.0)
        """,
    ],
)
def test_a_selection_that_was_counted_is_not_empty(code: str) -> None:
    assert likely(code) == []


def test_a_vector_that_is_handed_over_is_a_direction_and_an_offset_may_vanish() -> None:
    code = """
    def unit(v: torch.Tensor, start: torch.Tensor, end: torch.Tensor):
        given = v / v.norm(dim=-1, keepdim=True)
        offset = end - start
        return given, offset / offset.norm(dim=-1, keepdim=True)
    """
    assert likely(code) == [(4, "SL106")]
    assert (2, "SL106") in possible(code)


def test_a_zero_direction_that_its_author_has_met_is_reported() -> None:
    code = """
    def turn(v: torch.Tensor, angle: torch.Tensor):
        turned = torch.sin(angle) * v / v.norm(dim=-1, keepdim=True)
        return torch.where(angle > 1e-6, turned, v)
    """
    assert [line for line, _ in likely(code)] == [2]


@pytest.mark.parametrize(
    "mask",
    [
        "make_pad_mask(lengths)",
        "get_mask_from_lengths(x)",
        "self.pad_mask(lengths=sizes)",
        "sequence_mask(ilens, 9)",
    ],
)
def test_a_helper_that_makes_a_mask_of_lengths_spares_a_place_in_each_row(mask: str) -> None:
    code = f"""
    from .tools import make_pad_mask, get_mask_from_lengths, sequence_mask

    class Loss(nn.Module):
        def forward(self, x, lengths, ilens, sizes):
            kept = ~{mask}
            return (x * kept).sum(dim=1) / kept.sum(dim=1)
    """
    assert likely(code) == []


def test_a_mask_of_anything_else_may_leave_nothing() -> None:
    code = """
    from .tools import valid_mask

    def mean(x, boxes):
        kept = ~valid_mask(boxes)
        return (x * kept).sum(dim=1) / kept.sum(dim=1)
    """
    assert likely(code) == [(5, "SL102")]


@pytest.mark.parametrize(
    "weight",
    ["torch.exp(self.log_scale)", "torch.exp(self.log_scale).sum()", "0.0 + F.softplus(self.log_scale)"],
)
def test_an_exponential_of_a_parameter_underflows_too_far_off_for_its_quotient(weight: str) -> None:
    code = f"""
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.log_scale = nn.Parameter(torch.zeros(3))

        def forward(self, x):
            return x / ({weight})
    """
    assert likely(code) == []


def test_a_draw_that_gives_a_parameter_its_first_value_meets_no_end() -> None:
    code = """
    class Mixer(nn.Module):
        def __init__(self):
            super().__init__()
            self.rate = nn.Parameter(torch.log(torch.rand(8)))

        def forward(self, x):
            return x + torch.log(torch.rand(8))
    """
    assert [line for line, _ in likely(code)] == [7]


def test_a_figure_that_is_printed_has_no_gradient() -> None:
    code = """
    class Probe(nn.Module):
        def forward(self, x):
            print(x.var(0).mean().sqrt())
            return x.var(0).mean().sqrt()
    """
    assert [line for line, _ in likely(code)] == [4]


def test_an_entry_of_a_matrix_is_no_component() -> None:
    code = """
    def scaled(h: torch.Tensor):
        return h / h[..., 2:3, 2:3]
    """
    assert likely(code) == []


def test_a_causal_mask_keeps_a_position_in_each_row() -> None:
    code = """
    def mean(x: torch.Tensor, {name}: torch.Tensor):
        return (x * {name}).sum(-1) / {name}.sum(-1)
    """
    assert likely(code.format(name="causal_mask")) == []
    assert likely(code.format(name="attention_mask")) == [(2, "SL102")]


def test_a_mask_drawn_at_random_leaves_something() -> None:
    code = """
    def masked_loss(loss: torch.Tensor, share: float):
        order = torch.rand(loss.shape).argsort(dim=-1).float()
        mask = order < share * 9
        return loss[mask].mean()
    """
    assert likely(code) == []


@pytest.mark.parametrize(("folder", "expected"), [("envs", []), ("losses", [5])])
def test_what_stands_among_environments_takes_no_gradient(
    tmp_path: Path, folder: str, expected: list[int]
) -> None:
    package = tmp_path / "pkg" / folder
    package.mkdir(parents=True)
    for path in (tmp_path / "pkg", package):
        (path / "__init__.py").touch()
    source = package / "walker.py"
    source.write_text(
        "import torch\n\ndef pitch(x: torch.Tensor):\n    c = x.clamp(-1, 1)\n    return torch.asin(c)\n"
    )
    found = check_source(source.read_bytes(), str(source), CATALOG, AnalysisOptions())
    assert [d.span.start.row for d in found.diagnostics if d.level is Level.LIKELY] == expected


@pytest.mark.parametrize(
    ("name", "expected"), [("token_ids", []), ("relative_positions", []), ("energies", [2])]
)
def test_whole_numbers_have_no_gradient(name: str, expected: list[int]) -> None:
    code = f"""
    def bucket({name}: torch.Tensor):
        far = torch.log({name}.float())
        near = {name}.float()
        return torch.where({name} > 0, far, near)
    """
    assert [line for line, rule in likely(code) if rule == "SL503"] == expected


@pytest.mark.parametrize(("passed", "expected"), [("logstd.clamp(max=10)", []), ("logstd", [7])])
def test_what_every_call_in_sight_bounds_is_taken_for_bounded(passed: str, expected: list[int]) -> None:
    code = f"""
    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 8)

        def sample(self, mean, logstd):
            return mean + torch.exp(logstd)

        def forward(self, x):
            mean, logstd = self.layer(x).chunk(2, -1)
            return self.sample(mean, {passed})
    """
    assert [line for line, rule in likely(code) if line == 7] == expected


def test_the_logarithm_of_a_condition_forbids() -> None:
    code = """
    def log_prob(x: torch.Tensor, v: torch.Tensor):
        return (x == v).float().log() + torch.log((x > 0).type(x.dtype))
    """
    assert likely(code) == []


@pytest.mark.parametrize("shape", ["[:, None]", "[..., None]", "[:, None, :]", "[None]"])
def test_an_index_that_adds_a_dimension_leaves_the_maximum_a_maximum(shape: str) -> None:
    code = f"""
    def attend(x: torch.Tensor, temperature: float):
        top = x.max(dim=1).values{shape}
        e = ((x - top) / temperature).exp()
        return e / e.sum(dim=1, keepdim=True)
    """
    assert likely(code) == []


def test_what_becomes_a_whole_number_has_no_digits_to_lose() -> None:
    code = """
    def durations(x: torch.Tensor):
        return torch.clamp(torch.round(x.exp() - 1.0), min=0).long(), x.exp() - 1
    """
    (found,) = likely(code)
    assert found == (2, "SL209")


def test_a_where_whose_branches_both_hold_the_quotient_has_met_no_zero() -> None:
    code = """
    def turn(v: torch.Tensor, angle: torch.Tensor):
        unit = v / v.norm(dim=-1, keepdim=True)
        return torch.where(angle > 1e-6, unit * angle, -unit)
    """
    assert likely(code) == []
