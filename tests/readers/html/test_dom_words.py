"""No word that a reader sees is lost, whatever it stands in; no word of the site's boilerplate is kept."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.limits import Limits
from octavo.readers.html.dom import parse_page, read_page
from octavo.readers.pages import Heading, HtmlPage, PageBreak, Text
from octavo.types import ElementKind


def page(body: str, *, site: bool = False, page_ids: dict[str, str] | None = None) -> HtmlPage:
    return read_page(parse_page(body, Limits(), name="page.html"), site=site, page_ids=page_ids)


def texts(body: str, *, site: bool = False) -> list[str]:
    return [p.text for p in page(body, site=site).pieces if p.text]


# Any nesting

SHOWN = ["p", "div", "section", "blockquote", "ul", "li", "h2", "table", "tr", "td", "pre", "em", "code"]
SHOWN += ["dl", "dt", "dd", "details", "figure", "figcaption", "article", "aside", "sup", "ruby"]
NEVER = ["script", "style", "nav", "template", "noscript", "button", "select", "svg"]


@st.composite
def nest_words(draw: st.DrawFn) -> tuple[str, int]:
    """Well-formed nesting with numbered words to keep, and words between boilerplate tags to leave out."""
    count = 0

    def element(depth: int) -> str:
        nonlocal count
        parts = []
        for _ in range(draw(st.integers(1, 3))):
            choice = draw(st.integers(0, 5))
            if choice == 0:
                never = draw(st.sampled_from(NEVER))
                parts.append(f"<{never}>gone{count}</{never}>")
            elif choice < 3 or depth > 4:
                parts.append(f" kept{count}x ")
                count += 1
            else:
                tag = draw(st.sampled_from(SHOWN))
                parts.append(f"<{tag}>{element(depth + 1)}</{tag}>")
        return "".join(parts)

    return element(0), count


@settings(max_examples=300, deadline=None)
@given(nest_words(), st.booleans())
def test_any_nesting_keeps_every_word_once_and_leaves_the_boilerplate_out(
    made: tuple[str, int], site: bool
) -> None:
    body, count = made
    said = "\n".join(texts(f"<main><h1>T</h1>{body}</main>" if site else f"<body>{body}", site=site))
    for number in range(count):
        assert said.count(f"kept{number}x") == 1, (number, said)
    assert "gone" not in said


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(["kept ", "<i>", "</i>", "<p>", "</p>", "<br>", "<hr>", "&nbsp;", "é"])))
def test_a_word_is_never_glued_to_its_neighbour(parts: list[str]) -> None:
    said = " ".join(texts("".join(parts))).replace("é", " ").split()
    assert said == ["kept"] * parts.count("kept ")


def test_page_breaks_anywhere_in_a_soup_of_tags_stay_inside_their_text() -> None:
    chance = random.Random(1812)
    tags = ("p", "h2", "ul", "li", "table", "tr", "td", "th", "pre", "b", "sup", "dl", "dd", "math", "msup")
    marks = ["word ", "\ufdd1", " ", "\n", "<br>", "<td rowspan=3>", "<i id=p1>", "<i role=doc-pagebreak>"]
    marks += ["<hr epub:type=pagebreak title=1>", "<pre class=pagenum>12</pre>"]
    marks += ["<span class=pagenum>[Pg 3]</span>"]
    for _ in range(1_500):
        parts = chance.choices([*(f"<{t}>" for t in tags), *(f"</{t}>" for t in tags), *marks * 2], k=25)
        for piece in page("".join(parts), page_ids={"p1": "i"}).pieces:
            offsets = [b.offset for b in piece.breaks]
            assert offsets == sorted(offsets), parts
            assert all(0 <= offset <= len(piece.text) for offset in offsets), parts
            assert "\ufdd1" not in piece.text, parts
            assert all(line == line.rstrip() for line in piece.text.split("\n")), parts


# Headings


@pytest.mark.parametrize(
    ("body", "heading"),
    [
        ("<h2>Using <pre>grep -r</pre> well</h2>", "Using grep -r well"),
        ("<h2>Sizes <table><tr><th>a</th><td>b</td></tr></table> here</h2>", "Sizes a | b here"),
        ("<h2>One<br>Two</h2>", "One Two"),
        ("<h2><ul><li>First</li><li>Second</li></ul></h2>", "First Second"),
        ("<h2>The <ruby>漢<rt>kan</rt></ruby> sign</h2>", "The 漢(kan) sign"),
        ("<h2>E = mc<sup>2</sup><script>x()</script></h2>", "E = mc^2"),
    ],
)
def test_a_heading_keeps_all_that_stands_in_it(body: str, heading: str) -> None:
    (found,) = page(body).headings
    assert found.text == heading
    assert [p for p in page(body).pieces if isinstance(p, Text) and p.text] == []


def test_a_page_break_in_a_heading_with_code_is_counted_once() -> None:
    made = page('<h2>A <pre><span role="doc-pagebreak" aria-label="7"></span>b</pre></h2><p>c</p>').pieces
    assert [(p.text, p.breaks) for p in made] == [("A b", (PageBreak(0, "7"),)), ("c", ())]


# What is hidden, and what only seems so


@pytest.mark.parametrize(
    "body",
    [
        '<div role="tabpanel" hidden>Kept words</div>',
        '<aside epub:type="footnote" hidden="hidden">Kept words</aside>',
        '<aside role="doc-endnote" style="display: none">Kept words</aside>',
        '<body style="visibility:hidden"><p>Kept words</p></body>',
        '<section id="breadcrumbs"><p>Kept words</p></section>',
        '<p id="permalink">Kept words</p>',
        '<div class="section" id="skip-link"><p>Kept words</p></div>',
        '<div id="toc"><p>Kept words</p></div>',
        "<details><p>Kept words</p></details>",
        '<p style="text-align: hidden-ish; display: block">Kept words</p>',
        '<p aria-hidden="false">Kept words</p>',
    ],
)
def test_a_name_or_a_fold_hides_no_words(body: str) -> None:
    assert texts(body, site=True) == ["Kept words"]


@pytest.mark.parametrize(
    "body",
    [
        "<p hidden>gone</p>",
        '<p style="color:red; display : none">gone</p>',
        '<p style="VISIBILITY:HIDDEN">gone</p>',
        '<span aria-hidden="true">gone</span>',
        '<a class="headerlink" href="#x">gone</a>',
        '<div id="breadcrumbs"><a href="/">gone</a></div>',
        '<p role="search">gone</p>',
        '<div class="copybtn sr-only">gone</div>',
    ],
)
def test_what_is_never_shown_is_left_out(body: str) -> None:
    assert texts(f"<main><p>Kept</p>{body}</main>", site=True) == ["Kept"]


# Tables


def test_cells_are_read_like_any_other_text() -> None:
    body = """<table><tr><th>Quantity<a class="headerlink" href="#q">¶</a></th><th>Value</th></tr>
      <tr><td>10<sup>-3</sup> m</td><td>1.5<sup><a href="#n1">1</a></sup></td></tr>
      <tr><td><ruby>漢<rt>kan</rt></ruby></td><td>5<button>Copy</button><script>s()</script></td></tr>
      <tr><td>one<br>two</td><td><p>three</p><p>four</p></td></tr>
      <tr><td><math alttext="x^2"><mi>x</mi></math></td><td hidden>gone</td></tr></table>"""
    assert texts(body) == [
        "Quantity | Value\n10^-3 m | 1.5[1]\n漢(kan) | 5\none two | three four\nx^2 |".removesuffix(" |")
        + " |"
    ]


def test_a_cell_that_spans_rows_is_said_in_each_of_them() -> None:
    body = """<table><caption>Ports</caption><tr><th rowspan="2">Name</th><th colspan="2">Use</th></tr>
      <tr><th>in</th><th>out</th></tr><tr><td rowspan="3">ssh</td><td>22</td><td>any</td></tr>
      <tr><td>2222</td><td rowspan="2">none</td></tr><tr><td>22022</td></tr></table>"""
    assert texts(body) == [
        "Ports\nName | Use\nName | in | out\nssh | 22 | any\nssh | 2222 | none\nssh | 22022 | none"
    ]


@pytest.mark.parametrize("span", ["0", "-1", "x", "99999999999", "65535", "²", ""])
def test_an_absurd_span_costs_nothing(span: str) -> None:
    row = f'<tr><th rowspan="{span}" colspan="{span}">a</th><td>b</td></tr>'
    (table,) = texts(f"<table>{row}<tr><td>c</td><td>d</td></tr></table>")
    assert table.splitlines()[0] == "a | b"
    assert len(table.splitlines()) == 2
    assert {"c", "d"} <= set(table.splitlines()[1].split(" | "))


def test_pages_that_break_inside_a_table_or_code_are_marked_where_they_break() -> None:
    mark = '<span epub:type="pagebreak" title="{}"></span>'
    table = f"<table><tr><th>a</th><th>b</th></tr><tr><td>c{mark.format(8)}</td><td id=p9>d</td></tr></table>"
    code = f"<pre>one {mark.format(10)}\ntwo<a id=p11></a> three</pre>"
    body = f"<p>x</p>{table}{code}<p>y</p>"
    pieces = page(body, page_ids={"p9": "9", "p11": "11"}).pieces
    assert [(p.text, p.breaks) for p in pieces] == [
        ("x", ()),
        ("a | b\nc | d", (PageBreak(7, "8"), PageBreak(10, "9"))),
        ("one\ntwo three", (PageBreak(3, "10"), PageBreak(7, "11"))),
        ("y", ()),
    ]


def test_pages_that_break_in_empty_rows_and_empty_code_are_not_lost() -> None:
    mark = '<span role="doc-pagebreak" aria-label="{}"></span>'
    rows = f"<tr><td>{mark.format(1)}</td><td></td></tr><tr><th>a</th><th>b</th></tr>"
    rows += f"<tr><td>{mark.format(2)}</td></tr><tr><td>c</td></tr><tr><td>{mark.format(3)}</td></tr>"
    body = f"<table>{rows}</table><pre>{mark.format(4)}</pre><p>end</p>"
    pieces = page(body).pieces
    assert [p.text for p in pieces] == ["a | b\nc", "end"]
    assert [b.label for p in pieces for b in p.breaks] == ["1", "2", "3", "4"]
    assert all(b.offset <= len(p.text) for p in pieces for b in p.breaks)


def test_page_breaks_at_the_edges_of_a_table_and_of_code_leave_no_blanks() -> None:
    mark = '<i role="doc-pagebreak" title="{}"></i>'
    row = f"<tr><td>{mark.format(1)}</td><th>a</th><td> {mark.format(2)}</td></tr>"
    table, code = page(f"<table>{row}</table><pre>\n{mark.format(3)}\n  b\n\n{mark.format(4)}\n</pre>").pieces
    assert (table.text, code.text) == ("| a |", "  b")
    assert [b.offset for b in (*table.breaks, *code.breaks)] == [0, 5, 0, 3]


def test_a_page_break_inside_a_page_break_is_one() -> None:
    inner = '<b role="doc-pagebreak" title="2">q</b>'
    (code,) = page(
        f'<pre class="pagenum" id="p0">a<i role="doc-pagebreak" title="1">{inner}</i>b</pre>'
    ).pieces
    assert (code.text, code.breaks) == ("ab", (PageBreak(1, "1"),))


def test_ids_inside_code_and_tables_lead_to_them() -> None:
    code, table = page(
        '<pre><a id="l1"></a>x = 1\n<a name="l2"></a>y</pre><table><tr><th id="c">a<th>b</table>'
    ).pieces
    assert {"l1", "l2"} <= set(code.ids)
    assert "c" in table.ids


def test_the_signs_that_the_reader_uses_for_itself_are_taken_from_no_text() -> None:
    odd = "\ufdd0a\ufdd1b"
    body = f"<p>{odd}</p><pre>{odd}<i id=p2>c</i></pre><table><tr><th>{odd}<th>d</table><h2>{odd}</h2>"
    for piece in page(body, page_ids={"p2": "2"}).pieces:
        assert "\ufdd1" not in piece.text
        assert all(b.offset <= len(piece.text) for b in piece.breaks)


# Formulas, verse, right to left


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ("<mfrac><mn>1</mn><mn>2</mn></mfrac>", "1/2"),
        ("<msup><mi>x</mi><mn>2</mn></msup><mo>+</mo><msub><mi>a</mi><mn>1</mn></msub>", "x^2+a_1"),
        ("<msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup>", "x_i^2"),
        ("<mrow><mi>E</mi> <mo>=</mo> <mi>m</mi></mrow>", "E = m"),
        ("<semantics><mi>y</mi><annotation encoding='application/x-tex'>y</annotation></semantics>", "y"),
    ],
)
def test_a_formula_keeps_its_powers_and_fractions_apart(formula: str, text: str) -> None:
    assert texts(f"<p>So <math>{formula}</math> holds.</p>") == [f"So {text} holds."]


def list_formulas(body: str) -> list[tuple[str, dict[str, object]]]:
    """Return the formulas of a page: their words in the text, and what is known of them."""
    return [
        (piece.text[part.start : part.end], dict(part.attributes))
        for piece in page(body).pieces
        if isinstance(piece, Text)
        for part in piece.markup
        if part.kind is ElementKind.FORMULA
    ]


def test_a_formula_that_is_a_picture_has_its_source_as_words() -> None:
    body = """<p>The variables are <img class="math" src="x.png" alt="x"/> and
      <img class="formulaInl" src="s.png" alt="$s \\in C$"/>, see
      <img src="y.png" alt="a small boat at sea"/>.</p>
      <div class="math"><p><img src="z.png" alt="z = \\frac{a}
      {b}"/></p></div>"""
    assert texts(body) == [
        "The variables are x and s \\in C, see a small boat at sea .",
        "z = \\frac{a} {b}",
    ]
    assert [(words, made["tex"], made.get("display")) for words, made in list_formulas(body)] == [
        ("x", "x", None),
        ("s \\in C", "s \\in C", None),
        ("z = \\frac{a} {b}", "z = \\frac{a}\n      {b}", 1),
    ]
    images = [
        p
        for piece in page(body).pieces
        if isinstance(piece, Text)
        for p in piece.markup
        if "image" in p.attributes
    ]
    assert [image.attributes["image"] for image in images] == ["x.png", "s.png", "y.png", "z.png"]


def test_a_script_that_draws_formulas_finds_them_in_text_and_not_in_code() -> None:
    text = (
        r"<p>So \(a_1\) is <code>\(b\)</code>.</p><p>\[c &lt; d\]</p><table><tr><th>\(e\)</th></tr></table>"
    )
    script = '<head><script src="https://example.org/MathJax.js?config=x"></script></head>'
    assert list_formulas(text) == []
    assert list_formulas(script + text) == [
        (r"\(a_1\)", {"tex": "a_1"}),
        (r"\[c < d\]", {"tex": "c < d", "display": 1}),
        (r"\(e\)", {"tex": "e"}),
    ]
    assert texts(script + text) == texts(text)


def test_a_formula_without_signs_around_it_is_read_as_a_whole() -> None:
    tex = r"x = 0 \\[2pt] y \text{ for $n$ even}"
    assert list_formulas(f'<p><span class="math">{tex}</span></p>') == [(tex, {"tex": tex})]


@pytest.mark.parametrize(
    "body",
    [
        r'<p>Write <code class="literal"><span class="pre">\(x\)</span></code>.</p>',
        '<div class="unit math"><p><img src="a.png" alt="A triangle with three sides"/></p></div>',
        '<div class="math"><p>What we learn of numbers.</p></div>',
    ],
)
def test_code_and_words_are_no_formulas(body: str) -> None:
    assert list_formulas('<head><script src="katex.js"></script></head>' + body) == []


def test_a_formula_within_a_formula_is_read_once() -> None:
    body = r'<p><span class="math"><span>\(x\)</span></span></p>'
    assert list_formulas('<head><script src="katex.js"></script></head>' + body) == [(r"\(x\)", {"tex": "x"})]


@pytest.mark.parametrize(
    "body", [r"\(a" * 200_000, r"\[\(" * 200_000, "a<br>" * 40_000, r"\(a\)<br>" * 20_000]
)
def test_signs_that_are_never_closed_cost_little(body: str) -> None:
    began = time.process_time()
    page(f'<head><script src="katex.js"></script></head><div class="math">{body}</div><p>{body}</p>')
    assert time.process_time() - began < 5


def test_the_number_of_an_equation_stands_beside_it() -> None:
    body = r"""<div class="math"><span class="eqno">(2.1)<a class="headerlink">¶</a></span>\[a = b\]</div>
      <p>See <span class="math">\(a\)</span>.</p>"""
    assert [made for _, made in list_formulas(body)] == [
        {"tex": r"a = b\tag{2.1}", "display": 1},
        {"tex": "a"},
    ]


def test_arabic_keeps_its_words_and_loses_the_direction_marks() -> None:
    body = '<html dir="rtl" lang="ar"><body><p dir="rtl">\u202bكان يا ما كان\u202c،\u200f في قديم الزمان.</p>'
    made = page(body)
    assert (made.language, [p.text for p in made.pieces]) == ("ar", ["كان يا ما كان، في قديم الزمان."])


def test_vertical_japanese_reads_with_its_readings() -> None:
    body = """<body class="vrtl"><p><ruby>吾<rt>わが</rt>輩<rt>はい</rt></ruby>は猫である。<span
      class="tcy">12</span>月<br/>名前はまだ無い。</p>"""
    assert texts(body) == ["吾(わが)輩(はい)は猫である。12月\n名前はまだ無い。"]


def test_verse_keeps_its_lines_however_they_are_broken() -> None:
    lines = ("Tyger Tyger, burning bright,", "In the forests of the night;")
    broken = f"<p>{lines[0]}<br/>{lines[1]}</p>"
    parted = f'<div class="stanza"><p>{lines[0]}</p><p>{lines[1]}</p></div>'
    assert texts(broken) == ["\n".join(lines)]
    assert [(p.text, isinstance(p, Text) and p.tight) for p in page(parted).pieces] == [
        (lines[0], False),
        (lines[1], True),
    ]


# Code


def test_code_with_coloured_words_and_numbered_lines_is_the_code_alone() -> None:
    pygments = """<div class="highlight"><table class="highlighttable"><tr><td class="linenos"><div
      class="linenodiv"><pre>1\n2</pre></div></td><td class="code"><div><pre><span class="k">def</span>
<span class="nf">f</span>():\n\t<span class="k">return</span> 1</pre></div></td></tr></table>"""
    assert texts(pygments) == ["def\nf():\n    return 1"]
    rouge = """<table class="rouge-table"><tr><td class="rouge-gutter gl"><pre class="lineno">1</pre></td>
      <td class="rouge-code"><pre>puts 1</pre></td></tr></table>"""
    assert texts(rouge) == ["puts 1"]


def test_links_in_code_are_kept_without_a_change_to_the_code() -> None:
    body = """<pre><code>let <a href="#v">v</a>: <a href="https://example.org"><b>Vec</b>
    &lt;T&gt;</a> = <a href="/x">one</a>;</code></pre>"""
    (code,) = page(body).pieces
    assert code.text == "let v: Vec\n    <T> = one;"
    assert isinstance(code, Text)
    marked = [(part.kind, code.text[part.start : part.end], part.depth) for part in code.markup]
    assert marked == [
        (ElementKind.CODE, code.text, 0),
        (ElementKind.LINK, "v", 1),
        (ElementKind.LINK, "Vec\n    <T>", 1),
        (ElementKind.LINK, "one", 1),
    ]


def test_code_in_a_list_keeps_its_place_and_a_definition_its_term() -> None:
    body = (
        "<ol><li>Run<pre>make</pre></li><li><pre>make install</pre></li></ol><dl><dt>-v<dd><pre>on</pre></dl>"
    )
    assert texts(body) == ["1. Run", "make", "2.", "make install", "-v", "on"]


@pytest.mark.parametrize(
    ("body", "levels"),
    [
        ("<details><summary><h2>Fold</h2></summary><p>x</p></details>", []),
        ("<blockquote><h2>Quoted</h2><p>x</p></blockquote>", []),
        ("<table><tr><td><h2>In layout</h2>x</td></tr></table>", [2]),
        ("<section><h3>Own</h3><p>x</p></section>", [3]),
        ('<div role="heading" aria-level="9">Deep</div>', [6]),
        ('<div role="heading" aria-level="two">Odd</div>', [2]),
    ],
)
def test_only_headings_of_the_text_itself_begin_sections(body: str, levels: list[int]) -> None:
    made = page(body)
    assert [h.level for h in made.headings] == levels
    assert len([p for p in made.pieces if p.text]) == (2 if "x" in body.split(">", 1)[1] else 1)
    assert all(isinstance(p, Heading | Text) for p in made.pieces)
