"""Questions for a name: how they are read, and how clear a winner must be."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from octavo.answers.names import (
    LEAST,
    MOST,
    FoundName,
    NameRequest,
    has_any,
    measure_lead,
    read_name_request,
)
from octavo.answers.replies import Reply, choose_name
from octavo.library import Library
from octavo.text.blocks import list_blocks
from octavo.text.bookmap.kinds import NamedThing
from octavo.text.bookmap.link import Entity
from octavo.text.bookmap.model import EntityKind
from octavo.types import Scope, ScopeType
from octavo.verification.claims import Claim, Phrase, Sentence
from tests.support import small_books
from tests.support.answerers import ask_truly, fill_library, open_copy
from tests.support.builders import make_chunk
from tests.support.mapped_books import VOYAGE

CHAPTERS = {
    "The Voyage": VOYAGE,
    "The Sea": "\n\n".join(
        f"On day {n} Rudd took the Petrel through ice and fog, and the ship was whole when the sun came out."
        for n in range(12)
    ),
}


@pytest.mark.parametrize(
    ("question", "kind", "owner", "person"),
    [
        ("What is the name of Ahab's ship?", "ship", "Ahab", False),
        ("what's the name of the captain of the Gannet", "captain", "Gannet", True),
        ("What is the name of the ship?", "ship", "", False),
        ("what is the name of the ship in this book", "ship", "", False),
        ("what is Silver’s parrot called?", "parrot", "Silver", False),
        ("what is the inn of Jonas called", "inn", "Jonas", False),
        ("what is the inn of Jim's father called", "inn", "Jim's father", False),
        ("which ship does captain ahab command", "ship", "captain ahab", False),
        ("Which street does Mr. Marsh live in?", "street", "Mr. Marsh", False),
        ("who is the first mate of the Petrel?", "first mate", "Petrel", True),
        ("Who was Darcy's sister?", "sister", "Darcy", True),
        ("what is the name of Ahab's whale", "whale", "Ahab", None),
    ],
)
def test_a_question_for_a_name_is_read(question: str, kind: str, owner: str, person: bool | None) -> None:
    assert read_name_request(question) == NameRequest(kind, owner, person)


@pytest.mark.parametrize(
    "question",
    [
        "Who is Starbuck?",
        "which ship did Ahab sink?",
        "what are the names of Ahab's mates?",
        "What is the name of the whale that took Ahab's leg?",
        "who are Darcy's friends?",
        "What is the difference between a mate and a captain?",
        "what does the captain of the Pequod say",
        "where is Ahab's ship?",
        "What is Debian's default shell?",
        "what effect does alcohol have",
        "what is Ahab's plan?",
        "what is the name of the chapter?",
        "what is the name of the book's author",
    ],
)
def test_another_question_is_not(question: str) -> None:
    assert read_name_request(question) is None


def make_thing(score: float, *, beside: bool = True) -> NamedThing:
    entity = Entity(EntityKind.THING, (("Petrel", (0, 0, 6)),), ((0, 0, 6),), 1.0)
    return NamedThing(entity, score=score, places={(0, 0, 6): 0.0} if beside else {})


def test_a_lead_is_the_smaller_the_closer_the_second_comes() -> None:
    leads = [measure_lead([make_thing(6.0), make_thing(second)]) for second in (0.0, 2.0, 5.0, 6.0)]
    assert leads == sorted(leads, reverse=True)
    assert leads[0] > LEAST > leads[-1]


def test_a_lead_of_few_votes_is_no_clear_one_and_no_lead_is_certain() -> None:
    assert measure_lead([]) == 0.0
    assert measure_lead([make_thing(0.5)]) < LEAST
    assert measure_lead([make_thing(1_000.0)]) == MOST


def test_a_name_that_the_noun_never_stands_beside_needs_more_votes() -> None:
    assert measure_lead([make_thing(2.0)]) > LEAST > measure_lead([make_thing(2.0, beside=False)])


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shelf")
    book = small_books.write_markdown(folder / "voyage.md", CHAPTERS, title="The Voyage")
    return fill_library(folder / "library", book, chunk_tokens=64)


@pytest.fixture
async def library(shelf: Path, tmp_path: Path) -> AsyncIterator[Library]:
    async with open_copy(shelf, tmp_path, risk=0.9, chunk_tokens=64) as opened:
        yield opened


async def test_the_name_that_all_of_the_book_speaks_for_opens_the_answer(library: Library) -> None:
    answer = await ask_truly(library, "What is the name of Rudd's ship?", book="the-voyage")
    assert answer.short is not None
    assert answer.short.text == "Petrel"
    assert LEAST <= answer.confidence <= MOST
    assert "Petrel" in answer.citations[0].content_snippet


async def test_a_name_that_the_book_does_not_give_is_no_sure_answer(library: Library) -> None:
    answer = await library.ask("What is the name of Rudd's dog?", book_id="the-voyage")
    assert answer.refusal is not None or answer.confidence < LEAST


@pytest.mark.parametrize(
    ("names", "named"), [(["Tom Hale", "Hale"], True), (["The Petrel"], True), (["Rudd"], False), ([], False)]
)
def test_a_passage_that_does_not_name_the_owner_may_be_about_somebody_elses(
    names: list[str], named: bool
) -> None:
    chunk = make_chunk("Tom Hale’s sister, Ada, had written to him.", heading_path=("The Petrel",))
    (block,) = list_blocks(chunk.content)
    sentence = Sentence("s1", chunk, 0, len(chunk.content), chunk.content, 0.5, 1, 0.5, block)
    assert has_any(names, Claim(sentence.text, ("s1",)), [sentence]) is named


async def test_where_only_a_part_is_asked_the_rest_of_the_book_has_no_vote(library: Library) -> None:
    sea = Scope(type=ScopeType.SECTION, identifier="The Sea")
    answer = await library.ask("Who is the mate of the Petrel?", book_id="the-voyage", scope=sea)
    whole = await ask_truly(library, "Who is the mate of the Petrel?", book="the-voyage")
    assert whole.short is not None
    assert whole.short.text not in answer.content


def test_a_name_that_ends_in_a_mark_is_found_and_one_within_a_word_is_not() -> None:
    chunk = make_chunk("Ada met Sammy Davis Jr. on the quay.", heading_path=("Petrels",))
    (block,) = list_blocks(chunk.content)
    sentence = Sentence("s1", chunk, 0, len(chunk.content), chunk.content, 0.5, 1, 0.5, block)
    claim = Claim(sentence.text, ("s1",))
    assert has_any(["Sammy Davis Jr."], claim, [sentence])
    assert not has_any(["Petrel"], claim, [sentence])


PASSAGE = Reply((Claim("The Petrel lay there.", ("s7",)),), 0.3, 0.4, short=Phrase("s7", 4, 10))
FOUND = FoundName(Claim("The ship Petrel.", ("s9",)), Phrase("s9", 9, 15), 0.7, frozenset(["Petrel"]))


def test_passages_that_give_the_same_name_keep_their_sentence_and_become_as_sure() -> None:
    chosen = choose_name(PASSAGE, FOUND, "the Petrel")
    assert chosen.claims == PASSAGE.claims
    assert (chosen.answerable, chosen.confidence) == (0.7, 0.7)


def test_words_that_only_have_the_name_in_them_are_another_answer() -> None:
    chosen = choose_name(PASSAGE, FOUND, "the owner of the Petrel")
    assert chosen.claims == (FOUND.claim,)


def test_passages_that_are_surer_of_another_name_are_kept() -> None:
    sure = replace(PASSAGE, answerable=0.9, confidence=0.9)
    assert choose_name(sure, FOUND, "the Tern") == sure


def test_passages_that_give_another_name_or_none_give_way() -> None:
    for reply, short in ((PASSAGE, "the Tern"), (replace(PASSAGE, short=None), "")):
        chosen = choose_name(reply, FOUND, short)
        assert chosen.claims == (FOUND.claim,)
        assert (chosen.short, chosen.confidence) == (FOUND.short, 0.7)
