"""Word, OpenDocument and FictionBook: structure, text and title page, and files that are made to do harm."""

from __future__ import annotations

import zipfile
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import pytest

from octavo.errors import BadBook
from octavo.limits import Limits
from octavo.readers import read_book
from octavo.readers.parsed import ParsedBook
from octavo.readers.sandbox import parse
from octavo.types import BookFormat
from tests.support.office_files import W, item, paragraph, write_docx, write_fb2, write_odt

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 30


def read(path: Path) -> ParsedBook:
    return read_book(path, Limits())


def outline(book: ParsedBook) -> list[tuple[tuple[str, ...], str]]:
    return [(section.heading_path, section.text) for section in book.sections]


def test_a_word_document_has_its_headings_lists_tables_code_and_notes(tmp_path: Path) -> None:
    call = '<w:footnoteReference w:id="3"/>'
    note = f"<w:p><w:r><w:t>The ship</w:t>{call}<w:t> sailed &amp; sank.</w:t></w:r></w:p>"
    cell = "<w:tc><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:tc>"
    table = "".join(
        f"<w:tr>{''.join(cell.format(text) for text in row)}</w:tr>"
        for row in (("Name", "Size"), ("Cod", "1"))
    )
    control = "<w:sdt><w:sdtContent>{}</w:sdtContent></w:sdt>"
    table += control.format(f"<w:tr>{cell.format('Eel')}{control.format(cell.format('2'))}</w:tr>")
    deleted = "<w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
    changed = f"<w:p><w:ins><w:r><w:t>Kept </w:t></w:r></w:ins>{deleted}</w:p>"
    body = (
        paragraph("The Sea Book", style="T")
        + paragraph("Harbour ...... 3", style="Toc")
        + paragraph("Harbour", style="H1")
        + note
        + paragraph("Fish", style="Deep")
        + item("one", number=1)
        + item("inner", number=2, level=1)
        + item("two", number=1)
        + item("bullet", number=2)
        + f"<w:tbl>{table}</w:tbl>"
        + paragraph("def f(x):", style="C")
        + paragraph("    return x", style="C").replace("<w:t>", '<w:t xml:space="preserve">')
        + paragraph("Storm", style="Own")
        + changed
    )
    said = "<w:p><w:r><w:t>A brig.</w:t></w:r></w:p>"
    notes = f'<w:footnotes {W}><w:footnote w:id="3">{said}</w:footnote></w:footnotes>'
    book = read(write_docx(tmp_path / "sea.docx", body, {"word/footnotes.xml": notes}))
    assert (book.title, book.format, book.authors) == (
        "The Sea Book",
        BookFormat.DOCX,
        ("Ann Writer", "Bo Reader"),
    )
    assert (book.metadata.subjects, book.metadata.published) == (("sea", "ships"), "1999-02-03")
    listed = "1. one\n  - inner\n2. two\n\n- bullet"
    code = "Name | Size\nCod | 1\nEel | 2\n\ndef f(x):\n    return x"
    assert outline(book) == [
        (("Harbour",), "The ship[1] sailed & sank.\n\n[1] A brig."),
        (("Harbour", "Fish"), f"{listed}\n\n{code}"),
        (("Storm",), "Kept"),
    ]
    fish = book.sections[1]
    assert [fish.text[b.start : b.end].split("\n")[0] for b in fish.blocks] == ["Name | Size", "def f(x):"]


def test_a_word_document_without_a_title_is_named_by_its_heading_or_properties(tmp_path: Path) -> None:
    body = paragraph("All", style="H1") + paragraph("Part", style="Deep") + paragraph("Some words here.")
    assert read(write_docx(tmp_path / "a.docx", body)).title == "All"
    assert read(write_docx(tmp_path / "b.docx", paragraph("Only words."))).title == "From the properties"


def test_an_opendocument_text_has_its_headings_lists_tables_and_notes(tmp_path: Path) -> None:
    styles = (
        '<style:style style:name="P1" style:parent-style-name="Title"/>'
        '<style:style style:name="P2" style:parent-style-name="Preformatted_20_Text"/>'
        '<text:list-style style:name="L1"><text:list-level-style-number/></text:list-style>'
    )
    said = "<text:note-body><text:p>A brig.</text:p></text:note-body>"
    note = f"<text:note><text:note-citation>1</text:note-citation>{said}</text:note>"
    cells = "<table:table-cell><text:p>{}</text:p></table:table-cell>"
    body = (
        '<text:p text:style-name="P1">The Sea Book</text:p>'
        "<text:table-of-content><text:p>Harbour 3</text:p></text:table-of-content>"
        '<text:h text:outline-level="1">Harbour</text:h>'
        f'<text:p>The<text:s text:c="999999"/>ship{note} sailed.</text:p>'
        '<text:h text:outline-level="2">Fish</text:h>'
        '<text:list text:style-name="L1"><text:list-item><text:p>one</text:p></text:list-item></text:list>'
        "<table:table><table:table-header-rows><table:table-row>"
        + cells.format("Name")
        + cells.format("Size")
        + "</table:table-row></table:table-header-rows><table:table-row>"
        + cells.format("Cod")
        + cells.format("1")
        + "</table:table-row></table:table>"
        '<text:p text:style-name="P2">if x:</text:p>'
        '<text:p text:style-name="P2"><text:s text:c="4"/>go()</text:p>'
    )
    book = read(write_odt(tmp_path / "sea.odt", body, styles=styles))
    assert (book.title, book.format, book.authors) == ("The Sea Book", BookFormat.ODT, ("Ann Writer",))
    assert (book.metadata.subjects, book.metadata.published) == (("sea", "ships"), "2001-05-06")
    assert outline(book) == [
        (("Harbour",), "The ship[1] sailed.\n\n[1] A brig."),
        (("Harbour", "Fish"), "1. one\n\nName | Size\nCod | 1\n\nif x:\n    go()"),
    ]


def test_a_fictionbook_has_its_parts_verse_notes_cover_and_title_page(tmp_path: Path) -> None:
    info = (
        "<author><first-name>Анна</first-name><last-name>Писатель</last-name></author>"
        '<book-title>Море</book-title><lang>ru</lang><sequence name="Вода" number="2"/>'
        '<date value="1905-01-02"/>'
        '<coverpage><image l:href="#c.png"/></coverpage>'
    )
    body = (
        "<body><title><p>Анна Писатель</p><p>Море</p></title>"
        "<section><title><p>Часть 1</p><p>Порт</p></title>"
        '<epigraph><p>Эпиграф.</p></epigraph><section><title><p>Глава</p></title><p>Корабль<a l:href="#n1" '
        'type="note">1</a> ушёл <emphasis>рано</emphasis>.</p>'
        "<poem><stanza><v>Строка раз</v><v>Строка два</v></stanza></poem></section></section></body>"
        '<body name="notes"><section id="n1"><title><p>1</p></title><p>Бриг.</p></section></body>'
    )
    binary = f'<binary id="c.png" content-type="image/png">{b64encode(PNG).decode()}</binary>'
    book = read(write_fb2(tmp_path / "sea.fb2", body, info=info, more=binary, encoding="windows-1251"))
    assert (book.title, book.language, book.authors) == ("Море", "ru", ("Анна Писатель",))
    assert (book.metadata.series, book.metadata.series_position, book.metadata.published) == (
        "Вода",
        "2",
        "1905-01-02",
    )
    assert book.cover is not None
    assert book.cover.data == PNG
    assert outline(book) == [
        (("Часть 1. Порт",), "Эпиграф."),
        (("Часть 1. Порт", "Глава"), "Корабль[1] ушёл рано.\n\nСтрока раз\nСтрока два"),
        (("Notes",), "[1] Бриг."),
    ]


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
OUTSIDE = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'


def test_a_word_document_is_found_by_its_relationships_as_word_on_the_web_writes_it(tmp_path: Path) -> None:
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    document = f"<w:document {W}><w:body>{paragraph('Tides', style='X')}{paragraph('Seven boats.')}</w:body>"
    styles = f'<w:styles {W}><w:style w:styleId="X"><w:name w:val="heading 1"/></w:style></w:styles>'
    parts = {
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": f'<R><Relationship Type="{kind}/officeDocument" Target="/word/document2.xml"/></R>',
        "word/_rels/document2.xml.rels": f'<R><Relationship Type="{kind}/styles" Target="styles2.xml"/></R>',
        "word/document2.xml": f"{document}</w:document>",
        "word/styles2.xml": styles,
    }
    path = tmp_path / "web.docx"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    book = read(path)
    assert [(section.title, section.text) for section in book.sections] == [("Tides", "Seven boats.")]


def relate(kind: str, target: str) -> str:
    types = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    return f'<R><Relationship Type="{types}/{kind}" Target="{target}"/></R>'


@pytest.mark.parametrize(
    "members",
    [
        {"_rels/.rels": relate("officeDocument", r"word\document.xml")},
        {"_rels/.rels": relate("officeDocument", "word/document2.xml")},
        {"_rels/.rels": ""},
        {"_rels/.rels": "words"},
        {"word/_rels/document.xml.rels": ""},
        {"word/_rels/document.xml.rels": relate("styles", "styles2.xml")},
    ],
)
def test_a_word_document_with_wrong_relationships_is_found_by_the_usual_names(
    tmp_path: Path, members: dict[str, str]
) -> None:
    body = paragraph("Tides", style="H1") + paragraph("Seven boats.")
    book = read(write_docx(tmp_path / "a.docx", body, members))
    assert outline(book) == outline(read(write_docx(tmp_path / "b.docx", body)))
    assert [section.text for section in book.sections] == ["Seven boats."]


@pytest.mark.parametrize("declared", [BOMB, OUTSIDE])
@pytest.mark.parametrize("kind", ["docx", "odt", "fb2"])
def test_documents_with_entities_of_their_own_are_refused(tmp_path: Path, kind: str, declared: str) -> None:
    path = tmp_path / f"bad.{kind}"
    document = f"{declared}<w:document {W}><w:body><w:p><w:r><w:t>&a;</w:t></w:r></w:p></w:body></w:document>"
    if kind == "docx":
        write_docx(path, "", {"word/document.xml": document})
    elif kind == "odt":
        write_odt(path, "", {"content.xml": document})
    else:
        path.write_text(f'<?xml version="1.0"?>{declared}<FictionBook><body><p>&a;</p></body></FictionBook>')
    with pytest.raises(BadBook, match="entities") as caught:
        read(path)
    assert caught.value.code == "bad_document"


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda p: write_docx(p / "a.docx", "", {"word/document.xml": "not XML"}), "bad_document"),
        (lambda p: write_docx(p / "a.docx", ""), "no_text"),
        (lambda p: write_odt(p / "a.odt", "", {"content.xml": "<a><b/></a>"}), "bad_document"),
        (
            lambda p: write_odt(
                p / "a.odt", "", {"META-INF/manifest.xml": "<m><file><encryption-data/></file></m>"}
            ),
            "encrypted",
        ),
        (lambda p: write_fb2(p / "a.fb2", "<body><section/></body>"), "no_text"),
    ],
)
def test_broken_locked_and_empty_documents_are_refused_with_their_reason(
    tmp_path: Path, make: Callable[[Path], Path], code: str
) -> None:
    with pytest.raises(BadBook) as caught:
        read(make(tmp_path))
    assert caught.value.code == code


async def test_deep_and_huge_documents_end_in_the_confined_process(tmp_path: Path) -> None:
    deep = "<section>" * 5000 + "<p>Deep.</p>" + "</section>" * 5000
    small = Limits(max_member_mb=1, parser_seconds=20)
    blown = paragraph("x" * 1000) * 3000
    for path in (
        write_fb2(tmp_path / "a.fb2", f"<body>{deep}</body>"),
        write_docx(tmp_path / "a.docx", blown),
    ):
        with pytest.raises(BadBook) as caught:
            await parse(path, small)
        assert caught.value.code in ("no_text", "bad_document", "html_too_deep", "too_large_expanded")


def test_markup_in_a_document_is_text(tmp_path: Path) -> None:
    body = paragraph("&lt;script&gt;alert(1)&lt;/script&gt; &lt;h1&gt;no&lt;/h1&gt;")
    (section,) = read(write_docx(tmp_path / "a.docx", body)).sections
    assert section.text == "<script>alert(1)</script> <h1>no</h1>"
