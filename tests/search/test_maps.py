"""Maps of books in a library: made when a book is added, and never knowing what lies beyond "up to here"."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from sqlalchemy import delete, func, select

from octavo.errors import InvalidValue, NotFound
from octavo.library import Library
from octavo.records.tables import markup, text_marks
from octavo.search.maps import cut_section
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from octavo.text.bookmap.model import BookMap, EntityDetails, EntityKind
from octavo.types import PageMark, Span
from tests.support import mapped_books, small_books
from tests.support.mapped_books import STORY, STORY_FIRST, make_section

TITLES = list(STORY)


@pytest.fixture
async def library(tmp_path: Path) -> AsyncIterator[Library]:
    settings = Settings(data=tmp_path / "library")
    async with Library.open(settings=settings, embedder=TinyEmbedder()) as opened:
        yield opened


@pytest.fixture
async def story(library: Library, tmp_path: Path) -> Library:
    await library.add(mapped_books.write_story(tmp_path / "story.md"))
    return library


async def count_marks(library: Library) -> int:
    async with library.database.connect() as connection:
        return int(await connection.scalar(select(func.count()).select_from(text_marks)) or 0)


def list_texts(value: object) -> list[str]:
    """List all texts in a value, however deep."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for item in value.values() for text in list_texts(item)]
    if isinstance(value, list | tuple):
        return [text for item in value for text in list_texts(item)]
    return []


async def test_a_book_is_marked_when_it_is_added(story: Library) -> None:
    assert await count_marks(story) >= len(STORY)
    assert await story.build_map("the-tide-clock") == 0


async def test_a_map_lists_entities_by_kind_and_chapters_in_order(story: Library) -> None:
    found = await story.map("the-tide-clock", limit=3)
    people = [entity.name for entity in found.entities if entity.kind is EntityKind.PERSON]
    assert people == ["Edda", "Brandt", "Tobias"]
    assert [chapter.title for chapter in found.chapters] == TITLES
    assert found.entity_count > len(found.entities)
    assert (found.book_id, found.up_to) == ("the-tide-clock", None)


async def test_a_look_up_quotes_the_book(story: Library) -> None:
    found = await story.look_up("the-tide-clock", "captain brandt", mentions=4)
    assert (found.name, found.kind, found.aliases) == ("Brandt", EntityKind.PERSON, ("Captain Brandt",))
    assert len(found.mentions) == 4 < found.mention_count
    texts = {section.id: section.text for section in await story.contents("the-tide-clock")}
    for quote in (found.introduction, *found.statements, *found.mentions):
        assert texts[quote.section_id][quote.start : quote.end] == quote.text


async def test_a_map_ends_at_a_place_within_a_section(story: Library) -> None:
    section = next(s for s in await story.contents("the-tide-clock") if "Brandt" in s.text)
    at = section.text.index("Brandt")
    found = await story.look_up("the-tide-clock", "Brandt", up_to=f"{section.id}#char=0,{at + 6}")
    assert found.mention_count == 1
    with pytest.raises(NotFound):
        await story.look_up("the-tide-clock", "Brandt", up_to=f"{section.id}#char=0,{at}")


async def test_what_the_book_does_not_name_is_not_found(story: Library) -> None:
    with pytest.raises(NotFound) as error:
        await story.look_up("the-tide-clock", "Harrowgait")
    assert "Harrowgate" in error.value.nearest
    with pytest.raises(NotFound):
        await story.look_up("the-tide-clock", "Edda", up_to="No such chapter")
    with pytest.raises(InvalidValue):
        await story.look_up("the-tide-clock", "")


@pytest.mark.parametrize(("name", "chapter"), STORY_FIRST.items())
async def test_a_name_is_known_from_the_chapter_that_first_has_it(
    story: Library, name: str, chapter: str
) -> None:
    found = await story.look_up("the-tide-clock", name, up_to=chapter)
    assert found.first.section == chapter
    before = TITLES.index(chapter) - 1
    if before >= 0:
        with pytest.raises(NotFound):
            await story.look_up("the-tide-clock", name, up_to=TITLES[before])


async def look_up_or_none(library: Library, name: str, up_to: str) -> EntityDetails | NotFound:
    try:
        return await library.look_up("the-tide-clock", name, up_to=up_to, mentions=1_000)
    except NotFound as error:
        return error


async def test_a_thousand_look_ups_tell_nothing_from_beyond(story: Library) -> None:
    chance = random.Random(16)
    names = [*STORY_FIRST, *(alias for _, also in mapped_books.STORY_ENTITIES for alias in also)]
    names += ["the bell", "eleven", "Aldous", "The Cormorant", "clock", "green bronze", "nothing at all"]
    told = 0
    for _ in range(1_000):
        last = chance.randrange(len(TITLES))
        read = "\n".join(title + "\n" + STORY[title] for title in TITLES[: last + 1])
        found = await look_up_or_none(story, chance.choice(names), TITLES[last])
        if isinstance(found, NotFound):
            assert all(near in read for near in found.nearest)
            continue
        told += 1
        shown = asdict(found)
        places = [shown["first"], shown["introduction"], *shown["statements"], *shown["mentions"]]
        places += [shown["definition"]] if shown["definition"] else []
        assert all(place["section"] in TITLES[: last + 1] for place in places)
        kept = [*(p.get("text", "") for p in places), *(m["sentence"] for m in shown["mentions"])]
        assert all(text in read for text in [shown["name"], *shown["aliases"], *kept])
        assert all(other["name"] in read for other in shown["companions"])
    assert told > 300


@pytest.mark.parametrize("last", range(len(TITLES)))
async def test_a_map_up_to_here_is_the_map_of_a_book_that_ends_here(
    story: Library, tmp_path: Path, last: int
) -> None:
    ending = {title: STORY[title] for title in TITLES[: last + 1]}
    async with Library.open(tmp_path / "short", embedder=TinyEmbedder()) as short:
        await short.add(mapped_books.write_story(tmp_path / "short.md", ending))
        whole = await short.map("the-tide-clock", limit=500)
    read = await story.map("the-tide-clock", up_to=TITLES[last], limit=500)
    assert strip(read) == strip(whole)
    beyond = [chapter for chapter in read.chapters if chapter.title not in ending]
    assert beyond == []


def strip(found: BookMap) -> list[str]:
    return [text for text in list_texts(asdict(found)) if text not in TITLES]


async def test_a_page_is_obeyed_to_the_letter(library: Library, tmp_path: Path) -> None:
    pages = [["We saw the harbour of Saltmere at dawn."], ["There we met Ysolde by the light of Saltmere."]]
    await library.add(small_books.write_pdf(tmp_path / "log.pdf", pages), title="Log")
    with pytest.raises(NotFound):
        await library.look_up("log", "Ysolde", up_to="p. 1")
    assert (await library.look_up("log", "Saltmere", up_to="p. 1")).mention_count == 1
    assert (await library.look_up("log", "Ysolde", up_to="p. 2")).mention_count == 1
    assert (await library.look_up("log", "Saltmere")).mention_count == 2


async def test_a_position_is_obeyed_to_the_letter(story: Library) -> None:
    with pytest.raises(NotFound):
        await story.look_up("the-tide-clock", "Cormorant", up_to="0")
    assert (await story.look_up("the-tide-clock", "Edda", up_to="0")).mention_count >= 1
    assert (await story.look_up("the-tide-clock", "Cormorant", up_to="9999")).mention_count == 3


def test_a_section_that_is_read_in_part_ends_there() -> None:
    section = make_section("One two three four")
    whole = replace(section, pages=(PageMark(0, 1), PageMark(8, 2)), blocks=(Span(4, 13), Span(14, 18)))
    cut = cut_section(whole, 8)
    assert (cut.text, cut.pages, cut.blocks) == ("One two ", (PageMark(0, 1),), (Span(4, 8),))


async def test_a_new_edition_marks_only_what_changed(story: Library, tmp_path: Path) -> None:
    before = await count_marks(story)
    changed = {**STORY, "The Box": STORY["The Box"] + "\n\nThen Marisol came. It was Marisol who knew."}
    await story.add(mapped_books.write_story(tmp_path / "story.md", changed))
    assert await count_marks(story) == before + 1
    assert (await story.look_up("the-tide-clock", "Marisol")).mention_count == 2
    fewer = {title: text for title, text in STORY.items() if title != "Farrow Island"}
    await story.add(mapped_books.write_story(tmp_path / "story.md", fewer))
    with pytest.raises(NotFound):
        await story.look_up("the-tide-clock", "Marisol")
    assert await count_marks(story) == before + 1


async def test_a_removed_book_leaves_no_marks(story: Library, tmp_path: Path) -> None:
    await story.add(mapped_books.write_manual(tmp_path / "manual.md"))
    await story.remove("the-tide-clock")
    with pytest.raises(NotFound):
        await story.map("the-tide-clock")
    assert (await story.look_up("the-pottery", "kilns")).name == "kiln"
    await story.remove("the-pottery")
    assert await count_marks(story) == 0


async def test_a_book_of_an_older_octavo_gets_its_map_on_first_use(story: Library) -> None:
    before = await count_marks(story)
    for use in (story.map, story.build_map):
        async with story.database.begin() as connection:
            await connection.execute(delete(text_marks))
        story._maps._opened._known.clear()
        await use("the-tide-clock")
        assert await count_marks(story) == before


async def test_an_answerer_can_ask_an_open_map(story: Library) -> None:
    opened = await story.open_map(await story.book("the-tide-clock"), up_to="Saltmere")
    entity = opened.find("the Lamplighter")
    assert entity is not None
    assert "a woman in Saltmere" in opened.introduce(entity).text
    sections = await story.contents("the-tide-clock")
    gist = opened.find_gist(sections[0].id)
    assert gist is not None
    assert all(quote.text in STORY["The Letter"] for quote in gist.gist)
    assert opened.find_gist(sections[-1].id) is None


BREAK = (
    "<!doctype html><title>Ropes</title><h1>Ropes</h1><p>The master of the Grey Heron told Edda that on<br>"
    "1. May he would sail for Saltmere, with her and<br>2. other captains beside.</p>"
)


async def test_the_sentences_of_a_map_follow_the_markup_and_not_the_look_of_a_line(
    library: Library, tmp_path: Path
) -> None:
    (tmp_path / "ropes.html").write_text(BREAK)
    await library.add(tmp_path / "ropes.html")
    for _ in ("as it was added", "as an older library has it"):
        [mention] = (await library.look_up("ropes", "Saltmere")).mentions
        assert mention.sentence.startswith("The master")
        assert mention.sentence.endswith("captains beside.")
        async with library.database.begin() as connection:
            await connection.execute(delete(text_marks))
        library._maps._opened._known.clear()


async def test_a_book_that_gets_markup_later_is_marked_anew(library: Library, tmp_path: Path) -> None:
    (tmp_path / "ropes.html").write_text(BREAK)
    await library.add(tmp_path / "ropes.html")
    async with library.database.begin() as connection:
        await connection.execute(delete(text_marks))
        await connection.execute(delete(markup))
    assert not (await library.look_up("ropes", "Saltmere")).mentions[0].sentence.startswith("The master")
    await library.add(tmp_path / "ropes.html")
    library._maps._opened._known.clear()
    assert (await library.look_up("ropes", "Saltmere")).mentions[0].sentence.startswith("The master")


async def test_what_was_read_of_a_section_is_marked_by_its_markup(library: Library, tmp_path: Path) -> None:
    (tmp_path / "ropes.html").write_text(BREAK.replace("</p>", "</p>" + "<p>More of it.</p>" * 400))
    await library.add(tmp_path / "ropes.html")
    found = await library.look_up("ropes", "Saltmere", up_to="0")
    assert found.mentions[0].sentence.startswith("The master")
