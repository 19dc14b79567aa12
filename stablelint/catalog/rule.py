"""A rule, as its page states it."""

from __future__ import annotations

from collections.abc import Mapping

from stablelint.catalog import page
from stablelint.diagnostic import Applicability, Severity
from stablelint.numerics.formats import DTYPES
from stablelint.records import dataclass, field


@dataclass(frozen=True, slots=True)
class FixTemplate:
    """One rewrite. It is open to a match that binds all its metavariables and satisfies `when`.

    `target` names the metavariable whose expression is replaced (None: the whole match); `dtypes` the
    element types for which its constants are right. `redefines` tells that it changes healthy values too, on
    purpose. `constructor` is for an operation that an object applies (``self.loss(...)``): the class of which the object
    is to be made as well. `reader` is what the whole match becomes where `target` is a step of a model that goes. A safe one
    is so for operands of which those in `floating` hold real floating-point numbers, those in `single` in single
    precision or better. Among those open to a match the first is the best.
    """

    replace: str
    applicability: Applicability
    message: str
    when: tuple[str, ...] = ()
    kind: str = "replace"
    target: str | None = None
    dtypes: tuple[str, ...] = DTYPES
    redefines: bool = False
    constructor: str | None = None
    reader: str | None = None
    floating: tuple[str, ...] = ()
    single: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule page.

    `patterns`, `absent`, `where`, `forward` and `backward` are texts of the languages in
    `stablelint.catalog`: each module's parse function is cached, so parsing again costs nothing.

    `expect` says what goes wrong at a bad operand: "non-finite" (value or gradient), "inaccurate" (most of
    the digits are lost), "wrong" (a finite value, but not that of the function meant) or "structural"
    (nothing that one evaluation could show: an order of statements, an object). `operands` lists operands at
    which that happens, where the contract does not tell; `sample` the operands at which all is well, as the
    page writes them. With a `matcher` it is the matcher that finds the sites; the patterns, if any, are then
    what the contract and the fixes are sampled on.
    """

    code: str
    name: str
    family: str
    summary: str
    path: str
    text: str = field(repr=False)
    severity: Severity = Severity.ERROR
    enabled: bool = True
    patterns: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    forward: str | None = None
    backward: str | None = None
    dtypes: tuple[str, ...] = DTYPES
    message: str = ""
    fixes: tuple[FixTemplate, ...] = ()
    matcher: str | None = None
    expect: str = "non-finite"
    replaces: tuple[str, ...] = ()
    operands: tuple[Mapping[str, object], ...] = ()
    sample: Mapping[str, object] = field(default_factory=dict)
    url: str = ""

    @property
    def has_contract(self) -> bool:
        """Whether it states an obligation, rather than a form that is a flaw by itself."""
        return self.forward is not None or self.backward is not None

    @property
    def metavariables(self) -> frozenset[str]:
        """Every metavariable that one of the patterns binds."""
        from stablelint.catalog.pattern import parse_pattern  # brings `ast`, which a cached run does without

        return frozenset().union(*(parse_pattern(text).metavariables for text in self.patterns))

    @property
    def sections(self) -> dict[str, str]:
        """The prose by title."""
        return page.sections(self.text)

    @property
    def examples(self) -> tuple[page.Example, ...]:
        """The Python examples, in order."""
        return page.examples(self.text)
