"""One HTML document: what is kept, what goes, and what is refused before it is parsed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.errors import BadBook
from octavo.limits import Limits
from octavo.readers.html.dom import decode_page, find_charset, parse_page, read_page
from octavo.readers.html.guard import check_markup
from octavo.readers.pages import Heading, HtmlPage, PageBreak, Text
from octavo.text.clean import clean

LIMITS = Limits()


def page(body: str, *, site: bool = False, page_ids: dict[str, str] | None = None) -> HtmlPage:
    return read_page(parse_page(body, LIMITS, name="page.html"), site=site, page_ids=page_ids)


def texts(body: str, *, site: bool = False) -> list[str]:
    return [p.text for p in page(body, site=site).pieces if p.text]


def catch_refusal(text: str) -> str:
    with pytest.raises(BadBook) as refused:
        check_markup(text, LIMITS, name="page.html")
    return refused.value.code


# The guard


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("<div>" * 200_000, "html_too_deep"),
        ("".join(f"<p><b id={n}>" for n in range(5_000)), "html_too_deep"),
        ("<table><tr><td></div>" * 3_000, "html_too_deep"),
        ("<svg>" + "<tr>" * 5_000, "html_too_deep"),
        ("<title>" * 100_000, "html_too_deep"),
        ("<p " + " ".join(f"a{n}=1" for n in range(200_000)) + ">x</p>", "html_limit"),
        ("<p " + " ".join(f"a{n}" for n in range(1_001)) + ">x</p>", "html_limit"),
        (f'<p title="{"x" * 70_000}">x</p>', "html_limit"),
        ("<a" * 5_000_000, "html_limit"),
        ("<a " * 1_000_000, "html_limit"),
        ('<a b="' * 500_000, "html_limit"),
    ],
)
def test_a_page_that_no_person_reads_is_refused_before_it_is_parsed(text: str, code: str) -> None:
    assert catch_refusal(text) == code


@pytest.mark.parametrize(
    "text",
    [
        "<p>one<p>two" * 5_000,
        "<ul>" + "<li>item" * 5_000 + "</ul>",
        "<table>" + "<tr><td>a<td>b" * 5_000 + "</table>",
        "<dl>" + "<dt>a<dd>b" * 5_000 + "</dl>",
        "<select>" + "<option>a" * 5_000 + "</select>",
        "a<br>b<img src=x><hr>" * 5_000,
        "<p>a <b>bold</b> <i>word</i></p>" * 5_000,
        "<script>" + "'<div>'" * 5_000 + "</script>",
        "<!--" + "<div>" * 5_000 + "-->",
        "<div>" * 1_900 + "</div>" * 1_900,
    ],
)
def test_real_pages_may_leave_out_end_tags_as_often_as_they_like(text: str) -> None:
    assert check_markup(text, LIMITS, name="page.html") == text


def test_a_picture_written_into_a_page_is_cut_out_rather_than_refused() -> None:
    body = (
        f'<p>Before</p><img alt="A chart of the coast of Norway" src="data:image/png;base64,{"A" * 200_000}">'
    )
    assert texts(body) == ["Before", "A chart of the coast of Norway"]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from(["<div>", "</div>", "<p>", "<li>", "<b", ">", "'", '"', "=", "<!--", "-->", "x "])
    )
)
def test_the_guard_never_changes_plain_html(parts: list[str]) -> None:
    text = "".join(parts)
    assert check_markup(text, LIMITS, name="page.html") == text


# XHTML through an HTML parser


def xhtml(body: str, *, head: str = "<title/>", doctype: str = "<!DOCTYPE html>") -> str:
    root = '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:h="http://www.w3.org/1999/xhtml">'
    return f'<?xml version="1.0"?>{doctype}{root}<head>{head}</head><body>{body}</body></html>'


def test_empty_elements_of_xhtml_do_not_swallow_what_follows() -> None:
    assert texts(xhtml('<p><a id="x"/>One</p><div/><p>Two</p><script src="x"/><p>Three</p>')) == [
        "One",
        "Two",
        "Three",
    ]


def test_cdata_and_prefixes_of_xhtml_are_read() -> None:
    assert texts(xhtml("<h:p>a <![CDATA[<b> & c]]></h:p>")) == ["a <b> & c"]


def test_entities_that_a_page_declares_are_never_expanded() -> None:
    declared = '<!DOCTYPE html [<!ENTITY x SYSTEM "file:///etc/passwd"><!ENTITY y "yyyy">]>'
    assert texts(xhtml("<p>LEAK &x; &y; END</p>", doctype=declared)) == ["LEAK &x; &y; END"]


# What goes


def test_the_boilerplate_of_a_site_goes_and_its_article_stays() -> None:
    body = """<header><a href="/">Site</a></header><nav><a href="a">Menu</a></nav>
      <div role="search">Find</div><main><header><h1>Title<a class="headerlink" href="#t">¶</a></h1></header>
      <p>Text.</p><aside>A note of the author.</aside><details><summary>More</summary>Hidden lore</details>
      <figure><img alt="x"><figcaption>Figure 1: a map</figcaption></figure><button>Copy</button>
      <form><input value="i"><select><option>o</option></select></form><p hidden>secret</p>
      <span aria-hidden="true">#</span><script>s()</script><style>p{}</style><template>t</template>
      <noscript>n</noscript><svg><text>drawn</text></svg><iframe>f</iframe></main><footer>(c) Site</footer>"""
    assert texts(body, site=True) == [
        "Title",
        "Text.",
        "A note of the author.",
        "More",
        "Hidden lore",
        "Figure 1: a map",
    ]


def test_bars_that_turn_the_page_go_but_the_word_next_stays() -> None:
    body = """<table><tr><td><a href="a">Prev</a></td><td>Book</td><td><a href="b">Next</a></td></tr></table>
      <p>Press <a href="c">Next</a> to go on.</p>
      <div class="toc"><ul><li><a href="d">1. One</a></li></ul></div>
      <div class="toc"><p>A history of contents pages, with one <a href="e">link</a>.</p></div>
      <p>Next: <a href="n" rel="next">Two</a>, Up: <a href="u" rel="up">Top</a></p>"""
    assert texts(body) == ["Press Next to go on.", "A history of contents pages, with one link."]


def test_headers_of_an_epub_document_are_part_of_it() -> None:
    assert texts("<header><h1>One</h1></header><p>Text</p><footer>Notes of the editor</footer>") == [
        "One",
        "Text",
        "Notes of the editor",
    ]


# What stays, and how


def test_paragraphs_collapse_white_space_and_keep_line_breaks() -> None:
    assert texts("<div>\n one\n\t two&nbsp;three<br/>four <br><br>five</div>six") == [
        "one two three\nfour",
        "five",
        "six",
    ]


def test_lists_are_marked_numbered_and_indented() -> None:
    body = '<ul><li>a<ul><li>b<p>c</p></li></ul></li><li>d</li></ul><ol start="3"><li>e</li><li>f</li></ol>'
    pieces = page(body).pieces
    assert [p.text for p in pieces] == ["- a", "  - b", "    c", "- d", "3. e", "4. f"]
    assert [isinstance(p, Text) and p.tight for p in pieces] == [False, True, False, True, False, True]


def test_definitions_stand_on_the_line_after_their_term() -> None:
    term, meaning = page("<dl><dt>Octavo</dt><dd>A sheet folded thrice.</dd></dl>").pieces
    assert (term.text, meaning.text) == ("Octavo", "A sheet folded thrice.")
    assert isinstance(meaning, Text)
    assert meaning.tight


def test_code_keeps_its_white_space_and_is_a_block() -> None:
    (code,) = page("<pre><span class=linenos>1</span>def f():\n    return  1  <br>\n</pre>").pieces
    assert code == Text(text="def f():\n    return  1", block=True)


def test_a_table_of_data_is_one_line_a_row_and_a_table_for_layout_is_prose() -> None:
    data = (
        "<table><caption>Sizes</caption><tr><th>Name<th>Leaves<tr><td>Folio<td>2<tr><td>Octavo<td>8</table>"
    )
    assert page(data).pieces == (Text(text="Sizes\nName | Leaves\nFolio | 2\nOctavo | 8", block=True),)
    layout = "<table><tr><td><h2>One</h2><p>Text</p></td><td>Margin</td></tr></table>"
    assert texts(layout) == ["One", "Text", "Margin"]


def test_small_marks_are_spelled_out() -> None:
    body = """<p>10<sup>9</sup> of H<sub>2</sub>O, the 1<sup>st</sup> note<sup><a href="#n">1</a></sup>,
      <ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby> and <math alttext="a+b"><mi>a</mi></math>
      see<a class="footnote-reference" href="#f">2</a></p>"""
    assert texts(body) == ["10^9 of H2O, the 1st note[1], 漢(kan) and a+b see[2]"]


def test_a_picture_speaks_when_its_words_are_prose_or_a_heading() -> None:
    body = '<h2><img alt="Chapter I"></h2><p><img alt="logo.png"><img alt="logo"> x</p>'
    assert texts(body) == ["Chapter I", "x"]


def test_lines_of_verse_stay_together_and_stanzas_apart() -> None:
    first = '<div class="stanza"><div>April is</div><div>the cruellest</div></div>'
    body = f'{first}<div class="stanza"><p>What</p></div>'
    assert [(p.text, isinstance(p, Text) and p.tight) for p in page(body).pieces] == [
        ("April is", False),
        ("the cruellest", True),
        ("What", False),
    ]


# Headings, ids, pages


@pytest.mark.parametrize(
    ("body", "anchor"),
    [
        ('<h2 id="own"><a id="in"></a>T</h2>', "own"),
        ('<h2><a name="in"></a>T</h2>', "in"),
        ('<section id="wrap"><div><h2>T</h2></div></section>', "wrap"),
        ('<a name="before"></a><h2>T</h2>', "before"),
        ('<p id="other">x</p><h2>T</h2>', ""),
        ('<div role="heading" aria-level="2" id="role">T</div>', "role"),
    ],
)
def test_a_heading_takes_the_id_that_leads_to_it(body: str, anchor: str) -> None:
    heading = next(p for p in page(body).pieces if isinstance(p, Heading))
    assert (heading.level, heading.text, heading.anchor) == (2, "T", anchor)


def test_headings_in_notes_and_names_of_authors_begin_no_section() -> None:
    body = '<h1>T</h1><h3 class="author">A. Writer</h3><div class="note"><h3>Note</h3><p>n</p></div>'
    assert [h.text for h in page(body).headings] == ["T"]
    assert texts(body) == ["T", "A. Writer", "Note", "n"]


def test_page_breaks_are_marked_where_they_stand() -> None:
    body = """<p>on nine <span epub:type="pagebreak" title="10"></span>on ten</p>
      <div role="doc-pagebreak" aria-label="11">11</div><h2>Two</h2>
      <p>x <span class="pagenum">[Pg 12]</span>y</p><p id="p13">z</p><hr epub:type="pagebreak" title="14">"""
    pieces = page(body, page_ids={"p13": "xiii"}).pieces
    assert [(p.text, p.breaks) for p in pieces] == [
        ("on nine on ten", (PageBreak(8, "10"),)),
        ("Two", (PageBreak(0, "11"),)),
        ("x y", (PageBreak(2, "12"),)),
        ("z", (PageBreak(0, "xiii"),)),
        ("", (PageBreak(0, "14"),)),
    ]


def test_the_head_gives_title_language_and_authors() -> None:
    made = page('<html lang="de"><head><title> A \n B </title><meta name=author content="N. N."></head><p>x')
    assert (made.title, made.language, made.authors) == ("A B", "de", ("N. N.",))


def test_a_page_that_is_one_drawing_gives_its_text_in_a_book_but_not_on_a_site() -> None:
    drawing = "<svg><text><tspan y=1>Il en avait</tspan><tspan y=2>rêvé.</tspan></text></svg>"
    assert texts(drawing) == ["Il en avait rêvé."]
    assert texts(drawing, site=True) == []


# Bytes


@pytest.mark.parametrize(
    ("data", "declared"),
    [
        (b'<?xml version="1.0" encoding="ISO-8859-1"?><p>', "ISO-8859-1"),
        (b'<meta charset="windows-1252">', "windows-1252"),
        (b'<meta http-equiv="Content-Type" content="text/html; charset=shift_jis">', "shift_jis"),
        (b"<p>", None),
    ],
)
def test_the_declared_encoding_is_found(data: bytes, declared: str | None) -> None:
    assert find_charset(data) == declared


def test_too_much_damage_is_refused_with_the_name_of_the_file() -> None:
    with pytest.raises(BadBook, match=r"ch1\.html") as refused:
        decode_page(b"\xff\xfe" + b"\x00\xd8" * 100, name="ch1.html", notes=[])
    assert refused.value.code == "encoding"


@settings(max_examples=150, deadline=None)
@given(
    st.text(st.characters(codec="utf-8"), max_size=80), st.sampled_from(["p", "li", "td", "h2", "pre", "b"])
)
def test_every_text_comes_out_canonical(text: str, tag: str) -> None:
    for piece in page(f"<ul><{tag}>{text}</{tag}> {text}<br>{text}").pieces:
        assert piece.text == clean(piece.text)
        assert piece.text == "\n".join(line.rstrip() for line in piece.text.split("\n"))
        assert all(0 <= b.offset <= len(piece.text) for b in piece.breaks)
