"""Manuals in many pages: the tree and the order come from what the pages say about each other."""

from __future__ import annotations

import string
from pathlib import Path

import pytest

from octavo.limits import Limits
from octavo.readers.html.reader import read_html
from octavo.readers.html.site import drop_shared_title, find_shared_title
from octavo.readers.parsed import ParsedBook


def make_page(title: str, body: str, *, head: str = "") -> str:
    return f"<!DOCTYPE html><html><head><title>{title}</title>{head}</head><body>{body}</body></html>"


def tell(name: str) -> str:
    return f"<p>What {name} does is told here in a sentence that is long enough to be text, not a label.</p>"


def read(root: Path, pages: dict[str, str]) -> ParsedBook:
    for name, text in pages.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return read_html(root, Limits())


def paths(book: ParsedBook) -> list[tuple[str, ...]]:
    return [s.heading_path for s in book.sections]


def docbook(title: str, body: str, *, up: str = "", following: str = "") -> str:
    head = f'<link rel="next" href="{following}">' if following else ""
    bar = (
        f'<div class="navheader"><a accesskey="u" href="{up}">Up</a> <a accesskey="h" href="index.html">Home'
    )
    return make_page(title, f"{bar}</a></div>{body}" if up else body, head=head)


def make_index(pages: list[str]) -> str:
    entries = (f'<dt>{letter}word, <a href="{pages[n % len(pages)]}#{n}">Somewhere</a></dt>'
               for n, letter in enumerate(sorted(string.ascii_lowercase * 2)))  # fmt: skip
    return f"<h1>Index</h1><dl>{''.join(entries)}</dl>"


def test_a_list_of_figures_takes_no_page_out_of_its_chapter(tmp_path: Path) -> None:
    toc = """<div class="toc"><dl><dt><a href="zoo.html">I. Zoo</a></dt><dd><dl><dt><a href="lion.html">
      1. Lion</a></dt></dl></dd></dl></div><div class="list-of-figures"><dl>
      <dt><a href="claw.html#f1">A claw</a></dt></dl></div>"""
    local = """<div class="toc"><dl><dt><a href="mane.html">Mane</a></dt>
      <dt><a href="claw.html">Claw</a></dt><dt><a href="tail.html">Tail</a></dt></dl></div>"""
    small = {
        name: docbook(title, f"<h2>{title}</h2>{tell(name)}", up="lion.html", following=following)
        for name, title, following in (
            ("mane.html", "Mane", "claw.html"),
            ("claw.html", "Claw", "tail.html"),
            ("tail.html", "Tail", ""),
        )
    }
    pages = {
        "index.html": docbook("Beasts", f"<h1>Beasts</h1>{tell('it')}{toc}", following="zoo.html"),
        "zoo.html": docbook(
            "I. Zoo", f"<h1>I. Zoo</h1>{tell('zoo')}", up="index.html", following="lion.html"
        ),
        "lion.html": docbook(
            "1. Lion", f"<h2>1. Lion</h2>{tell('lion')}{local}", up="zoo.html", following="mane.html"
        ),
        **small,
    }
    found = [path for path in paths(read(tmp_path, pages)) if path[-1] in ("Mane", "Claw", "Tail")]
    assert found == [("I. Zoo", "1. Lion", name) for name in ("Mane", "Claw", "Tail")]


def test_up_and_next_links_make_the_tree_and_an_index_never_does(tmp_path: Path) -> None:
    toc = """<div class="toc"><dl><dt><a href="zoo.html">I. Zoo</a></dt><dd><dl><dt><a href="lion.html">
      1. Lion</a></dt></dl></dd><dt><a href="bookindex.html">Index</a></dt></dl></div>"""
    local = """<div class="toc"><dl><dt><a href="mane.html">Mane</a></dt>
      <dt><a href="claw.html">Claw</a></dt></dl></div>"""
    files = ["zoo.html", "lion.html", "mane.html", "claw.html", "aviary.html"]
    pages = {
        "index.html": docbook("Beasts 2.0", f"<h1>Beasts 2.0</h1>{toc}", following="zoo.html"),
        "zoo.html": docbook(
            "I. Zoo", f"<h1>I. Zoo</h1>{tell('zoo')}", up="index.html", following="lion.html"
        ),
        "lion.html": docbook("1. Lion", f"<h2>1. Lion</h2>{local}", up="zoo.html", following="mane.html"),
        "claw.html": docbook("Claw", f"<h2>Claw</h2>{tell('claw')}", up="lion.html", following="aviary.html"),
        "mane.html": docbook("Mane", f"<h2>Mane</h2>{tell('mane')}", up="lion.html", following="claw.html"),
        "aviary.html": docbook("2. Aviary", f"<h2>2. Aviary</h2>{tell('aviary')}", up="zoo.html"),
        "bookindex.html": docbook("Index", make_index(files), up="index.html"),
    }
    book = read(tmp_path / "html", pages)
    assert book.title == "Beasts 2.0"
    assert paths(book) == [
        ("I. Zoo",),
        ("I. Zoo", "1. Lion"),
        ("I. Zoo", "1. Lion", "Mane"),
        ("I. Zoo", "1. Lion", "Claw"),
        ("I. Zoo", "2. Aviary"),
    ]


def test_pages_that_name_only_their_siblings_stand_under_what_they_call_up(tmp_path: Path) -> None:
    def node(title: str, *, up: str, following: str = "", menu: str = "") -> str:
        head = f'<link rel="up" href="{up}"><link rel="start" href="top.html">'
        head += f'<link rel="next" href="{following}">' if following else ""
        rows = "".join(
            f'<tr><td>&bull; <a href="{n}.html#{n}">{n}</a>:</td><td>All of it.</td></tr>'
            for n in menu.split()
        )
        return make_page(
            f"{title} (Cats 3)", f"<h2>{title}</h2>{tell(title)}<table class=menu>{rows}</table>", head=head
        )

    pages = {
        "top.html": node("Cats 3", up="", menu="wild tame"),
        "tame.html": node("2 Tame", up="top.html"),
        "wild.html": node("1 Wild", up="top.html", following="tame.html", menu="serval lynx"),
        "lynx.html": node("1.2 Lynx", up="wild.html"),
        "serval.html": node("1.1 Serval", up="wild.html", following="lynx.html"),
    }
    book = read(tmp_path / "cats", pages)
    assert paths(book)[1:] == [("1 Wild",), ("1 Wild", "1.1 Serval"), ("1 Wild", "1.2 Lynx"), ("2 Tame",)]
    assert book.title == "Cats 3"


def test_a_page_with_several_top_headings_stays_one_chapter(tmp_path: Path) -> None:
    toc = """<ul><li><a href="lib.html">Library</a><ul><li><a href="curses.html">C</a></li>
      <li><a href="json.html">J</a></li></ul></li></ul>"""
    two = f"<h1>curses — screens</h1>{tell('curses')}<h1>curses.textpad — input</h1>{tell('textpad')}"
    two += f"<h2>Textbox</h2>{tell('box')}"
    none = f"<h1>Overview</h1>{tell('json')}<h1>Details</h1>{tell('detail')}"
    pages = {
        "index.html": make_page("Manual", f"<h1>Manual</h1>{toc}"),
        "lib.html": make_page("Library - Manual", f"<h1>Library</h1>{tell('library')}"),
        "curses.html": make_page("curses — screens - Manual", two),
        "json.html": make_page("json - Manual", none),
    }
    assert paths(read(tmp_path, pages)) == [
        ("Library",),
        ("Library", "curses — screens"),
        ("Library", "curses — screens", "curses.textpad — input"),
        ("Library", "curses — screens", "curses.textpad — input", "Textbox"),
        ("Library", "json"),
        ("Library", "json", "Overview"),
        ("Library", "json", "Details"),
    ]


def test_pages_that_send_the_reader_elsewhere_are_left_out_and_links_lead_on(tmp_path: Path) -> None:
    moved = "<meta http-equiv=refresh content=\"0; URL='{0}'\">"
    toc = '<ol><li><a href="old.html">One</a></li><li><a href="two.html">Two</a></li></ol>'
    pages = {
        "index.html": make_page("Book", f"<h1>Book</h1>{toc}"),
        "old.html": make_page(
            "Redirecting...", '<p>Redirecting to <a href="b.html">b</a></p>', head=moved.format("b.html")
        ),
        "b.html": make_page("Redirecting...", "<p>Moved.</p>", head=moved.format("zz/one.html")),
        "circle.html": make_page("Redirecting...", "<p>Moved.</p>", head=moved.format("circle.html")),
        "zz/one.html": make_page("One", f"<h1>One</h1>{tell('one')}"),
        "two.html": make_page("Two", f"<h1>Two</h1>{tell('two')}"),
    }
    book = read(tmp_path, pages)
    assert [(s.heading_path, s.url) for s in book.sections] == [
        (("One",), "zz/one.html"),
        (("Two",), "two.html"),
    ]


def test_a_home_page_that_is_the_first_chapter_does_not_name_the_book(tmp_path: Path) -> None:
    nav = (
        '<nav><ol><li><a href="intro.html">What is it?</a></li><li><a href="use.html">Use</a></li></ol></nav>'
    )
    first = make_page(
        "What is it? - The Cat Reference", f"{nav}<main><h1>What is it?</h1>{tell('cat')}</main>"
    )
    pages = {
        "index.html": first,
        "intro.html": first,
        "use.html": make_page("Use - The Cat Reference", f"{nav}<main><h1>Use</h1>{tell('use')}</main>"),
    }
    book = read(tmp_path, pages)
    assert (book.title, [(s.heading_path, s.url) for s in book.sections]) == (
        "The Cat Reference",
        [(("What is it?",), "intro.html"), (("Use",), "use.html")],
    )


def test_the_contents_may_be_another_page_than_home_but_no_list_by_letters(tmp_path: Path) -> None:
    names = [f"{letter}{n}" for letter in string.ascii_lowercase[:20] for n in (2, 1)]
    bar = '<ul><li><a href="index.html">Home</a></li><li><a href="docs.html">Documentation</a></li></ul>'
    lists = "".join(
        f"<li>{part}<ul>"
        + "".join(f'<li><a href="{n}.html">{n}</a> &rarr; {n} in a few words</li>' for n in chosen)
        + "</ul></li>"
        for part, chosen in (("► Late", names[30:]), ("► Early", names[:30]))
    )
    letters = "".join(f'<li><a href="{n}.html">{n}</a></li>' for n in sorted(names))
    pages = {f"{n}.html": make_page(f"{n} page", f"{bar}<h1>{n}</h1>{tell(n)}") for n in names}
    pages["index.html"] = make_page("Beast Home Page", f"{bar}{tell('home')}")
    pages["docs.html"] = make_page("Beast Documentation", f"{bar}<ul>{lists}</ul>")
    pages["all.html"] = make_page("Alphabetical List", f"{bar}<h1>Alphabetical List</h1><ul>{letters}</ul>")
    book = read(tmp_path, pages)
    assert book.title == "Beast Documentation"
    chapters = [path for path in paths(book) if len(path) == 2]
    assert chapters[:2] == [("Late", "p2"), ("Late", "p1")]
    assert chapters[10:12] == [("Early", "a2"), ("Early", "a1")]
    assert not any(path[0] == "Alphabetical List" for path in paths(book))


@pytest.mark.parametrize(
    ("titles", "shared", "first"),
    [
        (["Lynx (Cats 3)", "Serval (Cats 3)", "Top (Cats 3)"], "Cats 3", "Lynx"),
        (["A (Octave (version 7))", "B (Octave (version 7))"], "Octave (version 7)", "A"),
        (["A | Docs | Site", "B | Docs | Site"], "Docs | Site", "A"),
        (["Eigen: A", "Eigen: B"], "Eigen", "A"),
    ],
)
def test_the_longest_part_that_titles_share_is_the_name_of_the_site(
    titles: list[str], shared: str, first: str
) -> None:
    assert find_shared_title(titles) == shared
    assert drop_shared_title(titles[0], shared) == first
