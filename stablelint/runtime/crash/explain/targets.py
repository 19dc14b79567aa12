"""Targets that a loss cannot take, and indices out of range."""

from __future__ import annotations

import ast
import copy
import operator
import re
from collections.abc import Iterator
from inspect import signature
from itertools import chain

import torch

from stablelint.runtime.crash import expression
from stablelint.runtime.crash.explain.no_graph import switches_off
from stablelint.runtime.crash.explainers import Loss, explains, explains_loss
from stablelint.runtime.crash.explanation import Explanation, Operand
from stablelint.runtime.crash.expression import node_at
from stablelint.runtime.crash.general import operands_of_call
from stablelint.runtime.crash.provenance.history import history, makers
from stablelint.runtime.crash.repairs.constructors import constructed, give
from stablelint.runtime.crash.repairs.counts import enough, enough_outputs, made_later
from stablelint.runtime.crash.repairs.edits import Edit, Setting
from stablelint.runtime.crash.repairs.failing import called
from stablelint.runtime.crash.repairs.onward import Onward, as_of, as_written, by_edit, counted_anew, passed
from stablelint.runtime.crash.repairs.search import Repair
from stablelint.runtime.crash.repairs.tensors import is_indexed
from stablelint.runtime.crash.scene import Scene, name_of
from stablelint.runtime.crash.source import expression_at, function_at
from stablelint.runtime.program.frames import resolve
from stablelint.runtime.program.location import Location
from stablelint.syntax.operations import having

_SHOWN = 4
_ENTROPIES = having("of-classes")


def _outside(values: torch.Tensor, low: float, high: float, spared: float | None = None) -> str:
    """The first values outside of low … high, with their places."""
    wrong = ~((values >= low) & (values <= high))
    if spared is not None:
        wrong &= values != spared
    places = wrong.nonzero()
    shown = [f"{values[tuple(one)].item():g} at {_place(one)}" for one in places[:_SHOWN]]
    more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
    return ", ".join(shown) + more


def _begin_later(
    scene: Scene, operand: Operand, values: torch.Tensor, count: int, high: int = 0
) -> list[str]:
    """What to do where numbers run from a later one than 0, as it seems, as many as there are."""
    low, first = int(values.min()), max(high, int(values.max())) - count + 1
    if not 1 <= first <= low:
        return []
    told = counted_anew(scene, operand, f"{{}} - {first}") or (f"{operand.name} - 1" if first == 1 else "")
    begin = f"they begin at {first}" if low == first else f"if they are counted from {first}"
    return [f"{begin}: {told}"] * bool(told)


def _place(index: torch.Tensor) -> str:
    found = index.tolist()
    return str(found[0] if len(found) == 1 else tuple(found))


@explains_loss(r"Target (-?\d+) is out of bounds", *_ENTROPIES)
def class_out_of_range(loss: Loss, _: re.Match[str]) -> Explanation:
    """A class number that the model has no output for."""
    given, target, scores, labels = loss[:4]
    count = given.shape[1] if given.dim() > 1 else given.shape[0]
    wrong = _outside(target, 0, count - 1, -100)
    summary = f"{labels.name} holds {wrong}; {scores.name} has {count} classes, 0 … {count - 1}"
    low, high = int(target[target != -100].min()), int(target.max())
    marked = "mark what is ignored with -100, or ignore_index"
    past = history(loss.scene)
    high = max(high, past.largest(labels.name, count) if past is not None else 0)
    outputs = enough_outputs(loss.scene, count, high + 1) if low >= 0 and high <= 2 * count else None
    advice = [outputs.told if outputs else f"{high + 1} outputs of the last layer" if low >= 0 else marked]
    if past is not None and low >= 0 and not past.is_of_weights(scores.name, count):
        advice = []  # what counts the classes is no size of a layer
    odd = target[(target < 0) | (target >= count)].unique()
    if len(odd) == 1 and (high > count or low < 0):
        kept = advice if high <= count else []  # so many classes are not meant by a mark beyond them
        told = _ignoring(loss.scene, int(odd)) or f"ignore_index={int(odd)}"
        advice = [f"{told}, if it marks what has no label", *kept]
        if count == 2 and bool(
            (target[target != odd[0]] == 0).all()
        ):  # with it, there are as many labels as classes
            mark = f"({{}} == {int(odd)}).long()"
            told = counted_anew(loss.scene, labels, mark) or mark.format(labels.name)
            advice = [f"it stands for the second class: {told}", *advice]
    advice = _begin_later(loss.scene, labels, target[target != -100], count, high) or advice
    return loss.explained("target", summary, *advice)


def _ignoring(scene: Scene, mark: int) -> str:
    """The loss made so that it leaves out a mark, with which the program goes on."""
    setting = Setting(id(scene.module), (("ignore_index", mark),))
    ways = constructed(scene, Repair("", None, "setting", revisions=(setting,)))
    owners = [one.frame.f_locals.get("self") for one in scene.frames if one.mine]
    told = (way for one in owners for way in _told_to_ignore(scene, one, mark))
    return next((one.told for one in Onward(scene, lambda _: []).through(chain(ways, told))), "")


def _told_to_ignore(scene: Scene, owner: object, mark: int) -> Iterator[Repair]:
    """A module of the program that takes a mark to leave out, made with it."""
    call, scope = scene.origins.maker(owner) or (None, None)
    takes = isinstance(owner, torch.nn.Module) and "ignore_index" in signature(type(owner)).parameters
    if isinstance(call, ast.Call) and scope is not None and takes:
        anew = copy.deepcopy(call)
        give(anew, expression.given_by_name(anew, {}, type(owner)), "ignore_index", ast.Constant(mark))
        yield by_edit(scene, Edit.of(call, scope.code.co_filename, ast.unparse(anew)))


@explains(r"index out of range in self")
def index_out_of_range(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """An index that an embedding has no row for."""
    frame = scene.called("embedding")
    if frame is None:
        return _of_entries(scene)
    indices, weight = frame.frame.f_locals["input"], frame.frame.f_locals["weight"]
    operands = scene.operand(indices, "input"), scene.operand(weight, "weight")
    rows = weight.shape[0]
    summary = f"{operands[0].name} holds {_outside(indices, 0, rows - 1)}; "
    summary += f"{scene.module_name()} has {rows} rows"
    past = history(scene)
    made = past.largest(operands[0].name, rows) if past is not None else 0
    largest = max(made, int(indices.max()))
    found = next(iter(Onward(scene, lambda _: []).through(made_later(scene, scene.module))), None)
    if found is None and scene.module is not None:
        found = enough(scene, scene.module, "num_embeddings", largest + 1)
    advice = [found.told if found else f"num_embeddings={largest + 1} at least, or see how indices are made"]
    if int(indices.min()) >= rows:  # none of them counts rows
        numbered = f"torch.unique({operands[0].name}, return_inverse=True)"
        advice.insert(
            0, f"if these are identifiers, number them all from 0: {numbered}, of the whole data set"
        )
    if indices.dim() and indices.shape[-1] > 1 and bool((indices.diff() == 1).all()):
        advice.append(
            _cut_to(scene, indices.shape[-1], rows)
            or f"these count places, and {rows} have a row: cut what they count to the last {rows}"
        )
        if any(switches_off(resolve(one.site)) for one in scene.frames if one.mine):  # nothing is trained on
            advice.reverse()
    if int(indices.min()) < 0:
        advice = ["rows are counted from 0: what is padded has a row of its own, padding_idx"]
    if frame.frame.f_locals.get("padding_idx") != 0:  # else 0 is taken
        advice += _begin_later(scene, operands[0], indices, rows)
    source = scene.origins.of_setting(scene.module, "num_embeddings")[-1:] if scene.module is not None else ()
    source = source or _handed_on(scene, "num_embeddings")
    other = tuple((f"num_embeddings, {rows}, comes from here", at) for at in source)
    return Explanation("index", summary, advice=tuple(advice), operands=operands, other=other)


def _cut_to(scene: Scene, count: int, rows: int) -> str:
    """What a call was given that is so long, cut to its last places, as many as have a row, if the program goes on."""
    call, _ = scene.origins.maker(scene.module) or (None, None)
    made = expression.given_by_name(call, {}, type(scene.module)) if isinstance(call, ast.Call) else {}
    called = ast.unparse(made.get("num_embeddings", ast.Name(""))).rpartition(".")[2]
    for frame in (one for one in reversed(scene.frames) if one.mine):
        node, filename = node_at(frame.site), frame.site.code.co_filename
        given = [*node.args, *(one.value for one in node.keywords)] if isinstance(node, ast.Call) else []
        for one in given:
            value = expression.value_of(one, frame.names)
            if isinstance(value, torch.Tensor) and value.shape[-1:] == (count,):
                limit = name_of(rows, [frame], called) or rows
                repair = as_of(scene, f"{{}}[{':, ' * (value.dim() - 1)}-{limit}:]", one, filename)
                if told := passed(scene, [repair]):
                    return told[0]
    return ""


def _handed_on(scene: Scene, name: str) -> tuple[Location, ...]:
    """The call that gave the function around a module's making what it is made with under a name."""
    places = makers(scene).get(id(scene.module), ())
    call, function = (expression_at(places[0]), function_at(places[0])) if places else (None, None)
    given = expression.given_by_name(call, {}, type(scene.module)) if isinstance(call, ast.Call) else {}
    match given.get(name), function:
        case ast.Name(one), ast.FunctionDef(args=taken) if one in {each.arg for each in taken.args}:
            return places[1:2]
    return ()


def _of_entries(scene: Scene) -> Explanation | None:
    """Numbers beyond the entries of a dimension that they pick from."""
    call, shown = called(scene), operands_of_call(scene)
    tensors = [one for one in call.values if isinstance(one, torch.Tensor)] if call is not None else []
    if call is None or len(shown) != 2 or len(tensors) != 2:
        return None
    whole, index = tensors
    if index.dtype != torch.int64 or not (call.function is operator.getitem or is_indexed(call)):
        return None
    dim = next((one for one in call.values if type(one) is int), 0)
    count, held = whole.shape[dim], f"{shown[1].name} holds {_outside(index, 0, whole.shape[dim] - 1)}"
    summary = f"{held}; dimension {dim} of {shown[0].name} has {count} entries, 0 … {count - 1}"
    return Explanation("index", summary, operands=shown)


@explains(r"Class values must be (?:smaller than num_classes|non-negative)")
def one_hot(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """A class number that `one_hot` has no column for."""
    node = scene.node
    if not isinstance(node, ast.Call):
        return None
    name, labels = next(expression.operands(node, scene.user.names), (None, None))
    wide = [one.value for one in node.keywords if one.arg == "num_classes"] or node.args[1:2]
    count = expression.value_of(wide[0], scene.user.names) if wide else -1
    if name is None or labels is None or not isinstance(count, int):
        return None
    columns = count if count >= 0 else int(labels.max()) + 1
    summary = f"{name} holds {_outside(labels, 0, columns - 1)}; "
    summary += f"num_classes is {count}: 0 … {count - 1}" if count >= 0 else "classes are counted from 0"
    advice = _begin_later(scene, scene.operand(labels, name), labels, count)
    odd = labels[(labels < 0) | (labels >= columns)].unique()
    if int(labels.min()) < 0 or (len(odd) == 1 and int(odd) > columns):
        advice.append(f"leave out what {int(odd[0])} marks, or {name}.clamp(0, {columns - 1}) and a mask")
    else:
        advice.append(f"num_classes={int(labels.max()) + 1}")
    return Explanation("index", summary, advice=tuple(advice), operands=scene.operands())


@explains_loss(r"all elements of (input|target) should be between 0 and 1", "binary_cross_entropy")
def probabilities(loss: Loss, match: re.Match[str]) -> Explanation:
    """Numbers outside 0 … 1 in a binary cross entropy."""
    given, target, scores, labels = loss[:4]
    values, one, advice = target, labels, "targets are 0 and 1, or probabilities"
    if match[1] == "input":
        values, one, advice = given, scores, "binary_cross_entropy_with_logits takes scores"
    if nan := int(torch.isnan(values).sum()):
        advice = "find where they come from: stablelint run stops at the first NaN of a loss"
        return loss.explained("target", f"{one.name} holds {nan} NaN", advice)
    ways = _as_probabilities(values) if match[1] == "target" else ["{}.sigmoid()"]
    repairs = _from_where_it_is_made(loss.scene, one, ways)
    told = next((told for each in repairs for told in passed(loss.scene, [each])), "")
    advice = f"{told}: {advice}" if told else advice
    return loss.explained("target", f"{one.name} holds {_outside(values, 0, 1)}", advice)


def _as_probabilities(values: torch.Tensor) -> list[str]:
    """Numbers of a range as ones between 0 and 1: of two that are two classes, else of bytes or of what is largest."""
    low, high = (float(one) for one in (values.min(), values.max()))
    if low == -1.0 and high == 1.0:
        return ["({} + 1) / 2"]
    if len(values.unique()) == 2 and low and high - low == 1.0:
        return [f"{{}} - {low:g}"]
    whole = low >= 0 and high.is_integer() and high < 256
    return [f"{{}} / {255 if high > 100 else int(high)}"] * whole


def _from_where_it_is_made(scene: Scene, operand: Operand, templates: list[str]) -> Iterator[Repair]:
    """An operand in templates, as far back as it has been what it is."""
    made = scene.origins.expressions(scene.user, operand.written) if operand.written is not None else []
    for template in templates:
        yield from (as_of(scene, template, *one) for one in reversed(made))
        yield from as_written(scene, operand, template, "")


@explains(r"index (-?\d+) is out of bounds for dimension (\d+) with size (\d+)")
def element_out_of_range(scene: Scene, match: re.Match[str]) -> Explanation | None:
    """An index beyond the end of a dimension."""
    if scene.user is not scene.frames[-1]:
        return None
    shown, entry, size = scene.operands(), int(match[1]), int(match[3])
    if not shown:
        return None
    summary = f"dimension {match[2]} has {size} entries, 0 … {size - 1}, and entry {entry} is asked for"
    advice: list[str] = []
    for name, tensor in expression.operands(scene.node, scene.user.names):
        if tensor.dtype == torch.int64 and bool((tensor == entry).any()):
            held = _outside(tensor, -size, size - 1)
            summary = f"{name} holds {held}; dimension {match[2]} has {size} entries, 0 … {size - 1}"
            advice = _begin_later(scene, scene.operand(tensor, name), tensor, size)
            advice = advice or [f"see how {name} is made: {size} entries are there"]
    return Explanation("index", summary, advice=tuple(advice), operands=shown)


@explains(r"Expected input_lengths to have value at most (\d+), but got value \d+")
def lengths(scene: Scene, match: re.Match[str]) -> Explanation | None:
    """Lengths of what a model was given, in place of those of the scores that it gave."""
    frame = scene.called("ctc_loss")
    names = frame.names if frame is not None else {}
    scores, held = names.get("log_probs"), names.get("input_lengths")
    if held is None or not isinstance(scores, torch.Tensor):
        return None
    steps, longest = int(match[1]), int(max(held))
    one = scene.operand(torch.as_tensor(held), "input_lengths")
    by = max(1, round(longest / steps))
    part = f"{{0}} * {scene.operand(scores, 'log_probs').owner}.shape[0] // {{0}}.max()"
    ways = [f"({{0}} + {by - 1}) // {by}", f"{{0}} // {by}", part]
    advice = passed(scene, (each for way in ways for each in as_written(scene, one, way, "")))[:1]
    advice = advice or [
        "count steps of the scores: divide by the factor by which the model shortens what it is given"
    ]
    summary = f"{one.name} holds {longest}, and the scores have {steps} steps"
    return Explanation("target", summary, advice=tuple(advice))


_INTO = ("F.softplus({})", "{}.exp()", "{}.sigmoid()", "{}.softmax(-1)")  # ranges, the widest first


@explains(r"Expected parameter (\w+) (?:.|\n)*of distribution (\w+)\(")
def constrained(scene: Scene, match: re.Match[str]) -> Explanation | None:
    """A parameter of a distribution that breaks its constraint, and the functions whose range keeps it."""
    held, node = scene.frames[-1].frame.f_locals, scene.node
    value, constraint = held.get("value"), held.get("constraint")
    if not isinstance(value, torch.Tensor) or constraint is None:
        return None
    given = expression.given_by_name(node, scene.user.names) if isinstance(node, ast.Call) else {}
    text = ast.unparse(given[match[1]]) if match[1] in given else match[1]
    found = scene.operand(value, text, scene.user) if match[1] in given else Operand.of(value, text)
    known = {"x": value.detach().nan_to_num(), "F": torch.nn.functional}
    kept = [one for one in _INTO if bool(constraint.check(eval(one.format("x"), known)).all())][:2]
    advice = [one.format(found.owner) for one in kept]
    if match[1] == "probs" and "logits" in type(held["self"]).arg_constraints:
        head = ast.unparse(node.func) if isinstance(node, ast.Call) else match[2]
        advice.append(f"{head}(logits={found.name})")
    summary = f"{match[2]} is given {found.name} {found.shape} as {match[1]}, which must satisfy {constraint}"
    return Explanation("distribution", summary, advice=tuple(advice), operands=(found,))
