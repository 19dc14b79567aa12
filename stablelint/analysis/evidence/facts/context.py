"""Facts about the context: what the code around a site is there for, and what its author has guarded."""

from __future__ import annotations

from stablelint.analysis.evidence import vocabulary as words
from stablelint.analysis.evidence.fact import lowers, raises
from stablelint.analysis.evidence.places import is_objective, places
from stablelint.analysis.evidence.subject import Subject


@raises
def in_loss(s: Subject) -> bool:
    """stands in a loss"""
    return is_objective(s.function, s.module)


@lowers
def in_test(s: Subject) -> bool:
    """stands in a test"""
    return any(map(words.names_a_test, places(s.module)))


@lowers
def in_script(s: Subject) -> bool:
    """stands in a script"""
    return s.module.is_program or any(map(words.names_a_script, places(s.module)[-2:]))


@lowers
def in_constructor(s: Subject) -> bool:
    """stands where an object is made or initialised"""
    if s.function is None:
        return False
    name = s.function.name
    return name in ("__init__", "__post_init__", "setup", "build") or name.lstrip("_").startswith(
        ("init", "reset")
    )


@lowers
def guards_in_file(s: Subject) -> bool:
    """the file holds a small constant, such as guards are made of"""
    return words.says_a_small_constant(s.module.source.text)
