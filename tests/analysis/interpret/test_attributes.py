"""What an object holds is known however it was put there."""

from pathlib import Path
from textwrap import dedent

import pytest

from stablelint.analysis.check import AnalysisOptions, check_source
from tests.analysis.support import CATALOG, IMPORTS, body, discharged_by, open_, violated

# Each `{}` is how `head` comes to be a softmax, or a layer that is none.
SET = {
    "in a tuple": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.head, self.loss = {}, nn.CrossEntropyLoss()

            def forward(self, z, y):
                return self.loss(self.head(z), y)
        """,
    "by a helper": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self._build()

            def _build(self):
                self.head = {}
                self.loss = nn.CrossEntropyLoss()

            def forward(self, z, y):
                return self.loss(self.head(z), y)
        """,
    "by a helper's helper": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self._build()

            def _build(self):
                self._build_head()

            def _build_head(self):
                self.head = nn.Sequential(nn.Linear(3, 3), {})

            def forward(self, z, y):
                return F.cross_entropy(self.head(z), y)
        """,
    "by a helper that a subclass defines": """
        class Base(nn.Module):
            def __init__(self):
                super().__init__()
                self.build()

            def build(self):
                raise NotImplementedError

        class M(Base):
            def build(self):
                self.head = {}

            def forward(self, z, y):
                return F.cross_entropy(self.head(z), y)
        """,
    "by setattr": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                setattr(self, "head", {})

            def forward(self, z, y):
                return F.cross_entropy(self.head(z), y)
        """,
    "by add_module": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.add_module("head", {})

            def forward(self, z, y):
                return F.cross_entropy(self.head(z), y)
        """,
    "on the class": """
        class M(nn.Module):
            head = {}

            def forward(self, z, y):
                return F.cross_entropy(self.head(z), y)
        """,
    "by a base class": """
        class Base(nn.Module):
            def __init__(self):
                super().__init__()
                self.head = {}

        class M(Base):
            def forward(self, z, y):
                return F.cross_entropy(self.head(z), y)
        """,
    "by a base class called by name": """
        class Base(nn.Module):
            def __init__(self):
                nn.Module.__init__(self)
                self.head = {}

        class M(Base):
            def __init__(self):
                Base.__init__(self)
                self.fc = nn.Linear(3, 3)

            def forward(self, z, y):
                return F.cross_entropy(self.head(self.fc(z)), y)
        """,
    "by the default of a data class": """
        from dataclasses import dataclass, field

        @dataclass
        class M:
            head: nn.Module = field(default_factory=lambda: {})

            def __call__(self, z, y):
                return F.cross_entropy(self.head(z), y)
        """,
    "after the fields of a data class": """
        from dataclasses import dataclass

        @dataclass
        class M:
            size: int = 3

            def __post_init__(self):
                self.head = {}

            def __call__(self, z, y):
                return F.cross_entropy(self.head(z), y)
        """,
    "in a tuple of the module": """
        head, loss = {}, nn.CrossEntropyLoss()

        def step(z, y):
            return loss(head(z), y)
        """,
    "in a tuple that a function returns": """
        def make():
            return {}, nn.CrossEntropyLoss()

        head, loss = make()

        def step(z, y):
            return loss(head(z), y)
        """,
}


@pytest.mark.parametrize("program", SET.values(), ids=SET.keys())
def test_a_layer_is_known_however_it_was_set(program: str) -> None:
    assert [code for _, code in open_(program.replace("{}", "nn.Softmax(dim=1)"))] == ["SL301"]
    assert open_(program.replace("{}", "nn.Linear(3, 3)")) == []


FLOOR = """
class M(nn.Module):
    def __init__(self, eps=1e-3):
        super().__init__()
        {}

    def forward(self, z):
        return torch.log(z.relu() + self.floor)
"""
HELPER = "self._set(eps)\n\n    def _set(self, eps):\n        self.floor = eps"


@pytest.mark.parametrize(
    "statement",
    [
        HELPER,
        "setattr(self, 'floor', eps)",
        "self.register_buffer('floor', torch.full((3,), 1e-3))",
        "self.register_buffer(tensor=torch.tensor(1e-3), name='floor', persistent=False)",
    ],
)
def test_a_constant_is_known_however_it_was_set(statement: str) -> None:
    program = FLOOR.format(statement)
    assert open_(program) == []
    assert "SL101" in discharged_by(program)


def test_a_buffer_of_zeros_is_filled_later() -> None:
    program = """
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(3))

        def forward(self, z):
            return z / self.count
    """
    assert violated(program) == []


def test_what_another_method_sets_again_is_not_what_was_built() -> None:
    program = """
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self._reset()

        def _reset(self):
            self.count = 1.0

        def restart(self):
            self._reset()
            self.count = 0.0

        def forward(self, z):
            return z / self.count
    """
    assert discharged_by(program).get("SL102") is None


@pytest.mark.parametrize(("layer", "codes"), [("nn.Softmax(dim=1)", ["SL301"]), ("nn.ReLU()", [])])
def test_a_base_class_of_another_file_builds_with_a_helper(
    tmp_path: Path, layer: str, codes: list[str]
) -> None:
    base = f"""
    class Base(nn.Module):
        def __init__(self):
            super().__init__()
            self._build()

        def _build(self):
            self.head, self.loss = {layer}, nn.CrossEntropyLoss()
    """
    model = """
    from pkg.base import Base

    class M(Base):
        def forward(self, z, y):
            return self.loss(self.head(z), y)
    """
    package = tmp_path / "pkg"
    package.mkdir()
    for name, text in {"__init__.py": "", "base.py": body(base), "model.py": body(model)}.items():
        (package / name).write_text(IMPORTS + dedent(text))
    source = (package / "model.py").read_bytes()
    report = check_source(source, "pkg/model.py", CATALOG, AnalysisOptions(root=tmp_path))
    assert [d.code for d in report.diagnostics] == codes


def test_a_tuple_of_another_file_is_taken_apart(tmp_path: Path) -> None:
    (tmp_path / "parts.py").write_text(IMPORTS + "head, loss = nn.Softmax(1), nn.CrossEntropyLoss()\n")
    program = IMPORTS + "from parts import head, loss\n\ndef step(z, y):\n    return loss(head(z), y)\n"
    (tmp_path / "train.py").write_text(program)
    report = check_source(program.encode(), "train.py", CATALOG, AnalysisOptions(root=tmp_path))
    assert [d.code for d in report.diagnostics] == ["SL301"]


def test_what_a_constructor_sets_is_known_where_it_was_analysed_before() -> None:
    program = """
    class M(nn.Module):
        def forward(self, x):
            return torch.log(self.share(x))

        def __init__(self, n):
            super().__init__()
            self.share = nn.Softmax(dim=-1)
            self.scale = 1 / n if self.training else 1.0
    """
    assert violated(program) == [(3, "SL202")]
