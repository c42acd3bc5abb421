"""Linked maps: the entities of whole books, by lists that were made by reading them."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.text.bookmap.describe import MapDescriber
from octavo.text.bookmap.model import EntityKind
from tests.support import mapped_books
from tests.support.mapped_books import make_map, make_section, parse_sections

DOCS = Path(__file__).parents[3] / "docs"
Wanted = tuple[tuple[str, tuple[str, ...]], ...]


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> dict[str, MapDescriber]:
    folder = tmp_path_factory.mktemp("books")
    paths = {
        "story": mapped_books.write_story(folder / "story.md"),
        "manual": mapped_books.write_manual(folder / "manual.md"),
        "docs": DOCS,
    }
    return {name: make_map(parse_sections(path)) for name, path in paths.items()}


@pytest.mark.parametrize(
    ("book", "wanted"),
    [
        ("story", mapped_books.STORY_ENTITIES),
        ("manual", mapped_books.MANUAL_ENTITIES),
        ("docs", mapped_books.DOCS_ENTITIES),
    ],
)
def test_what_a_reader_would_name_is_found_under_all_its_names(
    books: dict[str, MapDescriber], book: str, wanted: Wanted
) -> None:
    linked = books[book].linked
    missing = [name for name, _ in wanted if linked.find(name) is None]
    assert missing == []
    apart = [
        (name, alias)
        for name, also in wanted
        for alias in also
        if linked.find(alias) is not linked.find(name)
    ]
    assert apart == []


@pytest.mark.parametrize("book", ["story", "manual", "docs"])
def test_every_name_and_mention_is_cut_from_the_text(books: dict[str, MapDescriber], book: str) -> None:
    linked = books[book].linked
    assert linked.entities
    for entity in linked.entities:
        spelled = {text for text, _ in entity.spellings}
        cut = {linked.sections[section].text[start:end] for section, start, end in entity.places}
        assert cut == spelled
        assert list(entity.places) == sorted(set(entity.places))
        assert all(linked.sections[s].text[a:b] == text for text, (s, a, b) in entity.spellings)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Edda Marlow", EntityKind.PERSON),
        ("Captain Brandt", EntityKind.PERSON),
        ("Mr. Pell", EntityKind.PERSON),
        ("Saltmere", EntityKind.PLACE),
        ("Farrow Island", EntityKind.PLACE),
        ("Grey Heron", EntityKind.THING),
        ("Drowned Bell", EntityKind.THING),
        ("tide clock", EntityKind.TERM),
    ],
)
def test_the_words_around_a_name_tell_what_it_is(
    books: dict[str, MapDescriber], name: str, kind: EntityKind
) -> None:
    entity = books["story"].linked.find(name)
    assert entity is not None
    assert entity.kind is kind


def test_in_a_manual_ordinary_words_and_fields_are_neither_people_nor_places() -> None:
    """Nobody speaks in a manual, and "in" stands there before files and chapters."""
    linked = link(
        "All hooks run commands, as told in Hooks, and a list is given in Hooks. See what goes to Hooks.",
        "The address is copied to X-Debbugs-CC and from X-Debbugs-CC. It was kept in Build-Depends once.",
        "A field that Policy says is empty is left out. The order is that of Policy. Use it in Emacs.",
        "Mail is taken by Exim or Postfix. Both Exim and Postfix can use Dovecot, and Postfix can use Cyrus.",
        "We ship Exim, Postfix, Dovecot, Cyrus and Courier. With Courier or Cyrus no Dovecot is installed.",
        "The office moved to Trondheim, and from Trondheim the mirror is served. A hook in Germany is one.",
    ).linked
    kinds = {entity.name: entity.kind for entity in linked.entities if entity.name[0].isupper()}
    assert kinds.pop("Trondheim") is EntityKind.PLACE
    assert kinds.pop("Germany") is EntityKind.PLACE
    assert {"Hooks", "X-Debbugs-CC", "Build-Depends", "Policy", "Emacs"} <= kinds.keys()
    assert set(kinds.values()) <= {EntityKind.THING, EntityKind.TERM}


TALK = (
    "“Stay here, Wick!” said Tom Hale. Rudd laughed. “Where are you, Wick?” asked Tom Hale of Rudd.",
    "The letter was sent to Billy Moss, and a box came from Billy Moss. Rudd said to Tom Hale that he knew.",
    "They slept at the Admiral Keel, and the Admiral Keel was full. “Come in,” said Rudd. Tom Hale nodded.",
    "They rode to Saltmere. “In Saltmere, Saltmere!” cried Rudd. In Saltmere Tom Hale said nothing.",
    "The road to Little Pell is wet. “In Little Pell,” said Rudd, “it rains, and from Little Pell I came.”",
    "The Count de Ruy was seen, and the Count de Ruy was gone. “I saw the Count de Ruy,” said Tom Hale.",
)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Wick", EntityKind.PERSON),
        ("Billy Moss", EntityKind.PERSON),
        ("Admiral Keel", EntityKind.THING),
        ("Saltmere", EntityKind.PLACE),
        ("Little Pell", EntityKind.PLACE),
        ("Count de Ruy", EntityKind.PERSON),
    ],
)
def test_who_is_called_or_has_a_first_name_is_a_person_and_what_bears_a_title_need_not_be(
    name: str, kind: EntityKind
) -> None:
    entity = link(*TALK).linked.find(name)
    assert entity is not None
    assert entity.kind is kind


def test_a_short_title_is_one_too() -> None:
    linked = link(
        "“I shot him,” said Captain Moss. The boat of Captain Moss was lost. Nobody saw Moss again.",
        "“Where is Cap’n Moss?” they cried. I told them of Cap’n Moss and his boat.",
    ).linked
    assert linked.find("Cap’n Moss") is linked.find("Captain Moss") is not None


def test_a_mother_is_not_her_daughter() -> None:
    linked = link(
        "Here is Miss Lucy Moss. “Come, Miss Lucy Moss,” said Lucy Moss to Rudd. There was Lucy Moss.",
        "We saw Lucy Moss and Mrs. Moss. “Go, Mrs. Moss,” said Rudd. Rudd saw Mrs. Moss with Lucy Moss.",
    ).linked
    assert linked.find("Mrs. Moss") is not linked.find("Lucy Moss")


def test_people_who_share_a_last_name_stay_apart(books: dict[str, MapDescriber]) -> None:
    linked = books["story"].linked
    assert linked.find("Edda Marlow") is not linked.find("Tobias Marlow")
    assert linked.find("Ysolde Crane") is not linked.find("Aldous Crane")


def link(*texts: str) -> MapDescriber:
    return make_map([make_section(text, position=number) for number, text in enumerate(texts)])


def test_a_title_tells_husband_and_wife_apart() -> None:
    linked = link(
        "At noon Mr. Bennet read. Then came Mrs. Bennet with news. I saw Mr. Bennet smile at Mrs. Bennet.",
        "And there was Mr. Bennet again, without Mrs. Bennet this time.",
    ).linked
    husband, wife = linked.find("Mr. Bennet"), linked.find("Mrs. Bennet")
    assert husband is not None
    assert wife is not None
    assert husband is not wife


def test_a_capital_at_the_beginning_of_a_sentence_proves_nothing() -> None:
    linked = link(
        "Whales swim. Boats sail. But Ahab slept. We saw Ahab there. Men feared whales in boats."
    ).linked
    assert linked.find("Ahab") is not None
    names = {entity.name for entity in linked.entities if entity.kind is not EntityKind.TERM}
    assert names == {"Ahab"}


def test_a_rare_joint_name_is_split_into_those_that_occur_often() -> None:
    linked = link(
        "So said Ahab. And Ahab went. Then came Starbuck. With Starbuck was Ahab.",
        "It was Ahab Starbuck feared. I saw Starbuck.",
    ).linked
    ahab, starbuck = linked.find("Ahab"), linked.find("Starbuck")
    assert ahab is not None
    assert starbuck is not None
    assert ahab is not starbuck
    assert len(ahab.places) == 4


def test_capitals_for_emphasis_count_as_the_name() -> None:
    linked = link(
        "We saw Starbuck. It was Starbuck.\n\nSTARBUCK ENTERS\n\nSTARBUCK\n\nThen Starbuck left."
    ).linked
    found = linked.find("starbuck")
    assert found is not None
    assert {text for text, _ in found.spellings} == {"Starbuck", "STARBUCK"}


def test_a_map_depends_on_nothing_but_the_sections_it_is_made_from() -> None:
    texts = list(mapped_books.STORY.values())
    short = link(*texts[:3]).linked
    again = make_map([make_section(text, position=number) for number, text in enumerate(texts)][:3]).linked
    assert short.entities == again.entities
    assert short.find("Ysolde Crane") is None


def test_nothing_makes_an_empty_map() -> None:
    assert link().linked.entities == ()
    assert link("", "123 456.").linked.find("anything") is None


def test_a_book_of_one_section_has_rare_terms_too() -> None:
    text = "The harpooneer stood by. A harpooneer waits. Each harpooneer has a boat. " * 6
    assert any(
        "harpooneer" in entity.name.lower() for entity in make_map([make_section(text)]).linked.entities
    )
