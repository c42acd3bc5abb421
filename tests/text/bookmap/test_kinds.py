"""Names of a kind: which name of a book is that of a ship, a captain or a sister, and whose."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from octavo.answers.names import LEAST, measure_lead
from octavo.text.bookmap.describe import MapDescriber
from octavo.text.bookmap.kinds import (
    NAMES_MOST,
    OWNED_MOST,
    KindFinder,
    Mention,
    NamedThing,
    match_kind,
)
from tests.support.mapped_books import VOYAGE, make_map, make_section


@pytest.fixture(scope="module")
def voyage() -> MapDescriber:
    return make_map([make_section(VOYAGE)])


def find(
    opened: MapDescriber, kind: str, owner: str = "", *, person: bool | None = False
) -> list[NamedThing]:
    owners = opened.list_bearers(owner) if owner else []
    return KindFinder(opened.linked).find(kind, owners, person=person)


def list_names(found: list[NamedThing]) -> list[str]:
    return [one.entity.name for one in found]


def test_a_ship_is_whose_name_it_occurs_with_even_if_others_are_more_often_called_ships(
    voyage: MapDescriber,
) -> None:
    found = find(voyage, "ship", "Rudd")
    by_name = {one.entity.name: one for one in found}
    assert len(by_name["Tern"].places) > len(by_name["Petrel"].places)
    assert list_names(found)[0] == "Petrel"


def test_without_an_owner_the_one_of_which_the_book_speaks_most_comes_first(voyage: MapDescriber) -> None:
    assert list_names(find(voyage, "ship"))[0] == "Petrel"


def test_whose_captain_somebody_is_stands_beside_the_noun(voyage: MapDescriber) -> None:
    first = find(voyage, "captain", "Gannet", person=True)[0]
    assert first.entity.name == "Jonas Wick"
    assert first.said > 0


def test_a_title_shows_the_kind_and_company_shows_whose(voyage: MapDescriber) -> None:
    first = find(voyage, "captain", "Petrel", person=True)[0]
    assert "Rudd" in first.entity.name
    assert first.said == 0


def test_a_sister_is_only_who_is_said_to_be_one(voyage: MapDescriber) -> None:
    his = find(voyage, "sister", "Tom Hale", person=True)
    assert list_names(his)[0] == "Ada"
    others = find(voyage, "sister", "Rudd", person=True)
    assert all(one.score < 1 for one in others)


def test_a_thing_is_not_given_the_name_of_a_person(voyage: MapDescriber) -> None:
    assert {"Petrel", "Tern"} <= {*list_names(find(voyage, "ship"))}
    assert not {"Rudd", "Tom Hale"} & {*list_names(find(voyage, "ship"))}
    assert "Tern" not in list_names(find(voyage, "captain", person=True))


def test_a_noun_that_the_book_does_not_have_names_nothing(voyage: MapDescriber) -> None:
    assert find(voyage, "submarine", "Rudd") == []


def test_an_owner_may_be_written_with_and_without_a_title() -> None:
    text = (
        "Mr. Marsh met Miss Marsh at the gate. “I am late,” said Marsh. Marsh was always late, and "
        "Mr. Marsh never said so. Miss Marsh knew Marsh well. “Come,” said Miss Marsh, and Marsh came."
    )
    names = {entity.name for entity in make_map([make_section(text)]).list_bearers("marsh")}
    assert "Miss Marsh" not in names
    assert names >= {"Mr. Marsh"} or names >= {"Marsh"}


@pytest.mark.parametrize(("asked", "said"), [("first mate", "chief mate"), ("mother", "mamma")])
def test_a_rank_and_a_parent_have_more_words_than_one(asked: str, said: str) -> None:
    told = f"Rudd, the {said} of the Petrel, came. Nobody knew Rudd. The Petrel sank under Rudd, they said."
    opened = make_map([make_section(told)])
    assert list_names(find(opened, asked, "Petrel", person=None)) == ["Rudd"]


def test_a_first_wife_is_not_a_chief_wife() -> None:
    assert match_kind("first wife").search("his chief wife") is None
    assert match_kind("chief mate").search("the First Mate")


PEOPLE = (
    "Rudd walked the deck. “Go,” said Rudd. Tom Hale laughed, and Rudd went below. “No,” said Tom Hale. The "
    "Gannet lay there. The Tern lay behind the Gannet. Bess came. “Well,” said Bess to Rudd. The Gannet "
    "sailed, and the Tern sailed. Bess sang. Ada wept. “Yes,” said Ada. Ada met Bess, and Ada met Rudd. "
    "Jonas Wick smiled. “Now,” said Jonas Wick. Jonas Wick met Rudd. Tom Hale slept.\n\n"
)


def find_in(sentence: str, kind: str, owner: str) -> list[NamedThing]:
    opened = make_map([make_section(PEOPLE + sentence)])
    return find(opened, kind, owner, person=kind != "ship")


@pytest.mark.parametrize(
    ("sentence", "kind", "owner"),
    [
        ("Rudd was never captain of the Gannet.", "captain", "Gannet"),
        ("Rudd, unlike the captain of the Gannet, was sober.", "captain", "Gannet"),
        ("Rudd, and the captain of the Gannet, came at noon.", "captain", "Gannet"),
        ("Rudd, hating the captain of the Gannet, left.", "captain", "Gannet"),
        ("When he met the captain of the Gannet, Rudd was asleep.", "captain", "Gannet"),
        ("When he met the captain of the Gannet, Rudd, who was asleep, woke.", "captain", "Gannet"),
        ("They hanged the captain of the Gannet, Rudd and the cook.", "captain", "Gannet"),
        ("Nobody believed that Rudd was the captain of the Gannet.", "captain", "Gannet"),
        ("If Rudd was the captain of the Gannet, he did not say so.", "captain", "Gannet"),
        ("“I am the captain of the Gannet, Rudd,” said Tom Hale.", "captain", "Gannet"),
        ("“Rudd, the captain of the Gannet is dead,” said Tom Hale.", "captain", "Gannet"),
        ("The captain of the Gannet was Rudd’s friend.", "captain", "Gannet"),
        ("Was the captain of the Gannet called Rudd?", "captain", "Gannet"),
        ("Rudd was not the murderer of Tom Hale.", "murderer", "Tom Hale"),
        ("Rudd, the murderer of Tom Hale? Never.", "murderer", "Tom Hale"),
        ("Rudd was the murderer of Tom Hale’s brother.", "murderer", "Tom Hale"),
        ("Ada was not Tom Hale’s sister.", "sister", "Tom Hale"),
        ("Rudd was afraid of Tom Hale’s murderer.", "murderer", "Tom Hale"),
        ("Rudd came aboard. The Tern was never his ship.", "ship", "Rudd"),
        ("Tom Hale, the father of Bess, knew the father of Ada.", "father", "Ada"),
        ("They met the father of Bess, the father of Ada, and a cook.", "father", "Ada"),
    ],
)
def test_what_a_sentence_denies_or_only_has_nearby_is_not_said(sentence: str, kind: str, owner: str) -> None:
    found = find_in(sentence, kind, owner)
    assert not [one.entity.name for one in found if one.said]
    assert measure_lead(found) < LEAST


@pytest.mark.parametrize(
    "sentence",
    [
        "The captain of the Gannet, Jonas Wick, came aboard.",
        "Jonas Wick, captain of the Gannet, came aboard.",
        "Far from home, Jonas Wick, the old captain of the Gannet, did not come aboard.",
        "Jonas Wick was the captain of the Gannet.",
        "The captain of the Gannet was Jonas Wick.",
        "The captain of the Gannet, named Jonas Wick, came aboard.",
        "The Gannet’s captain, Jonas Wick, came aboard.",
        "Jonas Wick, the Gannet’s captain, came aboard.",
    ],
)
def test_one_place_that_leaves_no_doubt_is_enough(sentence: str) -> None:
    found = find_in(sentence, "captain", "Gannet")
    assert found[0].entity.name == "Jonas Wick"
    assert measure_lead(found) >= LEAST


@pytest.mark.parametrize(
    "sentence",
    [
        "They met Jonas Wick, the captain of the Gannet, and the cook.",
        "He met the captain of the Gannet: Jonas Wick laughed.",
        "He knew the captain of the Gannet — Jonas Wick laughed.",
        "The brother of Jonas Wick, the captain of the Gannet, came aboard.",
    ],
)
def test_one_place_that_leaves_doubt_is_no_clear_winner(sentence: str) -> None:
    found = find_in(sentence, "captain", "Gannet")
    assert found[0].entity.name == "Jonas Wick"
    assert found[0].said > 0
    assert measure_lead(found) < LEAST


def test_a_title_and_what_it_is_of_may_stand_around_the_name() -> None:
    met = "They met Captain Wick there. Captain Wick laughed. “Go,” said Captain Wick. "
    once = find_in("Captain Wick of the Gannet came aboard.", "captain", "Gannet")[0]
    assert "Wick" in once.entity.name
    known = find_in(f"{met}Captain Wick of the Gannet slept.", "captain", "Gannet")[0]
    assert (known.entity.name, known.said > 0) == ("Captain Wick", True)


@pytest.mark.parametrize("name", ["Sammy Davis Jr.", "M. de B."])
def test_a_name_may_end_in_a_mark(name: str) -> None:
    told = f"“Go,” said {name} to Rudd. Then {name} laughed. They met {name} there. "
    found = find_in(f"{told}{name}, the captain of the Gannet, came aboard.", "captain", "Gannet")
    assert (found[0].entity.name, found[0].said > 0) == (name, True)
    ships = find_in(f"{told}They met {name} on {name}’s ship, the Tern.", "ship", name)
    assert (ships[0].entity.name, ships[0].said > 0) == ("Tern", True)


class CountingFinder(KindFinder):
    """Counts how often it looks for the neighbours of a place, and how many it finds."""

    work = 0

    def list_between(self, section: int, start: int, end: int) -> Sequence[Mention]:
        found = super().list_between(section, start, end)
        self.work += 1 + len(found)
        return found


def make_fleet(ships: int) -> MapDescriber:
    """Make a book with so many ships, each named once, and an owner who is named twice as often."""
    letters = [
        f"{a}{b}{c}" for a in ("ba", "do", "ke") for b in "lmnrst" for c in ("ana", "eno", "ira", "osk")
    ]
    names = [f"{first}{last}".capitalize() for first in letters for last in letters][:ships]
    told = (f"Rudd saw the ship {name} there. “Yes,” said Rudd." for name in names)
    return make_map([make_section("\n\n".join(told))])


def test_the_work_grows_with_the_book_and_no_faster() -> None:
    work = []
    for ships in (300, 600, 1_200):
        opened = make_fleet(ships)
        finder = CountingFinder(opened.linked)
        found = finder.find("ship", opened.list_bearers("Rudd"), person=False)
        assert len(found) == NAMES_MOST
        work.append(finder.work)
    assert work[1] < 2.2 * work[0]
    assert work[2] < 2.2 * work[1]


def test_of_an_owner_who_is_named_very_often_some_mentions_speak_for_all() -> None:
    told = "Rudd came home in the Petrel, his ship. " + "Rudd slept in the Petrel. " * (OWNED_MOST * 2)
    opened = make_map([make_section(told)])
    finder = CountingFinder(opened.linked)
    first = finder.find("ship", opened.list_bearers("Rudd"), person=False)[0]
    assert first.entity.name == "Petrel"
    assert first.together == pytest.approx(2 * OWNED_MOST, rel=0.01)
