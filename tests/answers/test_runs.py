"""A list that the book does not mark as one comes whole: names, titles, labels, and what is counted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from octavo.answers.runs import find_asked_count, find_counts, leads_in
from octavo.library import Library
from tests.support.answerers import ask_truly, fill_library, open_copy

WORKSHOP = """# The Workshop

## The guild

The first members of the guild were Ann Carver, a maker of masts, who had come from the north as a girl.

Thomas Reed, a sailmaker of the old school. He never wrote a line in all his life and was proud of it.

Nora Flint, a smith, who made all anchors of the town.

And William Marsh, who kept the money.

Nobody else was let in before the great flood, and the hall of the guild stood empty for most of the year.

## The rules

The rules of the workshop, with what they mean, are:

Silence.

Speak only of the work that is in your hands.

Order.

Every tool has a nail, and every nail has a tool.

Patience.

Thrift.

Nothing is thrown away before it was offered to the others.

My aim was to have the rules read aloud every morning, and I failed with all of them before the year was over.

Breakfast.

## The fire

Most of the older guesses at the cause of the fire were one of three:

The lamp story—a lamp fell into the tar. The lightning story—a storm came over the hill that night. The
powder story—somebody kept powder under the stairs.

All of these guesses at the cause of the fire have their faults. The lamp hung on a chain.

## The move

There were reasons for the move of the workshop. First, the river had taken the yard. It took the crane too.
Second, the new harbour was deeper. Nobody had believed it. Finally, the town paid for the move.

The move of the workshop took a summer, and the yard was never used again for boats of any size.

## The doctors

Many fell ill in the winter of the flood.

Ada Stone, a doctor of the town, treated the sick of the upper yard.

Paul Winter, a doctor from the coast, treated the sick of the lower yard.

Lake Street, the longest of the town, was under water until the spring.

## The helpers

The helpers of the nurses were the following.

Rosa Field, a cook, who boiled the sheets of the nurses.

Henry Moss, a carter, who fetched the water.

Mill Road, where the carter lived, was under water as well.

## The liquids

The shop sells many things to painters.

Lye: these liquids must never be mixed with acid. Note: the shop is closed on Sundays.

## The hull

Masts are bought in the north. First, the hull is tarred by the apprentices. The last ship left in June.

Finally, the mayor gave a speech about the price of bread.

## The theories

Nobody knows why the well is dry. The root theory—a tree drank it. The leak theory—the wall has a hole. Note:
the well is closed.

## The customers

An old clerk tells three ways in which customers answer a bill that is too high.

Denial: some customers say that they never saw the boat. They leave by the back door. Delay: other customers
ask for a week. Nobody has ever seen them pay after that week. Bargain: the rest offer half of it.

Most customers are honest all the same.

## The tides

A tide table has two kinds of days.

Spring: the water is high. Neap: the water is low. Storm: the table is wrong.

## The wall

The council of the harbour town sat for two days.

The first councillors to vote for the wall were the brothers Marsh.

The second floor of the hall was painted blue in the spring.

## The fever

The frigate lay off the cape for two reasons.

The captain—he was young—was ill with a fever. The anchor held—it was new—and nobody slept.

## The watch

The night watch gave excuses, and they were of three kinds.

First, the rain had put out the lamp of the night watch. Second, the gate was rusty.

The smith had other things to say of the night watch.

First, they had been asleep. Second, they had been drunk. Third, one of them was blind.

## The mill

The mill of the monks needed two kinds of repair.

The first is that of the wheel of the mill. It took a year.

Nobody ground any corn then. The second is what people called the son of the miller.

## The gates

The enemy came for three reasons, with two hundred men and 3 ships.

The first gates that fell were those of the mill.

Second thoughts came to the captain of the gates. The third of June was hot.

## The loan

The elder masters had objections of three kinds to borrowing money from the bank.

The first is that a bank wants its money back in the very year in which a yard has none. {long}

The second is that a bank looks at the roof, and not at the keel of a boat. {long}

The third, and the worst for the elder masters, is that the banker is a cousin of the mayor. {long}

The first loan was paid back in salt herring. The second loan was never paid.

## The beacon

The pilots had doubts of three kinds about the beacon. The first is that nobody pays for its oil. {long}

The second is that it blinds the helmsman. {long}

The third is that the fog hides it on every night when it would be needed. {long}
""".format(long="The masters spoke of it for a whole night, and no two of them meant the same by it. " * 14)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    (folder / "workshop.md").write_text(WORKSHOP, encoding="utf-8")
    return fill_library(folder / "library", folder / "workshop.md", chunk_tokens=64)


@pytest.fixture
async def library(shelf: Path, tmp_path: Path) -> AsyncIterator[Library]:
    """One that answers whatever it finds anything for, so that no test hangs on a calibration."""
    async with open_copy(shelf, tmp_path, risk=0.9, chunk_tokens=64) as opened:
        yield opened


async def ask(library: Library, question: str) -> str:
    return (await ask_truly(library, question)).content


async def test_paragraphs_that_open_with_a_name_go_on_with_what_leads_in_to_them(library: Library) -> None:
    said = await ask(library, "Who were the first members of the guild?")
    members = ("Ann Carver", "Thomas Reed", "Nora Flint", "William Marsh")
    assert [name for name in members if name in said] == list(members)
    # Each comes with its first sentence, and the paragraph after the last one is no member.
    assert "never wrote a line" not in said
    assert "Nobody else" not in said


async def test_short_paragraphs_are_the_terms_of_a_list(library: Library) -> None:
    said = await ask(library, "What were the rules of the workshop?")
    assert "The rules of the workshop, with what they mean, are:" in said
    places = [said.find(term) for term in ("Silence.", "Order.", "Patience.", "Thrift.")]
    assert -1 not in places
    assert places == sorted(places)
    assert "Breakfast" not in said


async def test_as_many_are_told_as_the_question_says(library: Library) -> None:
    said = await ask(library, "What were the two first rules of the workshop?")
    assert "Order." in said
    assert "Patience." not in said


async def test_sentences_with_titles_are_all_told(library: Library) -> None:
    said = await ask(library, "What were the three older guesses at the cause of the fire?")
    assert [word for word in ("lamp story", "lightning story", "powder story") if word not in said] == []


async def test_sentences_that_are_counted_are_told_to_the_last(library: Library) -> None:
    said = await ask(library, "What were the reasons for the move of the workshop?")
    for reason in ("the river had taken the yard", "the new harbour was deeper", "the town paid"):
        assert reason in said
    assert "Nobody had believed it" not in said


async def test_as_many_titled_sentences_as_were_announced_are_told_with_others_between(
    library: Library,
) -> None:
    said = await ask(library, "In which three ways do customers answer a bill that is too high?")
    assert [title for title in ("Denial:", "Delay:", "Bargain:") if title not in said] == []
    assert "back door" not in said


async def test_a_lead_in_may_stand_in_the_paragraph_of_the_first_item(library: Library) -> None:
    said = await ask(library, "Which doubts did the pilots have about the beacon?")
    for doubt in ("pays for its oil", "blinds the helmsman", "the fog hides it"):
        assert doubt in said


@pytest.mark.parametrize(
    ("question", "beyond"),
    [
        ("Which kinds of days does a tide table have?", "Storm: the table is wrong."),
        ("Which councillors voted for the wall?", "The second floor"),
        ("Which officers of the frigate were ill with a fever?", "The anchor held"),
        ("Which gates fell?", "Second thoughts"),
        ("Which kinds of repair did the mill of the monks need?", "son of the miller"),
        ("Which excuses did the night watch give?", "one of them was blind"),
    ],
)
async def test_a_number_and_what_only_looks_counted_make_no_list(
    library: Library, question: str, beyond: str
) -> None:
    assert beyond not in await ask(library, question)


async def test_what_is_counted_is_told_however_far_apart_if_its_number_is_known(
    library: Library,
) -> None:
    said = await ask(library, "Which objections did the elder masters have to borrowing money?")
    for objection in ("wants its money back", "looks at the roof", "a cousin of the mayor"):
        assert objection in said
    assert "salt herring" not in said


async def test_paragraphs_that_open_with_names_are_no_list_without_a_lead_in(library: Library) -> None:
    said = await ask(library, "Which doctors treated the sick?")
    assert "a doctor" in said
    assert "Lake Street" not in said
    assert "Many fell ill" not in said


async def test_a_street_is_none_of_the_persons_before_it(library: Library) -> None:
    said = await ask(library, "Who were the helpers of the nurses?")
    assert "Rosa Field" in said
    assert "Henry Moss" in said
    assert "Mill Road" not in said


async def test_a_note_is_no_item(library: Library) -> None:
    said = await ask(library, "Which liquids must never be mixed?")
    assert "never be mixed" in said
    assert "Sundays" not in said
    assert "painters" not in said


async def test_a_last_thing_ends_no_list_that_nothing_announces(library: Library) -> None:
    said = await ask(library, "What are the works by which the hull is tarred?")
    assert "the hull is tarred" in said
    assert "left in June" not in said
    assert "mayor" not in said
    assert "Masts" not in said


async def test_titles_of_one_kind_need_no_lead_in(library: Library) -> None:
    said = await ask(library, "Which theories say that a tree drank it, the root theory or the leak theory?")
    assert "The root theory" in said
    assert "The leak theory" in said
    assert "the well is closed" not in " ".join(said.split())
    assert "Nobody knows" not in said


@pytest.mark.parametrize(
    ("question", "count"),
    [
        ("what were the 13 virtues", 13),
        ("What are the three theories of chapter 2?", 3),
        ("Which two mates sailed?", 2),
        ("Name the first four rules", 4),
        ("List Franklin's thirteen moral virtues", 13),
        ("Which rules are in chapter 2?", None),
        ("Which rules are listed on page 3?", None),
        ("Which laws were passed in 1850?", None),
        ("Which of the three theories are wrong?", None),
        ("What are the names of the sailors on the two ships?", None),
        ("Which members had 2 children?", None),
        ("", None),
    ],
)
def test_a_question_asks_for_so_many_only_of_the_things_it_asks_for(question: str, count: int | None) -> None:
    assert find_asked_count(question) == count


async def test_the_number_of_a_chapter_cuts_no_list(library: Library) -> None:
    said = await ask(library, "What were the rules of the workshop in chapter 2?")
    assert "Patience." in said
    assert "Thrift." in said


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("what were the 13 virtues", {13}),
        ("name the three mates and the four harpooneers", {3, 4}),
        ("which goods does the cellar hold", set()),
        ("what changed in version 2.3", set()),
        ("who lived in 1726", set()),
    ],
)
def test_the_number_of_things_that_a_question_asks_for_is_read(text: str, counts: set[int]) -> None:
    assert find_counts(text) == counts


@pytest.mark.parametrize(
    ("text", "leads"),
    [
        ("The cellar holds four goods:", True),
        ("The mast shows one of the following flags.", True),
        ("The cellar is cold.", False),
    ],
)
def test_a_lead_in_says_that_a_list_comes_next(text: str, leads: bool) -> None:
    assert leads_in(text) == leads
