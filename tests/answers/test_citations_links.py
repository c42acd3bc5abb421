"""Links lead to the very words: a text fragment on the web, a page in a PDF, offsets elsewhere."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import unquote

from hypothesis import given
from hypothesis import strategies as st

from octavo.answers.citations import build_link, build_text_fragment
from octavo.types import BookFormat, Chunk
from tests.support.builders import WHALE, make_book, make_chunk


def on_the_web(content: str = WHALE, *, url: str = "https://example.org/ch42#whiteness") -> Chunk:
    return replace(make_chunk(content, start=100), url=url)


def test_a_page_on_the_web_gets_its_anchor_and_a_text_fragment() -> None:
    made = build_link(make_book(), on_the_web(), 107, 120, page_text=WHALE)
    assert made == "https://example.org/ch42#whiteness:~:text=the%20whiteness"[: len(made)]
    assert unquote(made.split("text=")[1]) == WHALE[7:20]


def test_a_page_without_an_anchor_gets_the_fragment_alone() -> None:
    made = build_link(make_book(), on_the_web(url="https://example.org/ch42"), 100, 102, page_text=WHALE)
    assert made == "https://example.org/ch42#:~:text=It"


def test_a_pdf_gets_its_page_wherever_it_stands() -> None:
    book = make_book(format=BookFormat.PDF)
    assert build_link(book, make_chunk(page_number=7), 0, 5, page_text="").endswith("/chapter-42#page=7")
    published = replace(on_the_web(url="https://example.org/a.pdf#x"), page_number=7)
    assert build_link(book, published, 100, 105, page_text="") == "https://example.org/a.pdf#page=7"


def test_a_book_without_an_address_gets_its_offsets() -> None:
    assert (
        build_link(make_book(), make_chunk(start=40), 44, 50, page_text="")
        == "book://moby-dick/chapter-42#char=44,50"
    )


def test_a_long_quotation_is_named_by_its_ends() -> None:
    said = " ".join(f"word{n}" for n in range(40))
    fragment = build_text_fragment(said, before="", page_text=said)
    assert fragment == "text=word0%20word1%20word2%20word3,word36%20word37%20word38%20word39"


def test_a_quotation_that_stands_twice_is_told_apart_by_the_words_before_it() -> None:
    page = "One day the sea rose. Another day the sea rose."
    assert build_text_fragment("the sea rose.", before="Another day ", page_text=page) in (
        "text=Another%20day-,the%20sea%20rose.",
        "text=Another%20day%20-,the%20sea%20rose.",
    )
    assert build_text_fragment("Another day", before="rose. ", page_text=page) == "text=Another%20day"


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=200))
def test_nothing_in_a_quotation_can_break_out_of_its_fragment(snippet: str) -> None:
    fragment = build_text_fragment(snippet, before="", page_text=snippet)
    body = fragment.removeprefix("text=")
    assert not set('#& -<>"\n') & set(body)
    assert body.count(",") <= 1
