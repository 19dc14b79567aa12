"""Where values came from: back through statements, arguments, and what functions of the program return."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice, takewhile
from types import CodeType, FunctionType

from torch import nn
from torch.utils.data import TensorDataset

from stablelint.runtime.crash.deduced import is_known
from stablelint.runtime.crash.expression import given_by_name, node_at, value_of
from stablelint.runtime.crash.frame import Frame
from stablelint.runtime.crash.provenance.scopes import (
    Argument,
    Scope,
    Step,
    converted,
    cuts,
    field_of,
    given_to,
    imported,
    innermost,
    keeps_elements,
    loaded,
    makes,
    method_of,
    none_given,
    part_of,
)
from stablelint.runtime.crash.provenance.statements import (
    END,
    assignment,
    callee,
    default_of,
    in_class,
    inside,
    is_carried,
    is_given_by_others,
    is_nothing_yet,
    last_in,
    located,
    path_in,
    scope_of,
    value_for,
)
from stablelint.runtime.program.frames import is_library, parse_file, resolve
from stablelint.runtime.program.location import Location
from stablelint.syntax.names import base_name

_MOST = 8  # places on one way
_Picks = tuple[int | str, ...]  # which part of a tuple or a dict is meant, the outermost first


@dataclass(frozen=True, slots=True)
class Origins:
    """What the frames of a traceback tell of where values came from."""

    frames: list[Frame]  # outermost first

    def of(self, frame: Frame, whole: ast.expr) -> tuple[Location, ...]:
        """The places that gave an expression of a frame its value, the nearest first; of a layer of torch what made that."""
        return self.told(frame, whole)[1]

    def told(self, frame: Frame, whole: ast.expr) -> tuple[str, tuple[Location, ...]]:
        """The same, and whose places they are: of what is computed there, what it is computed of."""
        if places := _told(self._way(frame, whole)):
            return ast.unparse(self._subject(frame, whole)), places
        match whole:
            case ast.Call(function) if isinstance(called := value_of(function, frame.names), nn.Module):
                if any(True for _ in called.parameters()):
                    return ast.unparse(function), self.of_module(called)
        return ast.unparse(whole), ()

    def expressions(self, frame: Frame, whole: ast.expr) -> list[tuple[ast.expr, str]]:
        """The expressions, and their files, that the value went through, the nearest first."""
        steps = islice(self._way(frame, whole), 2 * _MOST)
        return [(one.value, one.scope.code.co_filename) for one in steps if one.value is not None]

    def _way(self, frame: Frame, whole: ast.expr) -> Iterator[Step]:
        """The steps from an expression of a frame back to what made it."""
        return self._behind(self._subject(frame, whole), self._scope(frame))

    def _subject(self, frame: Frame, whole: ast.expr) -> ast.expr:
        """What an expression of a frame is computed of there; itself, where it is computed elsewhere, or of several."""
        match whole:
            case ast.UnaryOp(_, inner):
                return self._subject(frame, inner)
            case ast.Call(ast.Attribute(inner) as function) if not callable(value_of(function, frame.names)):
                return whole if callee(function, frame.names) is not None else self._subject(frame, inner)
            case ast.BinOp(left, _, right) | ast.Compare(left, _, [right]):
                parts = [left, right]
            case ast.Call(function, parts) if is_known(value_of(function, frame.names)):
                pass
            case _:
                return whole
        parts = [one for one in parts if not isinstance(value_of(one, frame.names), int | float)]
        known = [one for one in parts if any(True for _ in self._way(frame, one))]
        return self._subject(frame, known[0]) if len(known) == 1 else whole  # of two parts none is meant

    def of_attribute(self, owner: object, name: str) -> tuple[Location, ...]:
        """The places that gave an attribute of an object its value."""
        found = in_class(owner, name)
        return _told(self._from(found[0], self._method(owner, found[1]), name)) if found is not None else ()

    def of_module(self, module: object) -> tuple[Location, ...]:
        """The call that made a module of a model, or a loader; or the statement that made all of a model."""
        call, scope = self.maker(module) or (None, None)
        return (scope.whole(call),) if call is not None and scope is not None else ()

    def of_setting(self, module: nn.Module, name: str) -> tuple[Location, ...]:
        """The places that gave a module what it was made with under a name; nothing where it is written out there.

        What it was not given comes from its default.
        """
        call, scope = self.maker(module) or (None, None)
        if not isinstance(call, ast.Call) or scope is None or not makes(call, scope, type(module)):
            return ()
        given = given_by_name(call, scope.names, type(module)).get(name)
        made = inspect.getattr_static(type(module), "__init__", None)
        if given is None and isinstance(made, FunctionType) and not is_library(made.__code__.co_filename):
            own = replace(self._method(module, made.__code__), before=made.__code__.co_firstlineno)
            return _told(self._behind_name(name, own, ()))
        return _told(self._behind(given, replace(scope, before=call.lineno))) if given is not None else ()

    def maker(self, module: object) -> tuple[ast.expr, Scope] | None:
        """The expression that made an object that a model or a name of the program holds, and where it stands."""
        for owner in (value for one in reversed(self.frames) for value in _modules_of(one)):
            for path, one in owner.named_modules() if owner is not module else ():
                if one is module and (found := self._on_path(owner, path.split("."))) is not None:
                    return found
        for frame in reversed(self.frames):
            names = frame.frame.f_locals.items() if frame.mine else ()
            for key in (key for key, value in names if value is module and key != "self"):
                steps = list(
                    islice(self._behind_name(key, replace(self._scope(frame), before=END), ()), _MOST)
                )
                for step in (one for one in reversed(steps) if one.value is not None and not one.bare):
                    return innermost(step.value, step.scope, type(module)) if step.value is not None else None
        for owner in (each for one in self.frames[::-1] if one.mine for each in one.frame.f_locals.values()):
            own = {} if isinstance(owner, nn.Module | type) else getattr(owner, "__dict__", {})
            for key in (key for key, value in own.items() if value is module):
                statement, code = in_class(owner, key) or (None, None)
                made = value_for(statement, key) if statement is not None else None
                if made is not None and code is not None:
                    return innermost(made, self._method(owner, code), type(module))
        for frame in (one for one in self.frames if one.mine):
            match node_at(frame.site):  # one that is called where it is made
                case ast.Call(ast.Call() as call) if makes(call, self._scope(frame), type(module)):
                    return call, self._scope(frame)
        return None

    def _on_path(self, owner: nn.Module, steps: list[str]) -> tuple[ast.expr, Scope] | None:
        """The expression that made the module at a path, in the innermost class of the program that names it."""
        best: tuple[ast.expr, Scope] | None = None
        for place, step in enumerate(steps):
            child = getattr(owner, step)
            found = in_class(owner, step)
            value = value_for(found[0], step) if found is not None else None
            if found is not None and isinstance(value, ast.expr):
                best = value, self._method(owner, found[1])
            elif best is not None and (part := part_of(best[0], step)) is not None:
                best = part, best[1]
            elif best is not None and place == len(steps) - 1:
                best = innermost(*best, type(child))
            owner = child
        return best

    def _behind(self, node: ast.expr, scope: Scope, picks: _Picks = ()) -> Iterator[Step]:
        """The places on the way of a value back to what made it."""
        match node:
            case ast.Name(name):
                yield from self._behind_name(name, scope, picks)
            case ast.Attribute(inner, name) if (found := field_of(inner, name, scope)) is not None:
                owner, statement, code = found
                steps = self._from(statement, self._method(owner, code), name, picks)
                yield from map(_of_other, steps) if is_given_by_others(owner, name, code) else steps
            case ast.Subscript(inner) if cuts(node, scope):
                yield from map(_of_other, self._behind(inner, scope))
            case ast.Subscript(inner, ast.Constant(int() | str() as key)):
                yield from self._behind(inner, scope, (key, *picks))
            case ast.Attribute(inner, "T" | "mT" | "data") | ast.Subscript(inner):
                yield from self._behind(inner, scope)
            case ast.Tuple(parts) | ast.List(parts) if picks and picks[0] in range(len(parts)):
                yield from self._part(parts[int(picks[0])], scope, picks[1:])
            case ast.Dict(keys, values) if picks:
                for text, entry in zip(keys, values, strict=True):
                    if isinstance(text, ast.Constant) and text.value == picks[0]:
                        yield from self._part(entry, scope, picks[1:])
            case ast.Call(ast.Name("len"), [inner]) if (
                counted := method_of(inner, "__len__", scope)
            ) is not None:
                yield from self._returned(*counted, picks)
            case ast.Call(ast.Name("map" | "list" | "tuple"), [*_, inner]) if picks:
                yield from self._behind(inner, scope, picks)
            case ast.GeneratorExp(element, [each]) | ast.ListComp(element, [each]) if base_name(
                converted(element, scope.names) or element
            ) == ast.unparse(each.target):
                yield from self._behind(each.iter, scope, picks)
            case ast.Call() if (given := converted(node, scope.names)) is not None:
                yield from self._behind(given, scope)
            case ast.Call(ast.Attribute(inner, name)) if keeps_elements(name):
                yield from self._behind(inner, scope)
            case ast.Call(function) if (called := callee(function, scope.names)) is not None:
                yield from self._returned(*called, picks, given_to(node, called, scope))

    def _part(self, node: ast.expr, scope: Scope, picks: _Picks) -> Iterator[Step]:
        """An expression, where it says more than a name, and what is behind it."""
        if hasattr(node, "lineno") and not is_nothing_yet(node):
            yield Step(scope.at(node), node, scope, isinstance(node, ast.Name | ast.Constant))
        yield from self._behind(node, scope, picks)

    def _behind_name(self, name: str, scope: Scope, picks: _Picks) -> Iterator[Step]:
        statement = assignment(scope.code, name, scope.before, scope.names)
        steps = self._given_by(statement, name, scope, picks)
        carried = is_carried(scope.code, name, scope.before, statement, scope.names)
        yield from map(_of_other, steps) if carried else steps

    def _given_by(self, statement: ast.AST | None, name: str, scope: Scope, picks: _Picks) -> Iterator[Step]:
        """The same by the statement that gave a name its value; where that is None by what its function was given."""
        if statement is None and (given := scope.argument(name)) is not None:
            yield from self._part(*given, picks)
            return
        tree = parse_file(scope.code.co_filename)
        if (
            statement is None
            and tree is not None
            and (default := default_of(tree, scope.code, name)) is not None
        ):
            if isinstance(default, ast.Constant):
                at = replace(scope.at(default), expression=f"{name}={ast.unparse(default)}")
                yield Step(at, default, scope)
            yield from self._part(default, replace(scope, argument=none_given), picks)
        if statement is None and tree is not None and name not in inspect.getargs(scope.code).args:
            statement, scope = last_in(tree, name), replace(scope, argument=none_given)
            if statement is None and (found := imported(name, scope)) is not None:
                yield from self._behind_name(*found, picks)
        if statement is not None:
            yield from self._from(statement, scope, name, picks)

    def _from(self, statement: ast.AST, scope: Scope, name: str, picks: _Picks = ()) -> Iterator[Step]:
        """A statement that gives a name its value, and what is behind it."""
        scope = replace(scope, before=getattr(statement, "lineno", scope.before))
        yield Step(located(statement, scope.code.co_filename), getattr(statement, "value", None), scope)
        match statement:
            case ast.Assign(targets, value):
                path = next((found for one in targets if (found := path_in(one, name)) is not None), ())
                yield from self._behind(value, scope, (*path, *picks))
            case ast.AugAssign():  # of what had its shape before
                yield from self._behind_name(name, scope, picks)
            case ast.Expr(ast.Call(ast.Attribute(_, "append"), [value])):
                yield from self._behind(value, scope, picks[1:])
            case ast.AnnAssign(value=ast.expr() as value) | ast.Expr(ast.Call(_, [_, value, *_])):
                yield from self._behind(value, scope, picks)
            case ast.For(target, source) | ast.comprehension(target, source):
                yield from self._behind_item(source, scope, (*(path_in(target, name) or ()), *picks))

    def _behind_item(self, source: ast.expr, scope: Scope, picks: _Picks) -> Iterator[Step]:
        """What is behind a part of an item of what a loop goes over."""
        match source:
            case ast.Call(ast.Name("enumerate"), [inner, *_]) if picks[:1] == (1,):
                yield from self._behind_item(inner, scope, picks[1:])
                return
            case ast.Call(ast.Name("zip"), parts) if picks and picks[0] in range(len(parts)):
                yield from self._behind_item(parts[int(picks[0])], scope, picks[1:])
                return
        data, collate = loaded(source, scope.names)
        if isinstance(collate, FunctionType) and not is_library(collate.__code__.co_filename):
            yield from self._returned(collate, None, picks)
        elif isinstance(data, TensorDataset) and picks and picks[0] in range(len(data.tensors)):
            place, (call, at) = int(picks[0]), self.maker(data) or (None, scope)
            names = (key for key, value in scope.names.items() if value is data.tensors[place])
            if isinstance(call, ast.Call) and len(call.args) == len(data.tensors):
                yield from self._part(call.args[place], replace(at, before=call.lineno), picks[1:])
            elif name := next(names, None):
                yield from self._behind_name(name, replace(scope, before=END), picks[1:])
        elif (item := callee(ast.Attribute(ast.Name("data"), "__getitem__"), {"data": data})) is not None:
            yield from self._returned(*item, picks)
        elif isinstance(source, ast.Call):
            for step in self._behind(source, scope, picks):
                if step.value is not None and loaded(step.value, step.scope.names)[0] is not None:
                    yield from self._behind_item(step.value, step.scope, picks)  # of what a function made
                    return
                yield step

    def _returned(
        self, function: FunctionType, owner: object, picks: _Picks, argument: Argument = none_given
    ) -> Iterator[Step]:
        """What a function of the program returns or yields, and what is behind that."""
        tree, code = parse_file(function.__code__.co_filename), function.__code__
        given = [one for one in inside(scope_of(tree, code)) if _gives(one)] if tree is not None else []
        last = max(given, key=lambda one: getattr(one, "lineno", 0), default=None)
        if isinstance(last, ast.Return | ast.Yield) and last.value is not None:
            names = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
            names |= {code.co_varnames[0]: owner} if owner is not None else {}
            yield from self._part(last.value, Scope(code, names, last.lineno, argument), picks)

    def _scope(self, frame: Frame) -> Scope:
        def argument(name: str) -> tuple[ast.expr, Scope] | None:
            return self._passed(frame, name)

        return Scope(frame.site.code, frame.names, resolve(frame.site).row, argument)

    def _method(self, owner: object, code: CodeType) -> Scope:
        """The scope of a method of an object, of which its constructor knows what it was given."""

        def argument(name: str) -> tuple[ast.expr, Scope] | None:
            call, scope = (code.co_name == "__init__" and self.maker(owner)) or (None, None)
            if not isinstance(call, ast.Call) or scope is None or not makes(call, scope, type(owner)):
                return None
            made = inspect.getattr_static(type(owner), "__init__", None)
            return given_to(call, (made, owner), scope)(name) if isinstance(made, FunctionType) else None

        kind = owner if isinstance(owner, type) else type(owner)
        defined = inspect.getattr_static(kind, code.co_name, None)
        names = getattr(defined, "__globals__", {})
        return Scope(code, {**names, "self": owner}, END, argument)

    def _passed(self, frame: Frame, name: str) -> tuple[ast.expr, Scope] | None:
        """What a caller of a frame passed as its argument `name`, or what the frame around it has under a free name."""
        outer = next((one for one in reversed(self.frames[: self.frames.index(frame)]) if one.mine), None)
        if outer is None:
            return None
        if name in frame.site.code.co_freevars:
            return ast.Name(name, ast.Load()), self._scope(outer)
        node, value = node_at(outer.site), frame.frame.f_locals.get(name)
        called = callee(node.func, outer.names) if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Call) and called is not None and called[0].__code__ is frame.site.code:
            found = given_to(node, called, self._scope(outer))(name)
            if found is not None:
                return found
        same = next((key for key, held in outer.frame.f_locals.items() if held is value is not None), None)
        return (ast.Name(same, ast.Load()), self._scope(outer)) if same is not None else None


def _told(steps: Iterable[Step]) -> tuple[Location, ...]:
    own = takewhile(lambda one: not one.of_other, islice(steps, _MOST))
    return tuple(dict.fromkeys(one.at for one in own if not one.bare))


def _of_other(step: Step) -> Step:
    return step._replace(of_other=True)


def _gives(node: ast.AST) -> bool:
    return isinstance(node, ast.Return | ast.Yield) and node.value is not None


def _modules_of(frame: Frame) -> Iterator[nn.Module]:
    yield from (one for one in frame.frame.f_locals.values() if isinstance(one, nn.Module))
