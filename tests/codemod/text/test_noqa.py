import pytest

from stablelint.codemod.text.noqa import add_noqa
from stablelint.codemod.text.source import SourceError
from stablelint.diagnostic import Diagnostic
from stablelint.workspace.suppress import suppress
from tests.codemod.support import diagnostic, proposal


def findings(source: str, *texts: str, code: str = "SL101") -> list[Diagnostic]:
    return [diagnostic(source, proposal(source, text, "1"), code=code) for text in texts]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("y = log(x)\n", "y = log(x)  # noqa: SL101\n"),
        ("y = log(x)", "y = log(x)  # noqa: SL101"),
        ("y = log(x)   \r\n", "y = log(x)  # noqa: SL101\r\n"),
        ("y = log(x)  # noqa: E501\n", "y = log(x)  # noqa: E501, SL101\n"),
        ("y = log(x)  # noqa: E501 # long\n", "y = log(x)  # noqa: E501, SL101 # long\n"),
        ("y = log(x)  # noqa: SL101\n", "y = log(x)  # noqa: SL101\n"),
        ("y = log(x)  # noqa\n", "y = log(x)  # noqa\n"),
        ("y = log(x)  # type: ignore\n", "y = log(x)  # type: ignore  # noqa: SL101\n"),
        ("y = log(x) + \\\n    1\n", "y = log(x) + \\\n    1  # noqa: SL101\n"),
        ("f(log(x), '''\na\n''')\n", "f(log(x), '''\na\n''')  # noqa: SL101\n"),
        ("f(\n    log(x),\n)\n", "f(\n    log(x),  # noqa: SL101\n)\n"),
        ("y = '#' + log(x)\n", "y = '#' + log(x)  # noqa: SL101\n"),
    ],
)
def test_the_comment_goes_where_it_counts(before: str, after: str) -> None:
    found = findings(before, "log(x)")
    result = add_noqa(before.encode(), found)
    assert result.decode() == after
    assert not suppress(result, "model.py", found).kept
    assert add_noqa(result, found) == result


def test_codes_of_one_line_are_merged() -> None:
    source = "y = log(x) / z\n"
    found = [*findings(source, "log(x) / z", code="SL102"), *findings(source, "log(x)")]
    assert add_noqa(source.encode(), found) == b"y = log(x) / z  # noqa: SL101, SL102\n"


def test_the_rest_of_the_file_is_as_it_was() -> None:
    source = b"# coding: latin-1\r\ns = '\xe9'\r\ny = log(x)\r\n\tz\r\n"
    found = findings(source.decode("latin-1"), "log(x)")
    assert add_noqa(source, found) == source.replace(b"log(x)", b"log(x)  # noqa: SL101")


def test_a_file_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(SourceError):
        add_noqa(b"y = (\n", findings("y = (\n", "y"))
