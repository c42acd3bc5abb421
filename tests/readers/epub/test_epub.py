"""EPUB books: in order, untidy, locked and hostile."""

from __future__ import annotations

import socket
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from octavo.errors import BadBook
from octavo.limits import Limits
from octavo.readers.epub import package as opf
from octavo.readers.epub.reader import read_epub
from octavo.readers.parsed import ParsedBook
from tests.support.epub_files import (
    CONTAINER,
    NAV_ITEM,
    NCX_ITEM,
    make_document,
    make_nav,
    make_package,
    write_epub,
)

LIMITS = Limits()
PROSE = "<p>It was a bright cold day in April, and the clocks were striking.</p>"


def catch_refusal(path: Path) -> BadBook:
    with pytest.raises(BadBook) as refused:
        read_epub(path, LIMITS)
    return refused.value


def outline(book: ParsedBook) -> list[tuple[tuple[str, ...], str]]:
    return [(s.heading_path, s.text) for s in book.sections]


# A book as it should be


def test_a_book_has_its_title_page_order_and_contents(tmp_path: Path) -> None:
    chapters = {
        "text/one.xhtml": make_document(
            "<h1>Chapter One</h1><p>First.</p><h2 id='s'>Inside</h2><p>Deeper.</p>"
        ),
        "text/two.xhtml": make_document("<p>Second.</p>"),
    }
    lists = """<ol><li><span>Part I</span><ol><li><a href="text/one.xhtml">One</a></li>
      <li><a href="text/two.xhtml">Two</a></li></ol></li></ol>"""
    made = make_package(["text/one.xhtml", "text/two.xhtml"], extra=NAV_ITEM)
    book = read_epub(
        write_epub(tmp_path / "b.epub", {**chapters, "nav.xhtml": make_nav(lists)}, opf=made), LIMITS
    )
    assert (book.title, book.authors, book.language) == ("A Book", ("A. Writer",), "en")
    assert outline(book) == [
        (("Part I", "One"), "First."),
        (("Part I", "One", "Inside"), "Deeper."),
        (("Part I", "Two"), "Second."),
    ]
    assert [(s.source_file, s.anchor, s.url) for s in book.sections] == [
        ("text/one.xhtml", "", ""),
        ("text/one.xhtml", "s", ""),
        ("text/two.xhtml", "", ""),
    ]
    assert book.warnings == ()


def test_entries_with_fragments_split_a_file(tmp_path: Path) -> None:
    body = """<p>Before.</p><h2 id="a">A</h2><p>a text</p><div id="b"><p class="t">B</p><p>b text</p></div>
      <h3>Not listed</h3><p>c text</p>"""
    lists = '<ol><li><a href="x.xhtml">X</a><ol><li><a href="x.xhtml#a">A</a></li></ol></li>'
    lists += '<li><a href="x.xhtml#b">B</a></li></ol>'
    members = {"x.xhtml": make_document(body), "nav.xhtml": make_nav(lists)}
    book = read_epub(
        write_epub(tmp_path / "b.epub", members, opf=make_package(["x.xhtml"], extra=NAV_ITEM)), LIMITS
    )
    assert outline(book) == [
        (("X",), "Before."),
        (("X", "A"), "a text"),
        (("B",), "b text"),
        (("B", "Not listed"), "c text"),
    ]
    assert [s.anchor for s in book.sections] == ["", "a", "b", ""]


def test_an_epub_2_takes_its_contents_and_pages_from_the_ncx(tmp_path: Path) -> None:
    ncx = """<?xml version="1.0"?><!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN"
      "http://www.daisy.org/z3986/2005/ncx-2005-1.dtd"><ncx xmlns="http://www.daisy.org/z3986/2005/ncx/">
      <navMap><navPoint><navLabel><text>Loomings &mdash; I</text></navLabel><content src="a.xhtml"/>
      <navPoint><navLabel><text>Sub</text></navLabel><content src="a.xhtml#s"/></navPoint></navPoint></navMap>
      <pageList><pageTarget value="7"><navLabel><text>vii</text></navLabel><content src="a.xhtml#p7"/>
      </pageTarget></pageList></ncx>"""
    body = '<p>One <span id="p7"/>two.</p><h4 id="s">Sub</h4><p>Three.</p>'
    made = make_package(["a.xhtml"], extra=NCX_ITEM, toc=' toc="ncx"')
    book = read_epub(
        write_epub(tmp_path / "b.epub", {"a.xhtml": make_document(body), "toc.ncx": ncx}, opf=made), LIMITS
    )
    assert [s.heading_path for s in book.sections] == [("Loomings — I",), ("Loomings — I", "Sub")]
    marks = [[(m.offset, m.number, m.label) for m in s.pages] for s in book.sections]
    assert marks == [[(4, 1, "vii")], [(0, 1, "vii")]]


def test_printed_pages_come_from_page_breaks(tmp_path: Path) -> None:
    one = make_document('<h1>One</h1><p>a <span epub:type="pagebreak" title="x"/>b</p>')
    two = make_document(
        '<div role="doc-pagebreak" aria-label="1"/><h1>Two</h1><p>c</p><h2>Three</h2><p>d</p>'
    )
    book = read_epub(write_epub(tmp_path / "b.epub", {"1.xhtml": one, "2.xhtml": two}), LIMITS)
    assert book.page_count == 2
    assert [[(m.offset, m.number, m.label) for m in s.pages] for s in book.sections] == [
        [(2, 1, "x")],
        [(0, 2, "1")],
        [(0, 2, "1")],
    ]


def test_a_heading_that_repeats_the_contents_is_not_doubled(tmp_path: Path) -> None:
    chapters = {
        "1.xhtml": make_document("<h1>Chapter 1</h1><h2>Loomings</h2><p>Call me Ishmael.</p>"),
        "2.xhtml": make_document("<h1>2. The Carpet-Bag</h1><p>I stuffed a shirt.</p>"),
        "3.xhtml": make_document("<p>CHAPTER III</p><p>Entering that inn.</p>"),
    }
    names = ("Chapter 1. Loomings", "II. The Carpet-Bag", "Chapter III")
    lists = "".join(f'<li><a href="{n}.xhtml">{t}</a></li>' for n, t in enumerate(names, 1))
    made = make_package(chapters, extra=NAV_ITEM)
    book = read_epub(
        write_epub(tmp_path / "b.epub", {**chapters, "nav.xhtml": make_nav(f"<ol>{lists}</ol>")}, opf=made),
        LIMITS,
    )
    assert outline(book) == [
        ((names[0],), "Call me Ishmael."),
        ((names[1],), "I stuffed a shirt."),
        ((names[2],), "Entering that inn."),
    ]


def test_wrapping_stays_out_and_the_copyright_page_stays_in(tmp_path: Path) -> None:
    chapters = {
        "cover.xhtml": make_document('<img src="c.png" alt="Cover"/>'),
        "tp.xhtml": make_document("<h1>A Book</h1><p>A. Writer</p>", attributes='epub:type="titlepage"'),
        "c.xhtml": make_document("<p>© 1949 A. Writer</p>", attributes='epub:type="copyright-page"'),
        "toc.xhtml": make_document(
            '<h1>Contents</h1><p><a href="1.xhtml">The first chapter of the book</a></p>'
        ),
        "1.xhtml": make_document(f"<h1>One</h1>{PROSE}"),
        "2.xhtml": make_document("<p>It goes on in a second file.</p>"),
    }
    book = read_epub(write_epub(tmp_path / "b.epub", chapters), LIMITS)
    assert [s.heading_path for s in book.sections] == [("Copyright",), ("One",)]
    assert book.sections[1].text.endswith("striking.\n\nIt goes on in a second file.")


def test_documents_beside_the_main_course_come_last(tmp_path: Path) -> None:
    made = make_package(["n.xhtml", "1.xhtml"]).replace('idref="i0"', 'idref="i0" linear="no"')
    members = {
        "n.xhtml": make_document("<h1>Notes</h1><p>n</p>"),
        "1.xhtml": make_document("<h1>One</h1><p>1</p>"),
    }
    book = read_epub(write_epub(tmp_path / "b.epub", members, opf=made), LIMITS)
    assert [s.title for s in book.sections] == ["One", "Notes"]


# Untidy books


def test_a_missing_manifest_file_is_a_warning(tmp_path: Path) -> None:
    extra = '<item id="logo" href="xslt/logo.png" media-type="image/png"/>'
    made = make_package(["1.xhtml", "lost.xhtml"], extra=extra)
    book = read_epub(
        write_epub(tmp_path / "b.epub", {"1.xhtml": make_document(f"<h1>One</h1>{PROSE}")}, opf=made), LIMITS
    )
    assert [s.title for s in book.sections] == ["One"]
    assert any("lost.xhtml" in w and "xslt/logo.png" in w for w in book.warnings)


@pytest.mark.parametrize(
    "href",
    ["../../etc/passwd", "%2e%2e/%2e%2e/etc/passwd", "/etc/passwd", "C:\\x", "file:///etc/passwd", "a%00b"],
)
def test_an_address_outside_the_book_is_skipped_with_a_warning(tmp_path: Path, href: str) -> None:
    made = make_package([href, "1.xhtml"])
    book = read_epub(write_epub(tmp_path / "b.epub", {"1.xhtml": make_document(PROSE)}, opf=made), LIMITS)
    assert len(book.sections) == 1
    assert "root:" not in book.to_json()
    assert any(href in w for w in book.warnings)


def test_a_chapter_that_the_spine_lists_two_thousand_times_is_read_once(tmp_path: Path) -> None:
    made = make_package(["1.xhtml"], spine=["1.xhtml"] * 2_000)
    book = read_epub(
        write_epub(tmp_path / "b.epub", {"1.xhtml": make_document("<p>" + "word " * 20_000)}, opf=made),
        LIMITS,
    )
    assert (len(book.sections), len(book.sections[0].text.split())) == (1, 20_000)


def test_an_itemref_without_an_item_is_a_warning(tmp_path: Path) -> None:
    made = make_package(["1.xhtml"], spine=["ghost", "1.xhtml"])
    book = read_epub(write_epub(tmp_path / "b.epub", {"1.xhtml": make_document(PROSE)}, opf=made), LIMITS)
    assert any("ghost" in w for w in book.warnings)


def test_the_first_usable_of_two_packages_is_read(tmp_path: Path) -> None:
    container = CONTAINER.format("gone.opf").replace(
        "</rootfiles>", '<rootfile full-path="book.opf"/></rootfiles>'
    )
    members = {"META-INF/container.xml": container, "1.xhtml": make_document(PROSE)}
    assert read_epub(write_epub(tmp_path / "b.epub", members), LIMITS).title == "A Book"


def test_odd_encodings_are_read_as_declared(tmp_path: Path) -> None:
    latin = make_document("<p>Über die Brücke, français</p>").replace("?>", ' encoding="ISO-8859-1"?>', 1)
    wide = make_document("<p>Wide words</p>").replace("?>", ' encoding="UTF-16"?>', 1)
    members = {"1.xhtml": latin.encode("latin-1"), "2.xhtml": wide.encode("utf-16")}
    assert (
        "Über die Brücke, français\n\nWide words"
        in read_epub(write_epub(tmp_path / "b.epub", members), LIMITS).sections[0].text
    )


def test_without_mimetype_container_or_contents_a_book_is_still_read(tmp_path: Path) -> None:
    path = tmp_path / "b.epub"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("OPS/p.opf", make_package(["1.xhtml"]))
        archive.writestr("OPS/1.xhtml", make_document(f"<h1>One</h1>{PROSE}"))
    book = read_epub(path, LIMITS)
    assert [s.source_file for s in book.sections] == ["OPS/1.xhtml"]
    assert len(book.warnings) == 2


# Books that are none


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "b.epub"
    path.write_bytes(b"")
    assert catch_refusal(path).code == "empty_file"


def test_a_book_without_text_is_refused(tmp_path: Path) -> None:
    members = {"1.xhtml": make_document('<img src="scan.png"/>'), "2.xhtml": make_document("<p> &#160; </p>")}
    assert catch_refusal(write_epub(tmp_path / "b.epub", members)).code == "no_text"


@pytest.mark.parametrize(
    ("members", "found"),
    [
        (["word/document.xml", "[Content_Types].xml"], "a Word document"),
        (["xl/workbook.xml"], "an Excel workbook"),
        (["holiday.jpg"], "a plain zip archive"),
    ],
)
def test_another_kind_of_archive_is_named(tmp_path: Path, members: list[str], found: str) -> None:
    path = tmp_path / "b.epub"
    with zipfile.ZipFile(path, "w") as archive:
        for name in members:
            archive.writestr(name, "x")
    refused = catch_refusal(path)
    assert (refused.code, found in refused.message) == ("type_mismatch", True)
    assert "Unpack it" in refused.hint


def test_a_pdf_called_epub_is_named(tmp_path: Path) -> None:
    path = tmp_path / "b.epub"
    path.write_bytes(b"%PDF-1.7\n")
    refused = catch_refusal(path)
    assert (refused.code, "a PDF" in refused.message) == ("type_mismatch", True)


def test_a_truncated_epub_is_damaged(tmp_path: Path) -> None:
    path = write_epub(tmp_path / "b.epub", {"1.xhtml": make_document(PROSE * 50)})
    path.write_bytes(path.read_bytes()[:-200])
    assert catch_refusal(path).code == "damaged_archive"


def test_a_package_that_is_no_xml_is_refused(tmp_path: Path) -> None:
    for broken in ("This is not XML.", "", "<html><body/></html>"):
        assert (
            catch_refusal(write_epub(tmp_path / "b.epub", {"1.xhtml": make_document(PROSE)}, opf=broken)).code
            == "bad_epub"
        )


def test_deep_html_in_a_chapter_is_refused_by_name(tmp_path: Path) -> None:
    path = write_epub(tmp_path / "b.epub", {"deep.xhtml": make_document("<div>" * 200_000)})
    refused = catch_refusal(path)
    assert (refused.code, "deep.xhtml" in refused.message) == ("html_too_deep", True)


# Locks

LOCK = """<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container"
  xmlns:enc="http://www.w3.org/2001/04/xmlenc#"><enc:EncryptedData><enc:EncryptionMethod Algorithm="{}"/>
  {}<enc:CipherData><enc:CipherReference URI="{}"/></enc:CipherData></enc:EncryptedData></encryption>"""
AES = "http://www.w3.org/2001/04/xmlenc#aes256-cbc"


@pytest.mark.parametrize(
    ("name", "data", "scheme"),
    [
        ("encryption.xml", LOCK.format(AES, "", "1.xhtml"), "an unknown scheme"),
        (
            "encryption.xml",
            LOCK.format(AES, "<!-- http://readium.org/2014/01/lcp -->", "1.xhtml"),
            "Readium LCP",
        ),
        ("rights.xml", '<rights xmlns="http://ns.adobe.com/adept"/>', "Adobe ADEPT"),
        ("license.lcpl", "{}", "Readium LCP"),
        ("sinf.xml", "<sinf/>", "Apple FairPlay"),
    ],
)
def test_a_locked_book_is_refused_and_its_lock_named(
    tmp_path: Path, name: str, data: str, scheme: str
) -> None:
    refused = catch_refusal(
        write_epub(tmp_path / "b.epub", {"1.xhtml": make_document(PROSE), f"META-INF/{name}": data})
    )
    assert (refused.code, scheme in refused.message) == ("drm", True)


@pytest.mark.parametrize("method", ["http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"])
def test_scrambled_fonts_lock_nothing(tmp_path: Path, method: str) -> None:
    members = {
        "1.xhtml": make_document(PROSE),
        "META-INF/encryption.xml": LOCK.format(method, "", "fonts/a.otf"),
    }
    assert read_epub(write_epub(tmp_path / "b.epub", members), LIMITS).sections


# XML that attacks

LAUGHS = "<!DOCTYPE x [" + "".join(
    f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' if n else '<!ENTITY l0 "lol">' for n in range(10)
)


@pytest.mark.parametrize("where", ["META-INF/container.xml", "book.opf", "toc.ncx"])
@pytest.mark.parametrize("doctype", ['<!DOCTYPE x [<!ENTITY x SYSTEM "file:///etc/passwd">]>', f"{LAUGHS}]>"])
def test_entities_in_the_books_index_are_refused(tmp_path: Path, where: str, doctype: str) -> None:
    members = {
        "META-INF/container.xml": CONTAINER.format("book.opf"),
        "book.opf": make_package(["1.xhtml"], extra=NCX_ITEM, title="T&x;"),
        "toc.ncx": '<?xml version="1.0"?><ncx><navMap/></ncx>',
        "1.xhtml": make_document(PROSE),
    }
    members[where] = members[where].replace("?>", f"?>{doctype}", 1)
    assert catch_refusal(write_epub(tmp_path / "b.epub", members)).code == "bad_epub"


def test_entities_in_a_chapter_are_not_expanded(tmp_path: Path) -> None:
    hostile = make_document("<p>LEAK &x; &l9; END</p>").replace(
        "?>", f'?>{LAUGHS}<!ENTITY x SYSTEM "/etc/passwd">]>', 1
    )
    book = read_epub(write_epub(tmp_path / "b.epub", {"1.xhtml": hostile}), LIMITS)
    assert book.sections[0].text == "LEAK &x; &l9; END"


@contextmanager
def listener() -> Iterator[tuple[str, list[object]]]:
    """A local server that only notes who comes."""
    came: list[object] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        done = threading.Event()

        def wait() -> None:
            while not done.is_set():
                try:
                    connection, address = server.accept()
                except TimeoutError:
                    continue
                connection.close()
                came.append(address)

        thread = threading.Thread(target=wait)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}", came
        finally:
            done.set()
            thread.join()


def test_nothing_is_ever_fetched(tmp_path: Path) -> None:
    with listener() as (address, came):
        remote = f"""<base href="{address}/b"/><meta http-equiv="refresh" content="0;url={address}/r"/>
          <link rel="stylesheet" href="{address}/c.css"/><img src="{address}/i.png"/>{PROSE}"""
        dtd = f'<!DOCTYPE html PUBLIC "-//X//EN" "{address}/x.dtd">'
        chapter = make_document(remote).replace("?>", f"?>{dtd}", 1)
        ncx = f'<?xml version="1.0"?><!DOCTYPE ncx SYSTEM "{address}/ncx.dtd"><ncx><navMap/></ncx>'
        made = make_package(["1.xhtml"], extra=NCX_ITEM).replace(
            "?>", f'?><!DOCTYPE p SYSTEM "{address}/p.dtd">', 1
        )
        book = read_epub(
            write_epub(tmp_path / "b.epub", {"1.xhtml": chapter, "toc.ncx": ncx}, opf=made), LIMITS
        )
        parameter = f'<!DOCTYPE x [<!ENTITY % p SYSTEM "{address}/p"> %p;]>'
        hostile = make_package(["1.xhtml"]).replace("?>", f"?>{parameter}", 1)
        assert (
            catch_refusal(write_epub(tmp_path / "h.epub", {"1.xhtml": chapter}, opf=hostile)).code
            == "bad_epub"
        )
    assert "bright cold day" in book.sections[0].text
    assert came == []


# The index by itself


@pytest.mark.parametrize(
    ("href", "file", "fragment"),
    [
        ("b.xhtml#x", "OEBPS/b.xhtml", "x"),
        ("../a%20b.xhtml", "a b.xhtml", ""),
        ("#here", "OEBPS/nav.xhtml", "here"),
        ("../../x", None, ""),
        ("http://example.org/x", None, ""),
        ("/OEBPS/b.xhtml", None, ""),
    ],
)
def test_addresses_resolve_inside_the_book(href: str, file: str | None, fragment: str) -> None:
    assert opf.resolve_href("OEBPS/nav.xhtml", href) == (file, fragment)


def test_the_main_title_is_chosen_among_many() -> None:
    titles = """<metadata xmlns:dc="x"><dc:title id="s">Sub</dc:title><dc:title id="m">Main</dc:title>
      <meta refines="#m" property="title-type">main</meta></metadata>"""
    data = f'<package xmlns="http://www.idpf.org/2007/opf">{titles}<manifest/><spine/></package>'
    assert opf.read_package(data.encode(), path="p.opf").title == "Main"
