"""The page of a verification."""

import re
from html.parser import HTMLParser

import pytest

from stablelint.diagnostic import Position, Span
from stablelint.report.verify.html import render
from stablelint.runtime.verify.outcome import Curve, Report, Rerun, Run, SiteReport
from stablelint.runtime.verify.probe.series import Series
from stablelint.runtime.verify.site import Site, Verdict

_POINTS = (0.0, 1e-6, 1e-3, 1.0, 1e3)
_CURVE = Curve(
    "x",
    "float32",
    _POINTS,
    (None, 24.0, 24.0, 24.0, 24.0),
    (24.0, 24.0, 24.0, 24.0, 24.0),
    (True, False, False, False, False),
    (0.1, 1.0, 10.0),
    (3, 4),
)


def _report(count: int) -> Report:
    span = Span(Position(3, 5), Position(3, 17))
    site = Site(
        "SL101", "a<b>.py", span, "log(x)", "torch.log(x) < 1", "torch.log1p(x)", {"x": "x"}, name="n"
    )
    sites = tuple(
        SiteReport(site, list(Verdict)[i % 7], 5, curve=_CURVE if i < 2 else None) for i in range(count)
    )
    series = Series(losses=[1.0, float("nan"), 0.5], first_bad_loss=1)
    run = Run(0, 1.0, None, series)
    return Report(sites, Rerun(run, run, 1, "3 steps", True), ("python", "<script>"))


class _Checker(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "br", "link"):
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("src", "href", "xlink:href") and value and not value.startswith("#"):
                self.links.append(value)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("count", [0, 1, 30])
def test_the_page_is_whole_and_stands_alone(count: int) -> None:
    page = render(_report(count))
    checker = _Checker()
    checker.feed(page)
    assert not checker.open
    assert not checker.links, "nothing is loaded from elsewhere"
    assert len(checker.ids) == len(set(checker.ids)), "drawings share no ids"
    assert page.count('<details class="site"') == count


def test_text_is_escaped_and_colours_follow_the_scheme() -> None:
    page = render(_report(1))
    assert "&lt;script&gt;" in page
    assert "a&lt;b&gt;.py:3:5" in page
    assert "torch.log(x) &lt; 1" in page
    drawing = page[page.index("<svg") : page.index("</svg>")]
    assert "var(--after)" in drawing
    assert not re.search(r"#[0-9a-f]{3}", drawing)


def test_the_accuracy_is_drawn_where_it_is_known_and_a_failing_point_can_be_seen() -> None:
    page = render(_report(1))
    drawing = page[page.index("Correct bits") :]
    lines = re.findall(r'<polyline[^>]*points="([^"]*)"', drawing)
    assert [len(line.split()) for line in lines] == [4, 5], "the original has no bits at 0"
    [width] = re.findall(r'<rect style="fill: var\(--bad-soft\)"[^>]* width="([\d.]+)"', drawing)
    assert float(width) >= 3
