"""Odd folders of pages, and single pages with whatever headings and encodings they have."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from octavo.limits import Limits
from octavo.readers import read_book
from octavo.readers.parsed import ParsedBook
from octavo.readers.sandbox import parse

LIMITS = Limits()
PROSE = "The miller's youngest son got nothing but the cat, and the cat asked for a pair of boots."


def site(root: Path, pages: dict[str, str]) -> Path:
    root.mkdir()
    for name, text in pages.items():
        (root / name).write_text(text, encoding="utf-8")
    return root


# Odd folders


def test_pages_with_odd_names_are_found_and_addressed(tmp_path: Path) -> None:
    rows = ("b%20b.html", "%C3%A9t%C3%A9.html", "x.htm")
    index = "".join(f'<li><a href="{row}">{row}</a></li>' for row in rows)
    page = "<title>{0}</title><h1>{0}</h1><p>" + PROSE
    pages = {"index.html": f"<h1>Book</h1><ul>{index}</ul>"}
    pages |= {"b b.html": page.format("B"), "été.html": page.format("Summer"), "x.htm": page.format("X")}
    book = read_book(site(tmp_path / "book", pages), LIMITS)
    assert [(s.title, s.url) for s in book.sections] == [
        ("B", "b b.html"),
        ("Summer", "été.html"),
        ("X", "x.htm"),
    ]


async def test_a_file_name_that_is_no_text_does_not_stop_the_book(tmp_path: Path) -> None:
    root = site(tmp_path / "book", {"a.html": f"<h1>A</h1><p>{PROSE}</p>"})
    (root / os.fsdecode(b"caf\xe9.html")).write_text(f"<h1>B</h1><p>{PROSE}</p>", encoding="utf-8")
    book = await parse(root, LIMITS)
    assert sorted(s.source_file for s in book.sections) == ["a.html", "caf\ufffd.html"]
    assert book.to_json().encode("utf-8")


@pytest.mark.parametrize("damage", [b"", b"%PDF-1.7 not a page", b"PK\x03\x04 nor this"])
def test_one_bad_page_is_a_warning_and_the_others_are_the_book(tmp_path: Path, damage: bytes) -> None:
    root = site(tmp_path / "book", {f"{n}.html": f"<h1>{n}</h1><p>{PROSE}</p>" for n in "ab"})
    (root / "bad.html").write_bytes(damage)
    book = read_book(root, LIMITS)
    assert [s.title for s in book.sections] == ["a", "b"]
    assert [warning.split()[0] for warning in book.warnings] == ["bad.html"]


def test_pages_that_call_each_other_next_in_a_circle_are_each_read_once(tmp_path: Path) -> None:
    names = ("c", "a", "b")
    page = '<title>{0}</title><h1>{0}</h1><p>{2}</p><a rel="next" href="{1}.html">Next</a>'
    pages = {f"{name}.html": page.format(name, names[(n + 1) % 3], PROSE) for n, name in enumerate(names)}
    assert sorted(s.title for s in read_book(site(tmp_path / "book", pages), LIMITS).sections) == [
        "a",
        "b",
        "c",
    ]


# One page


def read_single_page(path: Path, body: str, *, title: str = "") -> ParsedBook:
    file = path / "page.html"
    file.write_text(
        f"<!DOCTYPE html><html><head><title>{title}</title></head><body>{body}</body></html>",
        encoding="utf-8",
    )
    return read_book(file, LIMITS)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<h1>A</h1><p>x</p><h1>A</h1><p>y</p>", [("A",), ("A",)]),
        ("<h3>Low</h3><p>x</p><h1>High</h1><p>y</p>", [("Low",), ("High",)]),
        ("<h1>T</h1><h4>Skipped</h4><p>x</p><h2>Back</h2><p>y</p>", [("Skipped",), ("Back",)]),
        ("<h1>T</h1><p>x</p><details><summary>s</summary><h2>In a fold</h2><p>y</p></details>", [("T",)]),
        ("<h1>T</h1><blockquote><h2>Quoted</h2><p>x</p></blockquote>", [("T",)]),
        ("<table><tr><td><h1>T</h1><p>x</p><h2>S</h2><p>y</p></td></tr></table>", [("T",), ("S",)]),
        ("<p>x</p><h2>Only</h2><p>y</p>", [("Only",)]),
        ("<h1></h1><p>x</p><h2>A</h2><p>y</p><h2>B</h2><p>z</p>", [("Page",), ("A",), ("B",)]),
        ("<h1>***</h1><p>x</p>", [("***",)]),
    ],
)
def test_a_single_page_makes_sections_of_whatever_headings_it_has(
    tmp_path: Path, body: str, expected: list[tuple[str, ...]]
) -> None:
    book = read_single_page(tmp_path, body)
    assert [s.heading_path for s in book.sections] == expected
    said = " ".join(s.text for s in book.sections)
    assert all(letter in said for letter in "xyz" if f"<p>{letter}</p>" in body)


def test_a_long_heading_is_shortened_for_the_contents_and_loses_no_chapter(tmp_path: Path) -> None:
    long = "very " * 200 + "long"
    book = read_single_page(tmp_path, f"<h1>T</h1><p>x</p><h2>{long}</h2><p>y</p><h2>{long} too</h2><p>z</p>")
    assert [len(s.title) for s in book.sections[1:]] == [300, 300]
    assert [s.text for s in book.sections] == ["x", "y", "z"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "shift_jis", "euc_jp"])
def test_a_page_in_any_encoding_of_japanese_is_read(tmp_path: Path, encoding: str) -> None:
    head = f"<html><head><meta charset={encoding}><title>猫</title></head>"
    text = f"{head}<body><p>吾輩は猫である。名前はまだ無い。</p>"
    path = tmp_path / "cat.html"
    path.write_bytes(text.encode(encoding))
    book = read_book(path, LIMITS)
    assert (book.title, book.sections[0].text) == ("猫", "吾輩は猫である。名前はまだ無い。")
