"""Evidence in numbered sentences, cut to what the reader asked to see, and read without a language model."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from octavo.answers import calibration
from octavo.answers.offline import MOST_EMBEDDED, OfflineAnswerer
from octavo.answers.workspace import number_sentences, trim_evidence, trim_to_pages
from octavo.search.cascade import LARGE
from octavo.search.rerank import Reranker
from octavo.search.scope import Location, bound_by_books, bound_by_selection
from octavo.testing import TinyEmbedder
from octavo.types import Chunk, PageMark
from tests.support.builders import make_book, make_chunk, make_evidence, make_section
from tests.support.scripted_reader import ScriptedLarge, ScriptedReader

FOUR = "The harbour was full. Ships lay there. No. The lamp burned at dusk in the tower."


def texts_of(chunk: Chunk, *, start: int, end: int) -> str | None:
    part = trim_evidence(make_evidence(chunk), start, end)
    if part is None:
        return None
    content = part.chunk.content
    assert chunk.content[part.chunk.start - chunk.start : part.chunk.end - chunk.start] == content
    assert part.chunk.id == chunk.id
    return content


def test_sentences_are_numbered_through_the_evidence_and_are_the_books_own_text() -> None:
    two = make_chunk("And then it rained. The end.", position=1, start=400)
    given = number_sentences(
        [make_evidence(make_chunk(FOUR, start=100)), make_evidence(two, rank=2)], bound_by_books()
    )
    assert [s.id for s in given] == ["s1", "s2", "s3", "s4", "s5", "s6"]
    for sentence in given:
        chunk = sentence.chunk
        assert chunk.content[sentence.start - chunk.start : sentence.end - chunk.start] == sentence.text
    assert [s.evidence_rank for s in given] == [1, 1, 1, 1, 2, 2]


def test_sentences_beside_a_selection_are_not_given_to_anybody() -> None:
    section = make_section(text=FOUR)
    place = Location(section, FOUR.index("lay"), FOUR.index("lay") + 3)
    bounds = bound_by_selection(place, [make_chunk(FOUR)], book=make_book())
    assert [s.text for s in number_sentences([make_evidence(make_chunk(FOUR))], bounds)] == [
        "Ships lay there."
    ]


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (0, 500, FOUR),
        (24, 26, "Ships lay there."),
        (18, 24, "The harbour was full. Ships lay there."),
        (21, 22, None),
        (len(FOUR), len(FOUR) + 5, None),
    ],
)
def test_a_passage_is_cut_to_the_sentences_it_shares_with_a_stretch(
    start: int, end: int, expected: str | None
) -> None:
    for shift in (0, 1000):
        assert texts_of(make_chunk(FOUR, start=shift), start=start + shift, end=end + shift) == expected


def test_a_very_short_sentence_is_cut_no_shorter_than_a_passage_may_be() -> None:
    at = FOUR.index("No.")
    content = texts_of(make_chunk(FOUR), start=at, end=at + 2)
    assert content is not None
    assert (len(content), content[-3:]) == (10, "No.")
    first = texts_of(make_chunk("Yes. Ships lay there."), start=0, end=2)
    assert first == "Yes. Ships"


def test_a_passage_over_two_pages_is_cut_to_the_page_and_named_after_it() -> None:
    marks = (
        PageMark(0, 3, "iii"),
        PageMark(FOUR.index("Ships"), 4, "iv"),
        PageMark(FOUR.index("The lamp"), 5),
    )
    section = make_section(text=FOUR, pages=marks)
    item = make_evidence(make_chunk(FOUR, page_number=3))
    on = {page: trim_to_pages(item, section, page, page) for page in range(2, 7)}
    assert on[2] is None
    assert on[6] is None
    seen = {page: part.chunk for page, part in on.items() if part is not None}
    assert seen[3].content == "The harbour was full."
    assert (seen[4].content, seen[4].page, seen[4].page_end) == ("Ships lay there. No.", "iv", 4)
    assert (seen[5].content, seen[5].page_number) == ("The lamp burned at dusk in the tower.", 5)
    both = trim_to_pages(item, section, 3, 4)
    assert both is not None
    assert (both.chunk.page_label, both.chunk.page_end) == ("iii", 4)


class Counting(TinyEmbedder):
    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        self.texts = list(texts)
        return super().embed(texts)


async def test_only_the_sentences_nearest_in_words_are_worth_embedding() -> None:
    embedder = Counting()
    many = " ".join(f"The lamp number {n} burned at dusk in tower {n}." for n in range(30))
    given = number_sentences([make_evidence(make_chunk(many))], bound_by_books())
    reply = await OfflineAnswerer(embedder).reply("Which lamp burned in tower 7?", given)
    assert len(embedder.texts) == MOST_EMBEDDED
    assert embedder.embedded == MOST_EMBEDDED + 1, "the question, once"
    assert "The lamp number 7 burned at dusk in tower 7." in embedder.texts
    assert 0.0 < reply.confidence <= 1.0
    assert {id_ for claim in reply.claims for id_ in claim.sentences} <= {s.id for s in given}


async def test_without_evidence_there_is_nothing_to_say_and_no_chance_that_it_is_right() -> None:
    reply = await OfflineAnswerer(TinyEmbedder()).reply("Why?", [])
    assert (reply.claims, reply.answerable, reply.confidence) == ((), 0.0, 0.0)


# With a trained reader


async def test_the_reader_reads_each_passage_once_and_no_sentence_is_embedded() -> None:
    embedder, reader = TinyEmbedder(), ScriptedReader({"lamp": 5.0}, answer="at dusk")
    answerer = OfflineAnswerer(embedder, reranker=Reranker(reader))
    two = make_chunk("And then it rained. The end.", position=1, start=400)
    given = number_sentences(
        [make_evidence(make_chunk(FOUR, start=100)), make_evidence(two, rank=2)], bound_by_books()
    )
    reply = await answerer.reply("When did the lamp burn?", given)
    assert [p.text for p in reader.read_for[0][1]] == [FOUR, two.content]
    assert await answerer.reply("When did the lamp burn?", given) == reply
    assert (reader.count, embedder.embedded) == (2, 0)


@pytest.mark.parametrize("start", [0, 700])
async def test_the_words_that_the_reader_found_are_marked_where_they_stand(start: int) -> None:
    reranker = Reranker(ScriptedReader({"lamp": 5.0}, answer="at dusk"))
    given = number_sentences([make_evidence(make_chunk(FOUR, start=start))], bound_by_books())
    reply = await OfflineAnswerer(TinyEmbedder(), reranker=reranker).reply("When did the lamp burn?", given)
    found = [claim.text[a:b] for claim in reply.claims for a, b in claim.marks]
    assert found == ["at dusk"]
    assert reply.features["able"] == 5.0


@pytest.mark.parametrize("told", [-5.0, 5.0])
async def test_a_verifier_is_asked_about_question_and_answer_once(told: float) -> None:
    asked: list[tuple[str, list[str]]] = []

    def opinion(claim: str, passages: Sequence[str]) -> list[float]:
        asked.append((claim, list(passages)))
        return [told]

    reader = ScriptedReader({"lamp": 5.0}, answer="at dusk")
    given = number_sentences([make_evidence(make_chunk(FOUR))], bound_by_books())
    with_both = OfflineAnswerer(TinyEmbedder(), reranker=Reranker(reader, opinion=opinion))
    reply = await with_both.reply("When did the lamp burn?", given)
    alone = await OfflineAnswerer(TinyEmbedder(), reranker=Reranker(reader)).reply(
        "When did the lamp burn?", given
    )
    ((claim, (around,)),) = asked
    assert claim == "at dusk the lamp burn"
    assert around.endswith("The lamp burned at dusk in the tower.")
    assert reply.features == {**alone.features, "stated": told}
    assert reply.claims == alone.claims
    assert (reply.answerable > alone.answerable) == (told > 0)


async def test_without_evidence_no_verifier_is_asked() -> None:
    def opinion(claim: str, passages: Sequence[str]) -> list[float]:
        raise AssertionError((claim, passages))

    reranker = Reranker(ScriptedReader(), opinion=opinion)
    assert (await OfflineAnswerer(TinyEmbedder(), reranker=reranker).reply("Why?", [])).claims == ()


async def test_only_what_the_reader_may_see_is_read() -> None:
    reader = ScriptedReader()
    item = trim_evidence(make_evidence(make_chunk(FOUR)), FOUR.index("Ships"), FOUR.index("Ships") + 3)
    assert item is not None
    given = number_sentences([item], bound_by_books())
    await OfflineAnswerer(TinyEmbedder(), reranker=Reranker(reader)).reply("What lay there?", given)
    assert [p.text for p in reader.read_for[0][1]] == ["Ships lay there."]


async def test_without_evidence_the_reader_reads_nothing() -> None:
    reader = ScriptedReader()
    reply = await OfflineAnswerer(TinyEmbedder(), reranker=Reranker(reader)).reply("Why?", [])
    assert (reply.claims, reply.answerable, reply.confidence, reader.count) == ((), 0.0, 0.0, 0)


# With a large model

LAMP = "When did the lamp burn?"
NIGHT = "The lamp burned at night in the harbour."
TWO = number_sentences(
    [make_evidence(make_chunk(FOUR)), make_evidence(make_chunk(NIGHT, start=500), rank=2)], bound_by_books()
)


async def test_the_answer_the_scores_and_the_opinion_are_the_large_models() -> None:
    def opinion(claim: str, passages: Sequence[str]) -> list[float]:
        raise AssertionError((claim, passages))

    small = ScriptedReader({"harbour.": 9.0}, answer="at night")
    large = ScriptedLarge({"tower": 5.0}, answer="at dusk", support=2.5)
    reranker = Reranker(small, opinion=opinion, large=large)
    reply = await OfflineAnswerer(TinyEmbedder(), reranker=reranker).reply(LAMP, TWO)
    assert [claim.text[a:b] for claim in reply.claims for a, b in claim.marks] == ["at dusk"]
    assert (reply.features["able"], reply.features["stated"]) == (5.0, 2.5)
    assert large.claims == ["at dusk the lamp burn"]
    assert (small.count, reply.readers) == (0, (large.name,))
    assert reply.answerable == calibration.answerable(reply.features, reader="large")
    assert reply.confidence == calibration.confidence(reply.features, reader="large")


async def test_only_passages_that_the_large_model_read_are_quoted() -> None:
    large = ScriptedLarge({"harbour.": 9.0}, answer="at night", pieces=int(LARGE.budget_ms / LARGE.piece_ms))
    reranker = Reranker(ScriptedReader(), large=large)
    reply = await OfflineAnswerer(TinyEmbedder(), reranker=reranker).reply(LAMP, TWO)
    assert large.count == 1
    quoted = {id_ for claim in reply.claims for id_ in claim.sentences}
    assert quoted
    assert quoted <= {s.id for s in TWO if s.evidence_rank == 1}


@pytest.mark.parametrize("large", [None, ScriptedLarge({"lamp": 3.0}, answer="at dusk")])
async def test_the_same_question_has_the_same_reply_whatever_is_cached(large: ScriptedLarge | None) -> None:
    reader = ScriptedReader({"lamp": 3.0}, answer="at dusk")
    once = OfflineAnswerer(TinyEmbedder(), reranker=Reranker(reader, large=large))
    first = await once.reply(LAMP, TWO)
    assert await once.reply(LAMP, TWO) == first
    again = OfflineAnswerer(TinyEmbedder(), reranker=Reranker(reader, large=large))
    assert await again.reply(LAMP, TWO) == first


async def test_without_evidence_the_large_model_reads_nothing_and_is_not_named() -> None:
    large = ScriptedLarge()
    reply = await OfflineAnswerer(TinyEmbedder(), reranker=Reranker(ScriptedReader(), large=large)).reply(
        "Why?", []
    )
    assert (reply.claims, reply.readers, large.count, large.claims) == ((), (), 0, [])
