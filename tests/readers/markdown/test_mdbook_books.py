"""Whole mdBooks: contents of every shape, and pages with all that mdBook's own tools do to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.limits import Limits
from octavo.readers import read_book
from octavo.readers.parsed import ParsedBook
from octavo.types import BookFormat


def read_files(
    root: Path, summary: str, files: dict[str, str], *, toml: str = "", src: str = "src"
) -> ParsedBook:
    for name, text in {"book.toml": toml, f"{src}/SUMMARY.md": summary}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    for name, text in files.items():
        file = root / src / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    book = read_book(root, Limits())
    assert book.format is BookFormat.MDBOOK
    return book


def pages(*names: str) -> dict[str, str]:
    return {name: f"# The page\n\nWords of {name}.\n" for name in names}


def places(book: ParsedBook) -> list[tuple[str, str]]:
    return [(" / ".join(s.heading_path), s.url) for s in book.sections]


def read_one(root: Path, text: str, **files: str) -> ParsedBook:
    more = {name.replace("__", "."): body for name, body in files.items()}
    return read_files(root, "- [A](a.md)\n", {"a.md": f"# A\n\n{text}", **more})


def test_a_source_folder_of_another_name_is_found_by_the_door_to_all_readers(tmp_path: Path) -> None:
    toml = '[book]\ntitle = "Named"\nsrc = "text"\n'
    (tmp_path / "notes.md").write_text("# Not part of the book\n\nx")
    book = read_files(tmp_path, "- [A](./a.md)\n", pages("a.md"), toml=toml, src="text")
    assert (book.title, places(book)) == ("Named", [("A", "a.html")])


@pytest.mark.parametrize("toml", ['[book]\nsrc = "../outside"\n', '[book]\nsrc = "/etc"\n', "[book\n"])
def test_a_source_folder_outside_the_book_is_not_read(tmp_path: Path, toml: str) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "SUMMARY.md").write_text("- [Secret](s.md)\n")
    (tmp_path / "outside" / "s.md").write_text("# Secret\n\npassword")
    book = read_files(tmp_path / "book", "- [A](a.md)\n", pages("a.md"), toml=toml)
    assert places(book) == [("A", "a.html")]


@pytest.mark.parametrize(
    ("link", "file"),
    [
        ('(a.md "The title of a link")', "a.md"),
        ("(a.md 'A title')", "a.md"),
        ("(b_(c).md)", "b_(c).md"),
        ("(<my chapter.md>)", "my chapter.md"),
        ("( ./d/../my%20chapter.md )", "my chapter.md"),
        ("(it's.md)", "it's.md"),
        ("(a.md#place)", "a.md"),
        ("[label]", "by_label.md"),
    ],
)
def test_a_chapter_is_found_however_its_link_is_written(tmp_path: Path, link: str, file: str) -> None:
    summary = f"# Summary\n\n- [First](first.md)\n    * [Here]{link}\n\n[label]: by_label.md 'Title'\n"
    book = read_files(tmp_path, summary, pages("first.md", file))
    assert book.warnings == ()
    assert places(book) == [("First", "first.html"), ("First / Here", file.replace(".md", ".html"))]
    assert book.sections[1].text == f"Words of {file}."


PARTS = """# The Title

[Preface](README.md)

* Unlinked group
  * [Under it](under.md)
    1. [Deeper `still`](deeper.md)
* [Draft *one*]()
\t* [Under the draft](ud.md)

---

# Part **One**

- [First](one/README.md)
- [First again](one/README.md)
- [Left \\[out\\]](missing.md)

***

## Part Two

1. [Second](two.md)

- - -

[Appendix](end/index.md)
<!-- - [Hidden](hidden.md) -->
"""


def test_parts_drafts_and_groups_keep_their_place_in_the_contents(tmp_path: Path) -> None:
    names = ("README.md", "under.md", "deeper.md", "ud.md", "one/README.md", "two.md", "end/index.md")
    book = read_files(tmp_path, PARTS, pages(*names, "hidden.md"))
    assert book.title == "The Title"
    assert places(book) == [
        ("Preface", "index.html"),
        ("Unlinked group", ""),
        ("Unlinked group / Under it", "under.html"),
        ("Unlinked group / Under it / Deeper still", "deeper.html"),
        ("Draft one", ""),
        ("Draft one / Under the draft", "ud.html"),
        ("Part One", ""),
        ("Part One / First", "one/index.html"),
        ("Part Two", ""),
        ("Part Two / Second", "two.html"),
        ("Appendix", "end/index.html"),
    ]
    assert book.warnings == ("SUMMARY.md: left out missing.md, which is missing",)


@pytest.mark.parametrize(
    "bomb", ["[a](", "[a]( ", "- [", "- [a](<", "[a][", "[a]: ", "- \\[", "* * ", "[a]('"]
)
def test_a_bomb_of_marks_in_the_contents_is_read_in_one_go(tmp_path: Path, bomb: str) -> None:
    summary = f"- [A](a.md)\n\n{bomb * (40_000 // len(bomb))}\n"
    assert places(read_files(tmp_path, summary, pages("a.md")))[0] == ("A", "a.html")


def test_ids_of_headings_are_those_that_mdbook_writes(tmp_path: Path) -> None:
    text = "## What's *new*?\n\nx\n\n## `--flag`: use it\n\nx\n\n## What's new?\n\nx\n\n## Own {#my-id}\n\nx"
    sections = read_one(tmp_path, text).sections
    assert [s.anchor for s in sections] == ["a", "whats-new", "--flag-use-it", "whats-new-1", "my-id"]


def test_a_playground_is_a_block_of_code_with_its_lines(tmp_path: Path) -> None:
    code = "fn main() {\n    // ANCHOR: x\n    go();\n}\n"
    (only,) = read_one(
        tmp_path, "Try it:\n\n{{#playground code.rs editable}}\n\nDone.", code__rs=code
    ).sections
    shown = "fn main() {\n    go();\n}"
    assert only.text == f"Try it:\n\n{shown}\n\nDone."
    assert [only.text[b.start : b.end] for b in only.blocks] == [shown]


def test_a_playground_that_is_missing_leaves_no_empty_code(tmp_path: Path) -> None:
    book = read_one(tmp_path, "Try it.\n\n{{#playground gone.rs}}\n\nDone.")
    assert book.sections[0].text == "Try it.\n\nDone."
    assert book.warnings == ("src/a.md: gone.rs could not be included",)


def test_lines_of_code_are_hidden_in_rust_alone_even_when_they_are_put_in(tmp_path: Path) -> None:
    rust, shell = "{{#rustdoc_include code.rs:2:4}}", "# a comment\n{{#include code.rs:1}}"
    text = f"```rust,ignore\n{rust}\n```\n\n```sh\n{shell}\n```"
    code = "# hidden outside\nlet x = 5;\n# hidden();\n#[test]\n"
    (only,) = read_one(tmp_path, text, code__rs=code).sections
    assert only.text == "let x = 5;\n#[test]\n\n# a comment\n# hidden outside"


def test_html_that_is_laid_out_by_hand_keeps_its_lay_out(tmp_path: Path) -> None:
    text = "<pre><code>match x {\n    A =&gt; <em>b</em>,\n\n    _ =&gt; c,\n}</code></pre>\n\nAfter."
    (only,) = read_one(tmp_path, text).sections
    shown = "match x {\n    A => b,\n\n    _ => c,\n}"
    assert only.text == f"{shown}\n\nAfter."
    assert [only.text[b.start : b.end] for b in only.blocks] == [shown]


def test_paths_of_the_shell_are_not_taken_for_formulas(tmp_path: Path) -> None:
    text = "The folder is *$HOME/.cargo/bin*. Ensure that\nit is in your `$PATH` to run `cargo install`."
    assert read_one(tmp_path, text).sections[0].text == (
        "The folder is $HOME/.cargo/bin. Ensure that it is in your $PATH to run cargo install."
    )


def test_an_empty_chapter_is_kept_and_a_chapter_of_comments_too(tmp_path: Path) -> None:
    book = read_files(
        tmp_path, "- [A](a.md)\n- [B](b.md)\n- [C](c.md)\n", {"a.md": "x", "b.md": "", "c.md": "<!-- -->"}
    )
    assert [(s.title, s.text) for s in book.sections] == [("A", "x"), ("B", ""), ("C", "")]
