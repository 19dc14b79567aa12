"""Where an operand came from: the statement in sight, and what made the value in another function."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.runtime.crash.crashes import HEAD
from tests.runtime.crash.running import explained

DATA = HEAD + "from torch.utils.data import DataLoader, Dataset, TensorDataset\n"
NET = "class Net(nn.Module):\n    def __init__(self, n):\n        super().__init__()\n"
LOOP = "for x, y in loader:\n    nn.Linear(5, 2)(x)"

CASES = {
    "what a caller passed": (
        HEAD + "def mean(values):\n    return values.sum() + torch.ones(3)[values]\n"
        "def shifted(x):\n    return mean(x.clone())\nshifted(torch.ones(2))",
        "values",
        ("x.clone()", None),
    ),
    "what a function returned, as a part of a tuple": (
        HEAD + "def mask(n):\n    kept = torch.ones(n, n)\n    return kept\n"
        "def made():\n    return torch.ones(3), mask(4)\nx, seen = made()\nx + seen",
        "seen",
        ("x, seen = made()", "kept = torch.ones(n, n)"),
    ),
    "an item of a data set": (
        DATA + "class Rows(Dataset):\n    def __len__(self):\n        return 4\n"
        "    def __getitem__(self, i):\n        row = torch.ones(3)\n        return row, i\n"
        f"loader = DataLoader(Rows(), 2)\n{LOOP}",
        "x",
        ("for (x, y) in loader", "row = torch.ones(3)"),
    ),
    "what a batch was put together by": (
        DATA + "def gather(rows):\n    return torch.stack(rows), len(rows)\n"
        f"loader = DataLoader([torch.ones(3)] * 4, 2, collate_fn=gather)\n{LOOP}",
        "x",
        ("for (x, y) in loader", "torch.stack(rows)"),
    ),
    "a tensor of a data set of tensors": (
        DATA + "rows, marks = torch.ones(4, 3), torch.ones(4)\n"
        f"loader = DataLoader(TensorDataset(rows, marks), 2)\n{LOOP}",
        "x",
        ("for (x, y) in loader", "torch.ones(4, 3)"),
    ),
    "an entry of a dict that a generator yields": (
        HEAD + "def batches():\n    yield {'x': torch.ones(2, 3)}\n"
        "for batch in batches():\n    nn.Linear(5, 2)(batch['x'])",
        "batch['x']",
        ("for batch in batches()", "torch.ones(2, 3)"),
    ),
    "a layer that is written out in a row of layers": (
        HEAD + NET + "        self.row = nn.Sequential(nn.ReLU(), nn.Linear(n, 2))\n"
        "    def forward(self, x):\n        return self.row(x)\nNet(5)(torch.ones(2, 3))",
        "weight of row.1",
        ("nn.Linear(n, 2)", None),
    ),
    "a layer that stands behind others which a function made": (
        HEAD + NET + "        def block(a, b):\n            return [nn.Linear(a, b), nn.ReLU()]\n"
        "        self.row = nn.Sequential(*block(n, 4), nn.Linear(4, 2))\n"
        "    def forward(self, x):\n        return self.row(x)\nNet(5)(torch.ones(2, 3))",
        "weight of row.0",
        ("block(n, 4)", None),
    ),
    "an array that a function of several makes a tensor": (
        HEAD
        + "import numpy as np\nclass Memory:\n    def __init__(self):\n        self.seen = np.zeros((4, 2))\n"
        "        self.taken = np.zeros((4, 1), dtype=np.float32)\n    def sample(self, rows):\n"
        "        return tuple(torch.from_numpy(a[rows]) for a in (self.seen, self.taken))\n"
        "memory = Memory()\nseen, taken = memory.sample([0, 1])\nseen.gather(1, taken)",
        "taken",
        ("seen, taken = memory.sample([0, 1])", "self.taken = np.zeros((4, 1), dtype=np.float32)"),
    ),
    "a list that is made a tensor of a dtype": (
        HEAD + "def made():\n    rows = [[0], [1]]\n    return torch.tensor(rows, dtype=torch.int32)\n"
        "index, x = made(), torch.ones(2, 2)\nx.gather(1, index.float())",
        "index.float()",
        ("index, x = (made(), torch.ones(2, 2))", "torch.tensor(rows, dtype=torch.int32)"),
    ),
    "a state that is cut off from step to step": (
        HEAD + "def begin():\n    return torch.zeros(1, 2, 4), torch.zeros(1, 2, 4)\n"
        "state = begin()\nstate = tuple(one.detach() for one in state)\n"
        "nn.LSTM(3, 4)(torch.ones(5, 6, 3), state)",
        "state[0]",
        ("state = tuple((one.detach() for one in state))", "torch.zeros(1, 2, 4)"),
    ),
}


@pytest.mark.parametrize(("source", "name", "places"), CASES.values(), ids=CASES)
def test_an_operand_is_followed_to_what_made_it(
    source: str, name: str, places: tuple[str, str | None], tmp_path: Path
) -> None:
    path = tmp_path / "train.py"
    path.write_text(source + "\n")
    found, _ = explained(path)
    assert found is not None
    operand = next(one for one in found.operands if one.name == name)
    told = [one and one.expression for one in (operand.made_at, operand.source)]
    assert told == list(places)


def test_no_operation_is_taken_for_what_made_its_result(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(HEAD + "table = torch.ones(3)\nx = torch.ones(4, 1) + table\nx + torch.ones(5)\n")
    found, _ = explained(path)
    assert found is not None
    assert found.operands[0].made_at is not None
    assert found.operands[0].made_at.expression == "x = torch.ones(4, 1) + table"
    assert found.operands[0].source is None


UNTOLD = {
    "what it was selected from": (
        "def begin():\n    return torch.ones(6, 2)\nx = begin()\npicked = x[torch.tensor([0, 1, 2])]\n"
        "picked + torch.ones(4, 2)",
        "picked = x[torch.tensor([0, 1, 2])]",
    ),
    "what another turn was given": (
        "def begin():\n    return torch.ones(2, 3)\nstate, cell = begin(), nn.GRUCell(3, 3)\n"
        "for count in (2, 4):\n    state = state.detach()\n    state = cell(torch.ones(count, 3), state)",
        "state = state.detach()",
    ),
    "what another method gave an attribute": (
        NET + "        self.cell, self.state = nn.GRUCell(3, 3), torch.ones(n, 3)\n"
        "    def forward(self, x):\n        state = self.state\n        self.state = self.cell(x, state)\n"
        "net = Net(2)\nfor count in (2, 4):\n    net(torch.ones(count, 3))",
        "state = self.state",
    ),
    "what an earlier turn was given, of which nothing is left": (
        "state, cell = torch.ones(2, 3), nn.GRUCell(3, 3)\n"
        "for count in (2, 4):\n    state = cell(torch.ones(count, 3), state)",
        None,
    ),
}


@pytest.mark.parametrize(("source", "made"), UNTOLD.values(), ids=UNTOLD)
def test_no_other_tensor_is_told_as_the_origin(source: str, made: str | None, tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(HEAD + source + "\n")
    found, _ = explained(path)
    assert found is not None
    operand = next(one for one in found.operands if one.name in ("picked", "state"))
    assert (operand.made_at and operand.made_at.expression, operand.source) == (made, None)


TURNS = {
    "that counts": "for turn in range(3):\n    state = cell(torch.ones(4, 3), state)",
    "whose last name has no value yet": (
        "for row in rows:\n    state = cell(torch.ones(4, 3), state)\n    total = state.sum()"
    ),
}


@pytest.mark.parametrize("loop", TURNS.values(), ids=TURNS)
def test_what_stands_before_a_loop_is_told_in_its_first_turn(loop: str, tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(
        f"{HEAD}def begin():\n    return torch.ones(2, 3)\n"
        f"state, cell, rows = begin(), nn.GRUCell(3, 3), torch.ones(3)\n{loop}\n"
    )
    found, _ = explained(path)
    assert found is not None
    operand = next(one for one in found.operands if one.name == "state")
    assert operand.source is not None
    assert operand.source.expression == "torch.ones(2, 3)"


def test_an_entry_of_a_configuration_is_told_in_the_file_that_holds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sizes_of_a_net.py").write_text("SIZES = {\n    'flat': 6 * 3,\n}\n")
    path = tmp_path / "train.py"
    path.write_text(
        HEAD + "from sizes_of_a_net import SIZES\ndef main():\n    sizes = SIZES\n"
        "    net = nn.Linear(sizes['flat'], 2)\n    net(torch.ones(4, 12))\nmain()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    found, error = explained(path)
    assert found is not None, error
    told = [(Path(at.filename).name, at.row, at.expression) for _, at in found.other]
    assert ("sizes_of_a_net.py", 2, "6 * 3") in told


def test_what_an_operand_is_computed_of_where_it_failed_has_the_places(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(HEAD + "x = torch.ones(2, 3, 4)\nx.permute(0, 2, 1).view(2, -1)\n")
    found, error = explained(path)
    assert found is not None, error
    (operand,) = found.operands
    assert (operand.name, operand.subject) == ("x.permute(0, 2, 1)", "x")
    assert [what for what, _ in found.other] == ["x is made here"]


ARRAYS = {
    "of the same function": (
        HEAD
        + "import numpy as np\ndef load():\n    rows = np.ones((4, 3))\n    return torch.from_numpy(rows[1:])\n"
        "nn.Linear(3, 2)(load())",
        "rows = np.ones((4, 3))",
    ),
    "of the caller": (
        HEAD + "import numpy as np\ndef made(rows):\n    return torch.from_numpy(rows)\n"
        "table = np.ones((4, 3))\nnn.Linear(3, 2)(made(table))",
        "table = np.ones((4, 3))",
    ),
    "of an attribute": (
        HEAD
        + "import numpy as np\nclass Data:\n    def __init__(self):\n        self.rows = np.ones((4, 3))\n"
        "    def get(self):\n        return torch.from_numpy(self.rows)\nnn.Linear(3, 2)(Data().get())",
        "self.rows = np.ones((4, 3))",
    ),
}


@pytest.mark.parametrize(("source", "made"), ARRAYS.values(), ids=ARRAYS)
def test_the_array_is_told_of_which_a_tensor_is_made(source: str, made: str, tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(source)
    found, error = explained(path)
    assert found is not None, error
    assert [at.expression for what, at in found.other if what.startswith("the array ")] == [made]


def test_the_dtype_is_told_of_the_index_that_is_no_integer(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(
        HEAD
        + "points, rows = torch.ones(4, 3), torch.arange(4)\npicked = torch.zeros(4)\npoints[rows, picked]\n"
    )
    found, error = explained(path)
    assert found is not None, error
    told = [(what, at.expression) for what, at in found.other if "from here on" in what]
    assert told == [("picked is float32 from here on", "torch.zeros(4)")]


def test_a_function_of_one_tensor_is_followed_to_that(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(
        HEAD + "def distil(student, teacher, t=4.0):\n"
        "    return F.kl_div(F.log_softmax(student / t, 1), F.softmax(teacher / t, 1))\n"
        "small, large = torch.ones(4, 3), torch.ones(4, 5)\ndistil(small, large)\n"
    )
    found, error = explained(path)
    assert found is not None, error
    assert [one.subject for one in found.operands] == ["student", "teacher"]
    assert {one.made_at.expression for one in found.operands if one.made_at} == {
        "small, large = (torch.ones(4, 3), torch.ones(4, 5))"
    }


def test_no_loader_that_a_function_makes_is_told_as_what_made_an_item(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(
        DATA
        + "class Rows(Dataset):\n    def __len__(self):\n        return 4\n    def __getitem__(self, i):\n"
        + "        return torch.ones(3) * i, i\n"
        + "class Module:\n    def __init__(self):\n        self.data = Rows()\n"
        "    def loader(self):\n        return DataLoader(self.data, 2)\nmodule = Module()\n"
        "for x, y in module.loader():\n    nn.Linear(5, 2)(x)"
    )
    found, error = explained(path)
    assert found is not None, error
    (x,) = (one for one in found.operands if one.name == "x")
    assert x.source is not None
    assert x.source.expression == "torch.ones(3) * i"
