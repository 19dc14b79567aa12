"""`stablelint rules`: the list of all rules."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from stablelint.cli.main import CLEAN, FAILED
from stablelint.cli.options import META_RULES, print_problems
from stablelint.config import ConfigError, load

NAME = "rules"
HELP = "list the rules"


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's options."""
    parser.add_argument("--output-format", choices=("text", "json"), default="text", help="default: text")
    parser.add_argument("--config", type=Path, metavar="FILE", help="read the settings from here")


def run(options: argparse.Namespace) -> int:
    """Prints the rules, those of the project's own folders included. Returns the exit code."""
    from stablelint.catalog import load_catalog
    from stablelint.report.rule_list import Listed, as_json, as_table
    from stablelint.report.style import Style, wants_colour, width_of

    try:
        settings = load(Path(os.getcwd()), options.config)
    except ConfigError as error:
        print_problems(error.problems)
        return FAILED
    catalog = load_catalog(extra_folders=settings.rules)
    rules: dict[str, Listed] = {**META_RULES, **catalog.rules}
    ordered = [rules[code] for code in sorted(rules)]
    if options.output_format == "json":
        sys.stdout.write(as_json(ordered))
    else:
        sys.stdout.write(as_table(ordered, Style(wants_colour(sys.stdout)), width_of(sys.stdout)))
    print_problems(catalog.problems)
    return FAILED if catalog.problems else CLEAN
