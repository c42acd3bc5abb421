"""A question laid against sentences: what is shared, by whom, and what is new."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from octavo.answers.features import (
    ALIKE,
    SentenceMatch,
    match_focus,
    match_sentences,
    merge_matches,
    weigh_focus,
    weigh_matches,
)
from octavo.answers.questions import parse_question
from octavo.text.blocks import find_block, list_blocks
from octavo.verification.claims import Sentence
from tests.support.builders import make_chunk

STORY = "Rollo led the Norse. He settled in Normandy in 911. The duchy grew rich."


def parted(text: str, *, rank: int = 1, heading: tuple[str, ...] = ("Normans",)) -> list[Sentence]:
    """One passage, parted at full stops."""
    chunk = make_chunk(text, section_id=f"s{rank}", heading_path=heading)
    found: list[Sentence] = []
    start = 0
    for piece in text.split(". "):
        end = start + len(piece) + (1 if start + len(piece) < len(text) else 0)
        block = find_block(list_blocks(text), start)
        found.append(
            Sentence(f"p{rank}s{len(found)}", chunk, start, end, text[start:end], 0.5, rank, 0.5, block)
        )
        start = end + 1
    return found


def laid(question: str, *passages: list[Sentence]) -> list[SentenceMatch]:
    return match_sentences(parse_question(question), [s for p in passages for s in p])


def test_a_sentence_knows_its_neighbours_and_its_passage() -> None:
    led, settled, grew = laid("Who settled in Normandy?", parted(STORY))
    assert led.own == (0.0, 0.0)
    assert settled.own == (1.0, 1.0)
    assert led.after == settled.own
    assert grew.before == settled.own
    assert led.around == settled.own
    assert led.chunk == grew.chunk == (1.0, 1.0)


def test_headings_count_for_the_passage_and_not_for_the_sentence() -> None:
    (only,) = laid("Who led the Huguenots?", parted("Condé led them well.", heading=("The Huguenots",)))
    assert only.own == (1.0, 0.0)
    assert only.around == only.chunk == (1.0, 1.0)


def test_passages_come_as_ranked_and_sentences_as_the_book_has_them() -> None:
    first, second = parted(STORY, rank=1), parted("Snow fell. Ice came.", rank=2)
    read_back = laid("Who led the Norse?", list(reversed(second)), list(reversed(first)))
    assert [r.sentence.id for r in read_back] == ["p1s0", "p1s1", "p1s2", "p2s0", "p2s1"]


def test_a_sentence_that_two_passages_share_is_read_once() -> None:
    twice = [parted(STORY)[0], *parted(STORY)]
    assert len(laid("Who led the Norse?", twice)) == 3


def test_expressions_that_the_question_already_has_are_not_new() -> None:
    (only,) = laid("Who did Rollo meet in 911?", parted("Rollo met Gisela in 911."))
    text = only.sentence.text
    assert [text[a:b] for a, b in only.sure] == ["Gisela"]


def test_a_word_that_is_alike_counts_less_than_the_same_word() -> None:
    focus = parse_question("Who made the establishment?").focus
    establishment = next(n for n, f in enumerate(focus) if f.text == "establishment")
    assert match_focus(focus, ["establishment"])[establishment] == 1.0
    assert match_focus(focus, ["establish"])[establishment] == ALIKE
    assert match_focus(focus, ["castle"])[establishment] == 0.0


def test_the_sort_of_thing_asked_for_weighs_little() -> None:
    parsed = parse_question("Which oil producer is an ally of France?")
    by_text = dict(zip((f.text for f in parsed.focus), weigh_focus(parsed), strict=True))
    assert by_text["producer"] < 0.5 * by_text["ally"]


def test_the_nearest_sentence_speaks_for_its_passage() -> None:
    near, far = parted(STORY), parted("Snow fell.", rank=2)
    assert {r.chunk_similarity for r in laid("Who led?", near, far)} == {0.5}


def test_no_sentences_give_no_readings() -> None:
    assert laid("Who led the Norse?") == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_a_share_lies_between_nothing_and_all(matched: list[float]) -> None:
    weight = [0.5] * len(matched)
    assert 0.0 <= weigh_matches(matched, weight) <= 1.0 + 1e-9
    assert weigh_matches(merge_matches((matched, [1.0] * len(matched))), weight) == 1.0


def test_a_question_without_focus_words_shares_nothing() -> None:
    assert weigh_matches((), ()) == 0.0
    (only,) = laid("What is it?", parted("It is a whale of a tale."))
    assert only.own == ()
