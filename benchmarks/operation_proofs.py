#!/usr/bin/env python3
"""Calls each function and method of torch with drawn arguments, and runs what is proved safe of the results.

    python benchmarks/operation_proofs.py                       each a few times
    python benchmarks/operation_proofs.py --seed 3 sort median  those whose names hold one of the words

Operands are of known range, the arguments are drawn by the parameters' names (`dim`, `dtype`, `out`, `weight`), and a
call counts that torch accepts. Of its result and of its operands logarithms, quotients, roots and the like are asked,
and those that are proved, not assumed, are evaluated as by `generated_proofs.py`. It tells of a false proof which
call led to it; the exit code is 1 where there is one.
"""

import argparse
import inspect
import random
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch
import torch.nn.functional as F
from torch.overrides import get_testing_overrides

from stablelint.catalog import load_catalog
from tests.analysis.generated.programs import Program, operand
from tests.analysis.generated.tried import falsified, proofs_of

_PLACES = {"torch": torch, "F": F, "torch.special": torch.special, "torch.linalg": torch.linalg}
# What changes the state of the process, waits, or refers to memory that is not there.
_SPARED = frozenset(
    "save load set_default_dtype set_default_device set_default_tensor_type set_num_threads set_num_interop_threads "
    "set_printoptions compile manual_seed seed from_file frombuffer set_flush_denormal resize_ set_ resize_as_ apply_ "
    "map_ map2_ backward use_deterministic_algorithms set_deterministic_debug_mode set_rng_state".split()
)
_OPERANDS = (
    "x.abs() + 1 | x.sigmoid() + 0.25 | -(x.abs()) - 1 | x.clamp(0.25, 3) | x.clamp(-3, -0.5) | x.relu() + 1 | "
    "(x > 0).float() + 1 | x.clamp(1, 6).long() | x.clamp(0, 3).to(torch.uint8) + 1 | (x.abs() + 1).half() | "
    "(x.abs() + 1).double() | x.softmax(-1) + 0.1 | torch.ones(4, 4) | torch.arange(1, 5) | x > -100 | x[0].abs() + 1 | "
    "x.abs().sum() + 1 | x[:1].abs() + 1 | x[x > 0.5].abs() + 1 | x[x.sum(-1) > 0].abs() + 1 | F.softplus(x) + 1 | "
    "x[None].abs() + 1 | x[None, None].abs() + 1 | x.clamp(-1, 1) * 0.5"
).split(" | ")
_ANY = (
    "a b b b 0 1 -1 2 0.5 True False None (0,1) (4,4) (2,8) [a,b] b.long() (x>0.5) torch.tensor([0,2]) x.argsort(-1) "
    "torch.float16 torch.int64 torch.uint8 'mean' 'sum' 'none' 'floor' 'amax' x y n"
).split()
_BY_NAME = {
    "dim": "0 1 -1 (0,1) None", "dtype": "torch.float16 torch.float64 torch.int64 torch.uint8", "out": "a None",
    "index": "torch.tensor([0,2]) x.argsort(-1) torch.zeros(4,4,dtype=torch.long)", "mask": "(x>0.5) (x>5) (y>0)",
    "condition": "(x>0.5) (y>0)", "reduction": "'mean' 'sum' 'none'", "reduce": "'sum' 'mean' 'prod' 'amax' None",
    "rounding_mode": "'floor' 'trunc' None", "tensors": "[a,b] (a,b,x) [a]", "size": "(4,4) (2,8) 4", "self": "a",
    "input": "a", "other": "b b 0 1 2 0.5 -1 x y n", "target": "b b.long() x.softmax(-1)", "weight": "b None x y",
    "value": "0 1 0.5 b -1 n", "src": "b x 0 2.0", "alpha": "1 2 -1 0 n", "min": "0 -1 0.5 None b", "max": "0 -1 3 None b",
    "p": "0 1 2 0.5 -1 n", "ord": "0 1 2 -1 None", "eps": "0 1e-6 0.1", "exponent": "2 0.5 -1 3 0 b n", "inplace": "True",
    "equation": "'ij,ij->i' 'ij->j'", "keepdim": "True False", "correction": "0 1 4", "training": "True False",
}  # fmt: skip
_SITES = (
    "1 / {v} | torch.log({v}) | torch.sqrt({v}) | torch.rsqrt({v}) | 1 / {v}.sum() | 1 / {v}.sum(-1) | 1 / ({v} + 1) | "
    "torch.log1p({v}) | torch.acos({v}) | 1 / (2 - {v}) | torch.log(1 - {v}) | 1 / ({v} - 1) | 1 / {v}.max() | "
    "1 / {v}.min() | 1 / {v}.norm() | 1 / {v}.half() | {v} ** -0.5 | 1 / {v}.long() | torch.log({v}.abs()) | 1 / {v}[0] | "
    "1 / {v}[-1] | 1 / {v}.numel() | 1 / {v}.prod() | torch.logit({v}) | 1 / ({v} * {v}) | 1 / {v}.to(torch.uint8)"
).split(" | ")
_OMITTED, _OTHERWISE, _TRIES, _KEPT = 0.6, 0.1, 8, 4


def _callables() -> Iterator[tuple[str, list[inspect.Parameter]]]:
    """The functions and methods of torch by name, with their parameters."""
    known = get_testing_overrides()
    for prefix, place in (*_PLACES.items(), ("", torch.Tensor)):
        for name in sorted(vars(place).keys() | set(dir(place))):
            function = getattr(place, name)
            if name.startswith("_") or name in _SPARED or not callable(function) or inspect.isclass(function):
                continue
            try:
                signature = inspect.signature(known.get(function, function))
            except (TypeError, ValueError):
                continue
            yield f"{prefix}.{name}", list(signature.parameters.values())


def _call(name: str, parameters: Sequence[inspect.Parameter], rng: random.Random) -> str:
    """A call with drawn arguments."""
    parts, named = list[str](), False
    for position, parameter in enumerate(parameters):
        if name.startswith(".") and not position:
            continue
        given = _BY_NAME.get(parameter.name, "").split()
        text = rng.choice(given if given and rng.random() > _OTHERWISE else _ANY)
        if parameter.kind is parameter.VAR_POSITIONAL:
            parts += [text] if rng.random() < _OMITTED else []
        elif parameter.kind is not parameter.VAR_KEYWORD:
            optional = parameter.default is not parameter.empty
            named = named or optional or parameter.kind is parameter.KEYWORD_ONLY
            if not optional or rng.random() > _OMITTED:
                parts.append(f"{parameter.name}={text}" if named else text)
    return f"{'a' if name.startswith('.') else ''}{name}({', '.join(parts)})"


def _runs(program: Program) -> bool:
    """Whether torch accepts the call."""
    held = {"_look": lambda *asked: None}
    try:
        exec(program.watched, held)
        held["f"](operand(random.Random(0), 0), operand(random.Random(1), 0), 2)
    except Exception:  # most drawn arguments suit no function
        return False
    return True


def main() -> int:
    """Draws, runs, prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    catalog, rng = load_catalog(entry_points=False), random.Random(options.seed)
    called, proved, wrong = set[str](), 0, 0
    for name, parameters in _callables():
        if options.words and not any(word in name for word in options.words):
            continue
        kept = 0
        for _ in range(_TRIES):
            lines = [
                f"a = {rng.choice(_OPERANDS)}",
                f"b = {rng.choice(_OPERANDS)}",
                f"v = {_call(name, parameters, rng)}",
            ]
            sites = [
                site.format(v=v) for v in "vab" for site in (_SITES if v == "v" else rng.sample(_SITES, 6))
            ]
            program = Program(lines, sites)
            if kept == _KEPT or not _runs(program):
                continue
            kept += 1
            called.add(name)
            proofs = proofs_of(program, catalog)
            proved += len(proofs)
            for found in falsified(program, proofs, options.seed):
                wrong += 1
                print(f"{found.expression}: proved by {found.by}, and {found.got} after {'; '.join(lines)}")
    print(f"{len(called)} functions and methods, {proved} proofs, {wrong} false")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
