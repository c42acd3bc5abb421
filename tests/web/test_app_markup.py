"""The reader draws the book: pictures, tables, formulas, notes, links, and the cited words lit in each.

Hostile pictures, drawings, formulas and links do nothing: no script runs, and no other host is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from octavo.answers.replies import Reply
from octavo.types import ElementKind
from octavo.verification.claims import Claim, Sentence
from tests.support import illustrated
from tests.support.answerers import AllSentencesAnswerer, fill_library
from tests.support.browser import BrowserThread, PageVisit, open_page, serve_page
from tests.support.payloads import FORMULAS

PNG, SVG = re.compile("^data:image/png;base64,"), re.compile(r"^data:image/svg\+xml;base64,")
LIT = "(text) => [...document.querySelectorAll('mark.cited')].map((m) => m.textContent).join('') === text"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("illustrated")
    hostile = (*illustrated.write_hostile_books(folder), *illustrated.write_hostile_formulas(folder))
    plain = (*illustrated.write_books(folder), *illustrated.write_foreign_books(folder))
    steps = folder / "steps.html"
    steps.write_text(
        "<title>Steps</title><h1>Steps</h1><ol start=0><li>Look at the sea for an hour.</li></ol>"
    )
    filled = fill_library(folder / "library", *plain, *hostile, steps)
    with serve_page(filled, answerer=AllSentencesAnswerer()) as address:
        yield address


def list_sections(visit: PageVisit, book: str) -> list[dict[str, Any]]:
    address = f"{visit.base}/v1/books/{book}"
    listed = visit.page.request.get(f"{address}/contents").json()["sections"]
    return [visit.page.request.get(f"{address}/sections/{s['id']}").json() for s in listed]


def test_a_book_looks_like_itself(visit: PageVisit) -> None:
    page = visit.go("/#/books/the-sea-chart")
    expect(page.locator("figure img")).to_have_attribute("src", PNG)
    expect(page.locator("figcaption")).to_have_text("The map of the harbour.")
    expect(page.locator("table caption")).to_have_text("Heights of the tide")
    expect(page.locator("td[rowspan='2'] strong")).to_have_text("quay")
    expect(page.locator("math mfrac")).to_have_count(1)
    expect(page.locator("ol[start='3'] > li")).to_have_count(2)
    expect(page.locator("blockquote")).to_contain_text("No rope")
    expect(page.locator("p[dir='rtl'][lang='he']")).to_have_count(1)
    expect(page.locator(".text em").first).to_have_text("tide")
    expect(page.locator("a[href='https://example.org/x']")).to_have_attribute(
        "rel", "noopener noreferrer nofollow"
    )
    assert page.locator("figure img").evaluate("(i) => i.decode().then(() => i.naturalWidth)") == 120
    assert visit.axe() == []


def test_code_has_colours_and_links_and_two_listings_have_no_faults(visit: PageVisit) -> None:
    page = visit.go("/#/books/the-sea-chart")
    expect(page.locator(".listing pre")).to_have_count(2)
    python, script = page.locator(".listing pre").all()
    assert python.locator(".code-keyword").all_inner_texts() == ["def", "return"]
    assert python.locator(".code-number").all_inner_texts() == ["2"]
    assert script.locator(".code-keyword").all_inner_texts() == ["const"]
    words = ["// see ", "the tides", ' before "10"', "/* never closed"]
    assert script.locator(".code-comment").all_text_contents() == words
    expect(script.locator("a")).to_have_text("the tides")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert visit.axe() == []
    page.evaluate("document.documentElement.dataset.theme = 'sepia'")
    assert visit.axe() == []


def test_an_answer_shows_a_table_as_a_table_and_code_as_code(visit: PageVisit) -> None:
    page = visit.go("/#/books/the-sea-chart")
    visit.ask("Which port has four fathoms?")
    row = page.locator(".claim.quoted tr", has_text="four fathoms")
    expect(row.locator("td")).to_have_text(["Northern quay", "four fathoms"], use_inner_text=True)
    expect(page.locator(".claim.quoted pre .code-keyword").first).to_have_text("def")
    expect(page.locator(".claim.quoted li", has_text="Tie the knot.")).to_have_count(1)
    page.locator(".claim.quoted", has_text="four fathoms").locator("button.cite").hover()
    expect(page.locator(".preview-quote td mark.preview-words").first).to_be_visible()
    assert visit.axe() == []
    page.locator(".claim.quoted", has_text="four fathoms").locator("button.cite").click()
    visit.wait_for_cited("Northern quay | four fathoms")


def test_the_card_of_a_footnote_shows_the_paragraph_as_the_book_has_it(visit: PageVisit) -> None:
    page = visit.go("/#/books/the-sea-chart")
    visit.ask("How is the tide of the harbour read?")
    page.locator(".claim", has_text="Water is H").locator("button.cite").first.hover()
    card = page.locator(".preview-quote")
    expect(card.locator("em")).to_have_text("tide")
    expect(card.locator("code")).to_have_text("tide --now")
    expect(card.locator("sub")).to_have_text("2")
    expect(card.locator("mark.preview-words").first).to_contain_text("Water is H")
    expect(card.locator("p")).to_have_count(1)
    expect(card.locator("a[href], button")).to_have_count(0)


class ListAnswerer:
    """Quotes the items that it is given as one claim."""

    name = "list"

    async def reply(self, question: str, given: Sequence[Sentence]) -> Reply:
        items = [sentence for sentence in given if sentence.kind is ElementKind.ITEM]
        text = "\n".join(item.text for item in items)
        return Reply((Claim(text, tuple(item.id for item in items)),), 1.0, 0.9)


@pytest.fixture
def cellar(tmp_path: Path) -> Iterator[str]:
    text = "# The cellar\n\nIt holds these goods:\n\n1. dry salt\n2. old tar\n"
    (tmp_path / "cellar.md").write_text(text)
    data = fill_library(tmp_path / "library", tmp_path / "cellar.md")
    with serve_page(data, answerer=ListAnswerer()) as address:
        yield address


def test_a_claim_of_several_items_is_drawn_as_their_list(cellar: str, stage: BrowserThread) -> None:
    with open_page(stage, cellar) as visit:
        page = visit.go("/#/books/the-cellar")
        visit.ask("What does it hold?")
        expect(page.locator(".claim.quoted ol > li")).to_have_text(
            ["dry salt", "old tar"], use_inner_text=True
        )
        expect(page.locator(".claim.quoted button.cite")).to_have_count(2)
        stage.call(visit.assert_clean)


class RowAnswerer:
    """Quotes the first and the last row that it is given as one claim."""

    name = "row"

    async def reply(self, question: str, given: Sequence[Sentence]) -> Reply:
        rows = [sentence for sentence in given if sentence.kind is ElementKind.ROW]
        ends = (rows[0], rows[-1])
        return Reply((Claim("\n".join(row.text for row in ends), tuple(row.id for row in ends)),), 1.0, 0.9)


@pytest.fixture
def quay(tmp_path: Path) -> Iterator[str]:
    text = "# The quay\n\n| boat | pence |\n|---|---|\n| wherry | 12 |\n| coal brig | 90 |\n"
    (tmp_path / "quay.md").write_text(text)
    data = fill_library(tmp_path / "library", tmp_path / "quay.md")
    with serve_page(data, answerer=RowAnswerer()) as address:
        yield address


def test_a_row_is_drawn_below_the_headings_of_its_table(quay: str, stage: BrowserThread) -> None:
    with open_page(stage, quay) as visit:
        page = visit.go("/#/books/the-quay")
        visit.ask("What does a coal brig pay?")
        table = page.locator(".claim.quoted table")
        expect(table.locator("th")).to_have_text(["boat", "pence"], use_inner_text=True)
        expect(table.locator("td")).to_have_text(["coal brig", "90"], use_inner_text=True)
        expect(page.locator(".claim.quoted button.cite")).to_have_count(2)
        stage.call(visit.assert_clean)


TEX = """async (all) => {
  const { drawFormula } = await import("/static/app/formula.js");
  return all.map((tex) => drawFormula({ tex }, true)?.innerHTML ?? null);
}"""
DRAWN = {
    r"x = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a}": (
        "<mi>x</mi><mo>=</mo><mfrac><mrow><mo>−</mo><mi>b</mi><mo>±</mo><msqrt><mrow><msup><mi>b</mi><mn>2</mn></msup>"
        "<mo>−</mo><mn>4</mn><mi>a</mi><mi>c</mi></mrow></msqrt></mrow><mrow><mn>2</mn><mi>a</mi></mrow></mfrac>"
    ),
    r"\sum_{i=1}^n x_i'": (
        '<munderover><mo largeop="true" movablelimits="false">∑</mo><mrow><mi>i</mi><mo>=</mo>'
        "<mn>1</mn></mrow><mi>n</mi></munderover><msubsup><mi>x</mi><mi>i</mi><mo>′</mo></msubsup>"
    ),
    r"\mathbb{R} \to \mathcal L": "<mi>ℝ</mi><mo>→</mo><mi>ℒ</mi>",
    r"\text{if } 3.14 \not= \pi": "<mtext>if&nbsp;</mtext><mn>3.14</mn><mo>≠</mo><mi>π</mi>",
    r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}": (
        '<mrow><mo fence="true" stretchy="true">(</mo><mtable><mtr><mtd columnalign="center"><mi>a</mi></mtd>'
        '<mtd columnalign="center"><mi>b</mi></mtd></mtr><mtr><mtd columnalign="center"><mi>c</mi></mtd>'
        '<mtd columnalign="center"><mi>d</mi></mtd></mtr></mtable><mo fence="true" stretchy="true">)</mo>'
        "</mrow>"
    ),
    r"\frac12 m v^2": "<mfrac><mn>1</mn><mn>2</mn></mfrac><mi>m</mi><msup><mi>v</mi><mn>2</mn></msup>",
    "x^10": "<msup><mi>x</mi><mn>1</mn></msup><mn>0</mn>",
    r"\mathbf 12": "<mn>𝟏</mn><mn>2</mn>",
    r"\pi*r": "<mi>π</mi><mo>∗</mo><mi>r</mi>",
    r"\operatorname*{argmax}": '<mi mathvariant="normal">argmax</mi>',
    r"\mathrm{a\,b}": (
        '<mrow><mi mathvariant="normal">a</mi><mspace width=".17em"></mspace>'
        '<mi mathvariant="normal">b</mi></mrow>'
    ),
    r"\text{5\% of~all}": "<mtext>5% of&nbsp;all</mtext>",
    r"\text{if $x>0$}": "<mrow><mtext>if&nbsp;</mtext><mi>x</mi><mo>&gt;</mo><mn>0</mn></mrow>",
    r"\text{a \textbf{b}}": "<mrow><mtext>a&nbsp;</mtext><mtext>b</mtext></mrow>",
    r"\mbox{\bf R}^n": "<msup><mtext>𝐑</mtext><mi>n</mi></msup>",
    r"{n \choose 2}": (
        '<mrow><mo>(</mo><mfrac linethickness="0"><mrow><mi>n</mi></mrow><mrow><mn>2</mn></mrow></mfrac>'
        "<mo>)</mo></mrow>"
    ),
    r"\newcommand{\half}[1]{\frac{#1}{2}} \half{a}": "<mfrac><mi>a</mi><mn>2</mn></mfrac>",
    r"\DeclareMathOperator*{\argmin}{argmin} \argmin x": '<mi mathvariant="normal">argmin</mi><mi>x</mi>',
    r"\renewcommand*{\phi}{\varphi} \phi * 2": "<mi>φ</mi><mo>∗</mo><mn>2</mn>",
    r"\DeclareMathOperator{\op}{op} \op x": '<mi mathvariant="normal">op</mi><mi>x</mi>',
    r"\begin{array}[t]{l|r} a & b \end{array}": (
        '<mrow><mtable><mtr><mtd columnalign="left"><mi>a</mi></mtd><mtd columnalign="right"><mi>b</mi></mtd>'
        "</mtr></mtable></mrow>"
    ),
    r"a &= b \\ c &= d": (
        '<mtable><mtr><mtd columnalign="right"><mi>a</mi></mtd><mtd columnalign="left"><mo>=</mo><mi>b</mi>'
        '</mtd></mtr><mtr><mtd columnalign="right"><mi>c</mi></mtd><mtd columnalign="left"><mo>=</mo>'
        "<mi>d</mi></mtd></mtr></mtable>"
    ),
    "x''^2": "<msup><mi>x</mi><mrow><mo>′′</mo><mn>2</mn></mrow></msup>",
    r"\begin{matrix} a \\[4pt] b \\* c \\ [0, 1] \end{matrix}": (
        '<mrow><mtable><mtr><mtd columnalign="center"><mi>a</mi></mtd></mtr><mtr><mtd columnalign="center">'
        '<mi>b</mi></mtd></mtr><mtr><mtd columnalign="center"><mi>c</mi></mtd></mtr><mtr>'
        '<mtd columnalign="center"><mo stretchy="false">[</mo><mn>0</mn><mo>,</mo><mn>1</mn>'
        '<mo stretchy="false">]</mo></mtd></mtr></mtable></mrow>'
    ),
}
NOT_UNDERSTOOD = (
    r"\href{javascript:alert(1)}{x}",
    r"\frac{a",
    "a }",
    r"\left( a",
    "{" * 40,
    "",
    r"\begin{tikz}\end{tikz}",
    r"\text{a\,b}",
    r"\text{a\\b}",
    "x_a_b",
    "x^a^b",
    "x^2'",
    "x^^2",
    r"\displaystyle^2",
    r"\begin{matrix} a \\[\jot] b \end{matrix}",
    r"\begin{matrix} a \\ [4pt] b \end{matrix}",
    r"\begin{matrix} a \\[4pt",
    r"\begin{aligned}[t] a \end{aligned}",
    r"\newcommand{\x}{\x\x} \x",
    r"\newcommand{\x}[1]{#1} \x",
    r"\newcommand{\x",
    r"\newcommand{\x}[1][a]{b} \x",
    r"\renewcommand{a}{b} a",
    r"\newcommand{\x}[1]{" + "#1" * 900 + r"} \x{" + "a" * 2000 + "}",
    r"\text{a" * 70 + "}" * 70,
    r"\mbox{if $x}",
    "{a \\\\ b}",
    r"\begin{array}[x]{l} a \end{array}",
    r"a \end{matrix}",
)


def test_formulas_in_tex_are_drawn_and_others_stay_as_they_are_written(visit: PageVisit) -> None:
    page = visit.go()
    assert dict(zip(DRAWN, page.evaluate(TEX, list(DRAWN)), strict=True)) == DRAWN
    assert page.evaluate(TEX, list(NOT_UNDERSTOOD)) == [None] * len(NOT_UNDERSTOOD)


@pytest.fixture
def algebra(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "algebra.md").write_text(
        "# Algebra\n\nIt says, where $a \\neq 0$, that $b \\unknown c$ holds.\n\n$$x = \\frac{a}{b}$$\n"
    )
    data = fill_library(tmp_path / "library", tmp_path / "algebra.md")
    with serve_page(data, answerer=AllSentencesAnswerer()) as address:
        yield address


def test_a_formula_stands_in_its_line_in_the_book_and_in_the_answer(
    algebra: str, stage: BrowserThread
) -> None:
    with open_page(stage, algebra) as visit:
        page = visit.go("/#/books/algebra")
        sentence = page.locator(".leaf p", has_text="It says")
        expect(sentence.locator("math mo")).to_have_text("≠")
        expect(sentence.locator(".formula.written")).to_have_text(r"$b \unknown c$")
        assert sentence.evaluate("(p) => p.getBoundingClientRect().height < 60")
        expect(page.locator(".leaf .formula.display mfrac")).to_have_count(1)
        visit.ask("What does it say?")
        expect(page.locator(".claim.quoted math mo").first).to_have_text("≠")
        page.locator(".claim.quoted button.cite").first.click()
        visit.wait_for_cited(r"It says, where $a \neq 0$, that $b \unknown c$ holds.")
        expect(page.locator(".leaf .formula.cited math")).to_be_visible()
        stage.call(visit.assert_clean)


def test_a_link_leads_to_its_place_in_a_long_section(visit: PageVisit) -> None:
    page = visit.go("/#/books/the-sea-chart")
    page.locator(".listing a", has_text="the tides").click()
    page.wait_for_url("**/sections/tides")


def test_links_lead_to_their_section_and_a_note_opens_beside_its_reference(visit: PageVisit) -> None:
    page = visit.go("/#/books/the-sea-chart")
    page.locator("a.note-ref").click()
    expect(page.locator(".note-card")).to_contain_text("Measured at noon by the pilot.")
    expect(page.locator(".note-card em")).to_have_text("noon")
    page.keyboard.press("Escape")
    expect(page.locator(".note-card")).to_have_count(0)
    page.locator(".text a", has_text="ropes").click()
    page.wait_for_url("**/sections/ropes")


def test_the_cited_words_are_lit_in_every_kind_of_block(visit: PageVisit) -> None:
    """Each element is linked to in turn: what is lit is exactly its words, and the text stays whole."""
    page = visit.go("/")
    kinds: set[str] = set()
    for book in ("the-sea-chart", "the-boat-book"):
        for section in list_sections(visit, book):
            text = section["text"]
            for element in section["markup"]:
                start, end = element["start"], element["end"]
                if end == start or element["kind"] in kinds:
                    continue
                kinds.add(element["kind"])
                place = f"#/books/{book}/sections/{section['id']}?start={start}&end={end}"
                page.evaluate("(to) => { location.hash = to; }", place)
                page.wait_for_function(LIT, arg=text[start:end])
                lit = page.locator("mark.cited:visible, .formula.cited, .picture.cited")
                expect(lit.first).to_be_in_viewport()
                if "formula" not in {e["kind"] for e in section["markup"]}:
                    root = page.locator(f"[data-section='{section['id']}'] .text")
                    assert root.evaluate("(n) => n.textContent") == text
    assert {"cell", "code", "item", "link", "formula", "note", "caption", "row", "table", "image"} <= kinds


def test_a_list_that_begins_with_zero_is_counted_from_there(visit: PageVisit) -> None:
    page = visit.go("/#/books/steps")
    expect(page.locator("ol[start='0'] > li")).to_contain_text("Look at the sea for an hour.")


def test_japanese_that_was_set_from_top_to_bottom_is_read_in_lines_that_wrap(visit: PageVisit) -> None:
    page = visit.go("/#/books/shio")
    expect(page.locator(".leaf p").first).to_contain_text("漁師(りょうし)たちは")
    assert page.locator(".leaf p").first.evaluate("(p) => getComputedStyle(p).writingMode") == "horizontal-tb"
    assert page.locator(".leaf em").evaluate("(e) => getComputedStyle(e).fontStyle") == "normal"
    visit.ask("誰が港を出ましたか")
    assert page.locator(".claim").first.evaluate("(c) => c.scrollWidth <= c.clientWidth")
    page.locator("button.cite").first.click()
    expect(page.locator("mark.cited").first).to_be_in_viewport()


def test_urdu_stands_at_the_right_and_its_signs_point_there(visit: PageVisit) -> None:
    visit.page.add_init_script("localStorage.setItem('octavo.language', 'ur')")
    page = visit.go("/#/books/samandar")
    expect(page.locator(".to-books")).to_have_text(re.compile("^→"))
    # Most of the letters decide, and not the first one.
    expect(page.locator(".leaf p", has_text="Octavo")).to_have_attribute("dir", "rtl")
    visit.ask("رسی")
    item = page.locator(".claim.quoted", has_text="رسی لپیٹیں")
    expect(item.locator("ol")).to_have_attribute("start", "5")
    assert item.locator("ol").evaluate("(o) => getComputedStyle(o).direction") == "rtl"
    page.locator("button.cite").first.click()
    expect(page.locator(".to-answer")).to_have_text(re.compile("^→"))


def test_hostile_pictures_formulas_and_links_do_nothing(visit: PageVisit) -> None:
    for book, last in (("wreck", "The last boat sank."), ("reef", "ways.")):
        page = visit.go(f"/#/books/{book}")
        expect(page.locator(".text")).to_contain_text(last)
        expect(page.locator(".picture img")).to_have_attribute("src", SVG)
        for address in page.locator(".text a").evaluate_all("(all) => all.map((a) => a.href)"):
            assert not address.startswith(("javascript", "data"))
        page.locator(".text, .text *").evaluate_all("(all) => all.forEach((e) => e.click?.())")
        odd = ".text script, .text iframe, .text [onclick], .text [style], math [href]"
        assert page.locator(odd).count() == 0
        assert page.evaluate("window.pwned") is None
    expect(page.locator("math mi").first).to_have_text("x")


MATH_ELEMENTS = """() => {
  const all = [...document.querySelectorAll("math, math *")];
  return [...new Set(all.flatMap((e) => [e.localName, ...e.getAttributeNames().map((name) => `@${name}`)]))];
}"""


HIGHEST = "(all) => Math.max(...all.map((e) => e.getBoundingClientRect().height))"


@pytest.mark.parametrize("book", ["shoals", "sandbanks"])
def test_hostile_formulas_do_nothing_and_stay_where_they_are(visit: PageVisit, book: str) -> None:
    page = visit.go(f"/#/books/{book}")
    expect(page.locator(".text")).to_contain_text(f"Shoal number {len(FORMULAS)} lies at")
    assert page.locator("math").count() == len(FORMULAS) - 1
    harmless = {"math", "mi", "mo", "mn", "mrow", "mtext", "semantics", "mspace", "mpadded", "mstyle"}
    assert set(page.evaluate(MATH_ELEMENTS)) <= harmless | {"@mathvariant"}
    page.locator(".text, .text *").evaluate_all("(all) => all.forEach((e) => { e.click?.(); e.focus?.(); })")
    assert page.evaluate("window.pwned") is None
    assert page.locator("math").evaluate_all(HIGHEST) < 200
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_picture_is_served_with_headers_that_make_it_harmless(visit: PageVisit) -> None:
    visit.go("/")
    section = next(s for s in list_sections(visit, "reef") if s["markup"])
    name = next(e["attributes"]["image"] for e in section["markup"] if "image" in e.get("attributes", {}))
    got = visit.page.request.get(f"{visit.base}/v1/books/reef/images/{name}")
    assert got.headers["content-type"] == "image/svg+xml"
    assert got.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in got.headers["content-security-policy"]
    assert visit.page.request.get(f"{visit.base}/v1/books/the-sea-chart/images/{name}").status == 404
