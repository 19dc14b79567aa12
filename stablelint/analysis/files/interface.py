"""What other files can see of a file, by the names that they look up in it: bodies that nobody follows are left out.

A result that rests on another file holds as long as what was looked up there stays, whatever else is edited.
"""

from __future__ import annotations

import ast
import re
from array import array
from collections.abc import Iterable, Iterator
from itertools import accumulate

from stablelint.analysis.files.abridging import abridge
from stablelint.analysis.files.modules import FunctionInfo, ModuleInfo
from stablelint.syntax.content import digest

_WORD = re.compile(r"[^\W\d]\w*")


def words_of(text: str) -> list[str]:
    """The words in a text, names among them."""
    return _WORD.findall(text)


class Interface:
    """What the top-level names of a file stand for, as digests that do not depend on the rows where it stands.

    A name rests on those that its text mentions, and a class on those of the file that inherit from it.
    """

    def __init__(self, module: ModuleInfo, lines: list[str]) -> None:
        """`lines` are those of the file, empty where nobody follows them."""
        self._module = module
        self._text = "\n".join(lines)  # a list of lines takes three times the memory
        self._lengths = array("l", accumulate(map(len, lines), initial=0))  # of what stands before each line
        self._seen: dict[str, tuple[str, frozenset[str]]] = {}
        self._digests: dict[frozenset[str], str] = {}
        self._defined = {*module.functions, *module.classes, *module.imports, *module.assignments}
        options = ast.dump(module.options) if module.options is not None else ""
        self._facts = (
            module.mentions_torch,
            module.search_path,
            sorted(module.rebound),
            module.stars,
            options,
            sorted((name, sorted(attrs)) for name, attrs in module.patched.items()),
        )

    def digest_of(self, names: Iterable[str]) -> str:
        """The digest of what the names stand for, and of what is true of the whole file."""
        asked = frozenset(names)
        if asked not in self._digests:  # few sets are asked for, by many files each
            self._digests[asked] = self._digest_of(asked)
        return self._digests[asked]

    def _digest_of(self, names: frozenset[str]) -> str:
        reached, known = list(names), set(names)
        for name in reached:  # grows while it is walked
            new = self._of(name)[1] - known
            known |= new
            reached += new
        return _digest(repr((self._facts, sorted((name, self._of(name)[0]) for name in reached))))

    def _of(self, name: str) -> tuple[str, frozenset[str]]:
        """The digest of the text of a name, and the other names on which it rests."""
        if name not in self._seen:
            module, text = self._module, "\n".join(self._text_of(name))
            info = module.classes.get(name)
            below = (one.name for one in info.subclasses) if info is not None else ()
            self._seen[name] = (
                _digest(text),
                frozenset(self._defined.intersection(words_of(text)).union(below)),
            )
        return self._seen[name]

    def _text_of(self, name: str) -> Iterator[str]:
        """The lines of a definition, a few at a time."""
        module = self._module
        function, info = module.functions.get(name), module.classes.get(name)
        known = [part.node for part in (function, info) if part is not None]
        yield f"{module.imports.get(name, '')} {name in module.several} {name in module.written_into}"
        for node in (*known, *module.assignments.get(name, ())):
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
            last = min(node.end_lineno or node.lineno, len(self._lengths) - 1)
            # A line ends with a mark that is not counted.
            yield self._text[self._lengths[first - 1] + first - 1 : self._lengths[last] + last - 1]
        set_on = module.attributes_set.get(name, {}).items()
        yield " ".join(f"{attr}={ast.unparse(given) if given else None}" for attr, given in set_on)
        methods = info.methods.values() if info is not None else ()
        yield from (_summary(one) for one in (function, *methods) if one is not None and one.outline.dropped)


def abridged(module: ModuleInfo, largest: int) -> Interface:
    """Abridges a module to what other files can see, and tells what that is."""
    lines = module.source.lines
    methods = [method for info in module.classes.values() for method in info.methods.values()]
    bodies = [(function, _body_rows(function, lines)) for function in (*module.functions.values(), *methods)]
    abridge(module, largest)
    for function, rows in bodies:
        if function.outline.dropped:
            lines[rows.start - 1 : rows.stop - 1] = [""] * len(rows)
    return Interface(module, lines)


def _body_rows(function: FunctionInfo, lines: list[str]) -> range:
    """The rows of a function's body; none where it begins on the line of its head."""
    if isinstance(function.node, ast.Lambda):
        return range(1, 1)
    first, last = function.node.body[0], function.node.body[-1]
    apart = not lines[first.lineno - 1][: first.col_offset].strip()
    return range(first.lineno, (last.end_lineno or last.lineno) + 1) if apart else range(1, 1)


def _summary(function: FunctionInfo) -> str:
    """What is remembered of a body that was dropped."""
    touched = function.touches
    attributes = tuple(map(sorted, (touched.assigned, touched.called, touched.others)))
    written = sorted(function.writes), sorted(function.passes_on), sorted(function.lent_to_names)
    return repr((function.name, function.outline, attributes, written, function.hands_on))


def _digest(text: str) -> str:
    return digest(text.encode("utf-8", "surrogatepass"))
