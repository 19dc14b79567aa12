"""A rewrite that is not made, and why."""

from __future__ import annotations


class Withheld(Exception):  # noqa: N818 - an outcome, not an error
    """The rewrite is withheld; the message completes "no fix: ..."."""
