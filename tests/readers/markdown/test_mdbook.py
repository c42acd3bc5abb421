"""mdBook: what SUMMARY.md lists, with everything put in that chapters include."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from octavo.errors import BadBook
from octavo.limits import Limits
from octavo.readers.markdown import mdbook
from octavo.readers.markdown.mdbook import drop_hidden_lines, write_listing_captions
from octavo.readers.parsed import ParsedBook
from octavo.types import BookFormat

TOML = """
[book]
title = "The Book"
authors = ["Ann Lee", "Bob"]
language = "en"
"""

SUMMARY = """
# Summary

[Preface](preface.md)

- [Start](start/README.md)
  - [Install *it*](start/install.md)
    - [Deep](start/deep.md)
  - [Draft]()
- [Use](use.md)

# Reference Part

- [Terms](terms.md)
- [Gone](gone.md)

---

[Afterword](after.md)
"""

PAGES = {
    "preface.md": "# Preface\n\nHello.",
    "start/README.md": "# Start\n\nGo.",
    "start/install.md": "## Install\n\nDo.\n\n### Install\n\nAgain.",
    "start/deep.md": "# Deep\n\nDown.",
    "use.md": "# Use\n\nUsing.\n\n## What's `new`?\n\nThis.",
    "terms.md": "# Terms\n\nWords.",
    "after.md": "# Afterword\n\nBye.",
}


def write_book(root: Path, files: dict[str, str], *, toml: str = TOML, summary: str = SUMMARY) -> Path:
    sources = {f"src/{name}": text for name, text in {"SUMMARY.md": summary, **files}.items()}
    for name, text in {"book.toml": toml, **sources}.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return root


def chapter(root: Path, text: str, **more: str) -> ParsedBook:
    for name, content in more.items():
        file = root / name.replace("__", "/").replace("_rs", ".rs")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return mdbook.read_mdbook(write_book(root, {"a.md": text}, summary="- [A](a.md)\n"), Limits())


def test_order_nesting_parts_and_drafts_follow_the_summary(tmp_path: Path) -> None:
    book = mdbook.read_mdbook(write_book(tmp_path, PAGES), Limits())
    assert [" / ".join(s.heading_path) for s in book.sections] == [
        "Preface",
        "Start",
        "Start / Install it",
        "Start / Install it / Install",
        "Start / Install it / Deep",
        "Start / Draft",
        "Use",
        "Use / What's new?",
        "Reference Part",
        "Reference Part / Terms",
        "Afterword",
    ]
    assert book.warnings == ("SUMMARY.md: left out gone.md, which is missing",)


def test_the_title_page_is_in_the_settings(tmp_path: Path) -> None:
    book = mdbook.read_mdbook(write_book(tmp_path, PAGES), Limits())
    assert (book.title, book.authors, book.language) == ("The Book", ("Ann Lee", "Bob"), "en")
    assert book.format is BookFormat.MDBOOK


def test_addresses_and_ids_are_those_of_the_published_book(tmp_path: Path) -> None:
    sections = mdbook.read_mdbook(write_book(tmp_path, PAGES), Limits()).sections
    found = {s.title: (s.url, s.anchor, s.source_file) for s in sections}
    assert found["Start"] == ("start/index.html", "start", "src/start/README.md")
    assert found["What's new?"] == ("use.html", "whats-new", "src/use.md")
    assert found["Install"] == ("start/install.html", "install-1", "src/start/install.md")
    assert found["Draft"] == ("", "", "src/SUMMARY.md")


@pytest.mark.parametrize("toml", ["", "[book", "book = 3", "[book]\nauthors = 'Ann'\ntitle = 5"])
def test_broken_settings_leave_a_readable_book(tmp_path: Path, toml: str) -> None:
    book = mdbook.read_mdbook(write_book(tmp_path / "my-book", PAGES, toml=toml), Limits())
    assert book.title in ("My book", "5")
    assert len(book.sections) == 11


def test_the_source_folder_may_have_another_name(tmp_path: Path) -> None:
    (tmp_path / "text").mkdir()
    (tmp_path / "book.toml").write_text('[book]\nsrc = "text"\n')
    (tmp_path / "text" / "SUMMARY.md").write_text("# My Own Title\n\n- [A](a.md)\n")
    (tmp_path / "text" / "a.md").write_text("# A\n\nx")
    book = mdbook.read_mdbook(tmp_path, Limits())
    assert (book.title, book.sections[0].url) == ("My Own Title", "a.html")


def test_any_folder_with_a_summary_is_an_mdbook(tmp_path: Path) -> None:
    write_book(tmp_path, PAGES)
    (tmp_path / "other").mkdir()
    assert mdbook.is_mdbook(tmp_path)
    assert mdbook.is_mdbook(tmp_path / "src")
    assert not mdbook.is_mdbook(tmp_path / "other")
    assert not mdbook.is_mdbook(tmp_path / "book.toml")
    assert mdbook.read_mdbook(tmp_path / "src", Limits()).sections[0].source_file == "preface.md"


def test_a_folder_without_a_summary_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadBook) as refused:
        mdbook.read_mdbook(tmp_path, Limits())
    assert refused.value.code == "unsupported_format"


@pytest.mark.parametrize(
    "link", ["../../secret.md", "/etc/passwd", "%2e%2e/%2e%2e/secret.md", "C:\\secret.md", "link/secret.md"]
)
def test_chapters_outside_the_book_are_not_read(tmp_path: Path, link: str) -> None:
    book = write_book(tmp_path / "book", {"a.md": "# A\n\nx"}, summary=f"- [A](a.md)\n- [S]({link})\n")
    (tmp_path / "secret.md").write_text("password")
    (book / "src" / "link").symlink_to(tmp_path, target_is_directory=True)
    read = mdbook.read_mdbook(book, Limits())
    assert [s.title for s in read.sections] == ["A"]
    assert "outside the book" in read.warnings[0]


def test_a_chapter_that_is_listed_twice_is_read_once(tmp_path: Path) -> None:
    book = write_book(tmp_path, {"a.md": "# A\n\nx"}, summary="- [A](a.md)\n" * 50)
    assert len(mdbook.read_mdbook(book, Limits()).sections) == 1


RUST = """use std::io;
// ANCHOR: main
fn main() {
    // ANCHOR: inner
    go();
    // ANCHOR_END: inner
}
// ANCHOR_END: main
fn rest() {}
"""


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("include ../code/a.rs", "use std::io;\nfn main() {\n    go();\n}\nfn rest() {}"),
        ("include ../code/a.rs:main", "fn main() {\n    go();\n}"),
        ("include ../code/a.rs:inner", "    go();"),
        ("include ../code/a.rs:1", "use std::io;"),
        ("include ../code/a.rs:3:5", "fn main() {\n    go();"),
        ("include ../code/a.rs:9:", "fn rest() {}"),
        ("include ../code/a.rs::1", "use std::io;"),
        ("rustdoc_include ../code/a.rs:inner", "    go();"),
    ],
)
def test_files_are_put_in_whole_by_lines_or_by_anchor(tmp_path: Path, link: str, expected: str) -> None:
    book = chapter(tmp_path, f"# A\n\n```rust\n{{{{#{link}}}}}\n```\n", code__a_rs=RUST)
    assert book.sections[0].text == expected
    assert not book.warnings


def test_included_markdown_may_include_more_but_not_without_end(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "b.md").write_text("b {{#include c.md}}")
    (tmp_path / "src" / "c.md").write_text("*c* {{#include c.md}}")
    book = chapter(tmp_path, "# A\n\n{{#include b.md}}")
    assert book.sections[0].text.startswith("b c c")
    assert book.warnings == ("src/a.md: c.md could not be included",)


def test_inclusions_that_multiply_are_refused(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    for n in range(9):
        (tmp_path / "src" / f"{n}.md").write_text(f"{{{{#include {n + 1}.md}}}} " * 10)
    (tmp_path / "src" / "9.md").write_text("lol " * 100)
    write_book(tmp_path, {"a.md": "{{#include 0.md}}"}, summary="- [A](a.md)\n")
    with pytest.raises(BadBook) as refused:
        mdbook.read_mdbook(tmp_path, replace(Limits(), max_text_mb=1))
    assert refused.value.code == "too_large"


def test_inclusions_from_outside_are_left_out_with_a_warning(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("password")
    book = chapter(tmp_path / "book", "# A\n\nx {{#include ../../secret.txt}} {{#include /etc/hostname}} y")
    assert book.sections[0].text == "x y"
    assert [w for w in book.warnings if "outside the book" in w] == list(book.warnings)
    assert len(book.warnings) == 2


def test_missing_inclusions_are_one_warning_for_each_chapter(tmp_path: Path) -> None:
    book = chapter(tmp_path, "# A\n\nx {{#include one.rs}} {{#include two.rs}}")
    assert book.warnings == ("src/a.md: one.rs and 1 more could not be included",)


def test_an_escaped_link_is_shown_and_other_links_go(tmp_path: Path) -> None:
    book = chapter(tmp_path, "# A\n\n`\\{{#include x.rs}}` {{#title My Page}} {{#quiz q.toml}} end")
    assert book.sections[0].text == "{{#include x.rs}} end"


def test_hidden_lines_of_rust_go_and_others_stay() -> None:
    code = "# use a;\n#\nfn main() {\n    # hidden();\n    ## shown\n    #[attr]\n    #!x\n}"
    assert drop_hidden_lines("rust,ignore", code) == "fn main() {\n    # shown\n    #[attr]\n    #!x\n}"
    for other in ("python", "", "toml", "rusty"):
        assert drop_hidden_lines(other, code) == code


def test_the_caption_of_a_listing_is_kept() -> None:
    tag = '<Listing number="5-1" file-name="src/main.rs" caption="A `Box<T>` at work">'
    assert write_listing_captions(f"{tag}\n\nx\n\n</Listing>").strip() == (
        "Listing 5-1: A `Box<T>` at work\n\nFilename: src/main.rs\n\n\nx"
    )
    assert write_listing_captions("<Listing>x</Listing>").strip() == "x"
    assert len(write_listing_captions('<Listing a="' * 5000)) == 5000 * len('<Listing a="')


@pytest.mark.parametrize(
    "link", ["/docs/Async Actions.md", "/docs/Async%20Actions.md", "docs/Async Actions.md"]
)
def test_a_link_of_a_gitbook_may_begin_at_its_folder(tmp_path: Path, link: str) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "Async Actions.md").write_text("# Async\n\nActions may wait.\n")
    (tmp_path / "SUMMARY.md").write_text(f"# Summary\n\n* [Async Actions]({link})\n")
    (tmp_path / "book.json").write_text('{"title": "Actions"}')
    book = mdbook.read_mdbook(tmp_path, Limits())
    assert [(each.title, each.text) for each in book.sections] == [("Async Actions", "Actions may wait.")]
