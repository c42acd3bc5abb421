"""A sentence that points back is quoted with the one that it points to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from octavo.answers.extract import MOST_WORDS, extract_answer
from octavo.answers.offline import POINTS_BACK
from octavo.answers.references import add_antecedents, is_caption, points_back
from octavo.answers.replies import Reply
from octavo.answers.short import count_words
from octavo.answers.workspace import Workspace
from octavo.library import Library
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from octavo.types import Answer
from octavo.verification.claims import Claim, Sentence
from tests.answers.test_extract import passage
from tests.support.answerers import ask_truly, assert_well_cited, fill_library, open_copy
from tests.support.copies import copy_library

CRANE = """# Harbour tools

## Cranes

The steam crane lifts anchors out of the mud at low water. Figure 3.

An image of the crane on the pier.

Note

The winch cannot be used to do this type of work.

## Lamps

Olaf bought the green lamp in Bergen for nine crowns. He hung it over the door of the chapel in June.

## Buoys

{long} They mark the wreck of the Ariel off the northern point.

## Sluices

The sluice of Ness is a gate of oak that is raised by three men:

Signature: gate(width=9, colour="green", men=3)

- Width: nine feet.
- Colour. Painted green.

You can combine this gate with a mill wheel.

## Locks

The sea lock opens at night for fishing boats. This means that a keeper sleeps beside it.
"""
LONG = (
    "The red buoys are painted anew by the pilots' guild of Ness every third spring " + "and " * 70 + "so on."
)


@pytest.mark.parametrize(
    "text",
    [
        "It is not possible to use the assistant to do this type of transaction.",
        "They mark the wreck.",
        "This is done at dusk.",
        "The winch does these things badly.",
        "The keeper prefers the latter.",
        'The "Stock Split" assistant cannot be used to do this type of transaction.',
    ],
)
def test_a_sentence_that_points_back_is_known(text: str) -> None:
    assert points_back(text)


@pytest.mark.parametrize(
    "text",
    [
        "It is possible to row to the island at low water.",
        "It is important that the lamp is lit.",
        "The manual covers lamps in this chapter.",
        "If a lamp goes out, this means that the oil is gone.",
        "A transaction is written twice, and these lines are equal.",
        "Cranes such as the steam crane lift anchors.",
        "The keeper lights the lamp.",
        "“Olaf is the pilot of this ship,” said Ann.",
        "RAID-0\nOn this level there is no second copy.",
        "This manual covers lamps and cranes.",
        "These days the lamp is lit by a clock.",
        "Those who come late wait at the gate.",
        "The boats are, ere this, stove and gone.",
    ],
)
def test_a_sentence_that_says_all_itself_does_not_point_back(text: str) -> None:
    assert not points_back(text)


@pytest.mark.parametrize(
    ("text", "caption"),
    [
        ("Figure 5.", True),
        ("Table A-2", True),
        ("An image of the register after the split.", True),
        ("Figure 5 shows how a statement is entered.", False),
        ("Example accounts are made for you.", False),
        ("The king looked at an image of the town.", False),
        ("The picture of Dorian Gray was finished by Basil in June.", False),
        ("A picture of the king was hung over the door.", False),
        ("The picture shows that the valve must be closed.", False),
    ],
)
def test_the_name_of_a_picture_is_a_caption(text: str, caption: bool) -> None:
    sentence, *_ = passage(f"{text}\n\nThe guild pays for the oil of the lamps.")
    assert is_caption(sentence) is caption


def test_the_name_of_a_figure_is_no_step() -> None:
    text = "To reconcile the account, follow this statement:\nFigure 5.5.\nThe guild pays."
    draft = extract_answer("How do I reconcile the account?", passage(text, title="Accounts"))
    assert draft.claims[0].text == "To reconcile the account, follow this statement:"


def test_what_is_said_of_this_does_not_decide_yes_or_no() -> None:
    points = passage("The assistant cannot be used for these stock splits.", title="Returns")
    states = passage("GnuCash handles stock splits with an assistant.", title="Splits", rank=2)
    draft = extract_answer("Can GnuCash handle stock splits?", [*points, *states])
    assert draft.claims[0].sentences == (states[0].id,)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shelf")
    book = folder / "tools.md"
    book.write_text(CRANE.format(long=LONG), encoding="utf-8")
    return fill_library(folder / "library", book)


@pytest.fixture
async def library(shelf: Path, tmp_path: Path) -> AsyncIterator[Library]:
    async with open_copy(shelf, tmp_path, risk=0.9, local_models=False) as opened:
        yield opened


async def ask(library: Library, question: str) -> Answer:
    return await ask_truly(library, question, book="harbour-tools")


async def test_who_he_is_stands_before_what_he_did(library: Library) -> None:
    answer = await ask(library, "Where was it hung in June?")
    assert "for nine crowns. He hung it over the door" in answer.content


async def test_labels_and_pictures_are_stepped_over(library: Library) -> None:
    answer = await ask(library, "Can the winch be used for work?")
    assert "out of the mud at low water. The winch cannot be used to do this type of work." in answer.content
    assert "image" not in answer.content
    assert answer.confidence <= POINTS_BACK


async def test_a_sentence_that_explains_the_chosen_one_makes_it_no_guess(library: Library) -> None:
    answer = await ask(library, "Does the sea lock open at night for fishing boats?")
    assert "for fishing boats. This means" in answer.content
    assert answer.confidence > POINTS_BACK


async def test_what_follows_a_list_points_to_what_stands_before_it(library: Library) -> None:
    answer = await ask(library, "What can be combined with a mill wheel?")
    assert "raised by three men: You can combine this gate with a mill wheel." in answer.content
    assert "green" not in answer.content


async def test_what_does_not_fit_is_not_added(library: Library) -> None:
    answer = await ask(library, "What do they mark off the northern point?")
    assert "They mark the wreck of the Ariel" in answer.content
    assert "so on." not in answer.content
    assert count_words(answer.content) <= MOST_WORDS + len(answer.citations)


class LampsAnswerer:
    """Quotes where the lamp was hung and then what the crane does, with what these point back to."""

    name = "lamps"

    def __init__(self, room: int) -> None:
        self.room = room
        """How many words more there may be than the two quotations have."""
        self.chosen: tuple[Claim, ...] = ()
        self.shown: tuple[Claim, ...] = ()

    async def reply(self, question: str, given: Sequence[Sentence]) -> Reply:
        assert isinstance(given, Workspace)
        hung, crane = (next(s for s in given if s.text.startswith(t)) for t in ("He hung", "The steam"))
        self.chosen = tuple(Claim(s.text, (s.id,)) for s in (hung, crane))
        most = sum(count_words(claim.text) for claim in self.chosen) + self.room
        self.shown = await add_antecedents(self.chosen, given, most=most)
        return Reply(self.shown, 1.0, 1.0)


@pytest.mark.parametrize(("room", "added"), [(9, False), (10, True)])
async def test_no_quotation_is_lost_to_the_sentence_that_another_points_back_to(
    shelf: Path, tmp_path: Path, room: int, added: bool
) -> None:
    bought = "Olaf bought the green lamp in Bergen for nine crowns."
    assert count_words(bought) == 10
    settings = Settings(data=copy_library(shelf, tmp_path / "library"), local_models=False)
    answerer = LampsAnswerer(room)
    async with Library.open(settings=settings, embedder=TinyEmbedder(), answerer=answerer) as library:
        answer = await library.ask("Where does the lamp hang?", book_id="harbour-tools", top_k=10)
        await assert_well_cited(library, answer)
    hung, crane = (claim.text for claim in answerer.chosen)
    assert [claim.text for claim in answerer.shown] == [f"{bought} {hung}" if added else hung, crane]
    assert hung in answer.content
    assert crane in answer.content
