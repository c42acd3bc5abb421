"""Books in HTML: a page by itself, and folders as sites are published."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from octavo.errors import BadBook
from octavo.limits import Limits
from octavo.readers.html.reader import read_html
from octavo.readers.html.site import (
    SitePage,
    drop_shared_title,
    find_base_url,
    find_shared_title,
    resolve_link,
)
from octavo.readers.pages import HtmlPage
from octavo.readers.parsed import ParsedBook

LIMITS = Limits()
PROSE = (
    "<p>The quick brown fox of this page jumps over the lazy dog, and then it does so once more for us.</p>"
)


def site(root: Path, pages: dict[str, str]) -> Path:
    for name, text in pages.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return root


def page(title: str, body: str, *, head: str = "") -> str:
    return (
        f'<!DOCTYPE html><html lang="en"><head><title>{title}</title>{head}</head><body>{body}</body></html>'
    )


def paths(book: ParsedBook) -> list[tuple[str, ...]]:
    return [s.heading_path for s in book.sections]


def catch_refusal(path: Path) -> BadBook:
    with pytest.raises(BadBook) as refused:
        read_html(path, LIMITS)
    return refused.value


# One page


def test_the_only_top_heading_names_the_book(tmp_path: Path) -> None:
    body = "<h1 id=top>The Book</h1><p>Lead.</p><h2 id=a>A</h2><p>a</p><h3>B</h3><pre>b  b</pre>"
    body += "<h2>C</h2><p>c</p>"
    path = tmp_path / "book.html"
    path.write_text(
        page("Site - The Book", body, head='<meta name="author" content="A. Writer">'), encoding="utf-8"
    )
    book = read_html(path, LIMITS)
    assert (book.title, book.language, book.authors) == ("The Book", "en", ("A. Writer",))
    assert paths(book) == [("The Book",), ("A",), ("A", "B"), ("C",)]
    assert [(s.text, s.anchor) for s in book.sections] == [
        ("Lead.", "top"),
        ("a", "a"),
        ("b  b", ""),
        ("c", ""),
    ]
    assert {(s.source_file, s.url) for s in book.sections} == {("book.html", "book.html")}
    block = book.sections[2].blocks[0]
    assert book.sections[2].text[block.start : block.end] == "b  b"


def test_many_top_headings_are_chapters_of_the_title(tmp_path: Path) -> None:
    path = tmp_path / "book.html"
    path.write_text(page("The Book", "<h1>One</h1><p>1</p><h1>Two</h1><p>2</p>"), encoding="utf-8")
    book = read_html(path, LIMITS)
    assert (book.title, paths(book)) == ("The Book", [("One",), ("Two",)])


def test_a_page_without_headings_or_title_is_named_after_its_file(tmp_path: Path) -> None:
    path = tmp_path / "old_notes.htm"
    path.write_bytes("<meta charset=iso-8859-1><p>Grüße aus Köln".encode("latin-1"))
    book = read_html(path, LIMITS)
    assert (book.title, book.sections[0].text) == ("Old notes", "Grüße aus Köln")


def test_what_is_no_page_is_refused(tmp_path: Path) -> None:
    cases = {
        "empty.html": (b"", "empty_file"),
        "blank.html": (b"<p> </p>", "no_text"),
        "pdf.html": (b"%PDF-1.7", "type_mismatch"),
        "zip.html": (b"PK\x03\x04", "type_mismatch"),
        "deep.html": (b"<div>" * 200_000, "html_too_deep"),
        "tag.html": (b"<a" * 5_000_000, "html_limit"),
    }
    for name, (data, code) in cases.items():
        (tmp_path / name).write_bytes(data)
        assert catch_refusal(tmp_path / name).code == code, name


def test_a_page_makes_no_request(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        head = f'<base href="{address}"><meta http-equiv="refresh" content="0;url={address}">'
        head += f'<link rel="stylesheet" href="{address}/a.css"><script src="{address}/a.js"></script>'
        path = tmp_path / "book.html"
        body = f'{PROSE}<img src="{address}/a.png"><iframe src="{address}">'
        path.write_text(page("T", body, head=head), encoding="utf-8")
        assert read_html(path, LIMITS).sections
        with pytest.raises(TimeoutError):
            server.accept()


# A folder of pages


def test_the_contents_page_gives_order_and_parts(tmp_path: Path) -> None:
    index = """<h1>The Manual</h1><div class="toc"><ul><li><a href="zebra.html">Zebras</a>
      <ul><li><a href="sub/stripes.html">Stripes</a></li></ul></li>
      <li>Birds<ul><li><a href="auk.html#top">Auks</a></li></ul></li></ul></div>"""
    made = {
        "index.html": page("The Manual", index),
        "auk.html": page("Auks — The Manual", f"<h1>Auks</h1>{PROSE}<h2 id=food>Food</h2><p>Fish.</p>"),
        "zebra.html": page("Zebras — The Manual", f"<h1>Zebras</h1>{PROSE}"),
        "sub/stripes.html": page("Stripes — The Manual", PROSE),
    }
    book = read_html(site(tmp_path, made), LIMITS)
    assert (book.title, book.language, book.warnings) == ("The Manual", "en", ())
    assert paths(book) == [
        ("Zebras",),
        ("Zebras", "Stripes"),
        ("Birds", "Auks"),
        ("Birds", "Auks", "Food"),
    ]
    assert [(s.url, s.anchor) for s in book.sections][1::2] == [
        ("sub/stripes.html", ""),
        ("auk.html", "food"),
    ]


def test_definition_lists_and_captions_make_parts_too(tmp_path: Path) -> None:
    index = """<p class="caption">Begin</p><ul><li><a href="b.html">B</a></li></ul><p class="caption">End</p>
      <dl><dt><a href="a.html">A</a></dt><dd><dl><dt><a href="c.html">C</a></dt></dl></dd></dl>"""
    pages = {f"{n}.html": page(n.upper(), f"<h2>{n.upper()}</h2>{PROSE}") for n in "abc"}
    book = read_html(site(tmp_path, {"toc.html": page("Book", index), **pages}), LIMITS)
    assert paths(book) == [("Begin", "B"), ("End", "A"), ("End", "A", "C")]


def test_next_links_place_what_the_contents_leave_out(tmp_path: Path) -> None:
    made = {
        "index.html": page("Book", '<ul><li><a href="m.html">M</a></li><li><a href="b.html">B</a></li></ul>'),
        "m.html": page("M", PROSE, head='<link rel="next" href="z.html">'),
        "z.html": page("Z", f'{PROSE}<p><a href="b.html">Next</a></p>'),
        "b.html": page("B", PROSE),
        "a.html": page("A", PROSE),
    }
    assert paths(read_html(site(tmp_path, made), LIMITS)) == [("M",), ("Z",), ("B",), ("A",)]


def test_without_contents_pages_come_in_natural_order(tmp_path: Path) -> None:
    made = {f"ch{n}.html": page(f"Tale {n} – Tales", f"<main>{PROSE}</main>") for n in (10, 9, 1)}
    book = read_html(site(tmp_path, made), LIMITS)
    assert (book.title, paths(book)) == ("Tales", [("Tale 1",), ("Tale 9",), ("Tale 10",)])


def test_many_pages_that_nothing_leads_to_are_a_warning(tmp_path: Path) -> None:
    links = "".join(f'<li><a href="{n}.html">{n}</a></li>' for n in range(5))
    made = {f"{n}.html": page(f"Page {n}", PROSE) for n in range(10)}
    book = read_html(site(tmp_path, {"index.html": page("Book", f"<ol>{links}</ol>"), **made}), LIMITS)
    assert len(book.sections) == 10
    assert "index.html does not link to 5 of 11 pages; they come last, sorted by name" in book.warnings


def test_indexes_search_pages_and_copies_for_printing_hold_no_chapters(tmp_path: Path) -> None:
    names = ("One", "Two", "Three")
    links = "".join(f'<li><a href="{n}.html">{n}</a></li>' for n in names)
    chapters = {f"{n}.html": page(n, f"<h1>{n}</h1>{PROSE}") for n in names}
    whole = "".join(f"<h1>{n}</h1>{PROSE}" for n in names)
    made = {
        "index.html": page("Book", f"<h1>Book</h1>{PROSE}<div class=toctree-wrapper><ul>{links}</ul></div>"),
        "genindex.html": page("Index", f"<h1>Index</h1><ul>{links}</ul>"),
        "search.html": page("Search", "<h1>Search</h1><p>Please activate JavaScript to search.</p>"),
        "all.html": page("Book", whole),
        **chapters,
    }
    book = read_html(site(tmp_path, made), LIMITS)
    assert paths(book) == [("Book",), ("One",), ("Two",), ("Three",)]
    assert book.warnings == ("all.html: left out, it repeats the other pages",)


def test_the_site_says_where_it_stands(tmp_path: Path) -> None:
    made = {
        f"{n}.html": page(n, PROSE, head=f'<link rel="canonical" href="https://example.org/book/{n}.html">')
        for n in "ab"
    }
    assert read_html(site(tmp_path, made), LIMITS).base_url == "https://example.org/book/"


@pytest.mark.parametrize(
    ("file", "canonical", "base"),
    [
        ("docs/a.html", "https://example.org/b/docs/a.html", "https://example.org/b/"),
        ("docs/a.html", "https://example.org/b/docs/a", "https://example.org/b/"),
        ("docs/a/index.html", "https://example.org/docs/a/", "https://example.org/"),
        ("docs/a/index.html", "https://example.org/docs/a", "https://example.org/"),
        ("index.html", "https://example.org/b/", "https://example.org/b/"),
        ("a.html", "https://example.org/other.html", None),
        ("a.html", "javascript:alert(1)/a.html", None),
        ("a.html", "", None),
    ],
)
def test_the_base_is_what_stands_before_any_name_of_the_page(
    file: str, canonical: str, base: str | None
) -> None:
    read_page = HtmlPage(title="", language="", authors=(), pieces=(), linked=0.0)
    page = SitePage(file=file, content=read_page, canonical=canonical)
    assert find_base_url([page]) == base


def test_a_folder_without_pages_is_refused(tmp_path: Path) -> None:
    (tmp_path / "readme.txt").write_text("x", encoding="utf-8")
    assert catch_refusal(tmp_path).code == "no_text"


def test_an_empty_page_of_a_folder_is_a_warning(tmp_path: Path) -> None:
    book = read_html(site(tmp_path, {"a.html": "", "b.html": page("B", PROSE)}), LIMITS)
    assert (paths(book), book.warnings) == ([("B",)], ("a.html is empty: it has 0 bytes",))


# Order and titles


@pytest.mark.parametrize(
    ("href", "file"),
    [
        ("b.html#x", "sub/b.html"),
        ("../a.html?q=1", "a.html"),
        ("../a", "a.html"),
        ("..", "index.html"),
        ("../../a.html", ""),
        ("/a.html", "a.html"),
        ("/docs/sub/b", "sub/b.html"),
        ("/", "index.html"),
        ("//example.org/a.html", ""),
        ("https://example.org/a.html", ""),
        ("#x", ""),
    ],
)
def test_links_lead_to_pages_of_the_folder_only(href: str, file: str) -> None:
    assert resolve_link("sub/c.html", href, {"a.html", "index.html", "sub/b.html"}) == file


def test_titles_lose_what_all_pages_share() -> None:
    titles = ["1. Scope — Manual v4", "2. Files — Manual v4", "Search - other"]
    shared = find_shared_title(titles)
    assert shared == "Manual v4"
    assert [drop_shared_title(t, shared) for t in titles[:2]] == ["1. Scope", "2. Files"]
    assert drop_shared_title("Manual v4", shared) == "Manual v4"
    assert find_shared_title(["Only one - Site"]) == ""
