"""Judge fixes that are wrong on purpose and fixes that are right, over twenty rules, and tabulate the verdicts.

Each rule has an expression, operands that are healthy and one element that is not, and right fixes written by hand;
the wrong ones are made from these, see `wrong_fixes`. Status 1 when a wrong one passes or a right one is refused.

python benchmarks/fix_verdicts.py [RULE ...] [--verbose]
"""

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from stablelint.analysis.check import AnalysisOptions, check_source
from stablelint.catalog import Catalog, load_catalog
from stablelint.diagnostic import Level
from stablelint.runtime.verify.builder import build_site
from stablelint.runtime.verify.replay.values import Call, Context
from stablelint.runtime.verify.site import Site, Verdict
from stablelint.runtime.verify.verdict import examine

Draw = tuple[float, float, float]  # least and greatest healthy number, and the one that is not
SHAPE = (4, 6)
LOGITS, PROBABILITY = (-4.0, 4.0, 300.0), (0.05, 0.95, 0.0)
HEAD = "import math\nimport torch\nimport torch.nn.functional as F\n\n\n"


@dataclass(frozen=True)
class Base:
    """An expression that a rule speaks of; the first operand in `draws` is the one that goes wrong.

    `fixed` are right fixes. `frozen` are operands that never require a gradient.
    """

    code: str
    original: str
    draws: Mapping[str, Draw]
    fixed: tuple[str, ...]
    frozen: tuple[str, ...] = ()
    row: bool = False  # a whole row holds the bad number, and not one element

    def __str__(self) -> str:
        return f"{self.code} {self.original}"


BASES = (
    Base(
        "SL101",
        "torch.log(x)",
        {"x": (0.01, 5.0, 0.0)},
        (
            "torch.log(x.clamp_min(torch.finfo(x.dtype).tiny))",
            "torch.log(x.clamp(min=1e-12))",
            "x.clamp_min(1e-20).log()",
            "torch.where(x > 0, torch.log(torch.where(x > 0, x, 1.0)), -80.0)",
            "torch.log(torch.clamp(x, 1e-10))",
        ),
    ),
    Base(
        "SL101",
        "torch.log2(x)",
        {"x": (0.01, 5.0, -1.0)},
        (
            "torch.log2(x.clamp_min(torch.finfo(x.dtype).tiny))",
            "torch.log2(x.clamp(min=1e-12))",
            "x.clamp_min(1e-20).log2()",
            "torch.where(x > 0, torch.log2(torch.where(x > 0, x, 1.0)), -80.0)",
            "torch.log2(torch.clamp(x, 1e-10))",
        ),
    ),
    Base(
        "SL102",
        "a / b",
        {"b": (0.5, 3.0, 0.0), "a": (-1.0, 1.0, 1.0)},
        (
            "a / b.clamp_min(1e-12)",
            "a / b.masked_fill(b.abs() < 1e-12, 1e-12)",
            "a / torch.where(b == 0, 1.0, b)",
            "torch.where(b == 0, 0.0, a / torch.where(b == 0, 1.0, b))",
            "a / (b + 1e-10)",
        ),
    ),
    Base(
        "SL103",
        "torch.sqrt(x)",
        {"x": (0.01, 5.0, 0.0)},
        (
            "torch.sqrt(x.clamp_min(torch.finfo(x.dtype).tiny))",
            "torch.sqrt(x + 1e-12)",
            "torch.where(x > 0, torch.sqrt(torch.where(x > 0, x, 1.0)), 0.0)",
            "torch.sqrt(x.clamp(1e-20))",
            "x.clamp_min(1e-16) ** 0.5",
        ),
    ),
    Base(
        "SL104",
        "torch.acos(x)",
        {"x": (-0.9, 0.9, 1.0)},
        (
            "torch.acos(x.clamp(-1 + 1e-6, 1 - 1e-6))",
            "torch.acos(x.clamp(torch.finfo(x.dtype).eps - 1, 1 - torch.finfo(x.dtype).eps))",
            "torch.acos(torch.clamp(x, -0.999999, 0.999999))",
            "x.clamp(-1 + 1e-5, 1 - 1e-5).acos()",
            "torch.where(x.abs() < 1, torch.acos(torch.where(x.abs() < 1, x, 0.0)), 0.0)",
        ),
    ),
    Base(
        "SL105",
        "torch.sqrt((x ** 2).sum(dim=-1))",
        {"x": (0.2, 2.0, 0.0)},
        (
            "torch.linalg.vector_norm(x, dim=-1)",
            "torch.sqrt((x ** 2).sum(dim=-1) + 1e-12)",
            "torch.sqrt((x ** 2).sum(dim=-1).clamp_min(1e-20))",
            "x.norm(dim=-1)",
            "torch.linalg.norm(x, dim=-1)",
        ),
        row=True,
    ),
    Base(
        "SL106",
        "x / x.norm(dim=-1, keepdim=True)",
        {"x": (0.2, 2.0, 0.0)},
        (
            "torch.nn.functional.normalize(x, dim=-1)",
            "x / x.norm(dim=-1, keepdim=True).clamp_min(1e-12)",
            "F.normalize(x, p=2.0, dim=-1)",
            "F.normalize(x, dim=-1, eps=1e-8)",
            "x / (x.norm(dim=-1, keepdim=True) + 1e-10)",
        ),
        row=True,
    ),
    Base(
        "SL201",
        "torch.exp(x)",
        {"x": LOGITS},
        (
            "torch.exp(x.clamp(max=80.0))",
            "torch.exp(x.clamp_max(60.0))",
            "x.clamp(max=70.0).exp()",
            "torch.exp(torch.clamp(x, max=50.0))",
            "torch.exp(torch.minimum(x, torch.full_like(x, 80.0)))",
        ),
    ),
    Base(
        "SL202",
        "torch.log(torch.softmax(x, dim=-1))",
        {"x": LOGITS},
        (
            "torch.log_softmax(x, dim=-1)",
            "x.log_softmax(-1)",
            "F.log_softmax(x, dim=-1)",
            "x - torch.logsumexp(x, dim=-1, keepdim=True)",
            "x - x.logsumexp(-1, keepdim=True)",
        ),
    ),
    Base(
        "SL203",
        "torch.log(torch.sigmoid(x))",
        {"x": (-4.0, 4.0, -300.0)},
        (
            "torch.nn.functional.logsigmoid(x)",
            "F.logsigmoid(x)",
            "-F.softplus(-x)",
            "-torch.nn.functional.softplus(-x)",
            "torch.minimum(x, torch.zeros_like(x)) - torch.log1p(torch.exp(-x.abs()))",
        ),
    ),
    Base(
        "SL204",
        "torch.log(torch.exp(x).sum(dim=-1))",
        {"x": LOGITS},
        (
            "torch.logsumexp(x, dim=-1)",
            "x.logsumexp(-1)",
            "torch.logsumexp(x, -1, keepdim=False)",
            "torch.logsumexp(x, dim=1)",
            "x.amax(-1) + torch.log(torch.exp(x - x.amax(-1, keepdim=True)).sum(-1))",
        ),
    ),
    Base(
        "SL205",
        "torch.log(1 + torch.exp(x))",
        {"x": LOGITS},
        (
            "torch.nn.functional.softplus(x)",
            "F.softplus(x)",
            "-F.logsigmoid(-x)",
            "x.clamp_min(0) + torch.log1p(torch.exp(-x.abs()))",
            "torch.logaddexp(x, torch.zeros_like(x))",
        ),
    ),
    Base(
        "SL206",
        "torch.exp(x) / torch.exp(x).sum(dim=-1, keepdim=True)",
        {"x": LOGITS},
        (
            "torch.softmax(x, dim=-1)",
            "x.softmax(-1)",
            "F.softmax(x, dim=-1)",
            "torch.softmax(x, dim=1)",
            "torch.exp(torch.log_softmax(x, dim=-1))",
        ),
    ),
    Base(
        "SL210",
        "p * torch.log(p)",
        {"p": PROBABILITY},
        (
            "p * torch.log(p.clamp_min(torch.finfo(p.dtype).tiny))",
            "p * torch.log(p.clamp_min(1e-12))",
            "p * p.clamp(min=1e-20).log()",
            "torch.where(p > 0, p * torch.log(torch.where(p > 0, p, 1.0)), 0.0)",
            "p * torch.log(p + 1e-12)",
        ),
    ),
    Base(
        "SL211",
        "p * torch.log(p / q)",
        {"p": PROBABILITY, "q": (0.05, 0.95, 0.0)},
        (
            "p * (torch.log(p.clamp_min(1e-12)) - torch.log(q.clamp_min(1e-12)))",
            "p * (torch.log(p.clamp_min(torch.finfo(p.dtype).tiny)) - torch.log(q.clamp_min(torch.finfo(p.dtype).tiny)))",
            "p * (p.clamp_min(1e-20).log() - q.clamp_min(1e-20).log())",
            "p * torch.log(p.clamp_min(1e-12) / q.clamp_min(1e-12))",
            "p * (torch.log(p + 1e-12) - torch.log(q + 1e-12))",
        ),
    ),
    Base(
        "SL212",
        "y * torch.log(torch.sigmoid(z)) + (1 - y) * torch.log(1 - torch.sigmoid(z))",
        {"z": LOGITS, "y": (0.05, 0.95, 0.3)},
        (
            "-torch.nn.functional.binary_cross_entropy_with_logits(z, y, reduction='none')",
            "y * F.logsigmoid(z) + (1 - y) * F.logsigmoid(-z)",
            "y * z - F.softplus(z)",
            "-(F.softplus(z) - y * z)",
            "y * -F.softplus(-z) - (1 - y) * F.softplus(z)",
        ),
        frozen=("y",),
    ),
    Base(
        "SL212",
        "y * torch.log(p) + (1 - y) * torch.log(1 - p)",
        {"p": PROBABILITY, "y": (0.05, 0.95, 0.3)},
        (
            "-torch.nn.functional.binary_cross_entropy(p, y, reduction='none')",
            "y * torch.log(p.clamp_min(1e-20)) + (1 - y) * torch.log((1 - p).clamp_min(1e-20))",
            "y * torch.log(p.clamp(1e-7, 1 - 1e-7)) + (1 - y) * torch.log(1 - p.clamp(1e-7, 1 - 1e-7))",
            "y * p.clamp_min(1e-12).log() + (1 - y) * torch.log1p(-p.clamp_max(1 - 1e-7))",
            "-F.binary_cross_entropy(p, y, reduction='none')",
        ),
        frozen=("y",),
    ),
    Base(
        "SL218",
        "torch.log(-torch.log(u))",
        {"u": PROBABILITY},
        (
            "torch.log(-torch.log(u.clamp(torch.finfo(u.dtype).tiny, 1 - torch.finfo(u.dtype).eps)))",
            "torch.log(-torch.log(u.clamp(1e-20, 1 - 1e-7)))",
            "torch.log(-u.clamp(1e-10, 1 - 1e-6).log())",
            "(-u.clamp(1e-12, 1 - 1e-7).log()).log()",
            "torch.log(-torch.log(torch.clamp(u, 1e-16, 0.999999)))",
        ),
    ),
    Base(
        "SL207",
        "torch.exp(x) / (1 + torch.exp(x))",
        {"x": LOGITS},
        (
            "torch.sigmoid(x)",
            "x.sigmoid()",
            "F.sigmoid(x)",
            "torch.exp(F.logsigmoid(x))",
            "0.5 * (1 + torch.tanh(0.5 * x))",
        ),
    ),
    Base(
        "SL215",
        "(a * b).sum(-1) / (a.norm(dim=-1) * b.norm(dim=-1))",
        {"a": (0.2, 2.0, 0.0), "b": (0.2, 2.0, 1.0)},
        (
            "torch.nn.functional.cosine_similarity(a, b, dim=-1)",
            "F.cosine_similarity(a, b, dim=-1)",
            "(F.normalize(a, dim=-1) * F.normalize(b, dim=-1)).sum(-1)",
            "(a * b).sum(-1) / (a.norm(dim=-1) * b.norm(dim=-1)).clamp_min(1e-8)",
            "(a * b).sum(-1) / (a.norm(dim=-1).clamp_min(1e-8) * b.norm(dim=-1).clamp_min(1e-8))",
        ),
        row=True,
    ),
    Base(
        "SL217",
        "torch.log(torch.special.ndtr(x))",
        {"x": (-4.0, 4.0, -40.0)},
        (
            "torch.special.log_ndtr(x)",
            "torch.special.log_ndtr(x) * 1",
            "torch.special.log_ndtr(input=x)",
            "0 + torch.special.log_ndtr(x)",
            "torch.special.log_ndtr(x).clone()",
        ),
    ),
    Base(
        "SL222",
        "torch.log(1 - torch.tanh(x) ** 2)",
        {"x": (-3.0, 3.0, 100.0)},
        (
            "2 * (math.log(2) - x - torch.nn.functional.softplus(-2 * x))",
            "2 * (math.log(2) - x - F.softplus(-2 * x))",
            "2 * math.log(2) - 2 * x - 2 * F.softplus(-2 * x)",
            "-2 * (x.abs() + torch.log1p(torch.exp(-2 * x.abs())) - math.log(2))",
            "2 * (math.log(2.0) - (F.softplus(-2 * x) + x))",
        ),
    ),
    Base(
        "SL213",
        "torch.log(torch.prod(x, dim=-1))",
        {"x": (0.1, 2.0, 1e-8)},
        (
            "torch.sum(torch.log(x), dim=-1)",
            "torch.log(x).sum(-1)",
            "x.log().sum(dim=-1)",
            "torch.sum(torch.log(x.clamp_min(torch.finfo(x.dtype).tiny)), dim=-1)",
            "x.clamp_min(1e-38).log().sum(-1)",
        ),
        row=True,
    ),
)

_FIRST = "torch.cat([{name}.flatten()[:1].clamp(1e-6, 0.9), {name}.flatten()[1:]]).view_as({name})"


def wrong_fixes(base: Base) -> Iterator[tuple[str, str]]:
    """Kind and text of fixes that are wrong: made from the original, or from the first right one."""
    name = next(iter(base.draws))
    right = base.fixed[0]
    yield "detach", _renamed(right, name, f"{name}.detach()")
    yield "shift", _renamed(base.original, name, f"({name} + 0.1)")
    yield "scale", f"1.01 * ({right})"
    yield "nan_to_num", f"torch.nan_to_num({base.original})"
    yield "single where", f"torch.where(torch.isfinite({base.original}), {base.original}, 0.0)"
    yield "lost eps", _renamed(base.original, name, f"({name} + 1e-50)")
    yield "thousandth", f"({right}) * 1.001"
    yield "ten-thousandth", f"({right}) * 1.0001"
    yield "gradient", f"1.5 * ({right}) - 0.5 * ({right}).detach()"
    yield "element type", f"({right}).half()"
    yield "reduced", f"({right}).mean()"
    yield "sign", f"-({right})"
    yield "order", f"({right}).flip(0)"
    yield "first element", _renamed(base.original, name, _FIRST.format(name=name))
    yield "in place", _renamed(right, name, f"{name}.mul_(1.0)")
    yield "wrong side", _renamed(base.original, name, f"{name}.clamp_max(1e-6)")
    yield "too wide", _renamed(right, name, f"{name}.clamp(-0.3, 0.6)")
    if "dim=-1" in right:
        yield "dimension", right.replace("dim=-1", "dim=0")


def _renamed(text: str, name: str, other: str) -> str:
    return re.sub(rf"\b{name}\b(?!=)", other, text)


def site_of(base: Base, catalog: Catalog) -> Site:
    """The site that `check` finds in a function that returns the expression. Raises LookupError."""
    source = f"{HEAD}def compute({', '.join(base.draws)}):\n    return {base.original}\n".encode()
    found = check_source(source, "program.py", catalog, AnalysisOptions(level=Level.POSSIBLE))
    for item in found.diagnostics:
        if item.code == base.code:
            site = build_site(item, catalog.rules[item.code], source)
            return replace(site, original=base.original, target=None, model=None, has_fix=True)
    raise LookupError(f"{base.code} says nothing of {base.original}")


def calls_of(base: Base, every: bool) -> list[Call]:
    """Captured calls: healthy ones and one that is not, or only such that hold a bad element."""
    generator = torch.Generator().manual_seed(len(base.original))
    calls = []
    for bad in (True, True, True) if every else (False, True, False):
        operands = {}
        for index, (name, (low, high, number)) in enumerate(base.draws.items()):
            drawn = low + (high - low) * torch.rand(SHAPE, generator=generator)
            if bad and (index == 0 or number == 0.0):
                drawn[(1,) if base.row else (1, 2)] = number
            operands[name] = drawn
        needs = frozenset(base.draws) - set(base.frozen)
        calls.append(Call(operands, Context(), needs=needs))
    return calls


def verdict_of(site: Site, fixed: str, calls: Sequence[Call]) -> Verdict:
    """What verification says of a fix."""
    judged = replace(site, fixed=fixed, safe=False)
    return examine(judged, HEAD.encode(), calls, ran=True, reached=True).decision.verdict


def judged(base: Base, catalog: Catalog) -> Iterator[tuple[bool, str, str, Verdict, bool]]:
    """For each fix and kind of capture: whether it is right, its kind, its text, the verdict, whether that holds."""
    site = site_of(base, catalog)
    bare = replace(site, sample={})
    for every in (False, True):
        calls = calls_of(base, every)
        subject = bare if every else site
        for kind, text in wrong_fixes(base):
            verdict = verdict_of(subject, text, calls)
            yield False, kind, text, verdict, not verdict.passing
        for text in base.fixed:
            verdict = verdict_of(subject, text, calls)
            yield True, "right", text, verdict, verdict.passing


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rules", nargs="*", help="these rules alone")
    parser.add_argument("--verbose", action="store_true", help="every fix, and not only the misjudged ones")
    options = parser.parse_args()
    torch.set_num_threads(1)
    catalog = load_catalog()
    totals = {True: [0, 0], False: [0, 0]}
    for base in BASES:
        if options.rules and base.code not in options.rules:
            continue
        for right, kind, text, verdict, holds in judged(base, catalog):
            totals[right][0] += 1
            totals[right][1] += not holds
            if options.verbose or not holds:
                print(f"{'ok ' if holds else 'BAD'} {base.code} {kind:13} {verdict:15} {text}")
    for right, name in (
        (False, "wrong fixes judged, of which pass"),
        (True, "right fixes judged, of which are refused"),
    ):
        print(f"{totals[right][0]} {name}: {totals[right][1]}")
    return 1 if totals[True][1] or totals[False][1] else 0


if __name__ == "__main__":
    raise SystemExit(main())
