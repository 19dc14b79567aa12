"""`stablelint rules`: the list of all rules, and your own rule pages."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from stablelint.cli.exit_codes import CLEAN, FAILED
from stablelint.cli.options import print_problems, program_rules
from stablelint.config import Settings, load

NAME = "rules"
HELP = "list the rules; write and test your own"


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's options."""
    parser.add_argument("--output-format", choices=("text", "json"), default="text", help="default: text")
    parser.add_argument("--config", type=Path, metavar="FILE", help="read the settings from here")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", title="actions")
    new = actions.add_parser("new", help="write a page that passes its tests, to be changed")
    new.add_argument("name", metavar="NAME", help="the flaw, in lower case with hyphens: unguarded-trigamma")
    test = actions.add_parser("test", help="run the examples, contracts and fixes of pages")
    test.add_argument(
        "paths", nargs="*", metavar="PATH", help="pages and folders (default: those of the settings)"
    )
    actions.add_parser("reference", help="print every key, condition and contract that a page may have")
    actions.add_parser("schema", help="print the JSON schema of a page's toml block")


def run(options: argparse.Namespace) -> int:
    """Lists the rules, or does what is asked for. Returns the exit code."""
    settings = load(Path(os.getcwd()), options.config)
    match options.action:
        case "new":
            from stablelint.cli.authoring import new_page

            return new_page(options.name, settings)
        case "test":
            from stablelint.cli.authoring import test_pages

            return test_pages(options.paths, settings)
        case "reference":
            from stablelint.catalog.keys import reference

            sys.stdout.write(reference())
            return CLEAN
        case "schema":
            import json

            from stablelint.catalog.keys import schema

            print(json.dumps(schema(), indent=2))
            return CLEAN
        case _:
            return _list(options, settings)


def _list(options: argparse.Namespace, settings: Settings) -> int:
    """Prints the rules, those of the project's own folders included."""
    from stablelint.catalog import load_catalog
    from stablelint.report.rules import as_json, as_table
    from stablelint.report.style import Style, wants_colour, width_of

    catalog = load_catalog(extra_folders=settings.rules)
    rules = {**program_rules(), **catalog.rules}
    ordered = [rules[code] for code in sorted(rules)]
    if options.output_format == "json":
        sys.stdout.write(as_json(ordered))
    else:
        sys.stdout.write(as_table(ordered, Style(wants_colour(sys.stdout)), width_of(sys.stdout)))
    print_problems(catalog.problems)
    return FAILED if catalog.problems else CLEAN
