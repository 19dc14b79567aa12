"""Rule pages: found, parsed, validated; and the small languages they are written in."""

from __future__ import annotations

from stablelint.catalog.catalog import Catalog
from stablelint.catalog.discover import load_catalog
from stablelint.catalog.errors import RuleError
from stablelint.catalog.rule import FixTemplate, Rule

__all__ = ["Catalog", "FixTemplate", "Rule", "RuleError", "load_catalog"]
