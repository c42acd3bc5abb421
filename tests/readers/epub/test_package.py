"""The index of an EPUB: container, package, contents, locks."""

from __future__ import annotations

import pytest

from octavo.errors import BadBook
from octavo.readers.epub import package as opf
from octavo.readers.epub.package import TocEntry
from octavo.readers.xml import parse_xml
from tests.support.epub_files import CONTAINER, make_document, make_nav, make_package


def test_the_container_names_packages_in_order_and_none_outside() -> None:
    files = ("a.opf", "../b.opf", "/c.opf", "OPS/d%20e.opf")
    listed = "".join(f'<rootfile full-path="{name}"/>' for name in files)
    data = f"<container><rootfiles>{listed}</rootfiles></container>".encode()
    assert opf.read_rootfiles(data) == ["a.opf", "OPS/d e.opf"]
    assert opf.read_rootfiles(CONTAINER.format("x.opf").encode()) == ["x.opf"]


def test_a_package_gives_items_order_and_guide() -> None:
    made = make_package(["a.xhtml"], extra='<item id="n" href="n.xhtml" properties="nav x" fallback="i0"/>')
    made = made.replace(
        "</spine>",
        '<itemref idref="n" linear="No"/></spine><guide><reference type="cover" href="a.xhtml#x"/></guide>',
    )
    found = opf.read_package(made.encode(), path="OPS/p.opf")
    assert [(i.id, i.path, i.is_document) for i in found.items] == [
        ("i0", "OPS/a.xhtml", True),
        ("n", "OPS/n.xhtml", True),
    ]
    assert found.items[1].properties == {"nav", "x"}
    assert found.spine == (("i0", True), ("n", False))
    assert found.guide == (("cover", "OPS/a.xhtml"),)


def test_an_untidy_package_is_read_as_far_as_it_goes() -> None:
    made = make_package(["a.xhtml"], title="Tom &amp; Jerry &nbsp;&copy; & Co")
    assert opf.read_package(made.encode(), path="p.opf").title == "Tom & Jerry © Co"
    assert opf.read_package(made.encode("utf-16"), path="p.opf").items


@pytest.mark.parametrize(
    ("dates", "published"),
    [
        (["<dc:date opf:event='modification'>2019-05-01</dc:date>", "<dc:date>1851</dc:date>"], "1851"),
        (
            [
                "<dc:date opf:event='creation'>2012-01-01</dc:date>",
                "<dc:date>2015</dc:date>",
                "<dc:date opf:event='publication'>1851-10-18</dc:date>",
            ],
            "1851-10-18",
        ),
        (["<dc:date opf:event='original-publication'>1851</dc:date>", "<dc:date>2015</dc:date>"], "1851"),
        (["<dc:date opf:event='modification'>2019-05-01</dc:date>"], ""),
        (["<dc:date opf:event='conversion'>2019-05-01</dc:date>", "<dc:date/>"], ""),
        ([], ""),
    ],
)
def test_the_date_of_a_book_is_that_of_its_publication(dates: list[str], published: str) -> None:
    root = parse_xml(
        f"""<package xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:opf="http://www.idpf.org/2007/opf">
        <metadata>{"".join(dates)}<meta property="dcterms:modified">2020-01-01T00:00:00Z</meta></metadata>
        </package>""".encode(),
        name="p.opf",
    )
    assert opf.read_metadata(root).published == published


def test_the_namespace_of_a_package_does_not_matter() -> None:
    made = make_package(["a.xhtml"]).replace(' xmlns="http://www.idpf.org/2007/opf"', "")
    assert len(opf.read_package(made.encode(), path="p.opf").items) == 1


def test_a_navigation_document_gives_nested_entries() -> None:
    lists = """<ol><li><a href="a.xhtml">A <b>bold</b></a><ol><li><a href="a.xhtml#b">B</a></li></ol></li>
      <li><span>Part</span><ol><li><a href="../c.xhtml">C</a></li><li><a href="http://x.org/">Out</a></li>
      </ol></li><li><p><a href="d.xhtml">D</a></p></li></ol>"""
    found = opf.read_nav(make_nav(lists).encode(), path="OPS/nav.xhtml")
    assert found.entries == (
        TocEntry(("A bold",), "OPS/a.xhtml", ""),
        TocEntry(("A bold", "B"), "OPS/a.xhtml", "b"),
        TocEntry(("Part", "C"), "c.xhtml", ""),
        TocEntry(("D",), "OPS/d.xhtml", ""),
    )


def test_landmarks_and_lists_of_figures_are_no_contents() -> None:
    made = make_document(
        """<nav epub:type="landmarks"><ol><li><a href="x.xhtml">Begin</a></li></ol></nav>
        <nav epub:type="loi"><ol><li><a href="f.xhtml">Figure</a></li></ol></nav>
        <nav role="doc-toc"><ol><li><a href="a.xhtml">A</a></li></ol></nav>
        <nav epub:type="page-list"><ol><li><a href="a.xhtml#p1">1</a></li>
        <li><a href="b.xhtml">2</a></li></ol></nav>"""
    )
    found = opf.read_nav(made.encode(), path="nav.xhtml")
    assert [e.path for e in found.entries] == [("A",)]
    assert found.pages == (("a.xhtml", "p1", "1"), ("b.xhtml", "", "2"))


def test_an_ncx_gives_nested_entries_and_skips_nameless_points() -> None:
    data = b"""<ncx><navMap><navPoint><navLabel><text>A</text></navLabel><content src="a.xhtml"/>
      <navPoint><content src="x.xhtml"/><navPoint><navLabel><text> B
      b </text></navLabel><content src="a.xhtml#b"/></navPoint></navPoint></navPoint>
      <navPoint><navLabel><text>Outside</text></navLabel><content src="../../x"/></navPoint></navMap></ncx>"""
    found = opf.read_ncx(data, path="OPS/toc.ncx")
    assert found.entries == (TocEntry(("A",), "OPS/a.xhtml", ""), TocEntry(("A", "B b"), "OPS/a.xhtml", "b"))


def test_very_deep_contents_are_no_way_to_exhaust_the_reader() -> None:
    deep = "<navPoint><navLabel><text>x</text></navLabel>" * 5_000
    with pytest.raises(BadBook, match=r"toc.ncx is nested deeper than 256 levels"):
        opf.read_ncx(f"<ncx><navMap>{deep}".encode(), path="toc.ncx")


@pytest.mark.parametrize(
    "prolog",
    [
        "<!DOCTYPE package [",
        '<!doctype package SYSTEM "x" [ ]>',
        '<!DOCTYPE p SYSTEM "a>b" [<!ENTITY x "y">]>',
        "<!ENTITY x 'y'>",
    ],
)
def test_a_document_that_declares_entities_is_refused(prolog: str) -> None:
    for data in (f"{prolog}<package/>".encode(), f"{prolog}<package/>".encode("utf-16")):
        with pytest.raises(BadBook) as refused:
            parse_xml(data, name="p.opf")
        assert refused.value.code == "bad_epub"


def test_what_is_encrypted_is_listed_with_its_method() -> None:
    data = b"""<encryption xmlns:e="e"><e:EncryptedData><e:EncryptionMethod Algorithm="m"/><e:CipherData>
      <e:CipherReference URI="OPS/a%20b.xhtml"/></e:CipherData></e:EncryptedData></encryption>"""
    assert opf.read_encryption(data) == [("m", "OPS/a b.xhtml")]
