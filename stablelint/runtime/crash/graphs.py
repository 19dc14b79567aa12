"""What the explainers of backward passes share."""

from __future__ import annotations

import ast
from typing import Any

import torch

from stablelint.runtime.crash.expression import node_at
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.program.frames import Site


def losses(scene: Scene) -> tuple[torch.Tensor, ...]:
    """What the failing backward call, or the one for gradients, was given."""
    frame = scene.called("backward") or scene.called("grad")
    names = frame.frame.f_locals if frame is not None else {}
    given = names.get("tensors", names.get("outputs", names.get("self")))
    several = given if isinstance(given, tuple) else (given,)
    return tuple(one for one in several if isinstance(one, torch.Tensor))


def lost_a_value(node: Any, why: str = "inplace operation") -> bool:
    """Whether a node cannot give what it saved any more, for a reason that torch tells."""
    for name in dir(node):
        if name.startswith("_saved_"):
            try:
                getattr(node, name)
            except RuntimeError as error:
                if why in str(error):
                    return True
    return False


def asked_of(site: Site | None) -> str | None:
    """What a backward call is asked of, as it is written."""
    match node_at(site) if site is not None else None:
        case ast.Call(ast.Attribute(owner, "backward")):
            return ast.unparse(owner)
    return None
