import pytest

from tests.matchers.support import findings

LOOP = """
def train(model, loader, optimizer, scaler, use_amp):
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
"""


def _train(*lines: str) -> str:
    return LOOP + "".join(f"        {line}\n" for line in lines)


def test_the_whole_protocol_is_silent() -> None:
    lines = ("scaler.scale(loss).backward()", "scaler.step(optimizer)", "scaler.update()")
    assert findings("SL407", _train(*lines)) == []


def test_two_arms_do_not_meet() -> None:
    lines = (
        *(
            "if use_amp:",
            "    scaler.scale(loss).backward()",
            "    scaler.step(optimizer)",
            "    scaler.update()",
        ),
        *("else:", "    loss.backward()", "    optimizer.step()"),
    )
    assert findings("SL407", _train(*lines)) == []


def test_an_arm_that_continues_does_not_meet_what_follows() -> None:
    lines = (
        *(
            "if use_amp:",
            "    scaler.scale(loss).backward()",
            "    scaler.step(optimizer)",
            "    scaler.update()",
        ),
        *("    continue", "loss.backward()", "optimizer.step()"),
    )
    assert findings("SL407", _train(*lines)) == []


def test_a_step_beside_that_of_the_scaler_is_a_second_one() -> None:
    lines = ("scaler.scale(loss).backward()", "scaler.step(optimizer)", "optimizer.step()", "scaler.update()")
    assert findings("SL407", _train(*lines)) == ["optimizer.step()"]


def test_a_step_after_unscaling_by_hand_is_right() -> None:
    lines = (
        "scaler.scale(loss).backward()",
        "scaler.unscale_(optimizer)",
        "optimizer.step()",
        "scaler.update()",
    )
    assert findings("SL407", _train(*lines)) == []


def test_a_plain_backward_before_the_scaler_steps() -> None:
    lines = ("loss.backward()", "scaler.step(optimizer)", "scaler.update()")
    assert findings("SL407", _train(*lines)) == ["loss.backward()"]


def test_a_scaler_that_is_never_updated() -> None:
    lines = ("scaler.scale(loss).backward()", "scaler.step(optimizer)")
    assert findings("SL407", _train(*lines)) == ["scaler.step(optimizer)"]


def test_backward_in_a_region_that_is_switched_off() -> None:
    lines = ("with torch.autocast('cuda', enabled=False):", "    loss.backward()")
    assert findings("SL408", _train(*lines)) == []
    lines = ("with torch.autocast('cuda'):", "    loss.backward()")
    assert findings("SL408", _train(*lines)) == ["loss.backward()"]


def test_a_scaler_that_a_helper_is_handed_to_step_is_its_callers_to_update() -> None:
    code = """
def step_all(optimizers, scaler):
    for optimizer in optimizers:
        scaler.step(optimizer)
"""
    assert findings("SL407", code) == []
    own = code.replace("(optimizers, scaler)", "(optimizers)").replace(
        "scaler.step", "self.trainer.scaler.step"
    )
    assert findings("SL407", own) == []
    assert len(findings("SL407", own.replace("self.trainer.", ""))) == 1


@pytest.mark.parametrize(
    ("test", "arm", "expected"),
    [
        ("scaler is not None", "else", []),
        ("scaler", "else", []),
        ("scaler is None", "if", []),
        ("not scaler", "if", []),
        ("scaler is not None", "if", ["loss.backward()"]),
    ],
)
def test_a_plain_backward_where_there_is_no_scaler(test: str, arm: str, expected: list[str]) -> None:
    arms = ("    loss.backward()", "else:", "    prepare(loss)")
    if arm == "else":
        arms = ("    prepare(loss)", "else:", "    loss.backward()")
    lines = (f"if {test}:", *arms, "if use_amp:", "    scaler.step(optimizer)", "    scaler.update()")
    assert findings("SL407", _train(*lines)) == expected


@pytest.mark.parametrize(
    ("test", "other", "expected"),
    [
        ("scaler is not None", "else:", []),
        ("scaler", "else:", []),
        ("use_amp", "else:", []),
        ("use_amp", "if True:", ["optimizer.step()"]),
    ],
)
def test_a_plain_step_in_the_arm_beside_that_of_the_scaler(
    test: str, other: str, expected: list[str]
) -> None:
    lines = (
        *(f"if {test}:", "    scaler.scale(loss).backward()", "else:", "    loss.backward()"),
        *(f"if {test}:", "    scaler.step(optimizer)", "    scaler.update()", other, "    optimizer.step()"),
    )
    assert findings("SL407", _train(*lines)) == expected


def test_a_plain_step_on_scaled_gradients_in_one_arm_alone() -> None:
    lines = ("scaler.scale(loss).backward()", "if use_amp:", "    optimizer.step()", "scaler.update()")
    assert findings("SL407", _train(*lines)) == ["optimizer.step()"]


def test_a_helper_that_steps_on_what_the_loop_has_scaled() -> None:
    helper = "def update(optimizer):\n    optimizer.step()\n"
    lines = ("scaler.scale(loss).backward()", "update(optimizer)", "scaler.update()")
    assert findings("SL407", helper + _train(*lines)) == ["optimizer.step()"]


def test_a_scaler_is_known_by_what_it_is_bound_to() -> None:
    made = "grower = torch.amp.GradScaler('cuda')\n"
    lines = ("grower.scale(loss).backward()", "optimizer.step()", "grower.update()")
    assert findings("SL407", made + _train(*lines)) == ["optimizer.step()"]


def test_an_autocast_around_the_call_of_what_goes_backward() -> None:
    helper = "def learn(loss):\n    loss.backward()\n"
    lines = ("with torch.autocast('cuda'):", "    learn(loss)")
    assert findings("SL408", helper + _train(*lines)) == ["loss.backward()"]


def test_gradients_that_a_helper_gathers_until_a_gate_opens() -> None:
    helper = "def learn(model, x, y):\n    loss = F.mse_loss(model(x), y)\n    loss.backward()\n"
    loop = "def fit(model, loader, optimizer):\n    for i, (x, y) in enumerate(loader):\n        learn(model, x, y)\n"
    gate = "        if (i + 1) % 4 == 0:\n            optimizer.step()\n            optimizer.zero_grad()\n"
    assert findings("SL640", helper + loop + gate) == ["loss.backward()"]


@pytest.mark.parametrize("unscales", [True, False])
def test_an_optimizer_that_was_handed_to_a_schedule_on_one_path_is_still_that_one(unscales: bool) -> None:
    lines = [
        "if use_amp:",
        "    schedule = LambdaLR(optimizer, rate)",
        "scaler.scale(loss).backward()",
        *(["scaler.unscale_(optimizer)"] if unscales else []),
        "if use_amp:",
        "    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
        "scaler.step(optimizer)",
        "scaler.update()",
    ]
    assert len(findings("SL406", _train(*lines))) == (not unscales)
