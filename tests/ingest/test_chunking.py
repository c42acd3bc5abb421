"""Chunks are exact stretches of their section, fit the embedder, and keep their ids when others change."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from types import FrameType
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.ingest import chunking
from octavo.ingest.chunking import chunk_book, make_embedded_text, make_heading_line
from octavo.types import CHUNK_LEAST, CHUNK_MOST, Chunk, PageMark, Section, Span
from octavo.validation import LARGEST_EXACT_INTEGER

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PROSE = "The ship sailed at dawn. Nobody saw her leave. The harbour lay quiet, and the tide was low. "
PINNED = ("b063dde3-ecf9-5bda-bde4-c34b76162e10", 5_597_284_077_214_967)
LETTERS = st.sampled_from(list("abcdefg ABC.!?,\n\n漢字。👩\u200dé\u0301 \u00a0-|"))


def pieces(texts: Sequence[str]) -> list[int]:
    """Counts as word pieces go: a piece for four letters of a word, one for each other character."""
    counts = []
    for text in texts:
        words = "".join(c if c.isascii() and c.isalnum() else f" {c} " for c in text).split()
        counts.append(sum(-(-len(word) // 4) if word.isascii() else len(word) for word in words))
    return counts


def section(text: str, *, title: str = "Departure", name: str = "s1", blocks: Sequence[Span] = ()) -> Section:
    return Section(
        id=name,
        book_id="tides",
        title=title,
        heading_path=("Part One", title),
        level=2,
        position=0,
        url=f"book://tides/{name}",
        text=text,
        source_file="tides.md",
        blocks=tuple(blocks),
        ancestors=("p1",),
    )


def cut(*sections: Section, max_pieces: int = 254, target: int = 160) -> list[Chunk]:
    return chunk_book(
        "The Tides", sections, pieces=pieces, max_pieces=max_pieces, target=target, created_at=NOW
    )


def assert_sound(sections: Sequence[Section], chunks: Sequence[Chunk], *, max_pieces: int = 254) -> None:
    texts = {s.id: s.text for s in sections}
    left = {s.id: list(s.text) for s in sections}
    for chunk in chunks:
        assert texts[chunk.section_id][chunk.start : chunk.end] == chunk.content
        assert CHUNK_LEAST <= len(chunk.content) <= CHUNK_MOST
        assert chunk.content == chunk.content.strip()
        for place in range(chunk.start, chunk.end):
            assert left[chunk.section_id][place] != "", "a character lies in two chunks"
            left[chunk.section_id][place] = ""
    assert all(n <= max_pieces for n in pieces([make_embedded_text(c) for c in chunks]))
    for characters in left.values():
        stray = ["".join(run.split()) for run in "\0".join(characters).split("\0\0")]
        assert all(len(run.replace("\0", "")) < CHUNK_LEAST for run in stray), "text is in no chunk"
    assert len({c.id for c in chunks}) == len(chunks)
    assert [c.document_position for c in chunks] == list(range(len(chunks)))


def covered(text: str, chunks: Sequence[Chunk]) -> bool:
    return "".join("".join(c.content.split()) for c in chunks) == "".join(text.split())


@settings(max_examples=150, deadline=None)
@given(st.text(LETTERS, max_size=400), st.integers(1, 12))
def test_chunks_are_exact_and_fit_whatever_the_text(text: str, times: int) -> None:
    made = section(text * times)
    assert_sound([made], cut(made))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from([PROSE, "Short.\n\n", "- item\n", "漢字かな交じり文。", "x" * 300 + " "]), max_size=60
    )
)
def test_ordinary_text_is_covered_without_exception(stretches: list[str]) -> None:
    text = "".join(stretches)
    chunks = cut(section(text))
    assert_sound([section(text)], chunks)
    assert covered(text, chunks) or len(text.strip()) < CHUNK_LEAST


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.booleans(), st.text(LETTERS, min_size=1, max_size=200)), min_size=1, max_size=8),
    st.integers(60, 300),
)
def test_chunks_are_sound_with_blocks_and_any_budget(stretches: list[tuple[bool, str]], budget: int) -> None:
    text, blocks = "", []
    for is_block, stretch in stretches:
        if is_block:
            blocks.append(Span(len(text), len(text) + len(stretch)))
        text += stretch + "\n\n"
    made = section(text, blocks=blocks)
    assert_sound([made], cut(made, max_pieces=budget, target=budget // 2), max_pieces=budget)


@pytest.mark.parametrize(
    "text",
    [
        "x" * 1_000_000,
        "漢" * 100_000,
        "ทะเลลึก" * 10_000,
        "👩\u200d👩\u200d👧" * 20_000,
        "a\n" * 100_000,
        "a\n\n" * 20_000,
        "word " * 100_000,
        "? " * 50_000,
        "| a | b |\n" * 10_000,
    ],
    ids=["one word", "Chinese", "Thai", "emoji", "lines", "paragraphs", "words", "marks", "table"],
)
def test_a_long_text_of_one_kind_is_chunked_whole(text: str) -> None:
    chunks = cut(section(text))
    assert covered(text, chunks)
    assert all(CHUNK_LEAST <= len(c.content) <= CHUNK_MOST for c in chunks)
    assert max(pieces([make_embedded_text(c) for c in chunks])) <= 254


@pytest.mark.parametrize("text", ["", "  \n\n ", "Tiny.", "123456789", " \n a \n "])
def test_a_section_of_fewer_than_ten_characters_has_no_chunk(text: str) -> None:
    assert cut(section(text)) == []


def test_two_long_paragraphs_are_two_chunks() -> None:
    text = f"{(PROSE * 4).strip()}\n\n{(PROSE * 4).strip()}"
    assert [chunk.content for chunk in cut(section(text))] == text.split("\n\n")


def test_short_paragraphs_come_together() -> None:
    text = "\n\n".join(["“No,” he said.", "She nodded.", "“Then we sail at dawn,” he said."] * 4)
    (chunk,) = cut(section(text))
    assert chunk.content == text


def count_lines_run(name: str, text: str) -> int:
    """Counts the lines that a function of the chunker runs while it chunks a text."""
    count = 0

    def note(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        count += event == "line"
        return note if frame.f_code.co_name == name else None

    before = sys.gettrace()
    sys.settrace(note)
    try:
        cut(section(text))
    finally:
        sys.settrace(before)
    return count


def test_a_thousand_paragraphs_of_one_word_take_no_more_steps_than_as_much_prose() -> None:
    words = [PROSE.split()[n % 17] for n in range(1_000)]
    prose = "\n\n".join([" ".join(words[n : n + 10]) for n in range(0, 1_000, 10)])
    one_by_one = count_lines_run("_pack", "\n\n".join(words))
    # When each word was a border to choose, it was twenty times as many.
    assert one_by_one < 3 * count_lines_run("_pack", prose)


def test_very_many_long_words_that_are_one_piece_each_are_not_joined_beyond_a_chunk() -> None:
    text = ("x" * 300 + "\n\n") * 200
    chunks = chunk_book(
        "Keys",
        [section(text)],
        pieces=lambda texts: [len(one.split()) for one in texts],
        max_pieces=254,
        target=160,
        created_at=NOW,
    )
    assert covered(text, chunks)
    assert all(CHUNK_LEAST <= len(chunk.content) <= CHUNK_MOST for chunk in chunks)


def test_some_tiny_paragraphs_come_together_as_the_best_borders_say() -> None:
    # Nine lines of three words are far from very many: each of them may begin a chunk.
    lines = "\n\n".join(["“No sail,” he said."] * 9)
    text = f"{(PROSE * 4).strip()}\n\n{lines}\n\n{(PROSE * 4).strip()}"
    assert [chunk.content for chunk in cut(section(text))] == [
        (PROSE * 4).strip(),
        lines,
        (PROSE * 4).strip(),
    ]


def test_a_short_sentence_at_the_end_of_a_paragraph_does_not_join_the_next_one() -> None:
    text = f"{(PROSE * 4).strip()} He nodded.\n\nNo sail. {(PROSE * 4).strip()}"
    assert [chunk.content for chunk in cut(section(text))] == text.split("\n\n")


def test_a_paragraph_that_ends_with_a_colon_stays_with_what_it_announces() -> None:
    lead = f"{PROSE * 2}The crew needs three things:"
    listed = f"{lead}\n\n- a compass that shows the way\n- a chart of the coast and its rocks\n- a lamp"
    first, _ = cut(section(f"{listed}\n\n{PROSE * 5}"))
    assert first.content == listed


def test_ten_characters_are_a_chunk() -> None:
    assert [c.content for c in cut(section("  Ten chars.  "))] == ["Ten chars."]


def test_a_tail_too_short_joins_its_neighbour() -> None:
    text = PROSE * 7 + "\n\nThe end."
    chunks = cut(section(text))
    assert chunks[-1].content.endswith("The end.")
    assert len(chunks[-1].content) > 100
    full = "x" * 1_000 + " " + "y" * 1_000 + "\n\nEnd."
    assert covered(full, cut(section(full)))


def test_chunks_are_near_the_target_and_evenly_so() -> None:
    chunks = cut(section(PROSE * 40))
    sizes = pieces([c.content for c in chunks])
    assert all(130 <= size <= 190 for size in sizes)


def test_text_a_little_over_the_target_is_not_torn_into_a_chunk_and_a_scrap() -> None:
    for times in range(5, 20):
        sizes = pieces([c.content for c in cut(section(PROSE * times))])
        assert min(sizes) >= 80 or len(sizes) == 1


def test_paragraphs_are_preferred_as_borders() -> None:
    paragraphs = [(PROSE * 4).strip(), (PROSE * 6).strip(), (PROSE * 5).strip()] * 3
    text = "\n\n".join(paragraphs)
    chunks = cut(section(text))
    assert [c.content for c in chunks] == paragraphs


def test_chunks_end_where_sentences_end() -> None:
    chunks = cut(section(PROSE * 60))
    assert all(c.content.endswith(".") and c.content[0].isupper() for c in chunks)


def test_a_code_block_that_fits_stays_whole() -> None:
    code = "\n".join(f"let value_{n} = {n};" for n in range(12))
    text = f"{PROSE * 7}\n\n{code}\n\n{PROSE * 7}"
    start = text.index(code)
    chunks = cut(section(text, blocks=[Span(start, start + len(code))]))
    assert sum(code in c.content for c in chunks) == 1


def test_a_table_that_does_not_fit_is_cut_at_the_ends_of_rows() -> None:
    rows = [f"| row {n} | {n * 7} | harbour |" for n in range(80)]
    table = "\n".join(rows)
    chunks = cut(section(table, blocks=[Span(0, len(table))]))
    assert len(chunks) > 3
    assert [row for c in chunks for row in c.content.split("\n")] == rows


def test_a_sentence_longer_than_the_budget_is_cut_and_kept() -> None:
    text = "it went on, and on, over hill and dale; " * 80
    chunks = cut(section(text))
    assert covered(text, chunks)
    assert max(pieces([make_embedded_text(c) for c in chunks])) <= 254


def test_counts_that_do_not_add_up_are_found_out_and_mended() -> None:
    def dearer_together(texts: Sequence[str]) -> list[int]:
        return [n + 4 * text.count(" The ") for n, text in zip(pieces(texts), texts, strict=True)]

    made = section(PROSE * 30)
    chunks = chunk_book("T", [made], pieces=dearer_together, max_pieces=120, target=118, created_at=NOW)
    assert covered(made.text, chunks)
    assert max(dearer_together([make_embedded_text(c) for c in chunks])) <= 120


def test_every_field_says_where_the_passage_stands() -> None:
    # The second page begins inside a sentence.
    pages = (PageMark(0, 11, "xi"), PageMark(290, 12, "xii"), PageMark(2_000, 13))
    made = replace(section(PROSE * 40), pages=pages)
    chunks = cut(made)
    first = chunks[0]
    assert (first.book_id, first.section_id, first.ancestors) == ("tides", "s1", ("p1",))
    assert (first.chapter, first.section, first.heading_path) == ("Part One", "Departure", made.heading_path)
    assert (first.url, first.source_file, first.source_title) == (made.url, "tides.md", "The Tides")
    assert (first.page_number, first.page_end, first.page_label) == (11, 12, "xi")
    assert first.source_location == "The Tides › Part One › Departure, pp. xi–xii"
    assert chunks[-1].source_location == "The Tides › Part One › Departure, p. 13"
    assert [c.chunk_index for c in chunks] == list(range(len(chunks)))
    assert first.created_at == NOW
    for chunk in chunks:
        mark = made.page_at(chunk.start)
        assert mark is not None
        assert chunk.page_number == mark.number


def test_a_passage_ends_with_its_page_where_it_can() -> None:
    page = f"{PROSE * 6}".strip()
    made = section(f"{page}\n\n{page}")
    bounds = [c.end for c in cut(replace(made, pages=(PageMark(0, 1), PageMark(len(page) + 2, 2))))]
    assert len(page) in bounds
    # A few words at the top of a page are no passage of their own.
    last = len(made.text) - len("and the tide was low.")
    assert [c.start for c in cut(replace(made, pages=(PageMark(0, 1), PageMark(last, 2))))] == [
        c.start for c in cut(made)
    ]


def test_a_book_without_pages_has_none_in_its_locations() -> None:
    (chunk,) = cut(section(PROSE))
    assert (chunk.page_number, chunk.page_end, chunk.page_label) == (None, None, None)
    assert chunk.source_location == "The Tides › Part One › Departure"
    whole = replace(section(PROSE, title="The Tides"), heading_path=("The Tides",))
    assert cut(whole)[0].source_location == "The Tides"


def test_ids_come_from_book_section_occurrence_and_content() -> None:
    text = "\n\n".join([PROSE * 5] * 4)
    chunks = cut(section(text))
    assert len({c.content for c in chunks}) < len(chunks) == len({c.id for c in chunks})
    assert chunks == cut(section(text))
    for chunk in chunks:
        assert UUID(chunk.id).version == 5
        assert 1 <= chunk.chunk_id <= LARGEST_EXACT_INTEGER
    elsewhere = cut(replace(section(text), book_id="other"))
    assert not {c.id for c in chunks} & {c.id for c in elsewhere}


def test_ids_are_the_same_in_every_release() -> None:
    (chunk,) = cut(section(PROSE.strip()))
    assert (chunk.id, chunk.chunk_id) == PINNED


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.text(LETTERS, min_size=20, max_size=300), min_size=1, max_size=4),
    st.text(LETTERS, max_size=200),
)
def test_a_section_in_front_leaves_the_other_ids_as_they_were(texts: list[str], added: str) -> None:
    before = [section(text, name=f"s{n}") for n, text in enumerate(texts)]
    after = [section(added, name="new"), *before]
    old, new = cut(*before), cut(*after)
    assert [c.id for c in old] == [c.id for c in new if c.section_id != "new"]
    assert_sound(after, new)


def test_what_is_embedded_begins_with_the_heading_path() -> None:
    (chunk,) = cut(section(PROSE))
    assert make_embedded_text(chunk) == f"Part One › Departure\n{PROSE.strip()}"


@given(st.lists(st.text(min_size=1, max_size=300), min_size=1, max_size=6))
def test_a_heading_line_is_bounded(path: list[str]) -> None:
    assert len(make_heading_line(path).encode("utf-8", "replace")) <= chunking.HEADING_BYTES


def test_a_long_heading_path_keeps_its_ends() -> None:
    path = ("Part One: The Sea", "A chapter " * 10, "Another chapter " * 10, "The Harbour at Night")
    assert make_heading_line(path) == "Part One: The Sea › … › The Harbour at Night"
    long = make_heading_line(("word " * 60,))
    assert long.endswith("word…")


def test_chunks_of_many_sections_follow_the_reading_order() -> None:
    sections = [section(PROSE * 12, name=f"s{n}", title=f"Day {n}") for n in range(5)]
    chunks = cut(*sections)
    assert [c.document_position for c in chunks] == list(range(len(chunks)))
    assert all(a.section_id <= b.section_id for a, b in pairwise(chunks))
    assert {c.section for c in chunks} == {f"Day {n}" for n in range(5)}
