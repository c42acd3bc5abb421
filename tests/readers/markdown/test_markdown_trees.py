"""Folders of Markdown as people keep them for MkDocs, Jekyll, Hugo and Obsidian, and the marks they use."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.limits import Limits
from octavo.readers import read_book
from octavo.readers.markdown.reader import read_sections
from octavo.readers.parsed import ParsedBook
from octavo.readers.sections import PageSection
from octavo.types import BookFormat


def read_files(root: Path, files: dict[str, str | bytes]) -> ParsedBook:
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
    book = read_book(root, Limits())
    assert book.format is BookFormat.MARKDOWN
    return book


def places(book: ParsedBook) -> list[tuple[str, str]]:
    return [(" / ".join(s.heading_path), s.url) for s in book.sections]


def read_only_section(source: str) -> PageSection:
    (piece,) = read_sections(source)
    return piece


def list_blocks(piece: PageSection) -> list[str]:
    return [piece.text[b.start : b.end] for b in piece.blocks]


def test_the_page_of_a_folder_is_published_as_its_index(tmp_path: Path) -> None:
    book = read_files(
        tmp_path,
        {
            "README.md": "# Handbook\n\nWelcome.",
            "rules/README.md": "# Rules\n\nOf the house.",
            "rules/guests.md": "# Guests\n\nBe kind.\n\n## At night\n\nBe quiet.",
        },
    )
    assert book.title == "Handbook"
    assert places(book) == [
        ("Handbook", "index.html"),
        ("Rules", "rules/index.html"),
        ("Rules / Guests", "rules/guests.html"),
        ("Rules / Guests / At night", "rules/guests.html"),
    ]


def test_hugo_weights_order_pages_and_sections_and_toml_names_them(tmp_path: Path) -> None:
    book = read_files(
        tmp_path,
        {
            "_index.md": "+++\ntitle = 'Site'\nlanguage = 'de'\n+++\nHello.",
            "post/_index.md": '+++\ntitle = "Posts"\nweight = 2\n+++\n',
            "post/b.md": "+++\ntitle = 'Bee'\nweight = 1\ndate = 2024-01-02T03:04:05Z\n+++\nb",
            "post/a.md": "+++\ntitle = 'Ay'\n+++\na",
            "about.md": "---\ntitle: About\nweight: 1\n---\nus",
        },
    )
    assert (book.title, book.language) == ("Site", "de")
    assert [place for place, _ in places(book)] == ["Site", "About", "Posts", "Posts / Bee", "Posts / Ay"]


def test_jekyll_pages_follow_their_navigation_order(tmp_path: Path) -> None:
    head = "---\nlayout: default\ntitle: {}\nnav_order: {}\n---\n\n# {}\n{{: .no_toc }}\n\nWords.\n"
    files = {
        f"{name}.md": head.format(name, order, name) for name, order in (("c", 1), ("a", 2.5), ("b", "'10'"))
    }
    assert [place for place, _ in places(read_files(tmp_path, {**files, "z.md": "Last."}))] == [
        "c",
        "a",
        "b",
        "Z",
    ]


def test_a_vault_of_notes_reads_without_its_marks(tmp_path: Path) -> None:
    note = (
        "---\ntags: [x]\naliases:\n  - Other\n---\n"
        "See [[Rivers]] and [[Bridges of the town|the bridges]], ![[map.png]]; [[nothing] else].\n\n"
        "> [!tip] Look **here**\n> At the water.\n\n"
        "> [!warning]- Folded\n\n"
        "> [!quote]+\n> Said twice.\n>\n> And again.\n\n"
        "`[[ -f x ]]` and [a link](to.md)\n"
    )
    book = read_files(
        tmp_path, {"Town.md": note, ".obsidian/x.md": "secret", "Rivers.md": "# Rivers\n\nWet."}
    )
    (town,) = (s for s in book.sections if s.title == "Town")
    assert town.text == (
        "See Rivers and the bridges, map.png; [[nothing] else].\n\n"
        "Tip: Look here\n\nAt the water.\n\n"
        "Warning: Folded\n\n"
        "Quote:\n\nSaid twice.\n\nAnd again.\n\n"
        "[[ -f x ]] and a link"
    )
    assert "secret" not in "".join(s.text for s in book.sections)


@pytest.mark.parametrize(
    "text", ["See [[1]](a.md) and arr[[0]] there.", "A table t[[i]][[j]] of rows.", "[[2]] is no page."]
)
def test_double_brackets_that_are_no_links_to_pages_keep_their_words(text: str) -> None:
    shown = text.replace("](a.md)", "]").replace("[[1]]", "[1]")
    assert read_only_section(text).text == shown


def test_terms_stand_above_their_definitions() -> None:
    bank = "Bank\n: The side of a *river*.\n: A house for money."
    source = f"{bank}\n\nRiver\n:   Water that runs.\n\n    To sea.\n\nEnd."
    assert read_only_section(source).text == (
        "Bank\nThe side of a river.\n\nA house for money.\n\nRiver\nWater that runs.\n\nTo sea.\n\nEnd."
    )


def test_code_that_defines_a_term_stays_a_block_of_its_own() -> None:
    piece = read_only_section("Call\n: \n      f(x)\n\n  Then more.\n\nAfter.")
    assert "f(x)" in list_blocks(piece)
    assert piece.text.endswith("Then more.\n\nAfter.")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("Let $\\{a_1, a_2\\}$ be.", "Let $\\{a_1, a_2\\}$ be."),
        ("$$a \\\\ b$$", "$$a \\\\ b$$"),
        (
            "It is $x_1*y_1*z$ and $\\alpha*\\beta*\\gamma$.",
            "It is $x_1*y_1*z$ and $\\alpha*\\beta*\\gamma$.",
        ),
        ("From $5 to $6, or \\$7.", "From $5 to $6, or $7."),
        ("Set *$HOME* and *$PATH* first.", "Set $HOME and $PATH first."),
        ("Use `$\\{x\\}` in code.", "Use $\\{x\\} in code."),
    ],
)
def test_formulas_keep_their_marks_and_prices_are_no_formulas(source: str, expected: str) -> None:
    assert read_only_section(source).text == expected


def test_the_text_after_code_in_a_tight_list_is_parted_from_it() -> None:
    piece = read_only_section("- Run:\n  ```sh\n  make  all\n  ```\n  and wait.\n- Done\n- Bye")
    assert piece.text == "- Run:\n\nmake  all\n\n  and wait.\n- Done\n- Bye"
    assert list_blocks(piece) == ["make  all"]


def test_html_inside_a_page_keeps_what_is_laid_out_by_hand() -> None:
    piece = read_only_section(
        "<div>\n<p>Listing  1</p>\n<PRE class='x'>\nif a:\n\tb   # c\n</PRE>\n<p>End</p>\n</div>"
    )
    assert piece.text == "Listing 1\n\nif a:\n\tb   # c\n\nEnd"
    assert list_blocks(piece) == ["if a:\n\tb   # c"]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("one\r\ntwo\r\n\r\nthree", "one two\n\nthree"),
        ("***Both* loud** and un*believ*able snake_case_name", "Both loud and unbelievable snake_case_name"),
        ("A\\\nB  \nC\nD", "A\nB\nC D"),
        ("Escaped \\*stars\\* and \\`ticks\\` \\[x\\] 1\\. y", "Escaped *stars* and `ticks` [x] 1. y"),
        ("&copy; &#169; &#xA9; &nosuch; AT&T", "© © © &nosuch; AT&T"),
        ("<https://a.b/c_d_e> and <me@x.org>", "https://a.b/c_d_e and me@x.org"),
        ('![A *map*](m.png "Old") of [the][t] town\n\n[t]: /url "T"', "A map of the town"),
        ("Text  with   blanks\tand tabs", "Text with blanks and tabs"),
        ("- [ ] open\n- [X] shut\n  1) in\n  2) out", "- [ ] open\n- [x] shut\n  1. in\n  2. out"),
        ("> a\nlazy line\n> > deeper", "a lazy line\n\ndeeper"),
        ("* * *\n\n---\n\nx\n\n___", "x"),
        ("no final newline `code", "no final newline `code"),
        (
            "1986\\. A great year\n\n-not a list\n\n#not a heading",
            "1986. A great year\n\n-not a list\n\n#not a heading",
        ),
        ("<!-- a\n\nb -->\n\nc <!-- d --> e", "c e"),
        ("| a | b |\n|:-:|---|\n| 1\\|2 | `x` |\n| only |", "a | b\n1|2 | x\nonly |"),
    ],
)
def test_each_mark_of_markdown_gives_its_words(tmp_path: Path, source: str, expected: str) -> None:
    (tmp_path / "a.md").write_bytes(source.encode())
    assert read_book(tmp_path / "a.md", Limits()).sections[0].text == expected


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("~~~ruby\nputs `x`\n```\n~~~~\nafter", "puts `x`\n```"),
        ("```\nnever closed\n\n# no heading\n  - no list", "never closed\n\n# no heading\n  - no list"),
        ("para\n\n    indented\n\n\n      more\n\nafter", "indented\n\n\n  more"),
        ("\tby\ttab\n\nafter", "by\ttab"),
        ("````md\n```\ninner\n```\n````\nafter", "```\ninner\n```"),
        ("> ```\n> quoted()\n>   deep()\n> ```\nafter", "quoted()\n  deep()"),
        ("1. a\n\n   ```\n   x\n\n     y\n   ```\n\nafter", "x\n\n  y"),
        ("```python\na = 1   \n\n\n```", "a = 1"),
    ],
)
def test_code_of_every_kind_is_verbatim(source: str, code: str) -> None:
    found = read_sections(source)
    assert [text for piece in found for text in list_blocks(piece)] == [code]
    assert len(found) == 1


def test_a_long_table_is_one_block_and_every_row_is_a_line() -> None:
    rows = "\n".join(f"| {n} | name *{n}* | {n * n} |" for n in range(500))
    piece = read_only_section(f"Before\n\n| n | name | square |\n|---|---|---|\n{rows}\n\nAfter")
    (table,) = list_blocks(piece)
    assert table.split("\n")[1:] == [f"{n} | name {n} | {n * n}" for n in range(500)]


def test_headings_with_marks_have_the_ids_that_the_web_gives_them() -> None:
    source = (
        "Über\nuns\n===\n\n## The `get_all()` call & [more](x)\n\n## Emoji 🎉 here\n\n"
        "## 1.2 Points, *and* so_on\n\n"
        "## 中文 标题\n\n## Trailing ##\n\n## C++ / C#\n"
    )
    assert [(p.title, p.anchor) for p in read_sections(source)[1:]] == [
        ("Über uns", "über-uns"),
        ("The get_all() call & more", "the-get_all-call--more"),
        ("Emoji 🎉 here", "emoji--here"),
        ("1.2 Points, and so_on", "12-points-and-so_on"),
        ("中文 标题", "中文-标题"),
        ("Trailing", "trailing"),
        ("C++ / C#", "c--c"),
    ]
