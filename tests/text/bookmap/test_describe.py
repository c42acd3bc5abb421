"""Descriptions: introductions, definitions, statements, mentions and company, all quoted."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.text.bookmap.describe import MapDescriber
from octavo.text.bookmap.model import EntityDetails
from tests.support import mapped_books, small_books
from tests.support.mapped_books import make_map, make_section, parse_sections


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> MapDescriber:
    return make_map(parse_sections(mapped_books.write_story(tmp_path_factory.mktemp("story") / "story.md")))


def describe(opened: MapDescriber, name: str) -> EntityDetails:
    entity = opened.find(name)
    assert entity is not None, name
    return opened.describe(entity, mentions=1_000)


@pytest.mark.parametrize(
    ("name", "introduced"),
    [
        ("Mr. Pell", "Mr. Pell was the lawyer of Harrowgate, a thin man with ink on both cuffs."),
        ("Finn", "His name was Finn, and he had slept aboard the Grey Heron since the autumn."),
        ("Brandt", "Brandt was a tall man with a white beard, and he spoke softly."),
        ("Saltmere", "Saltmere is a village of forty houses under a cliff."),
    ],
)
def test_an_introduction_is_the_first_sentence_that_describes(
    story: MapDescriber, name: str, introduced: str
) -> None:
    assert introduced in describe(story, name).introduction.text


def test_a_term_has_its_definition(story: MapDescriber) -> None:
    found = describe(story, "tide clocks")
    assert found.definition is not None
    assert found.definition.text == (
        "A tide clock is a clock that shows the height of the water and not the hour."
    )
    assert describe(story, "Edda").definition is None


def test_statements_say_what_somebody_is(story: MapDescriber) -> None:
    said = [quote.text for quote in describe(story, "Lamplighter").statements]
    assert "“The Lamplighter is a woman in Saltmere,” Finn told her when they were alone." in said


def test_mentions_are_complete_in_order_and_quoted(story: MapDescriber) -> None:
    found = describe(story, "Cormorant")
    assert [mention.section for mention in found.mentions] == [
        "Farrow Island",
        "The Tooth",
        "The Clock of Harrowgate",
    ]
    texts = {section.id: section.text for section in story.linked.sections}
    for mention in found.mentions:
        assert texts[mention.section_id][mention.start : mention.end] == mention.text == "Cormorant"
        assert mention.text in mention.sentence
        assert mention.sentence in texts[mention.section_id]
    assert found.mention_count == len(found.mentions)


def test_company_is_who_stands_near(story: MapDescriber) -> None:
    names = [other.name for other in describe(story, "Ysolde").companions]
    assert {"Tobias", "Finn", "Edda"} <= set(names)
    assert "Ysolde" not in names
    assert "Mr. Pell" not in names


def test_what_is_no_entity_is_found_as_it_stands(story: MapDescriber) -> None:
    found = describe(story, "red shawl")
    assert (found.name, found.mention_count, found.first.section) == ("red shawl", 1, "Saltmere")
    assert story.find("purple shawl") is None
    assert story.find("!?") is None


def test_names_that_are_alike_are_suggested(story: MapDescriber) -> None:
    assert "Harrowgate" in story.suggest("Harowgate")


def test_chapters_have_gists_of_their_own_sentences(story: MapDescriber) -> None:
    chapters = story.list_chapters()
    assert [chapter.title for chapter in chapters] == list(mapped_books.STORY)
    for chapter in chapters:
        assert 1 <= len(chapter.gist) <= 5
        assert all(quote.text in mapped_books.STORY[chapter.title] for quote in chapter.gist)
        assert [quote.start for quote in chapter.gist] == sorted(quote.start for quote in chapter.gist)


def test_any_section_has_a_gist(story: MapDescriber) -> None:
    section = story.linked.sections[3]
    found = story.find_gist(section.id)
    assert found is not None
    assert found.title == section.title
    assert story.find_gist("nothing") is None


def test_a_page_is_shown_with_its_label(tmp_path: Path) -> None:
    lines = [["One", "We saw the harbour of Saltmere."], ["Two", "Then Finn left Saltmere again."]]
    opened = make_map(parse_sections(small_books.write_pdf(tmp_path / "book.pdf", lines, roman=1)))
    pages = [mention.page for mention in describe(opened, "Saltmere").mentions]
    assert pages == ["i", "1"]


def test_a_hostile_name_is_only_text() -> None:
    hostile = "We met Bob <script>alert(1)</script> there. It was Bob (.*)+$ again. We left Bob there."
    opened = make_map([make_section(hostile)])
    assert opened.find("(.*)+$") is None
    assert opened.find("<script>alert(1)</script>") is not None
    assert describe(opened, "Bob").mention_count == 3
