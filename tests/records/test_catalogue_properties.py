"""Whatever is valid comes out of the records as it went in, and no sequence of steps breaks the catalogue.

Texts are drawn from every plane of Unicode: a chunk is cut out of its section by the database, and must be
what Python would cut. Editions are begun, published, abandoned and removed in random order, and after every
step the whole database is held against a model of it that fits on a page.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from uuid import NAMESPACE_URL, uuid5

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from octavo.errors import NotFound
from octavo.records.catalogue import Records
from octavo.records.words import count_words
from octavo.store.base import digest_chunk
from octavo.types import Book, BookFormat, Chunk, PageMark, Section, Span
from tests.support.builders import NOON, make_book, make_chunk, make_section, make_vector
from tests.support.places import RecordsPlace, SqliteFile

SCRIPTS = (
    "The quick brown fox. ",
    "Ärger über Straßen; naïve cafés. ",
    "Все счастливые семьи похожи друг на друга. ",
    "כל המשפחות המאושרות דומות זו לזו. ",
    "كل العائلات السعيدة متشابهة. ",
    "幸福な家庭はみな似ている。",
    "🐋🚢👩‍👩‍👧‍👦🏴‍☠️ ",
    "𝔄𝔅𠀀𠀁𐍈 ",
    "e\u0301n\u0303 \u200f\u202e ",
    "\n\n\t",
)
letters = st.characters(codec="utf-8", exclude_characters="\0")
words = st.one_of(st.sampled_from(SCRIPTS), st.text(letters, max_size=12))
texts = st.lists(words, min_size=3, max_size=14).map("".join).filter(lambda t: len(t) > 30)
names = st.text(letters, min_size=1, max_size=20).filter(lambda t: bool(t.strip()))
moments = st.datetimes(timezones=st.just(UTC))


@st.composite
def sections(draw: st.DrawFn, number: int, book_id: str) -> Section:
    text = draw(texts)
    heading = tuple(draw(st.lists(names, min_size=1, max_size=3)))
    offsets = sorted(draw(st.lists(st.integers(0, len(text)), max_size=3)))
    edges = sorted(draw(st.lists(st.integers(0, len(text)), max_size=4, unique=True)))
    return Section(
        id=f"{draw(names)}-{number}",
        book_id=book_id,
        title=heading[-1],
        heading_path=heading,
        level=len(heading),
        position=number,
        url="book://a/b",
        text=text,
        source_file=draw(names),
        anchor=draw(st.text(letters, max_size=8)),
        pages=tuple(PageMark(at, n, draw(st.none() | names)) for n, at in enumerate(offsets, start=1)),
        blocks=tuple(Span(a, b) for a, b in zip(edges[::2], edges[1::2], strict=False)),
        ancestors=tuple(draw(st.lists(names, max_size=2))),
    )


@st.composite
def chunks(draw: st.DrawFn, section: Section, position: int) -> Chunk | None:
    """A stretch of the section, from any character to any other."""
    start = draw(st.integers(0, len(section.text) - 11))
    end = draw(st.integers(start + 10, min(len(section.text), start + 2000)))
    content = section.text[start:end]
    if not content.strip():
        return None
    made = make_chunk(content, book_id=section.book_id, section_id=section.id, start=start, position=position)
    return replace(
        made,
        id=str(uuid5(NAMESPACE_URL, f"{section.id}/{start}/{end}/{position}")),
        heading_path=section.heading_path,
        ancestors=section.ancestors,
        source_file=section.source_file,
        chapter=draw(st.text(letters, max_size=9)),
        page_number=draw(st.none() | st.integers(1, 9)),
        page_end=draw(st.none() | st.integers(9, 12)),
        page_label=draw(st.none() | names),
        created_at=draw(moments),
        metadata=draw(st.dictionaries(st.text(letters, max_size=4), st.integers() | names, max_size=2)),
    )


@st.composite
def books(draw: st.DrawFn) -> Book:
    return replace(
        make_book(draw(names), title=draw(names), format=draw(st.sampled_from(BookFormat))),
        authors=tuple(draw(st.lists(names, max_size=3))),
        language=draw(st.text(letters, max_size=5)),
        added_at=draw(moments),
        updated_at=draw(moments),
        page_count=draw(st.integers(0, 2**31 - 1)),
    )


@st.composite
def editions(draw: st.DrawFn) -> tuple[Book, list[Section], list[Chunk]]:
    book = draw(books())
    made = [draw(sections(n, book.id)) for n in range(draw(st.integers(1, 3)))]
    cut = [draw(chunks(section, n)) for n, section in enumerate(made * draw(st.integers(0, 2)))]
    return book, made, [c for c in cut if c is not None]


def hash_content(chunk: Chunk) -> str:
    return hashlib.sha256(chunk.content.encode()).hexdigest()


async def add_edition(records: Records, book: Book, made: Sequence[Section], cut: Sequence[Chunk]) -> int:
    """Begins an edition, with the vectors that it needs."""
    number = await records.begin_edition(
        book, words_hash="w", sections=made, chunks=cut, vector_keys={c.id: hash_content(c) for c in cut}
    )
    await records.save_vectors({hash_content(c): make_vector(1.0, n) for n, c in enumerate(cut)})
    return number


@given(edition=editions())
@hypothesis_settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_what_is_valid_comes_out_as_it_went_in(
    place: RecordsPlace, edition: tuple[Book, list[Section], list[Chunk]]
) -> None:
    book, made, cut = edition

    async def there_and_back() -> None:
        records = await Records.open(place.url)
        try:
            await records.publish(book.id, await add_edition(records, book, made, cut))
            assert await records.find_book(book.id) == book
            assert await records.list_sections(book.id) == made
            assert await records.list_chunks(book.id) == cut
            ids = [c.id for c in cut]
            embedded = await records.find_embedded_chunks(ids)
            assert [replace(c, embedding=None) for c in embedded] == cut
            assert {c.id: digest_chunk(c) for c in embedded} == await records.read_digests()
            for c in cut:
                around = await records.find_chunks_within(book.id, c.section_id, c.start, c.end)
                assert c in around
            assert await records.find_problems() == []
            await records.remove(book.id)
            await records.sweep()
        finally:
            await records.close()

    asyncio.run(there_and_back())


@given(st.lists(words, min_size=1, max_size=30).map("".join), st.data())
def test_sqlite_cuts_a_text_where_python_cuts_it(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    connection = sqlite3.connect(":memory:")
    (cut,) = connection.execute("SELECT substr(?, ?, ?)", (text, start + 1, end - start)).fetchone()
    connection.close()
    assert cut == text[start:end]


SHELF = ("emma", "moby-dick", "walden")
STEPS = ("begin", "begin", "publish", "publish", "abandon", "remove", "settle")
SENTENCES = [f"Sentence number {n} of the common stock, long enough." for n in range(9)]


@dataclass
class Model:
    """What the records should hold: the ready and the pending edition of each book, by its sentences."""

    ready: dict[str, list[str]] = field(default_factory=dict)
    pending: dict[str, tuple[int, list[str]]] = field(default_factory=dict)
    past: dict[str, list[list[str]]] = field(default_factory=dict)


def make_edition(book_id: str, said: Sequence[str]) -> tuple[list[Section], list[Chunk]]:
    """A section for each sentence, and its chunk, whose id comes from the book and the sentence alone."""
    made = [
        make_section(
            f"s-{SENTENCES.index(text)}", book_id=book_id, text=text, position=n, heading_path=("H",)
        )
        for n, text in enumerate(said)
    ]
    cut = [
        make_chunk(s.text, book_id=book_id, section_id=s.id, heading_path=("H",), position=n)
        for n, s in enumerate(made)
    ]
    return made, cut


def list_chunk_ids(book_id: str, said: Sequence[str]) -> set[str]:
    return {c.id for c in make_edition(book_id, said)[1]}


async def step(
    records: Records, model: Model, chance: random.Random, steps: Sequence[str] = (*STEPS, "removed")
) -> str:
    """One random step, taken by the records and by the model alike."""
    book_id = chance.choice(SHELF)
    what = chance.choice(steps)
    if what == "begin":
        said = chance.sample(SENTENCES, k=chance.randint(1, 5))
        made, cut = make_edition(book_id, said)
        number = await add_edition(records, make_book(book_id), made, cut)
        model.pending[book_id] = (number, said)
    elif what == "publish" and book_id in model.pending:
        number, said = model.pending.pop(book_id)
        await records.publish(book_id, number)
        if book_id in model.ready:
            model.past.setdefault(book_id, []).append(model.ready[book_id])
        model.ready[book_id] = said
    elif what == "abandon" and book_id in model.pending:
        await records.abandon(book_id, model.pending.pop(book_id)[0])
    elif what == "remove" and book_id in model.ready:
        await records.remove(book_id)
        model.ready.pop(book_id)
        model.pending.pop(book_id, None)
        model.past.pop(book_id, None)
    elif what == "removed":
        await records.clear_removals(book_id)
    elif what == "settle" and book_id in model.ready:
        await records.settle(book_id)
    else:
        with pytest.raises(NotFound):
            await records.publish(book_id, 10**6)
    return f"{what} {book_id}"


async def check(records: Records, model: Model, place: RecordsPlace, trail: list[str]) -> None:
    """The catalogue is the model's, and no row of any table is there without a reason."""
    shown = {b.id: [c.content for c in await records.list_chunks(b.id)] for b in await records.list_books()}
    assert shown == model.ready, trail
    assert {(b, n) for b, (n, _) in model.pending.items()} == set(await records.list_pending()), trail
    live = {id for b, said in model.ready.items() for id in list_chunk_ids(b, said)}
    coming = {id for b, (_, said) in model.pending.items() for id in list_chunk_ids(b, said)}
    doomed = {id for ids in (await records.list_removals()).values() for id in ids}
    assert not doomed & (live | coming), trail
    assert set(await records.read_digests()) == live, trail
    per_book = place.rows("SELECT book_id, count(*) FROM editions WHERE state = 'ready' GROUP BY 1")
    assert dict(per_book) == dict.fromkeys(model.ready, 1), trail
    rows = place.rows("SELECT DISTINCT e.state FROM chunks c JOIN editions e USING (book_id, edition)")
    assert {state for (state,) in rows} <= {"ready", "pending"}, trail
    ((all_differ,),) = place.rows("SELECT count(*) = count(DISTINCT edition) FROM editions")
    assert all_differ, trail
    shown_chunks = [c for b in model.ready for c in await records.list_chunks(b)]
    assert dict(place.rows("SELECT word, passages FROM words")) == +count_words(shown_chunks), trail
    assert await records.count_wrong_words() == await records.count_uncounted_books() == 0, trail
    counted = place.rows(
        "SELECT DISTINCT e.state FROM edition_words c JOIN editions e USING (book_id, edition)"
    )
    assert {state for (state,) in counted} <= {"ready", "pending"}, trail


@pytest.mark.parametrize("seed", range(3))
async def test_no_sequence_of_steps_breaks_the_catalogue(
    records: Records, place: RecordsPlace, seed: int
) -> None:
    chance, model, trail = random.Random(seed), Model(), []
    ever: set[str] = set()
    for number in range(50):
        trail.append(await step(records, model, chance))
        if isinstance(place, SqliteFile) or number % 5 == 4:  # looking in from outside takes its time
            await check(records, model, place, trail)
        ever |= {id for b, (_, said) in model.pending.items() for id in list_chunk_ids(b, said)}
        if number % 10 == 9:
            before = {b: await records.list_sections(b) for b in model.ready}
            await records.sweep()
            assert {b: await records.list_sections(b) for b in model.ready} == before, trail
            for book_id, editions_before in model.past.items():
                for said in editions_before:
                    for text in said:
                        section_id = f"s-{SENTENCES.index(text)}"
                        assert text in await records.list_section_texts(book_id, section_id), trail
    assert len(set(trail)) > 10
    assert await records.find_problems() == []
    assert ever


@pytest.mark.parametrize("seed", range(2))
async def test_what_the_store_must_drop_is_listed_until_it_says_that_it_has(
    records: Records, seed: int
) -> None:
    """A store that follows the list, and nothing else, ends up with exactly the ready chunks."""
    chance, model = random.Random(100 + seed), Model()
    stored: set[str] = set()
    for _ in range(50):
        await step(records, model, chance, STEPS)
        for book_id, (_, said) in model.pending.items():
            stored |= list_chunk_ids(book_id, said)
        if chance.random() < 0.3:
            for book_id, ids in (await records.list_removals()).items():
                stored -= set(ids)
                await records.clear_removals(book_id)
    for book_id, (number, _) in list(model.pending.items()):
        await records.abandon(book_id, number)
    listed = {id for ids in (await records.list_removals()).values() for id in ids}
    assert stored - listed == set(await records.read_digests())


async def test_books_stand_in_the_order_of_adding_whatever_the_clock_said(records: Records) -> None:
    order = []
    for number, days in enumerate((0, -3, 5, -400, 1)):
        book = replace(make_book(f"book-{number}"), added_at=NOON + timedelta(days=days))
        await records.publish(
            book.id, await add_edition(records, book, *make_edition(book.id, SENTENCES[:1]))
        )
        order.append(book.id)
    assert [b.id for b in await records.list_books()] == order
    again = replace(make_book("book-3"), added_at=NOON, updated_at=NOON)
    await records.publish(
        "book-3", await add_edition(records, again, *make_edition("book-3", SENTENCES[1:3]))
    )
    await records.remove("book-0")
    assert [b.id for b in await records.list_books()] == order[1:]
    found = await records.find_by_words_hash("w")
    assert found is not None
    assert found.id == "book-1", "of several, the one that came first"


@given(first=moments, second=moments)
@hypothesis_settings(
    max_examples=10,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_a_clock_that_goes_back_does_not_make_a_book_older(
    place: RecordsPlace, first: datetime, second: datetime
) -> None:
    async def twice() -> Book | None:
        records = await Records.open(place.url)
        for when, said in ((first, SENTENCES[:2]), (second, SENTENCES[1:4])):
            book = replace(make_book(), added_at=when, updated_at=when)
            await records.publish(book.id, await add_edition(records, book, *make_edition(book.id, said)))
        found = await records.find_book("moby-dick")
        await records.remove("moby-dick")
        await records.close()
        return found

    found = asyncio.run(twice())
    assert found is not None
    assert (found.added_at, found.updated_at) == (first, max(first, second))
