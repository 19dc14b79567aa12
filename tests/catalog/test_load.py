import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from stablelint.catalog import Catalog, load_catalog
from stablelint.diagnostic import Problem

PAGE = """# house-log

Logarithm as our house writes it.

```toml
code = "ACME001"
severity = "warning"
pattern = "acme.log($x)"
[requires]
forward = "x > 0"
[[fix]]
replace = "torch.log($x)"
applicability = "safe"
```

## Why is this bad?
Because.

## Fix safety
Safe.

## Examples
```python
acme.log(x)  # error: x > 0
```

```python fixed
torch.log(x)
```
"""


def _load(folder: Path, **pages: str) -> Catalog:
    for name, text in pages.items():
        (folder / f"{name}.md").write_text(text)
    return load_catalog([folder], entry_points=False)


def _only(problems: tuple[Problem, ...]) -> Problem:
    assert len(problems) == 1, problems
    return problems[0]


def test_the_built_in_pages_are_sound() -> None:
    catalog = load_catalog(entry_points=False)
    read_closely = Catalog(tuple(replace(source, builtin=False) for source in catalog.sources), "")
    assert catalog.problems == read_closely.problems == ()
    assert catalog.rules == read_closely.rules
    assert len(catalog.rules) >= 35
    for rule in catalog.rules.values():
        assert Path(rule.path).stem == rule.name
        assert rule.examples[0].markers, f"{rule.code} begins with no bad example"
        assert any(not example.markers for example in rule.examples), f"{rule.code} has no good example"
        assert rule.message
        assert set(rule.replaces) <= set(catalog.rules)
        for example in rule.examples:
            compile(example.code, rule.path, "exec")
            compile(example.fixed or "", rule.path, "exec")


def test_the_index_says_what_the_parsed_pages_say(tmp_path: Path) -> None:
    (tmp_path / "house.md").write_text(PAGE.replace('severity = "warning"', "enabled = false"))
    catalog = load_catalog([tmp_path], entry_points=False)
    parsed = {code: (rule.name, rule.enabled) for code, rule in catalog.rules.items()}
    assert {code: (entry.name, entry.enabled) for code, entry in catalog.index.items()} == parsed
    assert catalog.foreign_problems == catalog.problems == ()


def test_the_index_of_the_built_in_pages_parses_none_of_them() -> None:
    program = (
        "import sys; from stablelint.catalog import load_catalog; c = load_catalog(entry_points=False);"
        "print(len(c.index) > 30, c.foreign_problems, 'tomllib' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert run.stdout.strip() == "True () False"


def test_a_projects_page_joins_the_others(tmp_path: Path) -> None:
    catalog = _load(tmp_path, house=PAGE)
    rule = catalog.rules["ACME001"]
    assert catalog.problems == ()
    assert (rule.name, rule.family, rule.severity) == ("house-log", tmp_path.name, "warning")
    assert rule.forward == "x > 0"
    assert rule.fixes[0].replace == "torch.log($x)"
    assert rule.examples[0].markers[0].line == 1
    assert rule.examples[0].fixed == "torch.log(x)\n"
    assert "SL101" in catalog.rules


def test_a_bad_page_does_not_keep_the_others_out(tmp_path: Path) -> None:
    catalog = _load(tmp_path, house=PAGE, broken="no page at all")
    assert "ACME001" in catalog.rules
    problem = _only(catalog.problems)
    assert problem.filename == str(tmp_path / "broken.md")


@pytest.mark.parametrize(
    ("old", "new", "says", "row"),
    [
        ("# house-log", "house-log", "begins with", 1),
        ("# house-log", "# House Log", "lower case", 1),
        ("```toml", "```json", "```toml block", 5),
        ('severity = "warning"', "severity = ", "not TOML", 7),
        ('severity = "warning"', 'severty = "warning"', "unknown key `severty`", 7),
        ('"warning"', '"fatal"', "one of error, warning", 7),
        ('code = "ACME001"', 'code = "1"', "a code is", 6),
        ('code = "ACME001"', "code = 3", "`code` is a string", 6),
        ("acme.log($x)", "acme.log($x", "not Python", 8),
        ('pattern = "acme.log($x)"', "", "`pattern` or a `matcher`", 6),
        ('"x > 0"', '"y > 0"', "undefined metavariable `$y`", 9),
        ('"x > 0"', '"x > zero"', "undefined name `zero`", 10),
        ("torch.log($x)", "torch.log($z)", "undefined metavariable `$z`", 12),
        ('"safe"', '"sometimes"', "one of safe, unsafe, display", 13),
        ('applicability = "safe"', "", "`applicability` is missing", 11),
        ('severity = "warning"', 'where = "litral(x)"', "unknown condition `litral`", 7),
        ('severity = "warning"', 'where = "literal(e)"', "undefined metavariable `$e`", 7),
        ('severity = "warning"', 'dtypes = ["float8"]', "unknown dtype `float8`", 7),
        ('severity = "warning"', 'matcher = "os:system"', "a matcher is", 7),
        ("## Fix safety", "### Fix safety", "`## Fix safety` is missing", 29),
    ],
)
def test_what_is_wrong_with_a_page_is_named_with_its_line(
    tmp_path: Path, old: str, new: str, says: str, row: int
) -> None:
    assert old in PAGE
    problem = _only(_load(tmp_path, house=PAGE.replace(old, new, 1)).problems)
    assert says in problem.message
    assert problem.position is not None
    assert problem.position.row == row


def test_a_duplicate_code_names_the_page_that_has_it(tmp_path: Path) -> None:
    catalog = _load(tmp_path, a=PAGE, b=PAGE.replace("house-log", "other-log"))
    problem = _only(catalog.problems)
    assert problem.filename == str(tmp_path / "b.md")
    assert str(tmp_path / "a.md") in problem.message
    assert problem.position is not None
    assert PAGE.split("\n")[problem.position.row - 1].startswith("code = ")


def test_a_page_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.md").write_bytes(PAGE.encode() + b"\xff")
    assert "not UTF-8" in _only(load_catalog([tmp_path], entry_points=False).problems).message


def test_a_missing_folder_is_a_problem(tmp_path: Path) -> None:
    problem = _only(load_catalog([tmp_path / "nowhere"], entry_points=False).problems)
    assert problem.filename == str(tmp_path / "nowhere")


def test_windows_line_ends_are_read(tmp_path: Path) -> None:
    (tmp_path / "house.md").write_bytes(PAGE.replace("\n", "\r\n").encode())
    assert load_catalog([tmp_path], entry_points=False).problems == ()


def test_the_digest_follows_every_byte(tmp_path: Path) -> None:
    before = _load(tmp_path, house=PAGE).digest
    assert _load(tmp_path, house=PAGE).digest == before
    assert _load(tmp_path, house=PAGE + "\n").digest != before


def test_a_package_offers_pages_without_being_imported(tmp_path: Path) -> None:
    folder = tmp_path / "acme_rules" / "pages"
    folder.mkdir(parents=True)
    (tmp_path / "acme_rules" / "__init__.py").write_text("raise SystemExit('imported')\n")
    (folder / "house.md").write_text(PAGE)
    info = tmp_path / "acme_rules-1.0.dist-info"
    info.mkdir()
    entry = "[console_scripts]\nx = y:z\n\n[stablelint.rules]\nacme = acme_rules:pages\ngone = missing_pkg\n"
    (info / "entry_points.txt").write_text(entry)
    program = (
        "from stablelint.catalog import load_catalog; import sys; c = load_catalog();"
        "print('ACME001' in c.rules, [p.message for p in c.problems], 'acme_rules' in sys.modules)"
    )
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {program}"]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    says = "entry point `gone` names `missing_pkg`, which is not installed"
    assert run.stdout.strip() == f"True {[says]} False"


def test_loading_imports_nothing_heavy() -> None:
    program = (
        "import sys; from stablelint.catalog import load_catalog; load_catalog().rules;"
        "print(sorted({'torch', 'rich', 'importlib.metadata', 'difflib'} & set(sys.modules)))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert run.stdout.strip() == "[]"
