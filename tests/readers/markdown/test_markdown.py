"""Markdown books: single files and folders."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from octavo.errors import BadBook
from octavo.limits import Limits
from octavo.readers.markdown import reader
from octavo.readers.parsed import ParsedBook
from octavo.types import BookFormat


def write_folder(root: Path, **files: str) -> Path:
    """Files named with `__` for `/`, without their ending."""
    for name, text in files.items():
        file = root / (name.replace("__", "/") + ".md")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return root


def read(path: Path) -> ParsedBook:
    return reader.read_markdown(path, Limits())


def read_one(tmp_path: Path, text: str, name: str = "my-book.md") -> ParsedBook:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return read(tmp_path / name)


def paths(book: ParsedBook) -> list[str]:
    return [" / ".join(s.heading_path) for s in book.sections]


def test_the_only_top_heading_names_the_book_and_the_second_level_are_chapters(tmp_path: Path) -> None:
    book = read_one(tmp_path, "# The Sea\n\n## Waves\n\nWet.\n\n### High\n\nBig.\n\n## Salt\n\nWhite.\n")
    assert (book.title, book.format) == ("The Sea", BookFormat.MARKDOWN)
    assert paths(book) == ["Waves", "Waves / High", "Salt"]
    first = book.sections[0]
    assert (first.source_file, first.url, first.anchor, first.text) == ("my-book.md", "", "waves", "Wet.")


def test_text_under_the_title_stands_in_a_section_of_that_title(tmp_path: Path) -> None:
    book = read_one(tmp_path, "# The Sea\n\nHello.\n\n## Waves\n\nWet.\n")
    assert (book.sections[0].heading_path, book.sections[0].text) == (("The Sea",), "Hello.")


def test_several_top_headings_are_chapters_of_a_book_named_by_its_file(tmp_path: Path) -> None:
    book = read_one(tmp_path, "Before.\n\n# One\n\na\n\n## Sub\n\nb\n\n# Two\n\nc\n")
    assert book.title == "My book"
    assert paths(book) == ["My book", "One", "One / Sub", "Two"]


def test_front_matter_names_the_book_its_authors_and_its_language(tmp_path: Path) -> None:
    book = read_one(tmp_path, "---\ntitle: Real Title\nauthor: Ann Lee\nlang: de\n---\n# Heading\n\nText.\n")
    assert (book.title, book.authors, book.language) == ("Real Title", ("Ann Lee",), "de")
    assert paths(book) == ["Real Title"]


def test_a_file_without_headings_is_one_section(tmp_path: Path) -> None:
    book = read_one(tmp_path, "Only text.\n")
    assert [(s.heading_path, s.text) for s in book.sections] == [(("My book",), "Only text.")]


def test_a_heading_with_nothing_of_its_own_is_kept_as_a_node(tmp_path: Path) -> None:
    book = read_one(tmp_path, "# B\n\n## Part\n\n### Chapter\n\nText\n")
    assert [(s.title, s.text) for s in book.sections] == [("Part", ""), ("Chapter", "Text")]


def test_an_empty_file_and_a_file_of_white_space_are_refused(tmp_path: Path) -> None:
    for text, code in (("", "empty_file"), ("\n" * 100_000, "no_text"), (" " * 100_000, "no_text")):
        with pytest.raises(BadBook) as refused:
            read_one(tmp_path, text)
        assert refused.value.code == code


def test_a_book_of_headings_alone_has_no_text(tmp_path: Path) -> None:
    with pytest.raises(BadBook) as refused:
        read_one(tmp_path, "# A\n\n## B\n")
    assert refused.value.code == "no_text"


@pytest.mark.parametrize(
    "title", ["", "x" * 10_000, "<script>alert(1)</script>", "\u202e\0", "[]", "a\u0301" * 400]
)
def test_any_title_is_accepted_shortened_and_kept_as_plain_text(tmp_path: Path, title: str) -> None:
    book = read_one(tmp_path, f"# {title}\n\nText.\n")
    assert 0 < len(book.title) <= 300
    assert "<script>" not in book.title


@pytest.mark.parametrize(
    ("data", "word"),
    [
        ("# Ä\n\nGrüße aus Köln".encode("utf-16"), "Grüße"),
        ("\ufeff# Ä\n\nGrüße aus Köln".encode(), "Grüße"),
        ("# Ä\n\nGrüße — aus “Köln”, schöne Straße".encode("cp1252"), "Grüße"),
        (
            "# 題\n\n吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。".encode("shift_jis"),
            "吾輩は猫である",
        ),
    ],
)
def test_text_is_decoded_whatever_its_encoding(tmp_path: Path, data: bytes, word: str) -> None:
    (tmp_path / "a.md").write_bytes(data)
    assert word in read(tmp_path / "a.md").sections[-1].text


def test_damaged_bytes_are_replaced_and_counted(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes("Grüße ".encode() * 20 + b"\xff\xfe\xff" + b" end of the text")
    book = read(tmp_path / "a.md")
    assert "\ufffd" in book.sections[0].text
    assert "end of the text" in book.sections[0].text
    assert "a.md" in book.warnings[0]


def test_invisible_and_control_characters_are_gone(tmp_path: Path) -> None:
    book = read_one(tmp_path, "a\u200bb\u202ec \x00\x07d \U000e0041e ﬁsh ￹x\r\ny")
    assert book.sections[0].text == "abc d e fish x y"


def test_a_folder_is_ordered_by_front_matter_then_index_then_counting_names(tmp_path: Path) -> None:
    write_folder(
        tmp_path / "guide",
        ch10="# Ten\n\nx",
        ch2="# Two\n\nx",
        README="# My Guide\n\nWelcome",
        zebra="---\nnav_order: 1\n---\n# Zebra\n\nx",
    )
    book = read(tmp_path / "guide")
    assert book.title == "My Guide"
    assert paths(book) == ["My Guide", "Zebra", "Two", "Ten"]


def test_each_file_is_a_chapter_with_its_web_address(tmp_path: Path) -> None:
    write_folder(tmp_path, a__one="# One\n\nText\n\n## Deep dive\n\nMore", a__two="Plain", b="## Only\n\nx")
    sections = {s.title: s for s in read(tmp_path).sections}
    deep = sections["Deep dive"]
    assert (deep.source_file, deep.url, deep.anchor) == ("a/one.md", "a/one.html", "deep-dive")
    assert deep.heading_path == ("A", "One", "Deep dive")
    assert sections["Two"].heading_path == ("A", "Two")
    assert sections["Only"].heading_path == ("Only",)


def test_a_folder_with_an_index_is_a_part_with_that_title(tmp_path: Path) -> None:
    write_folder(
        tmp_path, part__index="---\ntitle: The Part\norder: 1\n---\nHello", part__a="# A\n\nx", z="# Z\n\nx"
    )
    book = read(tmp_path)
    assert paths(book) == ["The Part", "The Part / A", "Z"]
    assert book.sections[0].text == "Hello"


def test_a_folder_with_one_file_is_no_part(tmp_path: Path) -> None:
    write_folder(tmp_path, lonely__a="# A\n\nx", b="# B\n\nx")
    assert paths(read(tmp_path)) == ["B", "A"]


def test_a_part_without_an_index_is_a_node_of_its_own(tmp_path: Path) -> None:
    write_folder(tmp_path, first_steps__a="# A\n\nx", first_steps__b="# B\n\nx")
    node = read(tmp_path).sections[0]
    assert (node.heading_path, node.text, node.source_file) == (("First steps",), "", "first_steps")


def test_an_mdx_page_in_a_folder_is_read_as_one(tmp_path: Path) -> None:
    write_folder(tmp_path, a="# A\n\nx")
    (tmp_path / "b.mdx").write_text("import X from 'x'\n\n# B\n\n<X>words</X> {1 + 1}\n")
    assert read(tmp_path).sections[-1].text == "words"


def test_a_file_that_cannot_be_read_is_left_out_with_a_warning(tmp_path: Path) -> None:
    write_folder(tmp_path, a="# A\n\nText", big="x" * ((1 << 20) + 1))
    book = reader.read_markdown(tmp_path, replace(Limits(), max_member_mb=1))
    assert paths(book) == ["A"]
    assert book.warnings[0].startswith("big.md: left out")


def test_warnings_name_the_file_whose_front_matter_was_ignored(tmp_path: Path) -> None:
    write_folder(tmp_path, a="---\nx: &x [1]\ny: *x\n---\n# A\n\nText", b="b")
    assert read(tmp_path).warnings == ("a.md: front matter was ignored: it uses aliases",)


def test_a_link_out_of_the_folder_is_not_read(tmp_path: Path) -> None:
    write_folder(tmp_path, book__a="# A\n\nText", secret="# Secret\n\npassword")
    (tmp_path / "book" / "b.md").symlink_to(tmp_path / "secret.md")
    book = read(tmp_path / "book")
    assert "password" not in "".join(s.text for s in book.sections)
    assert "b.md" in book.warnings[0]


def test_a_folder_with_too_much_text_is_refused(tmp_path: Path) -> None:
    write_folder(tmp_path, a="word " * 150_000, b="word " * 150_000)
    with pytest.raises(BadBook) as refused:
        reader.read_markdown(tmp_path, replace(Limits(), max_text_mb=1))
    assert refused.value.code == "too_large"


def test_a_folder_without_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadBook) as refused:
        read(tmp_path)
    assert refused.value.code == "no_text"


def test_a_parsed_book_survives_the_trip_through_json(tmp_path: Path) -> None:
    book = read_one(tmp_path, "# B\n\n## A\n\n```\ncode\n```\n\n| a |\n|---|\n| b |\n")
    assert ParsedBook.from_json(book.to_json()) == book
