"""What can be said of any error: the expression, what each of its operands is, and what would make it pass.

Nothing here knows a message. The values are those that the frame holds, and what is advised was tried.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import chain

import torch
from torch import nn
from torch.utils.data import TensorDataset

from stablelint.runtime.crash.deduced import silenced
from stablelint.runtime.crash.explanation import Advice, Explanation, Operand
from stablelint.runtime.crash.expression import parsed, value_of
from stablelint.runtime.crash.failed import Failed
from stablelint.runtime.crash.hints import Hints
from stablelint.runtime.crash.layers import (
    channels_come_first,
    is_one_sample,
    outermost,
    shapes_through_layers,
)
from stablelint.runtime.crash.provenance.history import history
from stablelint.runtime.crash.repairs.constructors import line_of
from stablelint.runtime.crash.repairs.edits import Edit, Setting
from stablelint.runtime.crash.repairs.failing import Call, around, called, failing
from stablelint.runtime.crash.repairs.onward import Onward, before, by_edit, cast_of
from stablelint.runtime.crash.repairs.outer import (
    changed_in_place,
    cut_alike,
    emptied,
    extended,
    rearranged,
    regrouped,
)
from stablelint.runtime.crash.repairs.refits import lengthened, refitted, widened
from stablelint.runtime.crash.repairs.search import Repair, repairs
from stablelint.runtime.crash.repairs.tensors import is_elementwise
from stablelint.runtime.crash.scene import Scene, kind_of
from stablelint.runtime.crash.source import expression_at
from stablelint.runtime.program.location import Location
from stablelint.runtime.tensors.measure import dtype_name
from stablelint.syntax.names import last_name

_OF_SHAPES = re.compile(r"\b(shapes|sizes?|dimensions?|channels)\b|\.shape\b")
# Kinds of changes of a call that are weaker than those of what a model is given.
_LAST = ("setting", "size", "turned", "layer")
_OF_INDEX = re.compile(r"\b(index|indices)\b")


def tried(scene: Scene) -> list[Repair]:
    """The changes with which the step goes on from the failed call, as the program would write them."""
    if "tried" not in scene.known:
        scene.known["passing"] = passing(scene)
        scene.known["tried"] = Onward(scene, passing).confirmed(scene.known["passing"])
    found: list[Repair] = scene.known["tried"]
    return found


def written_out(scene: Scene, found: Explanation) -> Explanation:
    """The explanation, and first of its advice that which can be written where the program failed, so that it goes on."""
    first = [one for one in found.advice if " pass" in one and "; then line" not in one]
    told = {one: _as_code(scene, found, one) for one in found.advice if one not in first}
    rest = [one for one in told if not told[one]]
    return replace(found, advice=(*first, *filter(None, told.values()), *rest))


def _as_code(scene: Scene, found: Explanation, text: str) -> str:
    """Advice as code with which the program goes on: in place of a part of what failed or is told with it, or before it."""
    words, names = text.split(", "), scene.user.names
    codes = (parsed(", ".join(words[:count])) for count in range(len(words), 0, -1))
    code = next(filter(None, codes), None)
    anew = ast.unparse(code) if code is not None else ""
    inner, ways = {*map(ast.unparse, ast.walk(code or ast.Pass()))}, list[Repair]()
    for at in (scene.location, *(at for _, at in found.other)) if anew else ():
        whole = expression_at(at)
        parts = [one for one in ast.walk(whole or ast.Pass()) if isinstance(one, ast.expr)]
        values = [
            one for one in parts if ast.unparse(one) in inner and not inspect.ismodule(value_of(one, names))
        ]
        alike = [last_name(one.func) if isinstance(one, ast.Call) else type(one) for one in (code, whole)]
        edits = (Edit.of(one, at.filename, anew) for one in (*values * (alike[0] != alike[1]), *parts[:1]))
        ways += (by_edit(scene, one) for one in edits if values)
    ways += before(scene, scene.location, anew) if isinstance(code, ast.Call) else ()
    onward, more = Onward(scene, passing), text.removeprefix(anew)
    return next((met.told + more for one in ways for met in onward.through([one])), "")


def passing(scene: Scene) -> list[Repair]:
    """The changes that make the failed call pass."""
    try:
        call = failing(scene) or _recalled(scene)
        if call is None or call.function is TensorDataset:  # samples are neither cut nor turned
            return []
        found = _repairs_of(scene, call)
        of_values = isinstance(scene.error, IndexError)  # no size of what holds them helps
        found = [one for one in found if not of_values or one.kind != "size"]
        found = [one for one in found if one.revisions or not one.text.endswith(f" of {scene.module_path()}")]
        others = () if {one.kind for one in found} - {*_LAST} else _handed_in(scene)
        alone = bool(others) and bool(found) and is_one_sample(scene)
        return [*(one for one in others if not found or (alone and one.kind == "wider")), *found]
    except Exception:  # a search that fails must not cost what is known
        return []


def _handed_in(scene: Scene) -> list[Repair]:
    """The changes of what a whole model was given with which it passes."""
    for call in around(scene):
        with silenced():
            found = repairs(call, call.written)
        edits = [(one, edit) for one in found for edit in one.revisions[:1] if isinstance(edit, Edit)]
        if edits:
            return [replace(one, shape=None, where=line_of(scene, edit)) for one, edit in edits]
    return []


def _recalled(scene: Scene) -> Call | None:
    """The call that failed on tensors like those that another run had, where no name of this one has them."""
    past = history(scene)
    if past is None or called(scene) is not None:
        return None
    known = {name: past.pasts[place] for name, place in past.operands.items()}
    scene.known["gone"] = {
        name: torch.zeros((), dtype=getattr(torch, one.dtype)).expand(one.shape)
        for name, one in known.items()
    }
    scene.known.pop("call")
    return failing(scene)


def _repairs_of(scene: Scene, call: Call) -> list[Repair]:
    call = replace(call, channels_first=channels_come_first(scene))
    node = scene.node
    called = value_of(node.func, scene.user.names) if isinstance(node, ast.Call) else None
    found = repairs(call, cache(lambda place: named(scene, call, place).owner))
    path = scene.module_path() if scene.module is call.function else ""
    found = [
        replace(one, text=f"{one.text} of {path}") if one.kind == "setting" and path else one for one in found
    ]
    if called is call.function and isinstance(node, ast.Call) and isinstance(called, nn.Module):
        found = [_as_in(one, ast.unparse(node.func), called) for one in found]
    elif isinstance(call.function, nn.Module) and isinstance(called, nn.Module):
        found = [replace(one, shape=None) for one in found]  # of a layer within what is called
    found = [_where_made(scene, one) if one.kind == "order" else one for one in found]
    switched = [one for one in found if one.kind == "switch"]
    inner = (outermost(scene) or (nn.Identity(),))[0].modules()
    like = {one.batch_first for one in inner if isinstance(one, nn.RNNBase) and one is not call.function}
    if switched and like == {not getattr(call.function, "batch_first", None)}:
        return switched  # as all others have it
    views, sizes = ([one for one in found if one.kind == kind] for kind in ("view", "setting"))
    if not views or not sizes or not isinstance(call.function, nn.RNNBase):
        return found
    if channels_come_first(scene):
        return views
    name = named(
        scene, call, 0
    ).name  # of whose dimensions one counts what the layer takes: it stands in the wrong place
    return [
        views[0],
        replace(sizes[0], text=f"if the last dimension of {name} does count the features: {sizes[0].text}"),
    ]


def _where_made(scene: Scene, repair: Repair) -> Repair:
    """A switch of layers of a kind that one call of the program makes, as that call."""
    name, _, given = repair.text.partition("(…, ")
    for at in scene.calls(re.compile(rf"^(\w+\.)*{name.removeprefix('nn.')}\(")):
        call = expression_at(at)
        if isinstance(call, ast.Call):
            more = ast.parse(f"_({given}", mode="eval").body
            assert isinstance(more, ast.Call)
            kept = [one for one in call.keywords if one.arg != more.keywords[0].arg]
            anew = ast.Call(call.func, call.args, [*kept, *more.keywords])
            edit = Edit.of(call, at.filename, ast.unparse(anew))
            return replace(repair, text=edit.text, revisions=(edit,), where=line_of(scene, edit))
    return repair


def _as_in(repair: Repair, name: str, layer: nn.Module) -> Repair:
    """A repair whose dtype is told as that of a parameter of the layer: another run may have another one."""
    for path, one in layer.named_parameters():
        text = repair.text.replace(f".to({one.dtype})", f".to({name}.{path}.dtype)")
        if text != repair.text:
            return replace(repair, text=text)
    return repair


def advised(scene: Scene) -> Advice:
    """What makes the call pass, or else what the kind of error tells."""
    onward = Onward(scene, lambda then: list(rearranged(then)))
    if longer := lengthened(scene):
        return Advice((longer[0].told,))
    if outer := onward.through(rearranged(scene)):
        return Advice(tuple(one.told for one in outer))
    for repair, reason in chain(regrouped(scene), extended(scene), cut_alike(scene)):
        if onward.through([repair]):
            return Advice((repair.told,), *reason)
    call, found = failing(scene), tried(scene)
    if call is not None and (picked := tuple(_picked(scene, call))):
        return Advice(picked)
    if (not found or found[0].kind == "setting") and scene.module is not None:
        if changed := of_own_lists(scene):
            return changed
    onward = Onward(scene, lambda _: [])
    if (not found or found[0].kind == "wider") and (wider := onward.through(emptied(scene))[:1]):
        return Advice((wider[0].told,))
    last = not found or found[0].until or found[0].kind in ("size", "turned")
    if last and not isinstance(scene.error, IndexError) and (refits := refitted(scene)):
        return Advice(tuple(one.told for one in (*refits, *(one for one in found if not one.until))))
    if found and found[0].kind == "setting":
        return _resized(scene, found)
    if found and found[0].kind == "layer":
        return _projected(scene, found)
    texts = tuple(one.told for one in found)
    return Advice(texts or tuple(Hints(scene, scene.node).advice()))


def _resized(scene: Scene, found: list[Repair]) -> Advice:
    """The layer that failed with another size, and where its own comes from; or one before, of which it takes a part."""
    settings = (one.revisions[0] for one in scene.known["passing"] if one.kind == "setting" and one.revisions)
    failed = next((one for one in settings if isinstance(one, Setting)), None)
    wider = widened(scene, failed) if failed is not None else []
    name, layer = failed.changed[0][0] if failed is not None else "", scene.module
    made = scene.origins.of_setting(layer, name)[-1:] if layer is not None and not wider else ()
    told = f"{name} of {scene.module_path()}, {getattr(layer, name, None)}, comes from here"
    return Advice(tuple(one.told for one in wider or found), (), tuple((told, at) for at in made))


def of_own_lists(scene: Scene) -> Advice | None:
    """A list that a function has changed for its callers, where the program goes on with one of its own."""
    for repair, at in changed_in_place(scene.frames):
        if not repair.revisions or Onward(scene, lambda _: []).through([repair]):
            because = f"`{at.expression}` changes the list of the caller, of which the next is made"
            told = repair.told if repair.revisions else repair.text
            return Advice((told,), (because,), (("it is changed here", at),))
    return None


def _picked(scene: Scene, call: Call) -> Iterator[str]:
    """A value for each class that meets one for each sample, picked by the numbers of the classes."""
    held = scene.user.frame.f_locals.items() if is_elementwise(call) else ()
    indices = [pair for pair in held if isinstance(pair[1], torch.Tensor) and pair[1].dtype == torch.int64]
    vectors = [one for one in call.values if isinstance(one, torch.Tensor) and one.dim() == 1]
    for place, one in enumerate(call.values):
        for name, index in indices if len(vectors) == 2 and any(one is each for each in vectors) else ():
            samples = {each.shape for each in vectors if each is not one}
            if (
                {index.shape} == samples != {one.shape}
                and index.numel()
                and 0 <= int(index.min()) <= int(index.max()) < len(one)
            ):
                yield f"{named(scene, call, place).owner}[{name}] takes that of each of the {len(index)}"


def _projected(scene: Scene, found: list[Repair]) -> Advice:
    """The layer for the shorter branch of a sum: what its function was given, or a module without parameters gave."""
    because, places, short = list[str](), list[tuple[str, Location]](), list[Repair]()
    for one in found:
        layer, _, branch = one.text.rpartition(" of ")
        node = ast.parse(branch, mode="eval").body
        module = value_of(node.func, scene.user.names) if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Name) and node.id in inspect.getargs(scene.user.site.code).args:
            short.append(one)
        elif isinstance(module, nn.Module) and [*module.parameters()]:
            if refits := refitted(scene, layer=module):
                return Advice((refits[0].told,))
        elif isinstance(node, ast.Call) and isinstance(module, nn.Module):
            name = ast.unparse(node.func)
            short.append(replace(one, text=f"{layer} in place of {name}"))
            because.append(f"{name} is {kind_of(module)}, which has no weights")
            places += [(f"{name} is made here", at) for at in scene.origins.of_module(module)]
    likely = short if len(short) == 1 else found
    return Advice(tuple(one.told for one in likely), tuple(because), tuple(places))


def facts(scene: Scene) -> list[str]:
    """What the operands of the failing expression are that are no tensors."""
    return Failed(scene, scene.node).facts()


def operands_of_call(scene: Scene) -> tuple[Operand, ...]:
    """The tensors that the failed call was given, where it fails again."""
    call = failing(scene)
    if call is None:
        return ()
    whole = isinstance(call.function, nn.Module)  # of others only what the program writes is shown
    known = [isinstance(one, torch.Tensor) and (whole or id(one) in call.texts) for one in call.values]
    places = [place for place, is_known in enumerate(known) if is_known]
    return tuple({id(call.values[one]): named(scene, call, one) for one in places}.values())


def named(scene: Scene, call: Call, place: int) -> Operand:
    """The operand at a place of a call."""
    several = "" if sum(isinstance(one, torch.Tensor) for one in call.values) < 2 else f"[{place}]"
    value, text = call.values[place], call.texts.get(id(call.values[place]), f"input{several}")
    if isinstance(value, torch.Tensor):
        return scene.operand(value, text)
    return Operand(text, (), type(value).__name__, "cpu")


def general(scene: Scene) -> Explanation | None:
    """The last word: for errors that nobody else explains."""
    shown, failed, advice = _shown(scene), Failed(scene, scene.node), advised(scene)
    is_asked = not advice.texts or "history" in scene.known
    past = history(scene) if failed.hides(len(shown)) and is_asked else None
    for name, place in past.operands.items() if past is not None else ():
        gone, known = past.pasts[place] if past is not None else None, {one.name for one in shown}
        if gone is not None and name not in known:
            shown += (Operand(name, gone.shape, gone.dtype, "cpu", gone.at),)
    kinds = {(one.name.partition("[")[0], one.shape, one.dtype, one.device): one for one in shown[::-1]}
    met = [_met(one) for one in [*kinds.values()][::-1] if not (one.held and scene.module is not None)]
    layers = shapes_through_layers(scene)
    told, operation = failed.facts(), failed.operation()
    kind = "shape" if _OF_SHAPES.search(scene.message) else "call"
    if scene.module is not None and met:
        summary, reason = f"{scene.module_name()} does not take {' and '.join(met)}", _reason(scene, shown)
        because = () if reason else tuple(told)  # which are names of torch
        return advice.onto(Explanation(kind, summary + reason, because, (), shown, layers))
    summary = "; ".join([*told, *met] or advice.texts)
    if not summary or (not told and not advice.texts and failed.hides(len(met))):
        return None
    made = tuple(failed.made())
    if met and operation and "tuple indices" not in scene.message:
        summary, because = f"{operation} fails on {' and '.join(met)}{_reason(scene, shown)}", tuple(told)
        return advice.onto(Explanation(kind, summary, because, (), shown, layers, other=made))
    advice = advice if met or told else Advice(())
    return advice.onto(Explanation(kind, summary, (), (), shown, layers, other=made))


def _reason(scene: Scene, shown: tuple[Operand, ...]) -> str:
    """Why a call fails, where the change with which it passes tells: a dtype that it does not take, or an order."""
    found = scene.known["passing"][0] if [one for one in tried(scene)[:1] if not one.until] else None
    if found is None:
        return ""
    cast, kinds = cast_of(found), {one.name: one.dtype for one in shown}
    call, own = failing(scene), kinds.get(cast[0], "") if cast is not None else ""
    if (
        cast is not None
        and own.startswith("float")
        and cast[1] == torch.int64
        and _OF_INDEX.search(scene.message)
    ):
        return f": an index must be an integer, and {cast[0]} is {own}"
    if cast is not None and own and dtype_name(cast[1]) not in kinds.values():
        return f": {cast[0]} has to be {dtype_name(cast[1])}"
    if call is not None and tried(scene)[0].kind == "subscript":
        letters = str(call.values[0]).partition("->")[0].replace(" ", "").split(",")
        pairs = zip(letters, shown, strict=False)
        held = [(*pair, one.name) for each, one in pairs for pair in zip(each, one.shape, strict=False)]
        unlike = ((one, other) for one in held for other in held if one[0] == other[0] and one[1] != other[1])
        return "".join(
            f": {one[0]} is {one[1]} in {one[2]} and {other[1]} in {other[2]}" for one, other in [*unlike][:1]
        )
    first = getattr(scene.module, "batch_first", None)
    batch = next((one for one in shown if len(one.shape) == 3 and not one.held), None)
    if found.kind in ("order", "switch") and isinstance(first, bool) and batch is not None:
        samples, steps = batch.shape[:2] if first else batch.shape[1::-1]
        return f": {batch.name} is read as {samples} samples of {steps} steps"
    return ""


def _shown(scene: Scene) -> tuple[Operand, ...]:
    """The operands of what failed, or of the call around it where the program has no names for those."""
    found, call = scene.operands(), failing(scene)
    inner = call is not None and isinstance(call.function, nn.Module) and call.function is not scene.module
    unknown = any(one.name[:1] == "`" for one in found) or (call is not None and call.is_written)
    return (operands_of_call(scene) or found) if inner or unknown else found


def _met(one: Operand) -> str:
    device = "" if one.device == "cpu" else f" on {one.device}"
    return f"{one.name} {one.shape} {one.dtype}{device}"
