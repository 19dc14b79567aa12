import pytest

from tests.codemod.differential.tried import fixed
from tests.matchers.support import findings

EVALUATE = """
def evaluate(model, loader):
    model.eval()
    outputs = []
    for x, y in loader:
        {line}
    return outputs
"""


@pytest.mark.parametrize(
    "line",
    [
        "outputs.append(model(x))",
        "outputs.append(model(x).cpu())",
        "outputs.append(model.forward(x))",
        "outputs.append(torch.softmax(model(x), dim=1))",
        "outputs.append(F.softmax(model(x), dim=-1))",
        "out = model(x); outputs.append(out)",
        "out = model(x).squeeze(1); outputs.append(out.sigmoid())",
        "outputs.append((model(x), y))",
        "outputs += [model(x)]",
        "outputs.extend([model(x)[0]])",
    ],
)
def test_outputs_gathered_with_their_graph(line: str) -> None:
    assert findings("SL615", EVALUATE.format(line=line)) == [line]


@pytest.mark.parametrize(
    "line",
    [
        "outputs.append(model(x).detach())",
        "outputs.append(model(x).argmax(1))",
        "outputs.append(model(x).max(1)[1])",
        "outputs.append(model(x).item())",
        "outputs.append(y)",
        "outputs.append(other(x))",
        "with torch.no_grad(): outputs.append(model(x))",
        "with torch.inference_mode(): out = model(x)\n        outputs.append(out)",
        "outputs.append(torch.autograd.grad(model(x).sum(), x)[0])",
    ],
)
def test_outputs_gathered_without_it(line: str) -> None:
    assert findings("SL615", EVALUATE.format(line=line)) == []


def test_outputs_whose_gradient_callers_can_ask_for_keep_their_graph() -> None:
    body = """
    def predict(self, x):
        preds = []
        x = x.requires_grad_(self.requires_grad)
        for model in self.models:
            model.eval()
            preds.append(model(x))
        mean = torch.stack(preds).mean(0)
        return mean if self.requires_grad else mean.detach()
    """
    assert not findings("SL615", body)
    asked = body.replace("x = x.requires_grad_(self.requires_grad)", "").replace(
        "self.requires_grad", "self.ok"
    )
    assert findings("SL615", asked) == ["preds.append(model(x))"]


@pytest.mark.parametrize(
    ("taken", "told"),
    [
        ("torch.autograd.grad(loss, self.fc.parameters())", []),
        ("[loss.backward()] and [p.grad for p in self.fc.parameters()]", []),
        ("torch.stack([loss, loss])", ["outputs.append(net(x))"]),
    ],
)
def test_a_model_that_takes_gradients_in_its_pass_needs_a_graph(taken: str, told: list[str]) -> None:
    model = f"""
class Adapted(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def adapt(self, x):
        loss = self.fc(x).square().mean()
        return {taken}

    def forward(self, x):
        return self.fc(x) * self.adapt(x)[0]


net = Adapted()
net = net.cuda()
"""
    evaluate = EVALUATE.replace("(model, loader)", "(loader)").replace("model", "net")
    assert findings("SL615", model + evaluate.format(line="outputs.append(net(x))")) == told


def test_a_function_that_is_called_under_no_grad() -> None:
    line = "outputs.append(model(x))"
    decorated = EVALUATE.replace("def evaluate", "@torch.no_grad()\ndef evaluate")
    wrapped = EVALUATE + "\ndef main(m, l):\n    with torch.no_grad():\n        evaluate(m, l)\n"
    assert findings("SL615", decorated.format(line=line)) == []
    assert findings("SL615", wrapped.format(line=line)) == []


def test_a_name_that_is_made_of_itself_ends_the_search() -> None:
    program = """
def evaluate(model, loader):
    model.eval()
    outputs, y = [], loader
    for x in loader:
        y = y.cpu()
        outputs.append(y)
    return torch.cat(outputs)
"""
    assert findings("SL615", program) == []


def test_the_forward_of_a_module_leaves_the_graph_to_its_caller() -> None:
    forward = "def forward(self, x):\n    self.norm.eval()\n    for _ in range(3):\n        x = self.norm(x)\n    return x\n"
    assert findings("SL615", forward) == []


VALIDATE = """
def fit(net, criterion, optimizer, loader, others):
    for x, y in loader:
        optimizer.zero_grad()
        criterion(net(x), y).backward()
        optimizer.step()
    with torch.no_grad():
        for x, y in others:
            {line}
"""


def test_a_model_of_unknown_layers_is_evaluated_as_it_was_trained() -> None:
    assert findings("SL622", VALIDATE.format(line="out = net(x)")) == ["out = net(x)"]
    assert findings("SL622", VALIDATE.format(line="out = criterion(x, y)")) == []
    assert findings("SL622", VALIDATE.format(line="net.eval(); out = net(x)")) == []
    assert findings("SL622", VALIDATE.format(line="out = net(x)").replace("optimizer.step()", "pass")) == []
    linear = VALIDATE.format(line="out = net(x)") + "\nfit(nn.Linear(2, 2), nn.MSELoss(), None, [], [])\n"
    assert findings("SL622", linear) == []


TRAIN = """
def fit(net, criterion, optimizer, loader):
    for x, y in loader:
        net.{before}()
        out = net(x)
        net.{after}()
        criterion(out, y).backward()
        optimizer.step()
"""


def test_a_mode_that_is_set_after_the_pass_it_is_meant_for() -> None:
    assert findings("SL623", TRAIN.format(before="eval", after="train")) == ["out = net(x)"]
    assert findings("SL623", TRAIN.format(before="train", after="train")) == []


def test_a_leaf_whose_own_gradient_is_read_is_meant() -> None:
    attack = """
    from torch.autograd import Variable
    def attack(model, x, y):
        adv = Variable(model.noise(x), requires_grad=True)
        F.cross_entropy(model(adv), y).backward()
        return {}
    model = nn.Linear(4, 2)
    model.train()
    """
    assert not findings("SL629", attack.format("adv.grad.sign()"))


def test_a_copy_that_is_told_to_carry_no_graph_is_meant() -> None:
    distill = """
    from torch.autograd import Variable
    def step(teacher, model, x):
        given = Variable(teacher(x){})
        F.mse_loss(model(x), given).backward()
    teacher = nn.Linear(4, 2)
    teacher.train()
    """
    assert findings("SL629", distill.format(""))
    assert not findings("SL629", distill.format(", requires_grad=False"))


def test_a_function_that_trains_in_evaluation_mode_is_told_once() -> None:
    body = """
    def train(model, loader, optimizer):
        model.eval()
        for x in loader:
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()

    def validate(model, loader):
        model.eval()
        with torch.no_grad():
            return [model(x) for x in loader]

    def fit(model, loader, held_out):
        optimizer = torch.optim.Adam(model.parameters())
        for epoch in range(9):
            train(model, loader, optimizer)
            validate(model, held_out)
    """
    assert findings("SL623", body) == ["model.eval()"]


FROZEN = """
import torch

class Trainer:
    def __init__(self, features, head, optimizer):
        self.features, self.head, self.optimizer = features, head, optimizer

    def evaluate(self, loader):
        self.features.eval()
        with torch.no_grad():
            return [self.head(self.features(x)) for x, y in loader]

    def fit(self, loader, test, epochs):
        self.head.train()
        for epoch in range(epochs):
            for x, y in loader:
                {before}
                    f = self.features(x)
                loss = (self.head(f) - y).square().mean()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            self.evaluate(test)
"""


@pytest.mark.parametrize(
    ("before", "told"), [("with torch.no_grad():", []), ("if x is not None:", ["self.features.eval()"])]
)
def test_a_model_that_training_runs_without_a_graph_stays_in_evaluation_mode(
    before: str, told: list[str]
) -> None:
    assert findings("SL623", FROZEN.format(before=before)) == told


GATHERED = """
import torch

def evaluate(model, loader):
    total, kept = torch.empty(0), []
    model.eval()
    for x, y in loader:
        out = model(x)
        {}
    return total, kept
"""


@pytest.mark.parametrize(
    ("keeps", "after"),
    [
        ("total = torch.cat((total, out.view(-1)))", "total = torch.cat((total, out.view(-1).detach()))"),
        ("kept.append(out)", "with torch.no_grad():\n            out = model(x)\n        kept.append(out)"),
    ],
)
def test_no_graph_is_kept_of_what_an_evaluation_gathers(keeps: str, after: str) -> None:
    assert after in fixed(GATHERED.format(keeps).lstrip(), unsafe=True)[0]


PARTS = """
import torch

def evaluate(model, loader, loss_fn):
    model.eval()
    loss = 0
    for x, y in loader:
        {first}
        score = model.{second}
        loss += loss_fn(mean, score).item()
    return loss
"""


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ("mean, z = model(x)", "score(z)", ["mean, z = model(x)", "score = model.score(z)"]),
        ("mean, z = model(x)", "parameters()", ["mean, z = model(x)"]),
        ("mean, z = 0, x", "score(z)", []),
    ],
)
def test_what_else_a_model_computes_beside_its_pass_is_recorded_too(
    first: str, second: str, told: list[str]
) -> None:
    assert findings("SL615", PARTS.format(first=first, second=second).lstrip()) == told


SEVERAL = """
import torch

{head}def evaluate(model, encoder, loader, total):
    model.eval()
    encoder.eval()
    for x, y in loader:
        if y is not None:
            x = encoder(x)
        y = y + 1
        total += (model(x) - y).abs().sum().item()
    {last}
    return total

def show(model):
    print(model.training)

def fit(model, x):
    model(x).sum().backward()
"""


@pytest.mark.parametrize(
    ("head", "last", "is_decorated"),
    [
        ("", "model.train()", True),
        ("@staticmethod\n", "show(model)", True),
        ("@property\n", "show(model)", False),
        ("", "fit(model, x)", False),
        ("", "other(model)", False),
        ("", "x.requires_grad = True", False),
        ("", "yield total", False),
    ],
)
def test_a_function_that_only_evaluates_in_several_statements_is_decorated(
    head: str, last: str, is_decorated: bool
) -> None:
    source = SEVERAL.format(head=head, last=last).lstrip()
    after, _ = fixed(source, unsafe=True)
    decorated = source.replace("def evaluate", "@torch.no_grad()\ndef evaluate")
    assert (after == decorated) is is_decorated
    assert is_decorated or "@torch.no_grad" not in after


@pytest.mark.parametrize(
    ("takes", "told"),
    [("dy.esum(model(x))", []), ("dy.esum(torch.sum(model(x)))", ["print(dy.esum(torch.sum(model(x))))"])],
)
def test_a_model_of_another_framework_records_no_graph_of_torch(takes: str, told: list[str]) -> None:
    source = (
        "import dynet as dy\nimport torch\n\ndef evaluate(model, loader):\n    model.eval()\n"
        f"    for x in loader:\n        dy.renew_cg()\n        print({takes})\n"
    )
    assert findings("SL615", source) == told


@pytest.mark.parametrize(
    ("given", "is_decorated"), [("'mc', {'input': x}", True), ("'mc', [x]", True), ("'mc'", False)]
)
def test_what_a_method_of_the_model_is_given_in_a_collection_is_evaluated_too(
    given: str, is_decorated: bool
) -> None:
    source = (
        "import torch\n\ndef evaluate(model, loader):\n    model.eval()\n    for x in loader:\n"
        f"        out = model(x)\n        spread = model.spread({given})\n        print(out, spread)\n"
    )
    assert ("@torch.no_grad()\ndef evaluate" in fixed(source, unsafe=True)[0]) is is_decorated
