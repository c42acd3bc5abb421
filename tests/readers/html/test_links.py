"""Contents pages as sites write them: which files, in which order, under what."""

from __future__ import annotations

from octavo.limits import Limits
from octavo.readers.html.dom import parse_page
from octavo.readers.html.links import read_contents_links

FILES = {"a.html", "b.html", "c.html", "d.html"}


def lines(body: str) -> list[tuple[str, list[tuple[str, str]]]]:
    def follow(href: str) -> str:
        file = href.partition("#")[0]
        return file if file in FILES else ""

    return read_contents_links(parse_page(body, Limits(), name="index.html"), follow)


def test_each_file_counts_once_and_steps_do_not() -> None:
    body = """<a rel="next" href="b.html">Next</a><p><a href="a.html">A</a> <a href="a.html#x">A, x</a>
      <a href="b.html">B</a> <a href="http://example.org/c.html">C</a></p>"""
    assert lines(body) == [("a.html", []), ("b.html", [])]


def test_nested_lists_say_what_stands_above() -> None:
    body = """<ul><li><p><a href="a.html">A</a></p><ul><li><a href="b.html">B</a></li></ul></li>
      <li>Birds and <b>beasts</b><ol><li><a href="c.html">C</a><ul><li><a href="d.html">D</a></li></ul></li>
      </ol></li></ul>"""
    assert lines(body) == [
        ("a.html", []),
        ("b.html", [("a.html", "A")]),
        ("c.html", [("", "Birds and beasts")]),
        ("d.html", [("", "Birds and beasts"), ("c.html", "C")]),
    ]


def test_part_titles_of_mdbook_hold_until_the_next() -> None:
    body = """<ol><li><a href="a.html">Intro</a></li><li class="part-title">Basics</li>
      <li><a href="b.html">B</a></li><li><a href="c.html">C</a></li><li class="part-title">More</li>
      <li><a href="d.html">D</a></li></ol>"""
    assert lines(body) == [
        ("a.html", []),
        ("b.html", [("", "Basics")]),
        ("c.html", [("", "Basics")]),
        ("d.html", [("", "More")]),
    ]


def test_headings_before_lists_are_parts_when_there_are_several() -> None:
    several = """<h2>Start</h2><ul><li><a href="a.html">A</a></li></ul>
      <h2>Go on</h2><ul><li><a href="b.html">B</a></li></ul>"""
    assert lines(several) == [("a.html", [("", "Start")]), ("b.html", [("", "Go on")])]
    assert lines('<h2>Contents</h2><ul><li><a href="a.html">A</a></li></ul>') == [("a.html", [])]
    assert lines('<h2>Only</h2><ul><li><a href="a.html">A</a></li></ul>') == [("a.html", [])]


def test_the_list_in_the_article_wins_over_the_menu_when_it_is_whole() -> None:
    menu = '<nav><a href="d.html">D</a><a href="c.html">C</a><a href="b.html">B</a></nav>'
    whole = '<main><ol><li><a href="a.html">A</a></li><li><a href="b.html">B</a></li></ol></main>'
    assert [file for file, _ in lines(menu + whole)] == ["a.html", "b.html"]
    assert [file for file, _ in lines(f'{menu}<main><a href="a.html">A</a></main>')] == [
        "d.html",
        "c.html",
        "b.html",
        "a.html",
    ]


def test_a_list_in_a_line_of_its_own_stands_under_the_line_before() -> None:
    body = """<ol class="chapter"><li><a href="a.html">A</a></li>
      <li><ol class="section"><li><a href="b.html">B</a></li>
      <li><ol><li><a href="c.html">C</a></li></ol></li></ol></li><li><a href="d.html">D</a></li></ol>"""
    assert lines(body) == [
        ("a.html", []),
        ("b.html", [("a.html", "A")]),
        ("c.html", [("a.html", "A"), ("b.html", "B")]),
        ("d.html", []),
    ]
