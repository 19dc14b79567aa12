import pytest

from tests.analysis.support import fixes
from tests.codemod.differential.tried import fixed
from tests.matchers.support import findings

TRAIN = """
def train(model, loader, optimizer):
    losses, log = [], []
    kept = {start}
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        {line}
    return losses
"""


@pytest.mark.parametrize(
    ("start", "line"),
    [
        ("[]", "kept.append(loss)"),
        ("list()", "kept.append(loss)"),
        ("[]", "kept.append(loss.cpu())"),
        ("[]", "kept.append(loss / len(x))"),
        ("[]", "kept.append((len(x), loss))"),
        ("[]", "kept.append({'loss': loss})"),
        ("[]", "kept += [loss]"),
        ("[]", "kept = kept + [loss]"),
        ("[]", "kept.extend([loss])"),
        ("[]", "kept.insert(0, loss)"),
        ("{'train': []}", "kept['train'].append(loss)"),
        ("{}", "kept[len(kept)] = loss"),
        ("{}", "kept.setdefault('train', []).append(loss)"),
        ("collections.defaultdict(list)", "kept['train'].append(loss.mean())"),
    ],
)
def test_losses_kept_with_their_graph(start: str, line: str) -> None:
    assert findings("SL614", TRAIN.format(start=start, line=line)) == [line]


@pytest.mark.parametrize(
    ("start", "line"),
    [
        ("[]", "kept.append(loss.item())"),
        ("[]", "kept.append(loss.detach())"),
        ("[]", "kept.append(float(loss))"),
        ("[]", "kept.append(loss.data)"),
        ("[]", "kept.append(loss.detach().cpu().numpy())"),
        ("[]", "loss = loss.item(); kept.append(loss)"),
        ("[]", "loss = loss.item()\n        if y: loss = share(loss)\n        kept.append(loss)"),
        ("[]", "kept.append(loss); kept.clear()"),
        ("[]", "kept = []; kept.append(loss)"),
        ("[]", "kept.append(len(x))"),
        ("collections.deque(maxlen=10)", "kept.append(loss)"),
        ("AverageMeter()", "kept.append(loss)"),
        ("np.zeros(5)", "kept[0] = loss"),
    ],
)
def test_losses_kept_as_values_or_not_for_long(start: str, line: str) -> None:
    assert findings("SL614", TRAIN.format(start=start, line=line)) == []


@pytest.mark.parametrize(
    "back",
    [
        "loss.backward()",
        "scaler.scale(loss).backward()",
        "accelerator.backward(loss)",
        "fabric.backward(loss)",
        "(loss / 4).backward()",
        "loss.mean().backward()",
    ],
)
def test_each_way_to_run_backward(back: str) -> None:
    program = TRAIN.format(start="[]", line="kept.append(loss)").replace("loss.backward()", back)
    assert findings("SL614", program) == ["kept.append(loss)"]


def test_parts_of_a_sum_carry_their_graph() -> None:
    program = """
    def train(model, loader):
        parts, weights = [], []
        for x, y, w in loader:
            loss_a = F.mse_loss(model(x), y)
            loss_b = F.l1_loss(model(x), y)
            loss = loss_a + w * loss_b
            loss.backward()
            parts.append(loss_b)
            weights.append(w)
    """
    assert findings("SL614", program) == ["parts.append(loss_b)"]


def test_an_attribute_that_lives_longer_than_the_loop() -> None:
    program = """
    class Trainer:
        def __init__(self):
            self.history = []

        def fit(self, model, loader):
            for x, y in loader:
                loss = F.mse_loss(model(x), y)
                loss.backward()
                self.history.append(loss)
    """
    assert findings("SL614", program) == ["self.history.append(loss)"]


@pytest.mark.parametrize(
    "end", ["sum(losses).backward()", "total = torch.stack(losses).mean()\n        total.backward()"]
)
def test_a_list_of_which_a_loss_is_made(end: str) -> None:
    program = f"""
    def train(model, loader):
        losses = []
        for x, y in loader:
            loss = F.mse_loss(model(x), y)
            losses.append(loss)
        {end}
    """
    assert findings("SL614", program) == []


EPOCH = """
def train(model, loader, optimizer):
    total = 0.0
    for step, (x, y) in enumerate(loader):
        loss = F.mse_loss(model(x), y)
        loss.backward()
        total += loss
        if step % 8 == 0:
            {then}
"""


@pytest.mark.parametrize("line", ["kept += loss", "kept = kept + loss"])
def test_a_total_of_losses_keeps_their_graphs(line: str) -> None:
    assert findings("SL605", TRAIN.format(start="0.0", line=line)) == [line]


@pytest.mark.parametrize(
    "line", ["kept += loss.item()", "kept += loss.detach()", "kept += float(loss)", "kept += 1"]
)
def test_a_total_of_values_does_not(line: str) -> None:
    assert findings("SL605", TRAIN.format(start="0.0", line=line)) == []


def test_a_loss_made_a_number_before_it_is_added() -> None:
    program = TRAIN.format(start="0.0", line="loss = loss.item(); kept += loss")
    assert findings("SL605", program) == []


def test_a_total_that_its_loop_begins_anew_lets_go_of_what_it_kept() -> None:
    assert findings("SL605", EPOCH.format(then="total = 0.0")) == []
    assert findings("SL605", EPOCH.format(then="total = float(total)")) == ["total += loss"]


@pytest.mark.parametrize(
    ("given", "mended"),
    [
        ("loss", "loss.detach()"),
        ("loss * 2", "loss.detach()"),
        ("{'loss': loss}", None),
        ("[loss]", None),
        ("self.shared(batch)", None),
    ],
)
def test_only_a_tensor_is_detached(given: str, mended: str | None) -> None:
    source = f"""
import lightning.pytorch as pl
import torch


class Plan(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.outputs = []

    def training_step(self, batch, index):
        loss = self.net(batch).mean()
        out = {given}
        self.outputs.append(out)
        return out
"""
    told = fixes(source)["SL614"]
    assert isinstance(told, str) if mended is None else told == (mended.replace("loss", "out"),)


@pytest.mark.parametrize(("test", "is_offered"), [("if train:", False), ("with x:", True)])
def test_what_a_caller_may_go_backward_from_is_not_cut_off(test: str, is_offered: bool) -> None:
    lines = ["loss = model(x).mean()", "total += loss", test, "    loss.backward()"]
    body = "\n        ".join(["    total = 0.0\n    for x in xs:", *lines])
    source = f"import torch\ndef f(model, xs, train):\n{body}\n    return total\n"
    assert ("loss.detach()" in fixed(source, unsafe=True)[0]) is is_offered


def test_all_states_that_one_name_keeps_are_told() -> None:
    program = """
    def train(model, opt, data, limit):
        for _ in range(3):
            best, kept = 1e9, model.state_dict()
            for x in data:
                loss = model(x).mean()
                loss.backward()
                opt.step()
                if loss > best and limit:
                    model.load_state_dict(kept)
                    break
                best = loss
                kept = model.state_dict()
    """
    assert findings("SL634", program) == ["best, kept = 1e9, model.state_dict()", "kept = model.state_dict()"]


@pytest.mark.parametrize("kept", ["model.state_dict()", "copy.copy(model.state_dict())"])
def test_the_fix_copies_the_state_and_no_copy_that_shares_its_tensors(kept: str) -> None:
    source = f"""import copy

import torch


def train(model, opt, data, test):
    best = 0
    for x in data:
        model(x).mean().backward()
        opt.step()
        if test(model) > best:
            best = test(model)
            state = {kept}
    model.load_state_dict(state)
"""
    assert "            state = copy.deepcopy(model.state_dict())\n" in fixed(source, unsafe=True)[0]
