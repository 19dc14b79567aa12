"""Everyday errors that need no more than a sentence: a table of message, kind, summaries and advice.

Fields of a sentence: `{m[1]}` a group of the message; `{layer}` the module called; `{a.name}`, `{b.shape}` … the first
operand and the second of two, `{sole}` the only one, `{bool}` the bool one; `{truth}` what a truth value was asked of;
`{on}` what a method or attribute was asked of, and `{returned}` the call of a module that gave it; `{given}` the call's
first argument; `{size}` and `{result}` a shape and a module's result that are unpacked; `{named}` the argument that the
message names first; any other the tensor given for the argument of that name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile

import torch
from torch import nn

from stablelint.runtime.crash.explainers import explains
from stablelint.runtime.crash.explanation import Explanation, Operand
from stablelint.runtime.crash.expression import node_at, operands, value_of
from stablelint.runtime.crash.layers import shapes_through_layers
from stablelint.runtime.crash.scene import Scene, assigned
from stablelint.runtime.program.frames import parse_file


@dataclass(frozen=True, slots=True)
class Row:
    """The first summary whose fields are all known is said, and all advice of that sort."""

    pattern: str
    kind: str
    summary: tuple[str, ...]
    advice: tuple[str, ...] = ()


ROWS = (
    Row(
        r"running_mean should contain (\d+) elements not (\d+)",
        "shape",
        ("{layer} is made for {m[2]} channels, and is given {m[1]}",),
        ("num_features={m[1]}, or move the channels to dimension 1",),
    ),
    Row(
        r"input.size\(-1\) must be equal to input_size. Expected (\d+), got (\d+)",
        "shape",
        ("{layer} takes {m[1]} features a step, and is given {m[2]}",),
        ("input_size={m[2]}, or transpose what it is given",),
    ),
    Row(
        r"Expected more than 1 value per channel when training, got input size torch.Size\(\[([\d, ]+)\]\)",
        "shape",
        ("{layer} cannot normalise over the one value a channel of ({m[1]})",),
        ("DataLoader(…, drop_last=True)", "model.eval() where it is not trained"),
    ),
    Row(
        r"Can't call numpy\(\) on Tensor that requires grad",
        "no-array",
        ("{a.name} has a graph", "the tensor has a graph"),
        ("{a.name}.detach().numpy()",),
    ),
    Row(
        r"Cannot re-initialize CUDA in forked subprocess",
        "data",
        ("a worker that was forked uses CUDA, which its parent had started",),
        (
            "keep the data set on the CPU, and move batches in the loop",
            "multiprocessing_context='spawn'",
        ),
    ),
    Row(
        r"invalid index of a 0-dim tensor",
        "index",
        ("{a.name} is one number, without a dimension to index",),
        ("{a.name}.item() gives the number",),
    ),
    Row(
        r"too many indices for tensor of dimension (\d+)",
        "index",
        ("{a.name} {a.shape} has {m[1]} dimensions, and more are indexed",),
    ),
    Row(
        r"Subtraction, the `-` operator, with a bool tensor|Negation, the `-` operator, on a bool tensor",
        "dtype",
        ("`-` is applied to {bool.name}, a bool tensor", "`-` is applied to a bool tensor"),
        ("~{bool.name} inverts a mask", "{bool.name}.float() where numbers are meant"),
    ),
    Row(
        r"Subtraction, the `-` operator, with two bool tensors",
        "dtype",
        ("{a.name} and {b.name} are bool tensors, and are subtracted",),
        ("{a.name} & ~{b.name} for what is in the first alone, {a.name} ^ {b.name} for what differs",),
    ),
    Row(
        r"Length of all samples has to be greater than 0",
        "data",
        ("{lengths.name} holds a length of 0: an empty sequence cannot be packed",),
        ("leave empty sequences out, or {lengths.name}.clamp(min=1) where padding may be read",),
    ),
    Row(
        r"`lengths` array must be sorted in decreasing order",
        "data",
        ("{lengths.name} does not decrease",),
        ("enforce_sorted=False",),
    ),
    Row(
        r"Expected `len\(lengths\)` to be equal to batch_size, but got (\d+) \(batch_size=(\d+)\)",
        "shape",
        ("{lengths.name} holds {m[1]} lengths, and the batch of {input.name} {input.shape} has {m[2]}",),
        ("batch_first=True, if dimension 0 of {input.name} counts the samples",),
    ),
    Row(
        r"The shape of the \dD (attn_mask) is torch.Size\(\[(.*?)\]\), but should be (\(.*?\))",
        "shape",
        ("{named.name} is {named.shape}, and must be {m[3]}", "attn_mask is ({m[2]}), and must be {m[3]}"),
        ("what is padded for each sample belongs into key_padding_mask",),
    ),
    Row(
        r"Expected key_padded_mask.shape\[(\d)\] to be (\d+), but got (\d+)",
        "shape",
        (
            "{key_padding_mask.name} {key_padding_mask.shape} has {m[3]} entries in dimension {m[1]}, and {m[2]} are needed",
            "the padding mask has {m[3]} entries in dimension {m[1]}, and {m[2]} are needed",
        ),
        ("batch_first=True where the layer is made, if dimension 0 of what it takes counts the samples",),
    ),
    Row(
        r"Expected attn_mask dtype to be bool or float .* got attn_mask.dtype: (\w+(?: int)?) and",
        "dtype",
        ("{attn_mask.name} is {attn_mask.dtype}; a mask is bool, or floats that are added to the scores",),
        ("{attn_mask.name}.bool(), if 1 marks what may be seen",),
    ),
    Row(
        r"was expecting embedding dimension of (\d+), but got (\d+)",
        "shape",
        (
            "{layer} takes {m[1]} features, and {query.name} {query.shape} has {m[2]}",
            "attention takes {m[1]} features, and is given {m[2]}",
        ),
    ),
    Row(
        r"'tuple' object has no attribute '(\w+)'",
        "module",
        ("{on} is a tuple, the result of {returned}; a tuple has no {m[1]}",),
        ("take it apart first: output, state = {returned}",),
    ),
    Row(
        r"'NoneType' object has no attribute 'backward'",
        "no-graph",
        ("{on} is None, the result of {returned}", "{on} is None"),
        ("does the forward behind {returned} lack a `return`?",),
    ),
    Row(
        r"'(float|int)' object has no attribute 'backward'",
        "no-graph",
        ("{on} is a plain {m[1]}, without a graph",),
        ("keep the tensor for backward(), and .item() for what is printed",),
    ),
    Row(
        r"must be Tensor, not (list|numpy.ndarray)",
        "module",
        ("{given} is a {m[1]}, and a tensor is taken",),
        ("torch.as_tensor({given}, dtype=torch.float32), for floats",),
    ),
    Row(
        r"optimizer can only optimize Tensors, but one of the params is (?:[\w.]+\.)?(\w+)",
        "module",
        (
            "{given} holds {m[1]}, and an optimizer takes parameters",
            "an optimizer takes parameters, and is given {m[1]}",
        ),
        ("model.parameters() of the module",),
    ),
    Row(
        r"params argument given to the optimizer should be an iterable",
        "module",
        ("{given} is one tensor, and an optimizer takes a list of them",),
        ("[{given}]",),
    ),
    Row(
        r"can't optimize a non-leaf Tensor",
        "module",
        ("{given} holds the result of an operation, which no optimizer can set",),
        ("make the value first, and then .detach().requires_grad_()",),
    ),
    Row(
        r"Weights only load failed(?:.|\n)*Unsupported global: GLOBAL ([\w.]+)",
        "state",
        ("the file holds {m[1]}, and torch.load builds tensors and plain values alone",),
        (
            "save model.state_dict() and plain numbers",
            "weights_only=False, if you trust who wrote the file: it may run code",
        ),
    ),
    Row(
        r"Torch not compiled with CUDA enabled|Found no NVIDIA driver",
        "device",
        ("this machine, or this build of torch, has no CUDA",),
        ("device = 'cuda' if torch.cuda.is_available() else 'cpu'",),
    ),
    Row(
        r"Attempting to deserialize object on a CUDA device",
        "device",
        ("the file was saved from CUDA, and there is none here",),
        ("torch.load(…, map_location='cpu')",),
    ),
    Row(
        r"The expanded size of the tensor \((\d+)\) must match the existing size \((\d+)\) at non-singleton "
        r"dimension (\d+)\.\s+Target sizes: \[([\d, ]*)\]\.\s+Tensor sizes: \[([\d, ]*)\]",
        "shape",
        (
            "a tensor ({m[5]}) does not broadcast to ({m[4]}): dimension {m[3]} has {m[2]}, and {m[1]} are asked for",
        ),
        ("expand repeats dimensions of 1 alone; repeat copies others",),
    ),
    Row(
        r"masked_fill_? only supports boolean masks, but got mask with dtype ([\w ]+)",
        "dtype",
        ("{b.name} is {b.dtype}, and a mask is bool", "the mask is {m[1]}, and must be bool"),
        ("{b.name}.bool()",),
    ),
    Row(
        r"Boolean value of Tensor with more than one value is ambiguous",
        "module",
        ("{truth} has several elements, and one truth value is asked for",),
        (".any() or .all(); & and | for `and` and `or` of each element",),
    ),
    Row(
        r"a Tensor with (\d+) elements cannot be converted to Scalar|only one element tensors can be converted",
        "shape",
        ("{sole.name} {sole.shape} is not one number", "{given} holds tensors of several elements"),
    ),
    Row(
        r"einsum\(\): subscript (\w) has size (\d+) for operand 1 which does not broadcast with "
        r"previously seen size (\d+)",
        "shape",
        (
            "{m[1]} of the subscripts is {m[3]} in {a.name} {a.shape} and {m[2]} in {b.name} {b.shape}",
            "{m[1]} of the subscripts is {m[3]} in one operand, and {m[2]} in another",
        ),
    ),
    Row(
        r"Dimension out of range \(expected to be in range of (\[.*?\]), but got (-?\d+)\)",
        "shape",
        ("{a.name} {a.shape} has no dimension {m[2]}",),
    ),
    Row(
        r"Index tensor must have the same number of dimensions as input tensor",
        "index",
        (
            "{index.name} {index.shape} must have as many dimensions as {input.name} {input.shape}",
            "{a.name} {a.shape} and {b.name} {b.shape} must have as many dimensions",
        ),
        ("{b.name}.unsqueeze(1)",),
    ),
    Row(
        r"The shape of the mask \[([\d, ]*)\] at index (\d+) does not match the shape of the indexed tensor \[([\d, ]*)\]",
        "index",
        ("{b.name} {b.shape} does not mask {a.name} {a.shape}", "a mask ({m[1]}) does not fit ({m[3]})"),
    ),
    Row(
        r"tensors used as indices must be long",
        "dtype",
        ("{b.name} is {b.dtype}, and is used as an index", "an index is neither an integer nor a bool"),
        ("{b.name}.long() for places, {b.name}.bool() for a mask",),
    ),
    Row(
        r"number of dimensions in the tensor input does not match "
        r".*input.dim\(\) = (\d+) is not equal to len\(dims\) = (\d+)",
        "shape",
        ("{a.name} {a.shape} has {m[1]} dimensions, and {m[2]} are ordered",),
    ),
    Row(
        r"expected (\d)D(?: or \dD)? input \(got (\d)D input\)",
        "shape",
        (
            "{layer} takes {m[1]}D input, and {a.name} is {a.shape}",
            "{layer} takes {m[1]}D input, and is given {m[2]}D",
        ),
    ),
    Row(
        r"Expected hidden(?:\[\d\])? size (\(.*?\)), got \[(.*?)\]",
        "shape",
        ("the hidden state of {layer} is ({m[2]}), and must be {m[1]}: layers, batch, features",),
        ("batch_first leaves the order of the state as it is",),
    ),
    Row(
        r"not implemented for '(Long|Int|Bool|Byte)'|could not infer output dtype.*Got: (?:Long|Int|Bool|Byte)",
        "dtype",
        ("{a.name} is {a.dtype}, and this takes floats",),
        ("{a.name}.float()",),
    ),
    Row(
        r"Class values must be (smaller than num_classes|non-negative)",
        "index",
        ("{a.name} holds values that are not {m[1]}", "class numbers are not {m[1]}"),
    ),
    Row(
        r"one_hot is only applicable to index tensor",
        "dtype",
        ("{a.name} is {a.dtype}, and one_hot takes int64",),
        ("{a.name}.long()",),
    ),
    Row(
        r"result type Float can't be cast to the desired output type Long",
        "dtype",
        ("{target.name} is {target.dtype}, and this loss takes floats",),
        ("{target.name}.float()",),
    ),
    Row(
        r"Expected target size \[(.*?)\], got \[(.*?)\]|size mismatch \(got input: \[.*?\] , target: \[.*?\]",
        "target",
        (
            "{target.name} {target.shape} does not fit {input.name} {input.shape}: "
            "cross entropy takes classes in dimension 1",
        ),
        ("{input.name}.movedim(-1, 1), if the classes come last",),
    ),
    Row(
        r'Module \[(\w+)\] is missing the required "forward" function',
        "module",
        ("{m[1]} has no method `forward`",),
        ("see how it is spelled and indented",),
    ),
    Row(
        r"cannot assign (module|parameter)s? before Module.__init__\(\) call",
        "module",
        ("a {m[1]} is assigned before the module is initialised",),
        ("super().__init__() first in __init__",),
    ),
    Row(
        r"num_samples should be a positive integer value, but got num_samples=0",
        "data",
        ("{given} is empty", "the data set is empty"),
        ("see the path and the filter that it is made from",),
    ),
    Row(
        r"No inf checks were recorded for this optimizer",
        "scaler",
        ("no parameter of the optimizer has a gradient of a scaled loss",),
        ("scaler.scale(loss).backward() before scaler.step(optimizer)",),
    ),
    Row(
        r"unscale_\(\) has already been called on this optimizer since the last update",
        "scaler",
        ("{given} is unscaled twice in one step",),
        ("scaler.unscale_ once, and scaler.update() after scaler.step",),
    ),
    Row(
        r"expected a non-empty list of Tensors",
        "data",
        ("{given} is empty",),
    ),
    Row(
        r"Tensors must have same number of dimensions: got \d+ and \d+",
        "shape",
        ("{a.name} {a.shape} and {b.name} {b.shape} have not as many dimensions, and cannot be joined",),
    ),
    Row(
        r"selected index k out of range",
        "index",
        ("{a.name} {a.shape} has fewer entries than k in that dimension",),
    ),
    Row(
        r"'(list|numpy.ndarray)' object has no attribute '(to|cuda|backward|unsqueeze|float)'",
        "module",
        ("{on} is a {m[1]}, and only a tensor has .{m[2]}",),
    ),
    Row(
        r"At least one stride in the given numpy array is negative",
        "data",
        ("{given} is an array that is read backwards",),
        ("{given}.copy()",),
    ),
    Row(
        r"self must be a matrix|batch1 must be a 3D tensor|mat2 must be a matrix|batch2 must be a 3D tensor",
        "shape",
        ("{a.name} {a.shape} and {b.name} {b.shape} do not have the dimensions that this product takes",),
        ("torch.matmul takes other dimensions too",),
    ),
    Row(
        r"(?:not enough|too many) values to unpack \(expected (\d+)",
        "shape",
        ("{size} is unpacked into {m[1]} names", "{result} does not give {m[1]} values"),
    ),
    Row(
        r"Expected parameter (\w+) .* of distribution (\w+)\((?:.|\n)* to satisfy the constraint (.+), but found invalid",
        "distribution",
        (
            "{m[2]} is given {named.name} {named.shape} as {m[1]}, which must satisfy {m[3]}",
            "{m[2]} is given {m[1]} that does not satisfy {m[3]}",
        ),
        ("softplus or exp makes a scale positive; a NaN comes from before",),
    ),
    Row(
        r"probability tensor contains either `inf`, `nan` or element < 0",
        "distribution",
        ("{a.name} holds what is no probability: inf, NaN, or below 0",),
        ("{a.name}.softmax(-1), if these are scores",),
    ),
    Row(
        r"cannot assign '[\w.]+' as parameter '(\w+)'",
        "module",
        ("{m[1]} is a parameter, and is assigned a tensor",),
        ("nn.Parameter(…) around it; with torch.no_grad(): and copy_ to keep the one an optimizer holds",),
    ),
)


@explains(r"")
def usual(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """What the first row that knows the message says, unless the program raised it in its own words."""
    if scene.user is None or isinstance(node_at(scene.user.site), ast.Raise):
        return None
    for row in ROWS:
        match = re.search(row.pattern, scene.message)
        if match is None:
            continue
        known = _Known(scene, match)
        summary = next(_filled(row.summary, known), None)
        if summary is not None:
            advice = tuple(_filled(row.advice, known))
            layers = shapes_through_layers(scene) if scene.module is not None else ()
            named = tuple(one for one in known.values() if isinstance(one, Operand))
            shown = named or (scene.operands() if "layer" in known or known.is_direct() else ())
            return Explanation(row.kind, summary, (), advice, shown, layers)
    return None


def _filled(sentences: tuple[str, ...], known: dict[str, object]) -> Iterator[str]:
    """The sentences whose fields are all known."""
    for one in sentences:
        with suppress(LookupError):
            yield one.format_map(known)


class _Known(dict[str, object]):
    """The fields of a row's sentences, each found where it is asked for; KeyError for what is not known."""

    def __init__(self, scene: Scene, match: re.Match[str]) -> None:
        super().__init__(m=match)
        self._scene, self._match = scene, match
        assert scene.user is not None
        self._names, self._code = scene.user.names, scene.user.site.code
        self._node = node_at(scene.user.site)
        self._call = self._node if isinstance(self._node, ast.Call) else None

    def __missing__(self, field: str) -> object:
        match field:
            case "a" | "b" | "sole" | "bool":
                found: object = self._operand(field)
            case "layer":
                found = self._scene.module_name() if self._scene.module is not None else None
            case "on":
                found = ast.unparse(owner) if (owner := self._owner()) is not None else None
            case "given":
                known = self._call is not None and self._call.args and self.is_direct()
                found = ast.unparse(self._call.args[0]) if self._call is not None and known else None
            case "truth":
                found = self._truth()
            case "returned":
                found = self._returned()
            case "size" | "result":
                found = self._unpacked(field)
            case _:
                found = self._argument(self._match[1] if field == "named" else field)
        if found is None:
            raise KeyError(field)
        self[field] = found
        return found

    def is_direct(self) -> bool:
        """Whether what failed is the program's own call, and not one further below with other operands."""
        below = list(takewhile(lambda one: not one.mine, reversed(self._scene.frames)))
        owners = [one.frame.f_locals.get("self") for one in (*below[:1], *below[-1:])]
        return not below or (owners[0] is not None and owners[0] is owners[-1])

    def _operand(self, field: str) -> Operand | None:
        """The first operand, the second of two, the only one, or the one that is a bool tensor."""
        inner = self._scene.frames[-1]
        if not self.is_direct() and not any(operands(node_at(inner.site), inner.names)):
            return None
        found = self._scene.operands()
        if not all(map(self._is_as_named, found)):
            return None
        match field:
            case "a":
                return found[0] if found else None
            case "b":
                return found[1] if len(found) == 2 else None
            case "sole":
                return found[0] if len(found) == 1 else None
        return next((one for one in found if one.dtype == "bool"), None)

    def _is_as_named(self, one: Operand) -> bool:
        """Whether the program's name is that of the tensor itself, and not of what a view further below was made of."""
        try:
            value = value_of(ast.parse(one.name, mode="eval").body, self._names)
        except SyntaxError:  # `weight of layer`
            return True
        return tuple(value.shape) == one.shape if isinstance(value, torch.Tensor) else self.is_direct()

    def _truth(self) -> str | None:
        """The expression of tensors whose truth value was asked for."""
        match self._node:
            case ast.Compare(_, [ast.In() | ast.NotIn()]):
                return None
            case ast.Compare() | ast.Name() | ast.Call() if self.is_direct() and self._scene.operands():
                return ast.unparse(self._node)
        return None

    def _owner(self) -> ast.expr | None:
        """What a method or an attribute is asked of."""
        node = self._call.func if self._call is not None else self._node
        return node.value if isinstance(node, ast.Attribute) else None

    def _result(self, node: ast.AST | None) -> str | None:
        """The call of a module, as it is written."""
        if isinstance(node, ast.Call) and isinstance(value_of(node.func, self._names), nn.Module):
            return ast.unparse(node)
        return None

    def _returned(self) -> str | None:
        """The call of a module that gave the name its value whose attribute is asked for."""
        owner, at = self._owner(), self._scene.location
        if not isinstance(owner, ast.Name) or at is None:
            return None
        made = assigned(self._code, owner.id, at.row)
        match ast.parse(made.expression).body if made is not None else []:
            case [ast.Assign([ast.Name()], value)]:
                return self._result(value)
        return None

    def _unpacked(self, field: str) -> str | None:
        """The shape, or the call of a module, on the right of the assignment that failed."""
        tree = parse_file(self._code.co_filename)
        for one in ast.walk(tree) if tree is not None else ():
            if isinstance(one, ast.Assign) and self._node in (one, *one.targets):
                if field == "result":
                    return self._result(one.value)
                size = value_of(one.value, self._names)
                return f"{ast.unparse(one.value)} {tuple(size)}" if isinstance(size, torch.Size) else None
        return None

    def _argument(self, name: str) -> Operand | None:
        """The tensor of the program that was given for an argument of torch."""
        for one in self._call.keywords if self._call is not None else ():
            value = value_of(one.value, self._names)
            if one.arg == name and isinstance(value, torch.Tensor):
                return self._scene.operand(value, ast.unparse(one.value))
        below = reversed(self._scene.frames)
        for frame in takewhile(lambda one: not one.mine, below):
            value = frame.frame.f_locals.get(name)
            if isinstance(value, torch.Tensor) and any(value is one for one in self._names.values()):
                return self._scene.operand(value, name)
        return None
