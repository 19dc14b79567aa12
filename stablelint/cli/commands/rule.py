"""`stablelint rule CODE`: the page of a rule."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from stablelint.cli.exit_codes import CLEAN
from stablelint.cli.options import program_rules
from stablelint.config import ConfigError, load
from stablelint.diagnostic import Problem

NAME = "rule"
HELP = "print the page of a rule: why it matters, what its fix changes, examples"


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's options."""
    parser.add_argument("rule", metavar="RULE", help="code or name, such as SL101 or unguarded-log")
    parser.add_argument("--config", type=Path, metavar="FILE", help="read the settings from here")


def run(options: argparse.Namespace) -> int:
    """Prints the page: laid out on a terminal, as it is written otherwise. Returns the exit code."""
    from stablelint.catalog import load_catalog
    from stablelint.report.rules import render
    from stablelint.report.style import is_terminal, wants_colour, width_of
    from stablelint.workspace.selection import nearest

    settings = load(Path(os.getcwd()), options.config)
    rules = {**program_rules(), **load_catalog(extra_folders=settings.rules).rules}
    by_name = {rule.name: code for code, rule in rules.items()}
    code = by_name.get(options.rule.lower(), options.rule.upper())
    if code not in rules:
        raise ConfigError([Problem(f'there is no rule "{options.rule}"', hint=nearest(options.rule, rules))])
    if is_terminal(sys.stdout) or wants_colour(sys.stdout):
        sys.stdout.write(render(rules[code], width_of(sys.stdout), wants_colour(sys.stdout)))
    else:
        sys.stdout.write(rules[code].text)
    return CLEAN
