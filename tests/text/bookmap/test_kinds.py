"""Names of a kind: which name of a book is that of a ship, a captain or a sister, and whose."""

from __future__ import annotations

import pytest

from octavo.text.bookmap.describe import MapDescriber
from octavo.text.bookmap.kinds import KindFinder, NamedThing, match_kind
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
