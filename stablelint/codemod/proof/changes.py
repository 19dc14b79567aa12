"""What happens to a value between its definition and the place to which a rewrite takes its computation."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from stablelint.codemod.flow.definition import Definition, binds, definition, is_local, scope_of
from stablelint.codemod.flow.effects import BUILTINS, is_pure_call
from stablelint.codemod.flow.nodes import is_number, readers, root_name, stores
from stablelint.codemod.templates.spelling import File
from stablelint.codemod.templates.written import is_new
from stablelint.codemod.text.locate import Tree
from stablelint.codemod.withheld import Withheld
from stablelint.syntax.names import is_name, last_name

_GRADIENT = re.compile(r"\b(no_grad|inference_mode|set_grad_enabled|enable_grad|autocast|amp)\b")
_HANDS_OVER = (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith)
_CHANGES_NOTHING = BUILTINS | {"print", "str", "repr"}
_REGIONS = ("torch.no_grad", "torch.inference_mode")  # `region_left` tells what they make of gradients
_PARTS = ast.Subscript | ast.Attribute
_LIBRARIES = ("torch.", "math.", "numpy.")


def region_left(given: Definition) -> Iterator[str]:
    """Caveats about ``with`` blocks between a definition and its use; Withheld where gradients or precision differ."""
    for block in given.left:
        text = _contexts(block)
        if _GRADIENT.search(text):
            raise Withheld(f"`{given.name}` is computed under `{text}`, and the rewrite would not be")
        yield f"`{given.name}` is computed under `{text}`"
    for block in given.entered:
        text = _contexts(block)
        if "autocast" in text or "enable_grad" in text or "set_grad_enabled" in text:
            raise Withheld(f"`{given.name}` is computed outside of `{text}`, and the rewrite would not be")
        if not _GRADIENT.search(text):
            yield f"`{given.name}` is computed outside of `{text}`"


def without_gradient(tree: Tree, node: ast.AST) -> bool:
    """Whether a node stands in a block, or in a function under a decorator, in which no gradient is recorded."""
    for link in tree.ancestors(node):
        if isinstance(link.parent, ast.With) and link.field == "body":
            off = [item.context_expr for item in link.parent.items]
        elif isinstance(link.parent, ast.FunctionDef | ast.AsyncFunctionDef):
            off = link.parent.decorator_list
        else:
            continue
        if any(ast.unparse(one).removesuffix("()") in _REGIONS for one in off):
            return True
        if not isinstance(link.parent, ast.With):
            break
    return False


def _contexts(block: ast.AST) -> str:
    assert isinstance(block, ast.With | ast.AsyncWith)
    return ", ".join(ast.unparse(item.context_expr) for item in block.items)


def change_between(file: File, given: Definition, operands: Sequence[ast.expr]) -> Iterator[str]:
    """Caveats about what may change an operand between a definition and its use, and is not seen to.

    What is seen to has another value at the use, for the analysis, which has no name for the former one there. Raises
    Withheld for what gives another value to a part of one of the `operands`, as the rewrite writes them.
    """
    read = {ast.unparse(one) for operand in operands for one in ast.walk(operand) if isinstance(one, _PARTS)}
    for node in (one for part in given.between for one in ast.walk(part)):
        row = getattr(node, "lineno", 0)
        if isinstance(node, _PARTS) and not isinstance(node.ctx, ast.Load):
            _check_unread(read, node, row)
            yield f"`{ast.unparse(node)}` is written on line {row}, and may share memory with an operand"
        elif isinstance(node, ast.AugAssign) and not _is_counter(file, node.target):
            yield f"`{ast.unparse(node.target)}` is written on line {row}, and may share memory with an operand"
        elif isinstance(node, ast.Call) and _may_change(file, node, given.value):
            if last_name(node.func) == "set_grad_enabled":
                raise Withheld(f"gradients are switched on line {row}")
            for one in _stored_by(file, node):
                _check_unread(read, one, row)
            yield f"`{ast.unparse(node.func)}` on line {node.lineno} may change an operand"
        elif isinstance(node, _HANDS_OVER):
            yield f"other code runs while the function waits on line {row}, and may change an operand"


def _check_unread(read: set[str], stored: ast.expr, row: int) -> None:
    if ast.unparse(stored) in read:
        raise Withheld(f"`{ast.unparse(stored)}` is given another value on line {row}")


def _stored_by(file: File, call: ast.Call) -> Iterator[ast.expr]:
    """The attributes that the methods of the file give values to that a call of `self` may be one of."""
    named = (one for one in ast.walk(file.tree.module) if isinstance(one, ast.FunctionDef))
    for function in named if root_name(call.func) == "self" else ():
        if function.name == last_name(call.func):
            for one in ast.walk(function):
                if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store):
                    yield one


def _is_counter(file: File, target: ast.expr) -> bool:
    """Whether what is counted up is a number of Python's: its function binds it to nothing else."""
    if not isinstance(target, ast.Name):
        return False
    statements = [file.tree.statement(one) for one in stores(scope_of(file.tree, target), target.id)]
    return any(isinstance(one, ast.Assign) for one in statements) and all(
        isinstance(one, ast.Assign | ast.AugAssign) and is_number(one.value) for one in statements
    )


def _may_change(file: File, call: ast.Call, made: ast.expr) -> bool:
    """Whether a call may change what it is given: no function of a library's, of Python's or of a tensor's does.

    What the match has `made` something of is a tensor.
    """
    function = call.func
    known = file.qualified(function)
    if known is not None:
        return known not in _REGIONS and not (is_pure_call(call) and known.startswith(_LIBRARIES))
    if isinstance(function, ast.Name):
        return function.id not in _CHANGES_NOTHING
    handed = any(isinstance(one, ast.Name) for given in call.args for one in ast.walk(given))
    is_operand = any(True for _ in readers(made, root_name(function)))
    is_method = isinstance(function, ast.Attribute) and (is_operand or _is_tensor(file, function.value))
    return not is_pure_call(call) or (handed and (not is_method or _is_dropped(file, call)))


def _is_tensor(file: File, node: ast.expr) -> bool:
    """Whether something shows a value to be a tensor: what makes it, an annotation, arithmetic, a function of torch."""
    if isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare):
        return True
    if isinstance(node, ast.Subscript):
        return _is_tensor(file, node.value)
    if isinstance(node, ast.Call):
        made = (file.qualified(node.func) or "").startswith("torch.")
        return made or (isinstance(node.func, ast.Attribute) and _is_tensor(file, node.func.value))
    if not isinstance(node, ast.Name) or node.id in ("self", "cls"):
        return False
    given, scope = definition(file.tree, node), scope_of(file.tree, node)
    if given is not None and _is_tensor(file, given.value):
        return True
    for place in map(file.tree.link, readers(scope, node.id)):
        call = place.parent if isinstance(place.parent, ast.Call) and place.field == "args" else None
        of_torch = call is not None and (file.qualified(call.func) or "").startswith("torch.")
        if (of_torch and place.index == 0) or isinstance(place.parent, ast.BinOp):
            return True
    arguments = (one for one in ast.walk(scope) if isinstance(one, ast.arg) and one.arg == node.id)
    return any(one.annotation is not None and last_name(one.annotation) == "Tensor" for one in arguments)


def _is_dropped(file: File, node: ast.AST) -> bool:
    """Whether nothing takes what an expression gives: then it is there for something else, as `seen.add(p)` is."""
    return isinstance(file.tree.link(node).parent, ast.Expr)


def kept_alive(file: File, given: Definition, within: set[ast.AST]) -> Iterator[str]:
    """Caveats about a name that the match goes through and that others read: its gradient would no longer be used.

    Raises Withheld where that gradient is asked for.
    """
    if not is_local(file.tree, given.statement):
        yield f"others can read `{given.name}`, which would leave the gradient's path"
    function = scope_of(file.tree, given.statement)
    imported = file.imported_at(given.statement)
    suite = file.tree.siblings(given.statement)
    after = suite[suite.index(given.statement) + 1 :]
    anew = next((one for one in after if isinstance(one, ast.Assign) and binds(one, given.name)), None)
    looped = any(
        isinstance(link.parent, ast.For | ast.While) for link in file.tree.ancestors(given.statement)
    )
    last = file.tree.end(anew) if anew is not None and not looped else len(file.tree.source.text)
    for reader in readers(function, given.name):
        if reader in within or not file.tree.start(given.statement) <= file.tree.start(reader) <= last:
            continue
        parent = file.tree.link(reader).parent
        is_operand = isinstance(parent, ast.Attribute | ast.keyword)
        whole = file.tree.link(parent).parent if is_operand else parent
        if isinstance(parent, ast.Attribute) and parent.attr in ("shape", "dtype", "device", "ndim"):
            continue
        if isinstance(whole, ast.Call) and is_name(whole.func, "print"):
            continue
        called = last_name(whole.func) if isinstance(whole, ast.Call) else getattr(whole, "attr", "")
        if called.endswith(("grad", "hook")):
            raise Withheld(f"the gradient of `{given.name}` is asked for on line {reader.lineno}")
        acts = _is_dropped(file, whole)
        if isinstance(whole, ast.expr) and is_new(whole, imported) and not acts:
            continue
        yield f"`{given.name}` is also handed on, on line {reader.lineno}, and would leave the gradient's path"
