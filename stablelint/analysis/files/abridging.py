"""Lets go of what nobody asks of a file any more: bodies that tell a caller nothing, and whole files."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from stablelint.analysis.files.modules import FunctionInfo, ModuleInfo
from stablelint.analysis.files.sights import Sights

# What is asked of models, losses and optimizers, whoever returns nothing of it.
_TRAINING = re.compile(r"\.(?:backward|step|zero_grad|clip_grad_\w+_|eval|load_state_dict)\(")


def abridge(module: ModuleInfo, largest: int) -> None:
    """Drops what nobody asks of an imported file: its text, and the bodies of functions that tell a caller nothing.

    A body is kept if it returns something, takes part in construction or in a training step, and has at most `largest`
    statements.
    """
    _ = module.patched, module.changed, module.attributes_set  # which outlive the bodies
    text = module.source.text
    rows = [text.count("\n", 0, found.start()) + 1 for found in _TRAINING.finditer(text)]
    for info in (None, *module.classes.values()):
        builders = info.builders if info is not None else ()
        for name, function in (module.functions if info is None else info.methods).items():
            last = function.node.end_lineno or 0
            tells = name in builders or any(function.node.lineno <= row <= last for row in rows)
            if not _is_kept(function, largest, tells):
                _drop_body(function)
    module.source = replace(module.source, text="", tree=ast.Module([], []), lines=[])


def release(module: ModuleInfo) -> None:
    """Parts a module from its definitions: they refer to each other, and would wait for the cyclic collector."""
    for function in module.all_functions:
        function.part("calls", "handed", "nested", "receivers")
    vars(module).pop("named", None)
    for info in (*module.classes.values(), *module.inner.values()):
        info.methods.clear()
        info.setters.clear()
    module.sights = Sights()
    for table in (module.functions, module.classes, module.inner, module.assignments):
        table.clear()
    module.source = replace(module.source, text="", tree=ast.Module([], []), lines=[])


def _is_kept(function: FunctionInfo, largest: int, tells: bool) -> bool:
    outline = function.outline
    telling = (outline.returns and not outline.textual and not outline.generator) or tells
    kept = outline.checks or (telling and outline.statements <= largest)
    return kept or isinstance(function.node, ast.Lambda)


def _drop_body(function: FunctionInfo) -> None:
    function.outlive()
    function.outline = replace(function.outline, dropped=True)
    function.node.body = []
