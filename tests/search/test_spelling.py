"""A misspelt word of a question is corrected by the words of the books; every other word is left alone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from octavo.errors import NotFound
from octavo.events import Answered
from octavo.library import Library
from octavo.search.spelling import Word, choose_correction, find_words, list_corrections
from octavo.settings import Settings
from octavo.store.bm25 import Bm25Encoder
from octavo.testing import TinyEmbedder
from octavo.types import Scope, ScopeType
from tests.support import small_books
from tests.support.answerers import fill_library, query_records

ENCODER = Bm25Encoder()
STARS = {
    "Brightness": "Henrietta Leavitt measured the brightness of variable stars at the observatory. "
    "She was paid very little for it.",
    "Distance": "The period of a Cepheid tells how bright it is. "
    "Hertzsprung used her relation to find distances.",
    "Radiation": "An electron falls to a lower level and gives off a photon. "
    "Planets reflect the light of the sun.",
    "Later": "Gerasimovich wrote about her work from Pulkovo. The observatory kept the plates.",
}
FARM = {
    "Barn": "Levitt kept forty sheep behind the barn, and sold the wool in the town of Barlow.",
    "Dairy": "The dairy stands beside the trail. Whitefield brought the milk every morning.",
}
INN = {
    "Inn": "Marian kept the inn behind the harbour for forty years. She never married.",
    "Guests": "A Dominican slept there in spring. Johnson wrote of it in a letter to his brother.",
}
GERMAN = {
    "Brunnen": "Der Brunnen vor dem Tore ist sehr alt, und der Lindenbaum steht noch immer da. "
    "Die Leute kommen am Abend und holen das Wasser, das aus der Tiefe kommt. "
    "Es ist kalt und klar, und sie trinken es gern."
}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("spelling")
    books = {"Stars": STARS, "Farm": FARM, "Inn": INN, "Quelle": GERMAN}
    paths = (
        small_books.write_markdown(folder / f"{title}.md", book, title=title) for title, book in books.items()
    )
    return fill_library(folder / "library", *paths)


@pytest.fixture
async def library(shelf: Path) -> AsyncIterator[Library]:
    async with Library.open(settings=Settings(data=shelf, risk=0.9), embedder=TinyEmbedder()) as opened:
        yield opened


async def look_up(library: Library, question: str, *books: str) -> str:
    """What is looked up for a question, in some books or in all."""
    found = await library.retrieve(question, {"filters": {"book_id": list(books)}} if books else None)
    return found.interpreted


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        # A letter is missing, one is too many, two are exchanged.
        ("Who was Henrietta Levitt?", "Who was Henrietta Leavitt?"),
        ("who was henrietta leaviitt", "who was henrietta leavitt"),
        ("Who was Henreitta Leavitt?", "Who was Henrietta Leavitt?"),
        ("What does the obsrevatory keep?", "What does the observatory keep?"),
        ("What did Hertzprung’s work need?", "What did Hertzsprung’s work need?"),
        ("Do plaents shine?", "Do planets shine?"),
        ("What is a (varible) star?", "What is a (variable) star?"),
        ("Did Levitt know Hertzprung?", "Did Leavitt know Hertzsprung?"),
    ],
)
async def test_a_misspelt_word_is_looked_up_as_the_book_has_it(
    library: Library, asked: str, meant: str
) -> None:
    assert await look_up(library, asked, "stars") == meant


@pytest.mark.parametrize(
    "question",
    [
        "Who was Henrietta Leavitt?",
        "What happened yesterday in the economy?",
        # The book has "electron" and "planets", but these are words of their own.
        "What is an election?",
        "What are plants?",
        # Another letter in its place makes another word.
        "Who was Reavitt?",
        "Who was Leavott?",
        "Who was Cavendish?",
        # Code, abbreviations and what has digits.
        "What does `obsrevatory` do?",
        "What does obsrevatory_open() do?",
        "What does obsrevatory.open do?",
        "What is a LEVITT?",
        "What is a HertzPrung?",
        "What is levitt2?",
        # In another language, short, or no words at all.
        "Wer war die Astronomin Levitt und was hat sie gemacht?",
        "What is a phtn?",
        "???",
    ],
)
async def test_every_other_word_is_left_as_it_was_typed(library: Library, question: str) -> None:
    assert await look_up(library, question, "stars") == question


async def test_the_books_that_are_asked_decide_what_is_misspelt(library: Library) -> None:
    question = "Who was Levitt?"
    assert await look_up(library, question, "stars") == "Who was Leavitt?"
    assert await look_up(library, question, "farm") == question
    # One of the books has the word as it was typed.
    assert await look_up(library, question, "stars", "farm") == question
    assert await look_up(library, question) == question
    assert await look_up(library, "Who was Whitefeild?", "stars") == "Who was Whitefeild?"
    assert await look_up(library, "Who was Whitefeild?", "stars", "farm") == "Who was Whitefield?"
    assert await look_up(library, "Who was Whitefeild?") == "Who was Whitefield?"


async def test_the_files_that_are_asked_decide_it_too(library: Library) -> None:
    async def look_up_in(file: str, question: str, *, books: Sequence[str] | None = None) -> str:
        found = await library.retrieve(question, {"filters": {"source_file": file}}, books=books)
        return found.interpreted

    assert await look_up_in("Stars.md", "Who was Levitt?") == "Who was Leavitt?"
    assert await look_up_in("Farm.md", "Who was Levitt?") == "Who was Levitt?"
    assert await look_up_in("Stars.md", "Who was Whitefeild?") == "Who was Whitefeild?"
    assert await look_up_in("Farm.md", "Who was Whitefeild?") == "Who was Whitefield?"
    assert await look_up_in("Farm.md", "Who was Whitefeild?", books=["stars"]) == "Who was Whitefeild?"
    assert await look_up_in("none.md", "Who was Whitefeild?") == "Who was Whitefeild?"


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("Where did Marina keep the inn?", "Where did Marian keep the inn?"),
        ("where did marina keep the inn", "where did marian keep the inn"),
        ("To whom did Jonson write?", "To whom did Johnson write?"),
    ],
)
async def test_what_may_be_another_name_is_answered_with_half_the_confidence(
    library: Library, asked: str, meant: str
) -> None:
    sure = await library.ask(meant, book_id="inn")
    unsure = await library.ask(asked, book_id="inn")
    assert sure.interpreted is None
    assert unsure.interpreted == meant
    assert unsure.confidence == pytest.approx(sure.confidence / 2)


async def test_an_ordinary_word_that_was_misspelt_leaves_the_answer_as_sure(library: Library) -> None:
    sure = await library.ask("Who measured the brightness of stars?", book_id="stars")
    mended = await library.ask("Who measured the brighntess of stars?", book_id="stars")
    assert mended.interpreted == "Who measured the brightness of stars?"
    assert mended.confidence == sure.confidence


async def test_a_name_is_not_another_one_with_a_letter_more_or_less_at_its_end(library: Library) -> None:
    for question in ("Where is Dominica?", "where is dominica", "Dominica is where?", "Who was Mariann?"):
        assert await look_up(library, question, "inn") == question
    assert await look_up(library, "Who measured the brightnes?", "stars") == "Who measured the brightness?"


async def test_no_word_of_a_book_is_told_to_one_who_may_not_read_it(library: Library) -> None:
    events = [event async for event in library.stream("Who was Whitefeild?", books=["stars"])]
    assert isinstance(events[-1], Answered)
    assert events[-1].interpreted == "Who was Whitefeild?"


async def test_a_name_that_lies_ahead_of_the_reader_is_not_told(library: Library) -> None:
    question = "Who was Gerasimovch?"
    for read, meant in (("Radiation", question), ("Later", "Who was Gerasimovich?")):
        scope = Scope(type=ScopeType.UP_TO, identifier=read)
        events = [event async for event in library.stream(question, book_id="stars", scope=scope)]
        assert isinstance(events[-1], Answered)
        assert events[-1].interpreted == meant


async def test_a_section_is_asked_with_the_words_of_its_book(library: Library) -> None:
    scope = Scope(type=ScopeType.SECTION, identifier="Distance")
    events = [event async for event in library.stream("Who was Levitt?", book_id="stars", scope=scope)]
    assert isinstance(events[-1], Answered)
    assert events[-1].interpreted == "Who was Leavitt?"


async def test_a_book_in_another_language_corrects_nothing(library: Library) -> None:
    assert (
        await look_up(library, "Wo ist der Brunen vor dem Tore?", "quelle")
        == "Wo ist der Brunen vor dem Tore?"
    )
    assert await look_up(library, "Where is the Lindenbam?", "quelle") == "Where is the Lindenbam?"


async def test_the_answer_is_that_of_the_right_spelling_and_says_how_it_was_understood(
    library: Library,
) -> None:
    events = [e async for e in library.stream("What did Henrietta Levitt measure?", book_id="stars")]
    assert isinstance(events[-1], Answered)
    assert events[-1].interpreted == "What did Henrietta Leavitt measure?"
    assert events[-1].question.content == "What did Henrietta Levitt measure?"
    right = await library.ask("What did Henrietta Leavitt measure?", book_id="stars")
    assert events[-1].answer.content == right.content
    assert "measured the brightness" in right.content
    kept = query_records(library, "SELECT content, interpreted FROM questions ORDER BY number")
    assert kept[-2] == ("What did Henrietta Levitt measure?", "What did Henrietta Leavitt measure?")


async def test_a_follow_up_is_completed_with_the_right_spelling(library: Library) -> None:
    talk = [e async for e in library.stream("Who was Henrietta Levitt?", book_id="stars", session_id="talk")]
    assert isinstance(talk[-1], Answered)
    later = [e async for e in library.stream("Was she paid?", book_id="stars", session_id="talk")]
    assert isinstance(later[-1], Answered)
    assert later[-1].interpreted == "Was Henrietta Leavitt paid?"
    assert later[-1].answer.interpreted == "Was Henrietta Leavitt paid?"
    kept = await library.conversations.find_session("talk")
    assert [answer.interpreted for answer in kept.answers] == [
        "Who was Henrietta Leavitt?",
        "Was Henrietta Leavitt paid?",
    ]


async def test_a_misspelt_follow_up_is_completed_and_corrected(library: Library) -> None:
    past = [
        {"role": "user", "content": "Who was Leavitt?"},
        {"role": "assistant", "content": "Leavitt measured the brightness of variable stars."},
    ]
    context = {"conversation_history": past, "filters": {"book_id": "stars"}}
    found = await library.retrieve("What did she measrue?", context)
    assert found.interpreted == "What did Leavitt measure?"


async def test_an_unknown_scope_is_an_error_as_before(library: Library) -> None:
    with pytest.raises(NotFound):
        await library.ask("Who was Levitt?", book_id="star")


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Who was Levitt?", [Word("Levitt", 8, True)]),
        ("Levitt, who was she? Leavitt!", [Word("Levitt", 0, False), Word("Leavitt", 21, False)]),
        ("is the well-bounded lamp's glass HTML5", [Word("bounded", 12, False), Word("glass", 27, False)]),
        ("a `whole lamp` b/c it_is http://bright.lamp iPhone", []),
        ("a ``whole ` lamp`` b `glass` c", []),
        ("a `` lantern `glass` b", [Word("lantern", 5, False)]),
        ("a ` lantern", [Word("lantern", 4, False)]),
    ],
)
def test_words_of_prose_may_be_misspelt(question: str, words: list[Word]) -> None:
    assert find_words(question) == words


def test_runs_of_backticks_that_nothing_closes_hide_no_words() -> None:
    # Of runs of different lengths none is closed.
    question = " ".join("`" * length for length in range(1, 1500))
    assert find_words(f"{question} lantern") == [Word("lantern", len(question) + 1, False)]


def test_one_letter_is_left_out_added_or_exchanged_and_the_first_one_stays() -> None:
    made = set(list_corrections("levitt"))
    assert {"leavitt", "levit", "leivtt", "lveitt", "levitte"} <= made
    assert not made & {"levitt", "revitt", "elvitt", "evitt", "alevitt", "lewitt"}
    assert {len(other) for other in list_corrections("stars")} == {5, 6}


@pytest.mark.parametrize(
    ("counts", "chosen"),
    [
        ({}, ""),
        ({"leavitt": 1}, "Leavitt"),
        ({"leavitt": 10, "lievitt": 1}, "Leavitt"),
        # Neither stands out.
        ({"leavitt": 9, "lievitt": 1}, ""),
        # A letter more at the end makes another name, and it is not passed over for a rarer one.
        ({"levitto": 3}, ""),
        ({"levitto": 30, "leavitt": 1}, ""),
        # A name does not stand for an ordinary word.
        ({"levity": 3}, ""),
    ],
)
def test_a_word_is_chosen_only_if_it_stands_out(counts: dict[str, int], chosen: str) -> None:
    by_index = {index: count for word, count in counts.items() for index in ENCODER.index_word(word)}
    assert choose_correction(Word("Levitt", 8, True), by_index, ENCODER) == chosen


@pytest.mark.parametrize(
    ("typed", "written"), [("Augustaa", "august"), ("usuable", "usual"), ("Systemaal", "system")]
)
def test_a_word_is_not_meant_because_its_ending_is_cut_off(typed: str, written: str) -> None:
    counts = dict.fromkeys(ENCODER.index_word(written), 5)
    assert choose_correction(Word(typed, 0, False), counts, ENCODER) == ""
