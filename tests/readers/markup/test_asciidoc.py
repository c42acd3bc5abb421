"""AsciiDoc: one file, a book of included chapters, and Antora's navigation."""

from __future__ import annotations

from pathlib import Path

from octavo.limits import Limits
from octavo.readers import read_book
from octavo.readers.parsed import ParsedBook
from octavo.readers.sandbox import parse
from octavo.types import BookFormat, ElementKind

PAGE = """\
= The Sea Book
Ann Writer <ann@example.org>
:keywords: sea, ships
:ship: brig

Before all else, the {ship}.

== Ships

A _fast_ *strong* `code` ship, see <<ports,the ports>>, https://example.org[a page],
link:x.html[one] and xref:y.adoc[two].footnote:[A small one.]

* one
** inner
* two
+
----
sail(1) <1>
----

. first
. second

Term:: What it means.
Other::
  Its meaning.

NOTE: Mind the tide.

[source,python]
----
def f(x):

    return x
----

////
never
////

ifdef::hidden[]
hidden words
endif::[]

[[ports]]
=== Ports & such

.Depths
[cols="1,1",options="header"]
|===
|Where |How deep

|Bay
|9
|===

++++
<script>alert(1)</script>
++++
"""


def read(path: Path) -> ParsedBook:
    return read_book(path, Limits())


def test_a_page_has_its_sections_and_everything_that_stands_in_them(tmp_path: Path) -> None:
    (tmp_path / "sea.adoc").write_text(PAGE)
    book = read(tmp_path / "sea.adoc")
    assert (book.title, book.format, book.authors) == ("The Sea Book", BookFormat.ASCIIDOC, ("Ann Writer",))
    assert book.metadata.subjects == ("sea", "ships")
    lead, ships, ports = book.sections
    assert lead.text == "Before all else, the brig."
    assert (ships.heading_path, ships.anchor) == (("Ships",), "_ships")
    assert ships.text.startswith(
        "A fast strong code ship, see the ports, a page, one and two.[1]\n\n[1] A small one.\n\n- one\n"
    )
    for part in (
        "sail(1)",
        "1. first\n  2. second",
        "What it means.",
        "Its meaning.",
        "Note: Mind the tide.",
    ):
        assert part in ships.text, part
    assert "def f(x):\n\n    return x" in ships.text
    assert "hidden" not in ships.text
    assert "never" not in ships.text
    assert (ports.heading_path, ports.anchor) == (("Ships", "Ports & such"), "ports")
    assert ports.text == "Depths\n\nWhere | How deep\nBay | 9"


def test_a_book_of_included_chapters_is_one_and_includes_nothing_from_outside(tmp_path: Path) -> None:
    home = tmp_path / "book"
    (home / "chapters").mkdir(parents=True)
    (tmp_path / "secret.adoc").write_text("The secret.\n")
    (home / "book.adoc").write_text(
        "= All of It\n\ninclude::chapters/b.adoc[]\n\ninclude::chapters/a.adoc[leveloffset=+1]\n\n"
        "include::../secret.adoc[]\ninclude::book.adoc[]\n"
    )
    (home / "chapters" / "a.adoc").write_text("= Aye\n\nAye words.\n")
    (home / "chapters" / "b.adoc").write_text("== Bee\n\nBee words.\n")
    book = read(home)
    assert book.title == "All of It"
    assert [s.heading_path for s in book.sections][:2] == [("Bee",), ("Aye",)]
    assert not any("secret" in s.text for s in book.sections)


async def test_antoras_navigation_gives_order_titles_and_addresses(tmp_path: Path) -> None:
    module = tmp_path / "docs" / "modules" / "ROOT"
    (module / "pages").mkdir(parents=True)
    (tmp_path / "docs" / "antora.yml").write_text("name: sea\ntitle: Sea Docs\n")
    (module / "nav.adoc").write_text(".Guides\n* xref:start.adoc[Start here]\n** xref:deep.adoc[]\n* Plain\n")
    for name in ("start", "deep", "lost"):
        (module / "pages" / f"{name}.adoc").write_text(f"= {name.title()}\n\n{name} words.\n")
    book = await parse(tmp_path / "docs", Limits())
    assert book.title == "Sea Docs"
    pages = [(s.heading_path[:3], s.url) for s in book.sections if s.text]
    assert [url for _, url in pages] == ["start.html", "deep.html", "lost.html"]
    assert pages[0][0][:2] == ("Guides", "Start here")
    assert pages[1][0][:3] == ("Guides", "Start here", "Deep")


def test_tables_of_values_keep_every_cell_and_a_bracket_at_the_end_of_a_block_is_text(tmp_path: Path) -> None:
    (tmp_path / "page.adoc").write_text(
        '= T\n\n== A\n\n,===\nName,"Big, or not"\nCod,small\n,===\n\n'
        "[format=dsv]\n|===\nHerring:2\nEel:3\n|===\n\n"
        "|===\n|one|two\n|three|four\n|===\n\n====\n[see:: this]\n====\n"
    )
    text = read(tmp_path / "page.adoc").sections[0].text
    rows = ("Name | Big, or not", "Cod | small", "Herring | 2", "one | two", "[see:: this]")
    assert [row for row in rows if row not in text] == []


def test_what_is_not_included_is_said(tmp_path: Path) -> None:
    pages = {"a": "== Aye\n\nAye words.\n", "b": "== Bee\n\nBee words.\n", "loose": "Loose words.\n"}
    for name, text in pages.items():
        (tmp_path / f"{name}.adoc").write_text(text)
    book = tmp_path / "book.adoc"
    book.write_text("= Book\n\nWords.\n\ninclude::a.adoc[]\n\ninclude::b.adoc[]\n\ninclude::gone.adoc[]\n")
    missing, left = read(tmp_path).warnings
    assert missing == "included files that are not in the folder are left out: gone.adoc"
    assert left == "1 of 4 files are left out, book.adoc does not include them"
    (alone,) = read(book).warnings
    assert "a.adoc, b.adoc, gone.adoc" in alone


def test_formulas_in_tex_are_known_and_those_in_another_form_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "tex.adoc").write_text(
        "= Waves\n:stem: latexmath\n\nIt is stem:[\\alpha_1, x[0\\]].\n\n"
        "[stem]\n++++\n\\frac{a}{b}\n++++\n\nEnd.\n"
    )
    (tmp_path / "other.adoc").write_text("= Waves\n\nIt is stem:[sqrt(4) = 2, y] and latexmath:[x_1].\n")

    def read(name: str) -> tuple[str, list[object]]:
        (section,) = read_book(tmp_path / name, Limits()).sections
        formulas = [element for element in section.markup if element.kind is ElementKind.FORMULA]
        return section.text, [element.attributes["tex"] for element in formulas]

    assert read("tex.adoc")[1] == [r"\alpha_1, x[0]", r"\frac{a}{b}"]
    assert read("other.adoc") == (r"It is sqrt(4) = 2, y and \(x_1\).", ["x_1"])
