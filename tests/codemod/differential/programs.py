"""Programs around an expression, of the kinds in which a rewrite of it is easily wrong.

A program is source, which is fixed, and a driver, which is not: Python in which `m` is the program's module and that
lists the `calls` to make, each a function of the operands. A driver does what a program's other files may do: it gives
other arguments, writes attributes, derives classes.
"""

import ast
import random
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.codemod.differential.cores import Core

HEAD = "import math\n\nimport torch\nimport torch.nn.functional as F\n\n"


@dataclass(frozen=True, slots=True)
class Program:
    """One program; `kind` is the danger that it holds."""

    kind: str
    code: str
    source: str
    driver: str = "calls = [m.f]"


Writer = Callable[[Core, random.Random], Iterator[Program]]
WRITERS: list[Writer] = []


def programs(core: Core, rng: random.Random) -> Iterator[Program]:
    """All kinds of programs around one expression; what is open in them is drawn by `rng`."""
    for write in WRITERS:
        yield from write(core, rng)


def _kind(write: Writer) -> Writer:
    WRITERS.append(write)
    return write


def _program(kind: str, core: Core, source: str, driver: str = "calls = [m.f]") -> Program:
    return Program(kind, core.code, HEAD + textwrap.dedent(source).strip() + "\n", textwrap.dedent(driver))


def _part(core: Core, rng: random.Random) -> tuple[str, str] | None:
    """An operation within the core, and the core with the name `p` in its place."""
    calls = core.calls()
    if not calls:
        return None
    node = rng.choice(calls)
    return ast.unparse(node), core.with_(node, "p")


def _first(core: Core) -> str:
    return next(name for name, bounds in core.operands.items() if bounds is not None)


def _cast(core: Core) -> str:
    return "; ".join(f"{name} = {name}.float()" for name, bounds in core.operands.items() if bounds)


@_kind
def _plain(core: Core, rng: random.Random) -> Iterator[Program]:
    yield _program("plain", core, f"def f({core.names}):\n    return {core.text}")
    x = _first(core)
    yield _program("cast", core, f"def f({core.names}):\n    {_cast(core)}\n    return {core.text}")
    yield _program("lambda", core, f"f = lambda {core.names}: [{core.text} for _ in range(2)]")
    yield _program(
        "loop",
        core,
        f"def f({core.names}):\n    for _ in range(2):\n        {x} = {core.text}\n    return {x}",
    )
    yield _program(
        "caught",
        core,
        f"""
        def f({core.names}):
            try:
                return {core.text}
            except (RuntimeError, TypeError):
                return None
        """,
    )
    yield _program("scripted", core, f"@torch.jit.script\ndef f({core.names}):\n    return {core.text}")


@_kind
def _shared(core: Core, rng: random.Random) -> Iterator[Program]:
    """The part has another reader, of the kinds that see where it comes from."""
    part = _part(core, rng)
    if part is None:
        return
    made, use = part
    readers = {
        "bound": ("", "r"),
        "returned too": ("", "(r, torch.autograd.grad(r.sum(), p, retain_graph=True))"),
        "retain_grad": ("p.retain_grad()", "r.sum().backward(retain_graph=True) or (r, p.grad)"),
        "hook": ("p.register_hook(seen.append)", "r.sum().backward(retain_graph=True) or (r, list(seen))"),
        "detached in place": ("p.detach_()", "(r, r.requires_grad)"),
        "written": ("p.mul_(0.5)", "r"),
        "element written": ("p[..., 0] = 0.5", "r"),
        "alias written": ("q = p\n    q.mul_(0.5)", "r"),
        "view written": ("q = p.view(-1)\n    q.mul_(0.5)", "r"),
        "data written": ("p.data.mul_(0.5)", "r"),
        "is_leaf": ("flag = p.requires_grad", "(r, flag, p)"),
        "augmented": ("p += 0.25", "r"),
        "handed on": ("note(p)", "r"),
        "kept in a set": (
            "kept = set(); kept.add(p)",
            "(r, torch.autograd.grad(r.sum(), list(kept), retain_graph=True))",
        ),
    }
    for kind, (between, result) in readers.items():
        yield _program(
            kind,
            core,
            f"""
seen = []


def note(value):
    value.mul_(0.5)


def f({core.names}):
    p = {made}
    {between or "pass"}
    r = {use}
    return {result}
""",
            "calls = [lambda *a: (m.seen.clear(), m.f(*a))[1]]",
        )


@_kind
def _named_anew(core: Core, rng: random.Random) -> Iterator[Program]:
    """The part has the name of its operand, and others read it before the core does."""
    part = _part(core, rng)
    if part is None:
        return
    made, use = part
    x = _first(core)
    use = re.sub(r"\bp\b", x, use) if x not in re.findall(r"\w+", use) else ""
    if use:
        for kind, given in {"named anew": x, "named anew, moved": f"({x} * 0.75)"}.items():
            part = re.sub(rf"\b{x}\b", given, made)
            yield _program(
                kind, core, f"def f({core.names}):\n    {x} = {part}\n    q = {x} * 2\n    return {use}, q"
            )


@_kind
def _result(core: Core, rng: random.Random) -> Iterator[Program]:
    """What the core gives is written into, before its gradient is taken."""
    write = rng.choice(
        ["r.mul_(0.5)", "r *= 0.5", "r += 1", "r[..., 0] = 0", "q = r.view(-1)\n    q.zero_()"]
    )
    yield _program(
        "result written",
        core,
        f"def f({core.names}):\n    {_cast(core)}\n    r = {core.text}\n    {write}\n    return r",
    )


_PLACES = {
    "one line": "def f({names}): p = {made}; r = {use}; return r",
    "annotated": "def f({names}):\n    p: torch.Tensor = {made}\n    return {use}",
    "two targets": "def f({names}):\n    p = q = {made}\n    return {use}, q",
    "unpacked": "def f({names}):\n    p, *q = [{made}, 1, 2]\n    return {use}, q",
    "renamed": "def f({names}):\n    q = {made}\n    p = q\n    return {use}",
    "taken away": "def f({names}):\n    p = {made}\n    r = {use}\n    del p\n    return r",
    "default of a function": "def f({names}):\n    def g(p={made}):\n        return {use}\n    return g()",
    "default of a lambda": "def f({names}):\n    return (lambda p={made}: {use})()",
    "read by a function": "def f({names}):\n    p = {made}\n    def g():\n        return {use}\n    return g()",
    "read by a comprehension": "def f({names}):\n    p = {made}\n    return [{use} for _ in range(2)]",
    "bound by a comprehension": "def f({names}):\n    return [{use} for p in [{made}]]",
    "bound by a case": "def f({names}):\n    match [{made}]:\n        case [p]:\n            return {use}",
    "bound in a case": "def f({names}):\n    match 1:\n        case 1:\n            p = {made}\n            return {use}",
    "shown": "def f({names}):\n    p = {made}\n    return f'{{({use}).sum().item():.1f}}'",
    "declared global": "p = None\ndef f({names}):\n    global p\n    p = {made}\n    return {use}",
    "declared nonlocal": "def f({names}):\n    p = None\n    def g():\n        nonlocal p\n        p = {made}\n"
    "        return {use}\n    return g(), p",
    "swallowed": "import contextlib\ndef f({names}):\n    p = None\n    with contextlib.suppress(Exception):\n"
    "        p = {made}\n    return {use}",
    "written to an attribute": "class S: pass\ndef f({names}):\n    s = S()\n    p = {made}\n    s.r = {use}\n"
    "    return s.r",
    "kept by an object": "class M:\n    def f(self, {names}):\n        self.p = {made}\n        p = self.p\n"
    "        return {use}, self.p\nf = M().f",
    "awaited": "import asyncio\nasync def g({names}):\n    p = {made}\n    return {use}\n"
    "def f({names}):\n    return asyncio.run(g({names}))",
    "mapped": "def g({names}):\n    p = {made}\n    return {use}\ndef f({names}):\n    return torch.vmap(g)({names})",
    "checkpointed": "from torch.utils.checkpoint import checkpoint\ndef g({names}):\n    p = {made}\n    return {use}\n"
    "def f({names}):\n    return checkpoint(g, {names}, use_reentrant=False)",
}


@_kind
def _placed(core: Core, rng: random.Random) -> Iterator[Program]:
    """The part and its reader stand at other places than in two statements of a function."""
    part = _part(core, rng)
    for kind, text in _PLACES.items() if part is not None else ():
        assert part is not None
        yield _program(kind, core, text.format(names=core.names, made=part[0], use=part[1]))


@_kind
def _fed(core: Core, rng: random.Random) -> Iterator[Program]:
    """The part is made of what only it reads."""
    part = _part(core, rng)
    if part is None:
        return
    made, use = part
    x = _first(core)
    within = ast.unparse(_Renamed(x, "torch.mul(h, 1)").visit(ast.parse(made, mode="eval").body))
    yield _program(
        "fed",
        core,
        f"def f({core.names}):\n    {_cast(core)}\n    h = {x} * 1\n    p = {within}\n    return {use}",
    )


@_kind
def _waited(core: Core, rng: random.Random) -> Iterator[Program]:
    """The function hands over to its caller, who changes what it gave, and reads its names by their text."""
    part = _part(core, rng)
    if part is None:
        return
    made, use = part
    x = _first(core)
    yield _program(
        "waited",
        core,
        f"""
        def g({core.names}):
            {_cast(core)}
            p = {made}
            yield
            yield {use}


        def f({core.names}):
            {x} = {x} * 1
            running = g({core.names})
            next(running)
            {x}.mul_(0.5)
            return next(running)
        """,
    )
    yield _program(
        "looked up",
        core,
        f"def f({core.names}):\n    {_cast(core)}\n    p = {made}\n    r = {use}\n    return r, locals()['p']",
    )


@_kind
def _changed(core: Core, rng: random.Random) -> Iterator[Program]:
    """What the part is made of changes between its definition and its use."""
    part = _part(core, rng)
    if part is None:
        return
    made, use = part
    x = _first(core)
    for kind, between in {
        "rebound": f"{x} = {x} * 0.5",
        "operand written": f"{x}.mul_(0.5)",
        "operand's alias written": "q.mul_(0.5)",
        "operand's data written": f"{x}.data.mul_(0.5)",
        "operand's element written": f"{x}[..., 0] = 0.5",
        "nonlocal": "change()",
        "operand written by keyword": f"F.relu({x}, inplace=True)",
        "operand written by position": f"F.relu({x}, True)",
        "operand written as a result": f"torch.mul({x}, 0.5, out={x})",
        "operand's view counted up": f"v = {x}[..., :1]; v += 1",
        "handed to a module": f"relu = torch.nn.ReLU(inplace=True); relu({x})",
        "swapped": f"{x}, q = {x} * 0.5, {x}",
        "deleted": f"del {x}",
        "written later": "pass",
    }.items():
        yield _program(
            kind,
            core,
            f"""
def f({core.names}):
    {x} = {x} * 1
    q = {x}

    def change():
        nonlocal {x}
        {x} = {x} * 0.5

    p = {made}
    {between}
    return {use}
"""
            if kind == "nonlocal"
            else f"""
def f({core.names}):
    {_cast(core)}
    {x} = {x} * 1
    q = {x}
    p = {made}
    {between}
    r = {use}
    {f"{x}.mul_(0.5)" if kind == "written later" else "pass"}
    return r
""",
        )
    self_made, self_use = (
        ast.unparse(_Renamed(x, f"self.{x}").visit(ast.parse(text, mode="eval").body)) for text in (made, use)
    )
    for kind, between in {
        "attribute rebound": f"self.{x} = self.{x} * 0.5",
        "stepped": "self.step()",
        "handed to a module of its own": f"self.relu(self.{x})",
    }.items():
        yield _program(
            kind,
            core,
            f"""
class Model:
    relu = torch.nn.ReLU(inplace=True)

    def step(self):
        self.{x} = self.{x} * 0.5

    def f(self, {core.names}):
        self.{x} = {x}
        p = {self_made}
        {between}
        return {self_use}
""",
            "calls = [m.Model().f]",
        )
    listed = ast.unparse(_Renamed(x, "xs[0]").visit(ast.parse(made, mode="eval").body))
    listed_use = ast.unparse(_Renamed(x, "xs[0]").visit(ast.parse(use, mode="eval").body))
    yield _program(
        "list element",
        core,
        f"""
def f({core.names}):
    xs = [{x}]
    p = {listed}
    xs[0] = {x} * 0.5
    return {listed_use}
""",
    )


class _Renamed(ast.NodeTransformer):
    def __init__(self, name: str, text: str) -> None:
        self._name, self._text = name, text

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.parse(self._text, mode="eval").body if node.id == self._name else node


@_kind
def _elsewhere(core: Core, rng: random.Random) -> Iterator[Program]:
    """Turns of a loop make the operand anew, and names hold modules that others may set."""
    x = _first(core)
    part = _part(core, rng)
    if part is not None:
        yield _program(
            "loop carried",
            core,
            f"""
def f({core.names}):
    {_cast(core)}
    out = []
    for t in (1.0, 2.0, 3.0):
        p = {part[0]}
        {x} = {x} / t
        out.append({part[1]})
    return out
""",
        )
    text = core.text.replace("torch.", "lib.")
    if text != core.text:
        yield _program(
            "module by default",
            core,
            f"def f({core.names}, lib=torch):\n    {_cast(core)}\n    return {text}",
            """
class Other:
    def __getattr__(self, name):
        return lambda *given, **named: 0.5 * getattr(torch, name)(*given, **named)


calls = [m.f, lambda *given: m.f(*given, lib=Other())]
""",
        )


@_kind
def _regions(core: Core, rng: random.Random) -> Iterator[Program]:
    """The part is made where gradients, or the precision, are other than at its use."""
    part = _part(core, rng)
    if part is None:
        return
    made, use = part
    for kind, context in {
        "no_grad": "torch.no_grad()",
        "inference_mode": "torch.inference_mode()",
        "autocast": "torch.autocast('cpu')",
        "set_grad_enabled": "torch.set_grad_enabled(False)",
    }.items():
        yield _program(
            kind, core, f"def f({core.names}):\n    with {context}:\n        p = {made}\n    return {use}"
        )
    yield _program(
        "grad disabled by a call",
        core,
        f"""
def f({core.names}):
    torch.set_grad_enabled(False)
    p = {made}
    torch.set_grad_enabled(True)
    return {use}
""",
    )
    yield _program(
        "use under no_grad",
        core,
        f"def f({core.names}):\n    p = {made}\n    with torch.no_grad():\n        r = {use}\n    return r, p",
    )


@_kind
def _helpers(core: Core, rng: random.Random) -> Iterator[Program]:
    """The part is what a function gives that may be another one."""
    part = _part(core, rng)
    if part is None:
        return
    made, use = part
    names = core.names
    call = ast.unparse(_Renamed("p", f"part({names})").visit(ast.parse(use, mode="eval").body))
    bound = ast.unparse(_Renamed("p", f"self.part({names})").visit(ast.parse(use, mode="eval").body))
    got = ast.unparse(_Renamed("p", "self.part").visit(ast.parse(use, mode="eval").body))
    yield _program(
        "helper", core, f"def part({names}):\n    return {made}\n\n\ndef f({names}):\n    return {call}"
    )
    yield _program(
        "decorated helper",
        core,
        f"""
def half(function):
    return lambda *a: 0.5 * function(*a)


@half
def part({names}):
    return {made}


def f({names}):
    return {call}
""",
    )
    yield _program(
        "helper without gradient",
        core,
        f"@torch.no_grad()\ndef part({names}):\n    return {made}\n\n\ndef f({names}):\n    return {call}",
    )
    yield _program(
        "replaced helper",
        core,
        f"def part({names}):\n    return {made}\n\n\ndef f({names}):\n    return {call}",
        "m.part = lambda *a, old=m.part: 0.5 * old(*a)\ncalls = [m.f]",
    )
    yield _program(
        "overridden method",
        core,
        f"""
class Model(torch.nn.Module):
    def part(self, {names}):
        return {made}

    def forward(self, {names}):
        return {bound}
""",
        """
        class Derived(m.Model):
            def part(self, *a):
                return 0.5 * super().part(*a)

        calls = [m.Model(), Derived()]
        """,
    )
    yield _program(
        "overridden property",
        core,
        f"""
class Model:
    def __init__(self, {names}):
        self.{names.replace(", ", ", self.")} = {names}

    @property
    def part(self):
        {names} = {"self." + names.replace(", ", ", self.")}
        return {made}

    def f(self):
        {names} = {"self." + names.replace(", ", ", self.")}
        return {got}
"""
        if "," in names
        else f"""
class Model:
    def __init__(self, {names}):
        self.{names} = {names}

    @property
    def part(self):
        {names} = self.{names}
        return {made}

    def f(self):
        {names} = self.{names}
        return {got}
""",
        """
        class Derived(m.Model):
            @property
            def part(self):
                return 0.5 * super().part

        calls = [lambda *a: m.Model(*a).f(), lambda *a: Derived(*a).f()]
        """,
    )


@_kind
def _settings(core: Core, rng: random.Random) -> Iterator[Program]:
    """A literal of the pattern is a name that others may set."""
    literals = core.literals()
    if not literals:
        return
    node = rng.choice(literals)
    value, other = ast.unparse(node), core.other(node)
    names = core.names
    by_name, of_self = core.with_(node, "k"), core.with_(node, "self.k")
    yield _program(
        "default",
        core,
        f"def f({names}, k={value}):\n    return {by_name}",
        f"calls = [m.f, lambda *a: m.f(*a, k={other})]",
    )
    yield _program(
        "global",
        core,
        f"k = {value}\n\n\ndef f({names}):\n    return {by_name}",
        f"m.k = {other}\ncalls = [m.f]",
    )
    yield _program(
        "closure",
        core,
        f"def make(k={value}):\n    def f({names}):\n        return {by_name}\n\n    return f",
        f"calls = [m.make(), m.make({other})]",
    )
    yield _program(
        "attribute",
        core,
        f"""
class Model(torch.nn.Module):
    def __init__(self, k={value}):
        super().__init__()
        self.k = k

    def forward(self, {names}):
        return {of_self}
""",
        f"""
        changed = m.Model()
        changed.k = {other}
        calls = [m.Model(), m.Model({other}), changed]
        """,
    )
    yield _program(
        "class attribute",
        core,
        f"class Model:\n    k = {value}\n\n    def f(self, {names}):\n        return {of_self}",
        f"""
        class Derived(m.Model):
            k = {other}

        calls = [m.Model().f, Derived().f]
        """,
    )
    yield _program(
        "fixed attribute",
        core,
        f"""
class Model:
    def __init__(self):
        self.k = {value}

    def f(self, {names}):
        return {of_self}
""",
        f"""
        changed = m.Model()
        changed.k = {other}
        calls = [m.Model().f, changed.f]
        """,
    )
    yield _program(
        "local literal",
        core,
        f"def f({names}, flag=False):\n    k = {value}\n    if flag:\n        k = {other}\n    return {by_name}",
        "calls = [m.f, lambda *a: m.f(*a, flag=True)]",
    )


@_kind
def _other_dimensions(core: Core, rng: random.Random) -> Iterator[Program]:
    """The dimension is a name that others may set to none or several, or that is bound to another one later."""
    given = [one for one in ast.walk(core.tree) if isinstance(one, ast.keyword) and one.arg == "dim"]
    literals = [one.value for one in given if one.value in core.literals()]
    if not literals:
        return
    node = rng.choice(literals)
    value, names, by_name = ast.unparse(node), core.names, core.with_(node, "k")
    yield _program(
        "dimensions",
        core,
        f"def f({names}, k={value}):\n    {_cast(core)}\n    return {by_name}",
        "calls = [m.f, lambda *a: m.f(*a, k=None), lambda *a: m.f(*a, k=(0, -1))]",
    )
    inner = Core(core.code, ast.parse(by_name, mode="eval").body, core.operands)
    parts = [
        one for one in inner.calls() if any(isinstance(n, ast.Name) and n.id == "k" for n in ast.walk(one))
    ]
    if parts:
        made = rng.choice(parts)
        yield _program(
            "dimension rebound",
            core,
            f"""
            def f({names}):
                {_cast(core)}
                k = {value}
                p = {ast.unparse(made)}
                k = {core.other(node)}
                return {inner.with_(made, "p")}
            """,
        )


@_kind
def _further(core: Core, rng: random.Random) -> Iterator[Program]:
    """A call of the core hands on what it is given, and a class keeps the part as its attribute."""
    calls = [one for one in (core.tree, *core.calls()) if isinstance(one, ast.Call)]
    named = [one for one in calls if ast.unparse(one.func).startswith(("torch.", "F."))]
    if named:
        node = rng.choice(named)
        more = ast.Call(
            node.func, node.args, [*node.keywords, ast.keyword(None, ast.Name("more", ast.Load()))]
        )
        text = ast.unparse(more) if node is core.tree else core.with_(node, ast.unparse(more))
        yield _program(
            "further arguments",
            core,
            f"def f({core.names}, **more):\n    return {text}",
            "import torch\ncalls = [m.f, lambda *a: m.f(*a, dtype=torch.float64)]",
        )
    part = _part(core, rng)
    if part is not None:
        yield _program(
            "class body",
            core,
            f"""
            def f({core.names}):
                class Kept:
                    p = {part[0]}
                    r = {part[1]}

                return Kept.r, Kept.p
            """,
        )


@_kind
def _functions(core: Core, rng: random.Random) -> Iterator[Program]:
    """The function of a pattern is a parameter or an attribute."""
    calls = [one for one in core.calls() if isinstance(one, ast.Call)]
    named = [one for one in calls if ast.unparse(one.func).startswith(("torch.", "F."))]
    if not named:
        return
    node = rng.choice(named)
    name, names = ast.unparse(node.func), core.names
    arguments = ast.unparse(ast.Call(ast.Name("act", ast.Load()), node.args, node.keywords))
    by_name = core.with_(node, arguments)
    of_self = core.with_(node, f"self.{arguments}")
    other = f"(lambda *a, **k: 0.5 * {name}(*a, **k))"
    setting = "import torch\nimport torch.nn.functional as F\n"
    yield _program(
        "function by default",
        core,
        f"def f({names}, act={name}):\n    return {by_name}",
        f"{setting}calls = [m.f, lambda *a: m.f(*a, act={other})]",
    )
    yield _program(
        "function in a global",
        core,
        f"act = {name}\n\n\ndef f({names}):\n    return {by_name}",
        f"{setting}m.act = {other}\ncalls = [m.f]",
    )
    yield _program(
        "function in an attribute",
        core,
        f"""
class Model(torch.nn.Module):
    def __init__(self, act={name}):
        super().__init__()
        self.act = act

    def forward(self, {names}):
        return {of_self}
""",
        f"{setting}calls = [m.Model(), m.Model({other})]",
    )
    layers = {
        "torch.softmax": "Softmax(dim=-1)",
        "F.softmax": "Softmax(dim=-1)",
        "torch.sigmoid": "Sigmoid()",
    }
    if name in layers:
        whole = core.with_(node, f"self.act({ast.unparse(node.args[0])})")
        yield _program(
            "layer",
            core,
            f"""
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.act = torch.nn.{layers[name]}

    def forward(self, {names}):
        return {whole}
""",
            """
            import torch

            changed = m.Model()
            changed.act = torch.nn.Tanh()
            hooked = m.Model()
            hooked.act.register_forward_hook(lambda module, given, result: 0.5 * result)
            calls = [m.Model(), changed, hooked]
            """,
        )


@_kind
def _bindings(core: Core, rng: random.Random) -> Iterator[Program]:
    part = _part(core, rng)
    if part is None:
        return
    made, use = part
    walrus = use.replace("p", f"(p := {made})", 1) if use.count("p") == 1 else None
    nodes = [one for one in core.calls() if ast.unparse(one) == made]
    if nodes:
        walrus = core.with_(nodes[0], f"(p := {made})")
    if walrus is not None:
        yield _program("walrus", core, f"def f({core.names}):\n    r = {walrus}\n    return r, p * 2")
    yield _program(
        "branch",
        core,
        f"""
def f({core.names}, flag=False):
    if flag:
        p = torch.ones_like({_first(core)}) * 0.5
    else:
        p = {made}
    return {use}
""",
        "calls = [m.f, lambda *a: m.f(*a, flag=True)]",
    )
    yield _program(
        "early use",
        core,
        f"""
def f({core.names}):
    rows = []
    p = torch.ones_like({_first(core)}) * 0.5
    for _ in range(2):
        rows.append({use})
        p = {made}
    return rows
""",
    )
    x = _first(core)
    counted = ast.unparse(_Renamed(x, f"draw({x})").visit(ast.parse(core.text, mode="eval").body))
    yield _program(
        "operand that acts",
        core,
        f"""
count = [0]


def draw(value):
    count[0] += 1
    return value * count[0]


def f({core.names}):
    return {counted}, count[0]
""",
        "calls = [lambda *a: (m.count.__setitem__(0, 0), m.f(*a))[1]]",
    )
