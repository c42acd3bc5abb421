"""The guard before the tree builder: it nests as the builder does, and no page takes it long."""

from __future__ import annotations

import random

import pytest
from selectolax.lexbor import LexborHTMLParser, LexborNode

from octavo.errors import BadBook
from octavo.limits import Limits
from octavo.readers.html.dom import parse_page, read_page
from octavo.readers.html.guard import check_markup
from octavo.readers.html.tags import split_names

SHALLOW = Limits(max_html_depth=40)
XML = '<?xml version="1.0"?>'
TAGS = sorted(
    split_names(
        "p div span b a section li ul dl dd dt table tbody tr td th caption object form option select "
        "ruby rt svg g foreignObject desc math mi x button h2 pre marquee details noscript"
    )
)


def depth(text: str) -> int:
    """How deep the tree is that is really built."""
    node: LexborNode | None = LexborHTMLParser(text).root
    here = deepest = 0
    while node is not None:
        deepest = max(deepest, here)
        if node.first_child is not None:
            node, here = node.first_child, here + 1
            continue
        while node is not None and node.next is None:
            node, here = node.parent, here - 1
        node = node.next if node is not None else None
    return deepest


def texts(body: str) -> list[str]:
    return [p.text for p in read_page(parse_page(body, Limits(), name="page.html")).pieces if p.text]


@pytest.mark.parametrize(
    ("start", "again"),
    [
        ("", "<span><div></span>"),
        ("", "<x-note><section></x-note>"),
        ("", "<li><ul></li>"),
        ("", "<li><section>"),
        ("", "<dd><blockquote>"),
        ("", "<option><div>"),
        ("<ruby>", "<rt><div>"),
        ("", "<ruby><span><dd><rt>"),
        ("", "<object><table><tr><td></object>"),
        ("", "<form><div></form>"),
        ("", "<td><ol>"),
        ("", "<desc><noscript></desc>"),
        ("", "<svg><foreignObject><div></svg>"),
        ("", "<math><mi><div></math>"),
        ("<svg>", "<a>"),
        ("<svg>", "<html>"),
        ("<svg><p>", "<div/>"),
        ("<svg/>", "<x/>"),
        ("<svg><foreignObject>", "<x/>"),
        (f"{XML}<![CDATA[>", "<div>"),
        (f"{XML}<ruby>", "<span><p><div/>"),
    ],
)
def test_no_trick_of_nesting_gets_past_the_guard(start: str, again: str) -> None:
    text = start + again * 3_000
    assert depth(start + again * 100) >= 100
    with pytest.raises(BadBook) as refused:
        check_markup(text, Limits(), name="page.html")
    assert refused.value.code == "html_too_deep"


def test_what_the_guard_lets_pass_is_not_much_deeper_than_it_counts() -> None:
    chance = random.Random(1851)
    passed = 0
    for _ in range(2_500):
        kinds = ("<{}>", "<{}>", "</{}>", "<{}/>")
        again = "".join(chance.choice(kinds).format(chance.choice(TAGS)) for _ in range(chance.randint(1, 5)))
        start = "".join(f"<{chance.choice(TAGS)}>" for _ in range(chance.randint(0, 2)))
        try:
            text = check_markup(chance.choice(("", "", XML)) + start + again * 200, SHALLOW, name="page.html")
        except BadBook:
            continue
        passed += 1
        assert depth(text) < 4 * SHALLOW.max_html_depth, (start, again)
    assert passed > 300


@pytest.mark.parametrize(
    "text",
    [
        f"{XML}<html>" + "<![CDATA[>" * 300_000,
        "<?xml version='1.0' >" + "<? >" * 500_000,
        "<!DOCTYPE html [>" * 200_000,
        "<!-- " * 500_000,
        "<title>" * 300,
        "</div>" * 300_000,
        "<svg>" + "<path d='M0 0'/>" * 200_000 + "</svg>",
        "<ruby>" + "漢<rt>kan" * 1_500 + "</ruby>",
    ],
)
def test_long_rows_of_one_mark_are_passed_in_one_look(text: str) -> None:
    assert len(check_markup(text, Limits(), name="page.html")) <= len(text)


@pytest.mark.parametrize(
    "text",
    [
        "<ol>" + "<li><p>one<div>two</div>" * 3_000 + "</ol>",
        "<table>" + "<tr><td><p>a<td><ul><li>b<li>c</ul>" * 3_000 + "</table>",
        "<p>H<sub>2</sub>O <svg viewBox='0 0 1 1'><g><path d=''/><title>x</title></g></svg></p>" * 3_000,
        "<p><math><mi>x</mi><mo>=</mo><mn>1</mn></math></p>" * 3_000,
        "<form><p>Name<input></form>" * 3_000,
        "<div><span><b>x</span></b></div>" * 3_000,
        "<p>a<object><param><p>b</object>" * 3_000,
        f"{XML}<html>" + "<p>a<br/><a id='x'/>b</p><div/>" * 3_000 + "</html>",
    ],
)
def test_long_pages_of_real_markup_are_never_too_deep(text: str) -> None:
    assert depth(check_markup(text, SHALLOW, name="page.html")) < SHALLOW.max_html_depth


def test_empty_elements_inside_a_drawing_do_not_swallow_what_follows() -> None:
    drawing = '<svg><foreignObject><div><a id="x"/>In the drawing</div></foreignObject><path d="M0"/></svg>'
    head = f'{XML}<html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head>'
    assert texts(f"{head}<body>{drawing}<p>After it</p></body></html>") == ["After it"]


def test_a_picture_of_several_megabytes_between_words_costs_no_word() -> None:
    picture = f'<img src="data:image/png;base64,{"A" * 3_000_000}" alt="">'
    body = f"<p>Before {picture} and after.</p><svg><path d='{'M0 0' * 50_000}'/></svg><p>Last.</p>"
    assert texts(body) == ["Before and after.", "Last."]


def test_the_message_names_the_page_and_the_limit() -> None:
    with pytest.raises(BadBook, match=r"ch1\.html: elements are nested more than 40 deep"):
        check_markup("<div>" * 50, SHALLOW, name="ch1.html")
    with pytest.raises(BadBook, match=r"ch1\.html: a tag has 3 attributes"):
        check_markup(f"<p a=1 b=2 c='{'x' * 9}'>", Limits(max_html_attributes=2), name="ch1.html")
