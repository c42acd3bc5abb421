"""Markdown as text that reads well: nothing of the markup, everything of the words."""

from __future__ import annotations

import re
import textwrap
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.readers.markdown.reader import read_sections
from octavo.readers.sections import PageSection


def page(source: str) -> list[PageSection]:
    return read_sections(textwrap.dedent(source).lstrip("\n"))


def text(source: str) -> str:
    (only,) = page(source)
    return only.text


def list_blocks(piece: PageSection) -> list[str]:
    return [piece.text[b.start : b.end] for b in piece.blocks]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "Some *soft* and **loud** and ***both*** and ~~gone~~ words.",
            "Some soft and loud and both and gone words.",
        ),
        ("See [the *guide*](https://a.b/c?d) and [ref][1].\n\n[1]: https://x.y", "See the guide and ref."),
        ("Call `Vec<T>` or ``a ` b``.", "Call Vec<T> or a ` b."),
        ("![A red *fox*](fox.png) runs", "A red fox runs"),
        ("one\ntwo\nthree", "one two three"),
        ("one  \ntwo\\\nthree", "one\ntwo\nthree"),
        ("a &amp; b &lt; c &copy; &#x41;", "a & b < c © A"),
        ("x&shy;y &#x202e;z &#0;", "xy z �"),
        ("5 \\* 3 \\# no", "5 * 3 # no"),
        ("Press <kbd>Ctrl</kbd>+<kbd>C</kbd><br>now", "Press Ctrl+C\nnow"),
        ("before <!-- hidden --> after", "before after"),
        ("safe <script>alert(1)</script> end", "safe end"),
        ("一行目の文\n二行目の文", "一行目の文二行目の文"),
        ("<https://example.org>", "https://example.org"),
        ("a [broken] link [x](", "a [broken] link [x]("),
        ('pic <img src="x" alt="a &amp; b"> end', "pic a & b end"),
    ],
)
def test_inline_marks_go_and_words_stay(source: str, expected: str) -> None:
    assert text(source) == expected


def test_tight_lists_are_lines_with_markers() -> None:
    source = """
        Before

        - one
        - two
          - inner
            wrapped
          - more
        - three

        3. third
        4. fourth

        After
        """
    assert text(source) == (
        "Before\n\n- one\n- two\n  - inner wrapped\n  - more\n- three\n\n3. third\n4. fourth\n\nAfter"
    )


def test_loose_list_items_are_paragraphs_of_their_own() -> None:
    source = """
        1. first

           more of it

        2. second
        """
    assert text(source) == "1. first\n\n  more of it\n\n2. second"


def test_task_lists_keep_their_boxes() -> None:
    assert text("- [ ] open\n- [x] done") == "- [ ] open\n- [x] done"


def test_empty_items_and_lists_of_lists_do_no_harm() -> None:
    assert text("-\n- a\n- - b") == "- a\n  - b"


def test_tables_are_rows_with_bars_and_a_block() -> None:
    (only,) = page("Intro\n\n| Name | `Age` |\n|---|--:|\n| *Ann* | 7 |\n| a \\| b | |\n\nOutro")
    assert only.text == "Intro\n\nName | Age\nAnn | 7\na | b |\n\nOutro"
    assert list_blocks(only) == ["Name | Age\nAnn | 7\na | b |"]


def test_code_is_verbatim_and_a_block() -> None:
    source = """
        Look:

        ```python title="x.py"
        def f():
            return "*a*"  # not a heading


        # nor this
        ```

            indented <b>code</b>

        Done
        """
    (only,) = page(source)
    assert list_blocks(only) == [
        'def f():\n    return "*a*"  # not a heading\n\n\n# nor this',
        "indented <b>code</b>",
    ]
    assert "```" not in only.text
    assert only.text.endswith("\n\nDone")


def test_code_in_a_list_item_keeps_its_own_indent() -> None:
    (only,) = page("1. Run:\n\n   ```sh\n   make\n     all\n   ```\n\n2. Done")
    assert only.text == "1. Run:\n\nmake\n  all\n\n2. Done"
    assert list_blocks(only) == ["make\n  all"]


def test_quotes_are_text_and_alerts_say_what_they_are() -> None:
    assert text("> quoted\n> words\n\n> [!WARNING]\n> Hot.") == "quoted words\n\nWarning:\n\nHot."


def test_headings_in_code_and_quotes_are_no_headings() -> None:
    found = page("# Real\n\n```\n# code\n```\n\n> ## Quoted\n\n- ## Listed\n")
    assert [(p.level, p.title) for p in found] == [(0, ""), (1, "Real")]
    assert found[1].text == "# code\n\nQuoted\n\n- Listed"


def test_headings_of_both_kinds_carry_ids() -> None:
    found = page("Top\n===\n\nSub *one*\n---\n\n## Sub one\n\n### Named {#own-id}\n\n## `code` & more ##\n")
    assert [(p.level, p.title, p.anchor) for p in found[1:]] == [
        (1, "Top", "top"),
        (2, "Sub one", "sub-one"),
        (2, "Sub one", "sub-one-1"),
        (3, "Named", "own-id"),
        (2, "code & more", "code--more"),
    ]


def test_an_empty_heading_parts_nothing() -> None:
    found = page("# A\n\none\n\n##\n\ntwo")
    assert [(p.title, p.text) for p in found[1:]] == [("A", "one\n\ntwo")]


def test_footnotes_follow_the_section_that_calls_them() -> None:
    source = """
        # A

        Claim[^n] one.

        # B

        Other[^2].

        [^n]: The *note*.

            ```
            code
            ```

        [^2]: Second, see[^n].

        [^3]: Never called.
        """
    _, a, b = page(source)
    assert a.text == "Claim[n] one.\n\n[n] The note.\n\ncode"
    assert list_blocks(a) == ["code"]
    assert b.text == "Other[2].\n\n[2] Second, see[n].\n\n[3] Never called."


def test_html_blocks_give_their_prose() -> None:
    source = """
        <div align="center">
          <p>Hello <b>there</b></p>
          <!-- not this -->
          <style>p { color: red }</style>
        </div>

        <details>
        <summary>More</summary>

        Inside *here*.

        </details>
        """
    assert text(source) == "Hello there\n\nMore\n\nInside here."


def test_html_tables_and_headings_become_what_they_are() -> None:
    source = """
        <h2 id="own">An <i>HTML</i> heading</h2>

        <table>
          <tr><th>A</th><th>B</th></tr>
          <tr><td>1 | 2</td>

          <td><code>x</code></td></tr>
        </table>
        """
    found = page(source)
    assert [(p.level, p.title, p.anchor) for p in found[1:]] == [(2, "An HTML heading", "own")]
    assert found[1].text == "A | B\n1 | 2 | x"
    assert list_blocks(found[1]) == [found[1].text]


def test_html_inside_code_is_left_alone() -> None:
    assert text("```html\n<table><tr><td>x</td></tr></table>\n<h1>no</h1>\n```") == (
        "<table><tr><td>x</td></tr></table>\n<h1>no</h1>"
    )


@pytest.mark.parametrize(
    "language", ["שלום עולם", "สวัสดีชาวโลก", "こんにちは世界", "مرحبا بالعالم", "नमस्ते दुनिया"]
)
def test_text_of_any_script_comes_through(language: str) -> None:
    found = page(f"# {language}\n\n**{language}** {language}")
    assert found[1].title == language
    assert found[1].text == f"{language} {language}"


def test_letters_that_markup_parted_are_composed_again() -> None:
    assert text("e*\u0301*") == "é"


TOKENS = (
    "\n", "\n\n", "  ", "    ", "# H", "- ", "1. ", "> ", "```\n", "`", "*", "_", "word", "ü", "中", "[^1]",
    "[^1]: n",
    "|a|b|\n|-|-|\n", "[l](u)", "<b>", "</b>", "<!--", "&shy;", "\\", "---\n", "<table><tr><td>",
    "</td></tr></table>",
    "<h2>x</h2>", "<pre>", "- [x] ", "<script>", "e\u0301",
)  # fmt: skip
MARKUP = st.lists(st.sampled_from(TOKENS), max_size=40)


@settings(max_examples=150)
@given(MARKUP)
def test_any_page_keeps_the_promises_of_canonical_text(parts: list[str]) -> None:
    for piece in read_sections("".join(parts)):
        assert piece.text == piece.text.strip("\n")
        assert all(line == line.rstrip() for line in piece.text.split("\n"))
        assert unicodedata.is_normalized("NFC", piece.text)
        assert not re.search("[\x00-\x08\x0b-\x1f\u00ad]", piece.text)
        last = 0
        for block in piece.blocks:
            assert last <= block.start < block.end <= len(piece.text)
            last = block.end


BOMBS = (
    "*a **a ", "_a __a ", "`" , "`a``b```c", "[", "![", "[a](", "<", "<a ", "<!--", "> ", "- ", "# ", "|a",
    "\\", "&", "~~a",
    "[^1]", "<table>", "<h1>a\n", "a\n=\n", "[a]: b\n", "```\n", "* a\n  ", "![[]()", "<script>", "<b><i>",
)  # fmt: skip


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_of_marks_stays_small(bomb: str) -> None:
    source = bomb * (60_000 // len(bomb))
    assert sum(len(p.text) + len(p.title) for p in read_sections(source)) <= 3 * len(source)


def test_a_word_of_a_megabyte_is_one_paragraph() -> None:
    (only,) = read_sections("x" * 1_000_000)
    assert len(only.text) == 1_000_000
