"""The words that open an answer: those that answer by themselves, cut from the book and checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.answers.features import SentenceScore
from octavo.answers.questions import parse_question
from octavo.answers.short import LEAST_MARGIN, choose_short, fit_short
from octavo.answers.workspace import number_sentences
from octavo.events import last
from octavo.library import Library
from octavo.schemas import AnsweredJson
from octavo.search.scope import bound_by_books
from octavo.testing import TinyEmbedder
from octavo.types import Question, Scope, ScopeType, ShortAnswer
from octavo.verification.claims import Claim, Phrase
from tests.support.answerers import ScriptedAnswerer, add_tides, change_records
from tests.support.builders import make_chunk, make_evidence
from tests.support.copies import copy_library

BOATS = "Seven boats were lost with all their nets."
PIER = "A storm broke the northern pier in a single night."
STORM = Question(content="How many boats were lost?", scope=Scope(type=ScopeType.SECTION, identifier="Storm"))
SEVEN = Phrase("s2", 0, 5)
NATIVE = "Queequeg was a native of Rokovoko, an island far away to the West and South."


def choose(question: str, text: str, words: str, *, margin: float = 9.0) -> str | None:
    (sentence,) = number_sentences([make_evidence(make_chunk(text))], bound_by_books())
    at = text.index(words)
    seen = SentenceScore(0, 0, margin, at, at + len(words))
    found = choose_short(parse_question(question), sentence, seen, around=text)
    return sentence.text[found.start : found.end] if found else None


HOLD = "Hold makes later commands ignore a package, while keep merely cancels all planned actions."


@pytest.mark.parametrize(
    ("question", "words", "taken"),
    [
        ("What does hold do to commands?", "cancels all planned actions", False),
        ("What does keep do?", "cancels all planned actions", True),
        ("What does hold do?", "later commands ignore a package", True),
    ],
)
def test_words_on_the_other_side_of_a_contrast_say_nothing_of_what_is_asked(
    question: str, words: str, taken: bool
) -> None:
    assert (choose(question, HOLD, words) is not None) is taken


@pytest.mark.parametrize(
    ("question", "text", "words", "expected"),
    [
        ("where does queequeg come from", NATIVE, "Rokovoko", "Rokovoko"),
        ("where does queequeg come from", NATIVE, "okovok", "Rokovoko"),
        ("where does queequeg come from", NATIVE, " Rokovoko, ", "Rokovoko"),
        ("How many boats were lost?", BOATS, "Seven", "Seven"),
        ("what broke the pier?", "Ann’s storm broke the northern pier.", "Ann’s storm", "Ann’s storm"),
        (
            "how did Pew escape?",
            "That night Pew escaped in a shore boat.",
            "in a shore boat",
            "in a shore boat",
        ),
        ("what is the longest delay?", "A delay of up to 15 days can be chosen here.", "15 days", "15 days"),
    ],
)
def test_the_readers_words_are_taken_as_whole_words(
    question: str, text: str, words: str, expected: str
) -> None:
    assert choose(question, text, words) == expected


@pytest.mark.parametrize(
    ("question", "text", "words"),
    [
        ("why was he feared?", NATIVE, "Rokovoko"),
        ("how do I get to the island?", NATIVE, "Rokovoko"),
        ("Is Queequeg a native of Rokovoko?", NATIVE, "Rokovoko"),
        # The text has no word of the question.
        ("what is the purpose of the book?", NATIVE, "island far away"),
        # A beggar is no way to die.
        ("how did Pew die?", "Pew was that sort, and he died a beggar in the end.", "a beggar"),
        # A minimum says nothing about the longest.
        ("what is the longest delay?", "After 21 days of delay the minimum is seven days.", "21 days"),
        ("who was a native?", NATIVE, "native"),
        ("where does queequeg come from", NATIVE, "native of"),
        ("where does queequeg come from", NATIVE, "and South"),
        ("where is the island", NATIVE, "native of Rokovoko, an island far away to"),
        ("what burned", "The lamp (in the tower) burned and it burned all night.", "lamp (in the tower"),
        ("what burned", "The lamp | the tower | burned and burned all night.", "lamp | the tower"),
    ],
)
def test_words_that_do_not_answer_by_themselves_are_not_taken(question: str, text: str, words: str) -> None:
    assert choose(question, text, words) is None


def test_words_that_the_reader_is_not_sure_of_are_not_taken() -> None:
    assert choose("where does queequeg come from", NATIVE, "Rokovoko", margin=LEAST_MARGIN) == "Rokovoko"
    assert choose("where does queequeg come from", NATIVE, "Rokovoko", margin=LEAST_MARGIN - 0.1) is None


def test_a_short_answer_takes_the_place_of_claims_that_no_longer_fit() -> None:
    home, long, brief = Claim(BOATS, ("s2",)), Claim(f"{PIER} " * 4, ("s1",)), Claim(PIER, ("s3",))
    assert fit_short(SEVEN, [long, home, brief], most=80) == (SEVEN, (long, home, brief))
    assert fit_short(SEVEN, [long, home, brief], most=40) == (SEVEN, (home, brief))
    assert fit_short(SEVEN, [long, home, brief], most=15) == (None, (long, home, brief))
    assert fit_short(SEVEN, [long, brief], most=80) == (None, (long, brief))


@pytest.fixture(scope="module")
def tides(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return add_tides(tmp_path_factory.mktemp("tides"))


async def test_an_answer_opens_with_its_short_answer_and_every_word_of_it_is_checked(
    tides: Path, tmp_path: Path
) -> None:
    data = copy_library(tides, tmp_path / "library")
    says = ScriptedAnswerer((PIER, ["s1"]), (BOATS, ["s2"]), short=SEVEN)
    async with Library.open(data, embedder=TinyEmbedder(), answerer=says) as library:
        done = await last(library.stream(STORM))
        answer, found = done.answer, done.answer.short
        assert answer.content == f"Seven. [1] {BOATS} [1] {PIER} [2]"
        assert found == ShortAnswer(text="Seven", citation=1, start=51, end=56)
        assert [claim.text for claim in done.claims] == [BOATS, PIER]
        shown = AnsweredJson.from_event(done).to_json()
        assert shown["short"] == {"text": "Seven", "citation": 1, "start": 51, "end": 56}
        kept = await library.conversations.find_exchange(answer.id)
        assert kept.answer == answer
        verdicts = await library.verify(answer.id)
        assert [(v.number, v.true, v.snippet) for v in verdicts] == [
            (1, True, BOATS), (2, True, PIER), (1, True, "Seven"),
        ]  # fmt: skip
        change_records(
            data, "UPDATE answers SET receipt = replace(receipt, '\"start\": 51', '\"start\": 50')"
        )
        assert [v.true for v in await library.verify(answer.id)] == [False, True, True, False]


@pytest.mark.parametrize("short", [Phrase("s2", 37, 41), Phrase("s1", 2, 7), Phrase("s9", 0, 5)])
async def test_words_that_no_published_claim_has_are_not_shown(
    tides: Path, tmp_path: Path, short: Phrase
) -> None:
    says = ScriptedAnswerer(("Seven boats were lost.", ["s2"]), short=short)
    data = copy_library(tides, tmp_path / "library")
    async with Library.open(data, embedder=TinyEmbedder(), answerer=says) as library:
        answer = await library.ask(STORM)
        assert (answer.short, answer.content) == (None, "Seven boats were lost. [1]")


@pytest.mark.usefixtures("local_models")
async def test_what_may_be_several_things_keeps_its_short_answer_where_no_list_was_completed(
    tmp_path: Path,
) -> None:
    book = tmp_path / "harbour.md"
    book.write_text(
        "# Harbour\n\nYou should call the file harbour.conf and put it beside the others in its folder.\n\n"
        "Anna offered a cup of tea to the men of the lifeboat when they came in from the sea.\n"
    )
    async with Library.open(tmp_path / "library") as library:
        await library.add(book)
        named = await library.ask("What should I call the file?")
        offered = await library.ask("What did Anna offer?")
    assert named.short is not None
    assert named.short.text == "harbour.conf"
    assert offered.short is not None
    assert offered.short.text == "a cup of tea"
