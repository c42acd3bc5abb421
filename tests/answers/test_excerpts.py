"""The nearest passages of a refusal are cut to what the reader needs, and to what the reader may see."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from octavo.answers.excerpts import EXCERPT_MOST, cut_excerpts
from octavo.answers.workspace import number_sentences
from octavo.search.scope import bound_by_books
from tests.support.builders import make_chunk, make_evidence

FULL = "The harbour was full. " * 12
TEXT = f"{FULL}The lamp burned at dusk in the tower. Nobody came. {FULL}"


def test_an_excerpt_begins_or_goes_on_around_the_sentence_that_is_nearest_to_the_question() -> None:
    item = make_evidence(make_chunk(TEXT, start=70))
    (cut,) = cut_excerpts("when did the lamp burn?", [item], number_sentences([item], bound_by_books()))
    assert cut.chunk.content.startswith("The lamp burned at dusk in the tower. Nobody came.")
    assert len(cut.chunk.content) <= EXCERPT_MOST
    assert cut.chunk.id == item.chunk.id


def test_sentences_that_the_reader_may_not_see_are_in_no_excerpt() -> None:
    item = make_evidence(make_chunk(TEXT))
    seen = [s for s in number_sentences([item], bound_by_books()) if "lamp" not in s.text][:3]
    (cut,) = cut_excerpts("when did the lamp burn?", [item], seen)
    assert cut.chunk.content == FULL[: len("The harbour was full. ") * 3].rstrip()


@given(st.text(alphabet="ab .\n🌊", min_size=10, max_size=900), st.integers(0, 5000))
def test_an_excerpt_is_the_chunks_own_text_at_its_offsets(text: str, start: int) -> None:
    if len(text.strip()) < 10:
        return
    item = make_evidence(make_chunk(text, start=start))
    (cut,) = cut_excerpts("a b?", [item], number_sentences([item], bound_by_books()))
    at = cut.chunk.start - start
    assert text[at : at + len(cut.chunk.content)] == cut.chunk.content
    assert cut.chunk.end - cut.chunk.start == len(cut.chunk.content)
