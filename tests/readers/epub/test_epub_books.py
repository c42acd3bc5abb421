"""Whole EPUB books as publishers make them, read through the one door and in the confined process."""

from __future__ import annotations

import unicodedata
import zipfile
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

import pytest

from octavo.errors import BadBook
from octavo.limits import Limits
from octavo.readers import read_book
from octavo.readers.parsed import ParsedBook
from octavo.readers.sandbox import parse
from octavo.types import BookFormat
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
PROSE = "<p>It was a bright cold day in April, and the clocks were striking thirteen.</p>"


def book(path: Path, members: Mapping[str, str | bytes], *, opf: str | None = None) -> ParsedBook:
    return read_book(write_epub(path / "book.epub", members, opf=opf), LIMITS)


def paths(found: ParsedBook) -> list[tuple[str, ...]]:
    return [s.heading_path for s in found.sections]


def catch_refusal(path: Path) -> BadBook:
    with pytest.raises(BadBook) as refused:
        read_book(path, LIMITS)
    return refused.value


def ncx(points: str) -> str:
    return f"""<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN"
      "http://www.daisy.org/z3986/2005/ncx-2005-1.dtd"><ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"
      version="2005-1"><head><meta name="dtb:depth" content="2"/></head>
      <docTitle><text>Tales</text></docTitle>
      <navMap>{points}</navMap></ncx>"""


def point(label: str, source: str, inside: str = "") -> str:
    text = f"<navLabel><text>{label}</text></navLabel>"
    return f'<navPoint id="n">{text}<content src="{source}"/>{inside}</navPoint>'


def lines(*entries: tuple[str, str]) -> str:
    return "".join(f'<li><a href="{href}">{label}</a></li>' for href, label in entries)


# Two whole books

EPUB_2 = """<?xml version="1.0" encoding="UTF-8"?><package xmlns="http://www.idpf.org/2007/opf" version="2.0"
  unique-identifier="id"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/"
  xmlns:opf="http://www.idpf.org/2007/opf"><dc:title>Tales &amp; Travels</dc:title>
  <dc:creator opf:role="aut" opf:file-as="Grimm, Jacob">Jacob Grimm</dc:creator>
  <dc:creator>Jacob Grimm</dc:creator>
  <dc:creator>Wilhelm Grimm</dc:creator><dc:language>en-GB</dc:language>
  <meta name="cover" content="img"/></metadata>
  <manifest><item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>
  <item id="cover" href="cover.xhtml" media-type="application/xhtml+xml"/>
  <item id="title" href="Text/title.xhtml" media-type="application/xhtml+xml"/>
  <item id="c1" href="Text/tales.xhtml" media-type="application/xhtml+xml"/>
  <item id="c2" href="Text/travels.xhtml" media-type="application/xhtml+xml"/>
  <item id="css" href="style.css" media-type="text/css"/></manifest>
  <spine toc="ncx"><itemref idref="cover" linear="no"/><itemref idref="title"/><itemref idref="c1"/>
  <itemref idref="c2"/></spine>
  <guide><reference type="title-page" href="Text/title.xhtml"/></guide></package>"""


async def test_an_epub_2_with_an_ncx_is_read_whole_in_the_confined_process(tmp_path: Path) -> None:
    tales = f"""<h1>Tales</h1><p>Told at home.</p><h2 id="frog">The Frog King</h2>{PROSE}
      <blockquote><p>O well,<br/>I drink.</p></blockquote><h2 id="hans">Clever Hans</h2>
      <p>Where are you going, Hans?<a href="#n1" class="noteref">1</a></p>
      <div class="footnote" id="n1"><p>1. To Gretel.</p></div>"""
    points = point(
        "Tales",
        "Text/tales.xhtml",
        point("The Frog King", "Text/tales.xhtml#frog") + point("Clever Hans", "Text/tales.xhtml#hans"),
    ) + point("Travels", "Text/travels.xhtml")
    members = {
        "META-INF/container.xml": CONTAINER.format("OEBPS/content.opf"),
        "OEBPS/content.opf": EPUB_2,
        "OEBPS/toc.ncx": ncx(points),
        "OEBPS/cover.xhtml": make_document('<img src="c.jpg" alt="Cover"/>'),
        "OEBPS/Text/title.xhtml": make_document("<h1>Tales &amp; Travels</h1><p>J. &amp; W. Grimm</p>"),
        "OEBPS/Text/tales.xhtml": make_document(tales, title="Tales"),
        "OEBPS/Text/travels.xhtml": make_document("<h1>Travels</h1><p>They went away.</p>"),
    }
    found = await parse(write_epub(tmp_path / "tales.epub", members, opf=""), LIMITS)
    assert (found.title, found.authors, found.language) == (
        "Tales & Travels",
        ("Jacob Grimm", "Wilhelm Grimm"),
        "en-GB",
    )
    assert found.format is BookFormat.EPUB
    assert [(s.heading_path, s.anchor, s.source_file) for s in found.sections] == [
        (("Tales",), "", "OEBPS/Text/tales.xhtml"),
        (("Tales", "The Frog King"), "frog", "OEBPS/Text/tales.xhtml"),
        (("Tales", "Clever Hans"), "hans", "OEBPS/Text/tales.xhtml"),
        (("Travels",), "", "OEBPS/Text/travels.xhtml"),
    ]
    assert found.sections[1].text.endswith("O well,\nI drink.")
    assert found.sections[2].text == "Where are you going, Hans?[1]\n\n1. To Gretel."
    assert found.warnings == ("tales.epub: listed but not in the archive: style.css",)


async def test_an_epub_3_with_nav_landmarks_and_pages_is_read_whole(tmp_path: Path) -> None:
    def at(number: int) -> str:
        return f'<span epub:type="pagebreak" role="doc-pagebreak" id="page{number}" aria-label="{number}"/>'

    one = f"""<section epub:type="chapter"><header><h1>Loomings</h1></header>{at(1)}<p>Call me Ishmael.
      {at(2)}Some years ago.</p>
      <aside epub:type="footnote" id="f1"><p>Never mind how long.</p></aside></section>"""
    two = f'<section epub:type="chapter"><h1>The Carpet-Bag</h1><p>I stuffed a shirt.</p>{at(3)}</section>'
    chapters = lines(("1.xhtml", "Loomings"), ("2.xhtml", "The Carpet-Bag"))
    toc = f'<nav epub:type="toc" id="toc"><h1>Contents</h1><ol>{chapters}</ol></nav>'
    landmarks = f'<nav epub:type="landmarks" hidden=""><ol>{lines(("1.xhtml", "Begin reading"))}</ol></nav>'
    listed = lines(*((f"{1 + (n > 2)}.xhtml#page{n}", f"p. {n}") for n in (1, 2, 3)))
    pages = f'<nav epub:type="page-list" hidden=""><ol>{listed}</ol></nav>'
    members = {
        "1.xhtml": make_document(one),
        "2.xhtml": make_document(two),
        "nav.xhtml": make_document(f"{landmarks}{toc}{pages}"),
    }
    made = make_package(["1.xhtml", "2.xhtml"], extra=NAV_ITEM, spine=["nav", "1.xhtml", "2.xhtml"])
    found = await parse(write_epub(tmp_path / "whale.epub", members, opf=made), LIMITS)
    assert [(s.title, s.text) for s in found.sections] == [
        ("Loomings", "Call me Ishmael. Some years ago.\n\nNever mind how long."),
        ("The Carpet-Bag", "I stuffed a shirt."),
    ]
    assert found.page_count == 3
    assert [[(m.offset, m.number, m.label) for m in s.pages] for s in found.sections] == [
        [(0, 1, "p. 1"), (17, 2, "p. 2")],
        [(0, 2, "p. 2"), (18, 3, "p. 3")],
    ]


def test_parts_chapters_and_sections_nest_three_deep(tmp_path: Path) -> None:
    nested = """<ol><li><a href="p1.xhtml">Part One: Sea</a><ol><li><a href="c1.xhtml">Whales</a><ol>
      <li><a href="c1.xhtml#b">Blue</a></li></ol></li></ol></li><li><span>Part Two: Land</span><ol>
      <li><a href="c2.xhtml">Horses</a></li></ol></li></ol>"""
    members = {
        "p1.xhtml": make_document("<h1>Part One: Sea</h1>"),
        "c1.xhtml": make_document(
            f'<h2>Whales</h2>{PROSE}<h3 id="b">Blue</h3><p>Large.</p><h4>Diet</h4><p>Krill.</p>'
        ),
        "c2.xhtml": make_document(f"<h2>Horses</h2>{PROSE}"),
    }
    made = make_package(members, extra=NAV_ITEM)
    found = book(tmp_path, {**members, "nav.xhtml": make_nav(nested)}, opf=made)
    assert paths(found) == [
        ("Part One: Sea",),
        ("Part One: Sea", "Whales"),
        ("Part One: Sea", "Whales", "Blue"),
        ("Part One: Sea", "Whales", "Blue", "Diet"),
        ("Part Two: Land", "Horses"),
    ]
    assert found.sections[0].text == ""


def test_a_fixed_layout_of_drawings_and_bare_svg_pages_is_read(tmp_path: Path) -> None:
    drawn = '<svg xmlns="http://www.w3.org/2000/svg"><title>x</title><text>{}</text></svg>'
    made = make_package(["1.xhtml"], extra='<item id="s" href="2.svg" media-type="image/svg+xml"/>')
    made = made.replace("</spine>", '<itemref idref="s"/></spine>')
    members = {
        "1.xhtml": make_document(drawn.format("The wind rose at noon.")),
        "2.svg": f'<?xml version="1.0"?>{drawn.format("The sea was calm.")}',
    }
    (section,) = book(tmp_path, members, opf=made).sections
    assert section.text == "The wind rose at noon.\n\nThe sea was calm."


def test_japanese_set_vertically_and_arabic_from_the_right_are_read(tmp_path: Path) -> None:
    members = {
        "1.xhtml": make_document(
            "<h1>第一章</h1><p><ruby>羅生門<rt>らしょうもん</rt></ruby>の下で雨やみを待っていた。</p>"
        ),
        "2.xhtml": make_document('<h1 dir="rtl">الفصل الأول</h1><p dir="rtl">كان يا ما كان.</p>'),
    }
    made = make_package(members, extra=NAV_ITEM).replace("<spine", '<spine page-progression-direction="rtl"')
    contents = make_nav(f"<ol>{lines(('1.xhtml', '第一章'), ('2.xhtml', 'الفصل الأول'))}</ol>")
    found = book(tmp_path, {**members, "nav.xhtml": contents}, opf=made)
    assert [(s.title, s.text) for s in found.sections] == [
        ("第一章", "羅生門(らしょうもん)の下で雨やみを待っていた。"),
        ("الفصل الأول", "كان يا ما كان."),
    ]


def test_hindi_titles_that_differ_in_a_vowel_sign_are_two_titles(tmp_path: Path) -> None:
    members = {"1.xhtml": make_document("<h1>दिन</h1><p>एक।</p><h1>दान</h1><p>दो।</p>")}
    contents = make_nav(f"<ol>{lines(('1.xhtml', 'दिन'))}</ol>")
    found = book(tmp_path, {**members, "nav.xhtml": contents}, opf=make_package(members, extra=NAV_ITEM))
    assert [(s.title, s.text) for s in found.sections] == [("दिन", "एक।"), ("दान", "दो।")]


@pytest.mark.parametrize(
    ("entry", "heading"),
    [("I", "Hawaii"), ("Appendix", "A"), ("On", "Introduction"), ("One", "Bone and stone"), ("9", "1999")],
)
def test_a_heading_is_never_taken_for_an_entry_that_only_shares_letters(
    tmp_path: Path, entry: str, heading: str
) -> None:
    members = {"1.xhtml": make_document(f"<h1>{heading}</h1>{PROSE}")}
    contents = make_nav(f"<ol>{lines(('1.xhtml', entry))}</ol>")
    found = book(tmp_path, {**members, "nav.xhtml": contents}, opf=make_package(members, extra=NAV_ITEM))
    assert paths(found) == [(entry,), (entry, heading)]


def test_the_first_words_of_a_chapter_are_text_though_its_title_begins_alike(tmp_path: Path) -> None:
    members = {"1.xhtml": make_document("<p>In</p><p>the beginning.</p>")}
    contents = make_nav(f"<ol>{lines(('1.xhtml', 'Introduction'))}</ol>")
    found = book(tmp_path, {**members, "nav.xhtml": contents}, opf=make_package(members, extra=NAV_ITEM))
    assert found.sections[0].text == "In\n\nthe beginning."


# Addresses

ODD_NAMES = [
    "chapter one.xhtml",
    "capítulo uno.xhtml",
    "第一章.xhtml",
    "a+b&c.xhtml",
    "100%.xhtml",
    "Part1:A.xhtml",
]


@pytest.mark.parametrize("name", ODD_NAMES)
@pytest.mark.parametrize("quoted", [True, False])
def test_a_chapter_is_found_whatever_its_file_is_called(tmp_path: Path, name: str, quoted: bool) -> None:
    href = quote(name) if quoted or ":" in name else name.replace("&", "&amp;")
    members = {f"OPS/text/{name}": make_document(f"<h1>One</h1>{PROSE}")}
    members["META-INF/container.xml"] = CONTAINER.format("OPS/book.opf")
    members["OPS/book.opf"] = make_package([f"text/{href}"])
    found = book(tmp_path, members, opf="")
    assert [s.source_file for s in found.sections] == [f"OPS/text/{name}"]
    assert found.warnings == ("book.epub has no table of contents; its headings are used instead",)


def test_names_are_found_though_accents_capitals_and_quoting_differ(tmp_path: Path) -> None:
    decomposed = unicodedata.normalize("NFD", "Café.xhtml")
    members = {
        decomposed: make_document("<h1>One</h1><p>a</p>"),
        "two%20words.xhtml": make_document("<h1>Two</h1><p>b</p>"),
        "THREE.XHTML": make_document("<h1>Three</h1><p>c</p>"),
    }
    made = make_package(["Café.xhtml", "two%20words.xhtml", "three.xhtml"])
    assert [s.title for s in book(tmp_path, members, opf=made).sections] == ["One", "Two", "Three"]


def test_the_nav_and_the_guide_are_known_though_their_capitals_differ(tmp_path: Path) -> None:
    members = {
        "NAV.xhtml": make_nav(
            f"<ol>{lines(('1.xhtml', 'One'))}</ol><p>Words beside the list of contents.</p>"
        ),
        "T.xhtml": make_document("<p>A. Writer, London, 1949</p>"),
        "1.xhtml": make_document(f"<h1>One</h1>{PROSE}"),
    }
    made = make_package(["1.xhtml", "t.xhtml"], extra=NAV_ITEM, spine=["nav", "t.xhtml", "1.xhtml"])
    made = made.replace(
        "</package>", '<guide><reference type="title-page" href="t.xhtml"/></guide></package>'
    )
    assert paths(book(tmp_path, members, opf=made)) == [("One",)]


# Untidy packages


def test_two_documents_under_one_id_are_both_read(tmp_path: Path) -> None:
    made = make_package(["1.xhtml", "2.xhtml"]).replace('"i1"', '"i0"')
    members = {f"{n}.xhtml": make_document(f"<h1>Number {n}</h1>{PROSE}") for n in (1, 2)}
    assert paths(book(tmp_path, members, opf=made)) == [("Number 1",), ("Number 2",)]


@pytest.mark.parametrize("media", ["application/xml", "text/plain", "application/octet-stream", ""])
def test_a_wrong_media_type_hides_no_chapter(tmp_path: Path, media: str) -> None:
    made = make_package(["1.xhtml"]).replace("application/xhtml+xml", media)
    assert paths(book(tmp_path, {"1.xhtml": make_document(f"<h1>One</h1>{PROSE}")}, opf=made)) == [("One",)]


def test_a_fallback_stands_in_for_what_cannot_be_read(tmp_path: Path) -> None:
    extra = '<item id="pdf" href="a.pdf" media-type="application/pdf" fallback="mid"/>'
    extra += '<item id="mid" href="a.bin" media-type="x/y" fallback="i0"/>'
    extra += '<item id="loop" href="b.bin" media-type="x/y" fallback="loop"/>'
    made = make_package(["1.xhtml"], extra=extra, spine=["pdf", "loop"])
    members = {"1.xhtml": make_document(f"<h1>One</h1>{PROSE}"), "a.pdf": "%PDF", "a.bin": "", "b.bin": ""}
    assert paths(book(tmp_path, members, opf=made)) == [("One",)]


def test_marks_of_byte_order_and_old_encodings_are_read_everywhere(tmp_path: Path) -> None:
    latin = make_document("<h1>Café</h1><p>Déjà vu.</p>").replace("?>", ' encoding="ISO-8859-1"?>', 1)
    members: dict[str, str | bytes] = {
        "META-INF/container.xml": b"\xef\xbb\xbf" + CONTAINER.format("book.opf").encode(),
        "book.opf": make_package(["1.xhtml", "2.xhtml"], title="Élan", extra=NAV_ITEM).encode("utf-16"),
        "nav.xhtml": b"\xef\xbb\xbf"
        + make_nav(f"<ol>{lines(('1.xhtml', 'Café'), ('2.xhtml', 'Là'))}</ol>").encode(),
        "1.xhtml": latin.encode("latin-1"),
        "2.xhtml": b"\xef\xbb\xbf" + make_document("<h1>Là</h1><p>Où ?</p>").encode(),
    }
    found = book(tmp_path, members)
    assert (found.title, [(s.title, s.text) for s in found.sections]) == (
        "Élan",
        [("Café", "Déjà vu."), ("Là", "Où ?")],
    )


def test_contents_with_empty_missing_and_foreign_addresses_are_read_as_far_as_they_go(tmp_path: Path) -> None:
    contents = """<ol><li><a href="">Empty</a></li><li><a>None</a></li><li><a href="gone.xhtml">Gone</a></li>
      <li><a href="http://example.org/">Out</a></li><li></li><li><a href="1.xhtml#nowhere">One</a></li>
      <li><a href="2.xhtml"></a></li><li><div><a href="3.xhtml">Three</a></div><div><ol><li>
      <a href="3.xhtml#x">Inner</a></li></ol></div></li></ol>"""
    members = {
        "1.xhtml": make_document(PROSE),
        "2.xhtml": make_document("<h1>Two</h1><p>b</p>"),
        "3.xhtml": make_document('<p>c</p><p id="x">d</p>'),
    }
    found = book(
        tmp_path, {**members, "nav.xhtml": make_nav(contents)}, opf=make_package(members, extra=NAV_ITEM)
    )
    assert paths(found) == [("One",), ("Two",), ("Three",), ("Three", "Inner")]
    assert [s.text for s in found.sections[1:]] == ["b", "c", "d"]


def test_a_broken_nav_leaves_the_ncx_to_speak(tmp_path: Path) -> None:
    broken = make_nav("<ol/>").replace("?>", '?><!DOCTYPE html [<!ENTITY x "y">]>', 1)
    members = {"1.xhtml": make_document(PROSE), "nav.xhtml": broken, "toc.ncx": ncx(point("One", "1.xhtml"))}
    found = book(tmp_path, members, opf=make_package(["1.xhtml"], extra=NAV_ITEM + NCX_ITEM))
    assert paths(found) == [("One",)]
    assert any("nav.xhtml declares its own entities" in w for w in found.warnings)


def test_a_chapter_of_tables_code_lists_and_figures_is_read_in_order(tmp_path: Path) -> None:
    chapter = """<h1>Setup</h1><p>Run <code>make</code>:</p><pre><code class="language-sh"><span
      class="hljs-built_in">cd</span> src
make</code></pre><table><thead><tr><th>Flag</th><th>Use</th></tr></thead><tbody><tr><td>-j</td><td>jobs</td></tr>
      </tbody></table><dl><dt>make</dt><dd>builds</dd></dl>
      <figure><img src="a.png" alt="A long alternative text"/>
      <figcaption>Figure 1. The build</figcaption></figure><ol start="2"><li>two</li><li>three</li></ol>"""
    (section,) = book(tmp_path, {"1.xhtml": make_document(chapter)}).sections
    assert section.text == (
        "Run make:\n\ncd src\nmake\n\nFlag | Use\n-j | jobs"
        "\n\nmake\nbuilds\n\nFigure 1. The build\n\n2. two\n3. three"
    )
    assert [section.text[b.start : b.end] for b in section.blocks] == [
        "cd src\nmake",
        "Flag | Use\n-j | jobs",
    ]


# Locks as booksellers fit them

AES = "http://www.w3.org/2001/04/xmlenc#aes128-cbc"
ENCRYPTION = """<?xml version="1.0"?>
  <encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container">{}</encryption>"""
LOCKED = """<EncryptedData xmlns="http://www.w3.org/2001/04/xmlenc#"><EncryptionMethod Algorithm="{}"/>
  <KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#">{}</KeyInfo>
  <CipherData><CipherReference URI="{}"/></CipherData>
  </EncryptedData>"""
ADEPT = '<resource xmlns="http://ns.adobe.com/adept">urn:uuid:1</resource>'
LCP = '<RetrievalMethod URI="license.lcpl#/encryption/content_key" Type="http://readium.org/2014/01/lcp#x"/>'


@pytest.mark.parametrize(
    ("method", "key", "file", "scheme"),
    [
        (AES, ADEPT, "1.xhtml", "Adobe ADEPT"),
        (AES, LCP, "1.xhtml", "Readium LCP"),
        (AES, "<x>com.apple.com/drm</x>", "1.xhtml", "Apple FairPlay"),
        (AES, "<x>kobo</x>", "1.xhtml", "Kobo"),
        (AES, "", "toc.ncx", "an unknown scheme"),
        (AES, "", "a%20b.HTML", "an unknown scheme"),
    ],
)
def test_a_lock_on_the_text_is_named(tmp_path: Path, method: str, key: str, file: str, scheme: str) -> None:
    lock = ENCRYPTION.format(LOCKED.format(method, key, file))
    path = write_epub(tmp_path / "b.epub", {"1.xhtml": make_document(PROSE), "META-INF/encryption.xml": lock})
    refused = catch_refusal(path)
    assert (refused.code, f"with {scheme}" in refused.message) == ("drm", True)
    assert "does not remove DRM" in refused.hint


def test_a_lock_on_pictures_sounds_and_fonts_leaves_the_text_readable(tmp_path: Path) -> None:
    fonts = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
    locks = "".join(LOCKED.format(method, "", f"fonts/{n}.otf") for n, method in enumerate(fonts))
    locks += LOCKED.format(AES, ADEPT, "images/1.jpg") + LOCKED.format(AES, "", "audio/1.mp3")
    members = {"1.xhtml": make_document(PROSE), "META-INF/encryption.xml": ENCRYPTION.format(locks)}
    assert "bright cold day" in book(tmp_path, members).sections[0].text


def test_a_member_with_a_password_is_named_as_locked(tmp_path: Path) -> None:
    path = write_epub(tmp_path / "b.epub", {"1.xhtml": make_document(PROSE)})
    data = bytearray(path.read_bytes())
    place = data.rfind(b"PK\x01\x02", 0, data.rfind(b"1.xhtml"))
    data[place + 8] |= 1
    path.write_bytes(bytes(data))
    refused = catch_refusal(path)
    assert (refused.code, "1.xhtml is locked with a password" in refused.message) == ("drm", True)


def test_an_archive_without_the_mimetype_first_is_still_a_book(tmp_path: Path) -> None:
    path = tmp_path / "b.epub"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("OPS/", "")
        archive.writestr("OPS/1.xhtml", make_document(f"<h1>One</h1>{PROSE}"))
        archive.writestr("OPS/p.opf", make_package(["1.xhtml"]))
        archive.writestr("META-INF/container.xml", CONTAINER.format("OPS/p.opf"))
        archive.writestr("mimetype", "application/epub+zip")
    assert paths(read_book(path, LIMITS)) == [("One",)]
