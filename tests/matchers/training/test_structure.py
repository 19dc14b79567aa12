import pytest

from tests.codemod.differential.tried import fixed
from tests.matchers.support import findings, reasons

MODULE = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {lines}
"""


def _model(*lines: str) -> str:
    return MODULE.format(lines="\n        ".join(lines))


@pytest.mark.parametrize(
    "line",
    [
        "self.layers = [nn.Linear(2, 2), nn.Linear(2, 2)]",
        "self.layers = [nn.Linear(2, 2) for _ in range(3)]",
        "self.heads = {'a': nn.Linear(2, 2)}",
    ],
)
def test_layers_in_a_plain_container(line: str) -> None:
    assert findings("SL610", _model(line)) == [line]


@pytest.mark.parametrize(
    ("lines", "fix"),
    [
        (
            ("self.heads = {'a': nn.Linear(2, 2), 'b': nn.ReLU()}", "self.head = self.heads['a']"),
            "ModuleDict",
        ),
        (("self.heads = {'a': nn.Linear(2, 2)}", "self.head = self.heads.get('a')"), None),
        (("self.layers = [nn.Linear(2, 2)]", "self.layers.append(nn.Linear(2, 2))"), "ModuleList"),
        (("self.layers = [nn.Linear(2, 2)]", "self.layers.reverse()"), None),
    ],
)
def test_a_container_is_one_for_modules_where_that_has_the_methods_that_are_called(
    lines: tuple[str, ...], fix: str | None
) -> None:
    text = fixed(f"import torch\nfrom torch import nn\n\n{_model(*lines)}", unsafe=True)[0]
    assert (f"nn.{fix}(" in text) if fix else ("nn.Module" not in text.replace("nn.Module)", ""))


@pytest.mark.parametrize(
    "lines",
    [
        ("self.layers = nn.ModuleList([nn.Linear(2, 2)])",),
        ("self.layers = [nn.Linear(2, 2)]", "self.all = nn.ModuleList(self.layers)"),
        ("self.layers = [nn.Linear(2, 2)]", "self.add_module('a', self.layers[0])"),
        ("self.activations = [nn.ReLU(), nn.Tanh()]",),
        ("self.teacher = [torch.load]",),
    ],
)
def test_layers_that_are_registered_or_have_no_parameters(lines: tuple[str, ...]) -> None:
    assert findings("SL610", _model(*lines)) == []


def test_a_list_of_layers_in_a_class_that_is_no_module() -> None:
    assert findings("SL610", _model("self.layers = [nn.Linear(2, 2)]").replace("nn.Module", "object")) == []


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("torch.load(f)", True),
        ("torch.load(f, 'cpu')", False),
        ("torch.load(f, **o)", False),
        ("torch.load(f + '/resnet50-0676ba61.pth')", False),
        ("torch.load(f'{f}/vit_b_16-c867db91.pth')", False),
        ("torch.load('run-20210504.pth')", True),
        ("torch.load('run-decade.pth')", True),
    ],
)
def test_a_load_that_names_no_device(call: str, found: bool) -> None:
    assert bool(findings("SL613", f"def restore(m, f, o):\n    m.load_state_dict({call})\n")) is found


@pytest.mark.parametrize(("name", "found"), [("resnet50-0676ba61.pth", False), ("best.pth", True)])
def test_a_load_of_what_was_published_by_its_path(name: str, found: bool) -> None:
    code = f"def restore(m, d):\n    path = d + '/{name}'\n    m.load_state_dict(torch.load(path))\n"
    assert bool(findings("SL613", code)) is found


@pytest.mark.parametrize(
    ("then", "is_offered"),
    [
        ("return saved['epoch']", True),
        ("return int(saved['epoch']), Config(saved['config'])", True),
        ("print(saved['loss'])", True),
        ("return Data.from_dict(saved['data'])", False),
        ("return resume(model, buffer=saved['buffer'])", False),
        ("model.scale.data = saved['scale']", False),
    ],
)
def test_a_load_stays_where_other_entries_go_into_functions(then: str, is_offered: bool) -> None:
    source = (
        "import torch\n\n\ndef restore(model, path):\n    saved = torch.load(path)\n"
        f"    model.load_state_dict(saved['model'])\n    {then}\n"
    )
    assert ("map_location" in fixed(source, unsafe=True)[0]) is is_offered


@pytest.mark.parametrize(
    ("then", "is_offered"),
    [("net.eval()", False), ("net.eval(); net.to(d)", True), ("m.load_state_dict(net)", True)],
)
def test_a_model_that_is_loaded_as_a_whole_stays_where_it_is_run(then: str, is_offered: bool) -> None:
    source = f"import torch\ndef restore(m, f, d):\n    net = torch.load(f)\n    {then}\n    return net\n"
    assert ("map_location" in fixed(source, unsafe=True)[0]) is is_offered


def test_what_was_moved_before_says_nothing_of_a_model_that_is_loaded_as_a_whole() -> None:
    train = "    net = nn.Linear(2, 2)\n    net.to(d)\n    net.load_state_dict(o)\n"
    source = f"import torch\nfrom torch import nn\ndef train(f, o, d):\n{train}    net = torch.load(f)\n    test(net, d)\n"
    assert "map_location" not in fixed(source, unsafe=True)[0]


@pytest.mark.parametrize(
    ("after", "is_offered"),
    [
        ("return model", True),
        ("return [model(x) for x in data]", True),
        ("for x in tqdm(loader):\n        kept.append(model(x))", False),
    ],
)
def test_a_loader_keeps_its_order_where_another_loop_goes_over_it(after: str, is_offered: bool) -> None:
    source = (
        "import torch\nfrom torch.utils.data import DataLoader\n\n\ndef train(model, data, optimizer, kept):\n"
        "    loader = DataLoader(data, batch_size=4)\n    for x in loader:\n        optimizer.zero_grad()\n"
        f"        model(x).sum().backward()\n        optimizer.step()\n    {after}\n"
    )
    assert ("shuffle=True" in fixed(source, unsafe=True)[0]) is is_offered


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("return [self.layers[i].state_dict() for i in range(2)]", "would be asked for twice"),
        ("return [one.state_dict() for one in self.layers]", "would be asked for twice"),
        ("return list(map(nn.Module.state_dict, self.layers))", "would be asked for twice"),
        ("torch.save(self.layers, given)", "would be asked for twice"),
        ("self.layers = [one.to(given) for one in self.layers]", "anew"),
        ("self.layers.remove(given)", "`remove`"),
        ("self.layers = None", None),
        ("return len(self.layers)", None),
    ],
)
def test_layers_that_a_class_keeps_itself_stay_where_they_are(body: str, why: str | None) -> None:
    code = _model("self.layers = [nn.Linear(2, 2)]") + f"    def keep(self, given):\n        {body}\n"
    (reason,) = reasons("SL610", code)
    assert (why or "") in reason
    assert ("ModuleList" in fixed(f"import torch.nn as nn\n{code}", unsafe=True)[0]) is (why is None)


@pytest.mark.parametrize(
    ("elsewhere", "why"),
    [
        ("one.state_dict() for one in net.layers", "asked for"),
        ("p for one in net.layers for p in one.parameters()", "given"),
    ],
)
def test_layers_that_others_take_one_by_one_stay_where_they_are(elsewhere: str, why: str) -> None:
    code = _model("self.layers = [nn.Linear(2, 2)]") + f"def keep(net):\n    return [{elsewhere}]\n"
    (reason,) = reasons("SL610", code)
    assert f"{why} twice" in reason
    assert "ModuleList" not in fixed(f"import torch.nn as nn\n{code}", unsafe=True)[0]


@pytest.mark.parametrize(
    ("other", "told"), [("return DataLoader(self.kept, 8, shuffle=True)", 0), ("pass", 1)]
)
def test_a_loader_beside_one_that_shuffles_is_in_the_order_that_is_meant(other: str, told: int) -> None:
    code = f"""
    from pytorch_lightning import LightningModule
    from torch.utils.data import DataLoader

    class Model(LightningModule):
        def train_dataloader(self, by_user=False):
            if not by_user:
                {other}
            return DataLoader(self.users, batch_size=8)
    """
    assert len(findings("SL630", code)) == told


@pytest.mark.parametrize(("evaluates", "told"), [(True, 0), (False, 1)])
def test_a_loader_that_a_loop_evaluates_on_in_between_is_none_of_training(evaluates: bool, told: int) -> None:
    code = f"""
    def train(model, data, held, optimizer):
        loader = DataLoader(data, batch_size=8, shuffle=True)
        other = DataLoader(held, batch_size=8)
        batches = iter(loader)
        for step in range(100):
            optimizer.zero_grad()
            model(next(batches)).backward()
            optimizer.step()
            others = iter(other)
            for _ in range(10):
                y = model(next(others))
                {"print(y)" if evaluates else "y.backward()"}
    """
    assert len(findings("SL630", code)) == told


@pytest.mark.parametrize(
    ("line", "told"),
    [("self.a = self.convs[shift]; self.b = self.convs[1 - shift]", 0), ("self.a = self.convs[0]", 1)],
)
def test_layers_of_a_list_that_are_attributes_too_are_registered(line: str, told: int) -> None:
    code = f"""
    class Mixer(nn.Module):
        def __init__(self, shift):
            super().__init__()
            self.convs = [nn.Conv2d(3, 3, 3), nn.Conv2d(3, 3, 1)]
            {line}
    """
    assert len(findings("SL610", code)) == told
