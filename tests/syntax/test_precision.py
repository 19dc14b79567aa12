"""What the code of a file shows of precision, and what its comments and docstrings do not."""

import pytest

from stablelint.syntax.precision import (
    DATED,
    FLOAT16,
    HALF,
    MIXED,
    SCALED,
    SOFTMAX,
    TRAINED,
    UNSCALED,
    shown_in,
    shows_half,
)


@pytest.mark.parametrize(
    ("line", "facts"),
    [
        ("model = model.half()", {FLOAT16}),
        ("dtype = torch.float16  # where there is room", {FLOAT16}),
        ("p = F.softmax(s, dim=-1, dtype=torch.float32)", {SOFTMAX}),
        ("scaler = GradScaler()", {SCALED}),
        ("if kind in [torch.float64, torch.float32, torch.float16, torch.bfloat16]:", set()),
        ("kinds = (torch.float16, torch.bfloat16, torch.float32)", set()),
        ("if kind in (torch.float16, torch.bfloat16):", {FLOAT16}),
        ("# a day with model.half() and GradScaler() was lost", set()),
        ("note = 'neither torch.float16 nor a # sign'; scaler = GradScaler()", {FLOAT16, SCALED}),
        ("s = '#'; model.half()", {FLOAT16}),
        ('"""Not for torch.float16:\nit\'s tried with GradScaler()."""', set()),
        ("x = x.halfway()", set()),
        ("scaler.unscale_(optimizer)", {UNSCALED}),
        ("my_unscale_(optimizer)", set()),
        ("with torch.cuda.amp.autocast(enabled=args.amp):", {MIXED}),
        ("with torch.autocast('cuda', dtype=torch.bfloat16):", set()),
        ("with torch.autocast('cuda', enabled=False):", set()),
        ("arguments = TrainingArguments(out, fp16=True)", {MIXED}),
        ("trainer = Trainer(precision='16-mixed')", {MIXED}),
        ("trainer = Trainer(precision='16-true')", set()),
        ("accelerator = Accelerator(mixed_precision='fp16')", {MIXED}),
        ("model, optimizer = amp.initialize(model, optimizer)", {MIXED}),
        ("w, v = torch.eig(m, eigenvectors=True)", {DATED}),
        ("w, v = torch.linalg.eig(m)", set()),
        ("total += loss.data[0]", {DATED}),
        ("first = batch.data[0]", set()),
        ("loss.backward()", {TRAINED}),
        ("def backward(ctx, grad): ...", set()),
        ("x = Variable(x, volatile=True)", {DATED}),
        ("setup(install_requires=['torch==1.4.0'])", {DATED}),
        ("setup(install_requires=['torch>=1.4', \"torch<=1.13\"])", set()),
    ],
)
def test_facts_stand_in_code(line: str, facts: set[str]) -> None:
    assert set(shown_in(line.encode())) - {HALF} == facts


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("parser.add_argument('--fp16')", True),
        ("with torch.autocast('cuda'):", True),
        ("# fp16 is not supported", False),
        ("'''No autocast here.'''", False),
    ],
)
def test_an_option_speaks_of_half_precision_and_a_comment_does_not(line: str, shown: bool) -> None:
    assert shows_half(line.encode()) is shown
    assert (HALF in shown_in(line.encode())) is shown
