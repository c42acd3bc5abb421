"""The records in SQLite and in PostgreSQL: what goes in comes out, and damage never goes unnoticed."""

from __future__ import annotations

import asyncio
import hashlib
import random
import sqlite3
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from octavo.errors import InvalidTransition, InvalidValue, LibraryBusy, NotFound, OctavoError, RecordsError
from octavo.records.catalogue import Records
from octavo.store.base import digest_chunk
from octavo.types import Book, BookFormat, Chunk, PageMark, Section, Span
from tests.support.builders import NOON, make_book, make_chunk, make_section, make_vector
from tests.support.places import RecordsPlace, SqliteFile

FIRST = "Call me Ishmael. Some years ago I went to sea."
SECOND = "It was the whiteness of the whale that appalled me."


@pytest.fixture
async def in_file(tmp_path: Path) -> AsyncIterator[Records]:
    """Records of which the test knows that SQLite keeps them."""
    opened = await Records.open(tmp_path / "records.sqlite")
    yield opened
    await opened.close()


def build_section(id: str, text: str, *, position: int = 0, book_id: str = "moby-dick") -> Section:
    return make_section(id, text=text, position=position, book_id=book_id, heading_path=(f"Chapter {id}",))


def build_chunk(section: Section, *, position: int = 0) -> Chunk:
    """The chunk that is all of a section's text."""
    made = make_chunk(
        section.text,
        book_id=section.book_id,
        section_id=section.id,
        heading_path=section.heading_path,
        position=position,
        ancestors=section.ancestors,
    )
    return replace(made, source_file=section.source_file)


def hash_content(chunk: Chunk) -> str:
    return hashlib.sha256(chunk.content.encode()).hexdigest()


async def begin(records: Records, *texts: str, book: Book | None = None) -> tuple[int, list[Chunk]]:
    """A pending edition with one section and one chunk for each text, and its vectors."""
    book = book or make_book()
    sections = [build_section(f"s{n}", text, position=n, book_id=book.id) for n, text in enumerate(texts)]
    chunks = [build_chunk(s, position=n) for n, s in enumerate(sections)]
    keys = {c.id: hash_content(c) for c in chunks}
    number = await records.begin_edition(
        book, words_hash=f"words of {len(texts)}", sections=sections, chunks=chunks, vector_keys=keys
    )
    await records.save_vectors({k: make_vector(1.0, n) for n, k in enumerate(keys.values())})
    return number, chunks


async def add(records: Records, *texts: str, book: Book | None = None) -> list[Chunk]:
    number, chunks = await begin(records, *texts, book=book)
    await records.publish((book or make_book()).id, number)
    return chunks


def list_ids(chunks: Sequence[Chunk]) -> list[str]:
    return [chunk.id for chunk in chunks]


async def test_a_new_library_is_empty(records: Records) -> None:
    assert await records.list_books() == []
    assert await records.read_manifest() == {}
    assert await records.find_chunks([]) == []
    assert await records.find_book("emma") is None


async def test_notes_are_kept_and_replaced(records: Records) -> None:
    assert await records.get_meta("embedder") is None
    await records.set_meta("embedder", "minilm")
    await records.set_meta("embedder", "minilm-int8")
    assert await records.get_meta("embedder") == "minilm-int8"


async def test_a_book_comes_out_as_it_went_in(records: Records) -> None:
    book = replace(
        make_book(format=BookFormat.PDF),
        authors=("Ana Núñez", "李"),
        language="pt-BR",
        base_url="https://example.org/moby/",
        section_count=2,
        chunk_count=3,
        page_count=4,
        updated_at=NOON + timedelta(days=1, microseconds=7),
    )
    await add(records, FIRST, book=book)
    assert await records.find_book(book.id) == book
    assert await records.list_books() == [book]


async def test_times_are_kept_to_the_microsecond_in_any_zone(records: Records) -> None:
    there = NOON.replace(microsecond=999_999).astimezone(timezone(timedelta(hours=-9, minutes=30)))
    await add(records, FIRST, book=replace(make_book(), added_at=there))
    found = await records.find_book("moby-dick")
    assert found is not None
    assert found.added_at == there
    assert found.added_at.utcoffset() == timedelta(0)


async def test_sections_come_out_as_they_went_in_and_in_order(records: Records) -> None:
    plain = build_section("b", FIRST, position=1)
    rich = replace(
        build_section("a", "Zeichen “über” 🐋 alles\n\ncode()", position=0),
        anchor="top",
        pages=(PageMark(0, 3, "iii"), PageMark(8, 4)),
        blocks=(Span(0, 7), Span(24, 30)),
        ancestors=("part-1",),
        url="https://example.org/a#top",
    )
    empty = build_section("c", "", position=2)
    number = await records.begin_edition(
        make_book(), words_hash="w", sections=[plain, empty, rich], chunks=[], vector_keys={}
    )
    await records.publish("moby-dick", number)
    assert await records.list_sections("moby-dick") == [rich, plain, empty]
    assert await records.find_section("moby-dick", "a") == rich
    assert await records.find_section("moby-dick", "z") is None
    assert await records.list_section_hashes("moby-dick") == {
        s.id: hashlib.sha256(s.text.encode()).hexdigest() for s in (rich, plain, empty)
    }


async def test_an_outline_has_the_pages_and_not_the_text(records: Records) -> None:
    paged = replace(
        build_section("a", FIRST), pages=(PageMark(0, 3, "iii"), PageMark(8, 4)), blocks=(Span(0, 7),)
    )
    number = await records.begin_edition(
        make_book(), words_hash="w", sections=[paged], chunks=[], vector_keys={}
    )
    await records.publish("moby-dick", number)
    (heading,) = await records.list_outline("moby-dick")
    assert heading == replace(paged, text="", blocks=(), pages=(PageMark(0, 3, "iii"), PageMark(0, 4)))
    assert (heading.page_start, heading.page_end) == (3, 4)


chunk_fields = st.fixed_dictionaries(
    {
        "page_number": st.integers(1, 10**6),
        "page_label": st.none() | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
        "metadata": st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs"])),
            st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
        ),
        "source_location": st.text(
            st.characters(exclude_categories=["Cs", "Cc", "Zs"], exclude_characters="\0"), min_size=1
        ).filter(str.strip),
        "chunk_index": st.integers(0, 2**31 - 1),
        "chunk_id": st.integers(1, 2**53 - 1),
        "created_at": st.datetimes(timezones=st.just(NOON.tzinfo)),
    }
)


@given(
    fields=chunk_fields,
    text=st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=12, max_size=300
    ),
    start=st.integers(0, 2),
)
@hypothesis_settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_chunks_come_out_as_they_went_in(
    place: RecordsPlace, fields: dict[str, object], text: str, start: int
) -> None:
    content = text[start:]
    if not content.strip():
        return
    chunk = build_chunk(build_section("s", text))
    made = replace(chunk, start=start, end=len(text), content=content, **fields)  # type: ignore[arg-type]

    async def round_trip() -> None:
        records = await Records.open(place.url)
        number = await records.begin_edition(
            make_book(),
            words_hash="w",
            sections=[build_section("s", text)],
            chunks=[made],
            vector_keys={made.id: hash_content(made)},
        )
        await records.save_vectors({hash_content(made): make_vector(3.0, 4.0)})
        await records.publish("moby-dick", number)
        assert await records.list_chunks("moby-dick") == [made]
        assert await records.find_chunks([made.id]) == [made]
        (embedded,) = await records.find_embedded_chunks([made.id])
        assert embedded.embedding == pytest.approx(make_vector(3.0, 4.0))
        assert (await records.read_manifest())[made.id] == (digest_chunk(embedded), hash_content(made))
        await records.close()

    asyncio.run(round_trip())


async def test_chunks_by_ids_come_in_the_order_asked_for_without_the_unknown(records: Records) -> None:
    a, b = await add(records, FIRST, SECOND)
    unknown = make_chunk("Nobody has ever stored this.").id
    assert list_ids(await records.find_chunks([b.id, unknown, a.id])) == [b.id, a.id]


async def test_more_ids_than_one_statement_takes_are_no_trouble(records: Records) -> None:
    chunks = await add(records, *(f"Sentence number {n} of a long book." for n in range(1203)))
    assert await records.find_chunks(list_ids(chunks)) == chunks
    keys = [hash_content(c) for c in chunks]
    assert len(await records.find_vectors(keys)) == 1203
    assert await records.find_missing_vectors(["x", *keys, "y", "x"]) == ["x", "y"]


async def test_the_ends_of_sections_are_the_positions_of_their_last_chunks(records: Records) -> None:
    await add(records, FIRST, SECOND)
    assert await records.find_section_ends("moby-dick") == {"s0": 0, "s1": 1}


async def test_a_book_is_found_by_what_it_holds(records: Records) -> None:
    await add(records, FIRST)
    book = await records.find_book("moby-dick")
    assert await records.find_by_words_hash("words of 1") == book
    assert await records.find_words_hash("moby-dick") == "words of 1"
    assert await records.find_by_words_hash("other") is None
    assert await records.find_words_hash("emma") is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"content": "Call me Ahab, will you not?", "end": 27},
        {"section_id": "nowhere"},
        {"book_id": "emma"},
        {"heading_path": ("Another chapter",)},
        {"ancestors": ("part-9",)},
        {"source_file": "emma.txt"},
        {"id": "no key for this one"},
    ],
)
async def test_parts_that_do_not_belong_together_are_refused(
    records: Records, wrong: dict[str, object]
) -> None:
    home = build_section("s0", FIRST)
    made = build_chunk(home)
    odd = replace(made, **wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidValue):
        await records.begin_edition(
            make_book(),
            words_hash="w",
            sections=[home],
            chunks=[odd],
            vector_keys={made.id: hash_content(made)},
        )
    assert await records.list_pending() == []


async def test_two_chunks_of_one_id_are_refused(records: Records) -> None:
    home = build_section("s0", FIRST)
    twice = [build_chunk(home), build_chunk(home)]
    with pytest.raises(InvalidValue, match="no two"):
        await records.begin_edition(
            make_book(),
            words_hash="w",
            sections=[home],
            chunks=twice,
            vector_keys={twice[0].id: hash_content(twice[0])},
        )


async def test_a_pending_edition_is_seen_by_nobody(records: Records) -> None:
    number, chunks = await begin(records, FIRST)
    assert await records.list_pending() == [("moby-dick", number)]
    assert await records.list_books() == []
    assert await records.list_sections("moby-dick") == []
    assert await records.find_chunks(list_ids(chunks)) == []
    assert await records.read_manifest() == {}


async def test_a_published_edition_is_seen_whole_and_waits_for_the_store(records: Records) -> None:
    chunks = await add(records, FIRST, SECOND)
    assert await records.list_pending() == []
    assert await records.list_unsettled() == ["moby-dick"]
    assert await records.list_chunks("moby-dick") == chunks
    assert await records.list_editions() == {"moby-dick": 1}
    await records.settle("moby-dick")
    assert await records.list_unsettled() == []


async def test_digests_are_what_the_store_will_report(records: Records) -> None:
    chunks = await add(records, FIRST, SECOND)
    assert await records.read_digests() == {
        c.id: digest_chunk(c) for c in await records.find_embedded_chunks(list_ids(chunks))
    }


async def test_digests_that_are_given_are_kept(records: Records) -> None:
    home = build_section("s0", FIRST)
    made = build_chunk(home)
    number = await records.begin_edition(
        make_book(),
        words_hash="w",
        sections=[home],
        chunks=[made],
        vector_keys={made.id: hash_content(made)},
        digests={made.id: "d" * 32},
    )
    await records.publish("moby-dick", number)
    assert await records.read_digests() == {made.id: "d" * 32}


async def test_an_edition_without_all_its_vectors_is_not_published(records: Records) -> None:
    home = build_section("s0", FIRST)
    made = build_chunk(home)
    number = await records.begin_edition(
        make_book(), words_hash="w", sections=[home], chunks=[made], vector_keys={made.id: hash_content(made)}
    )
    with pytest.raises(RecordsError, match="1 chunks have no vector"):
        await records.publish("moby-dick", number)
    assert await records.list_books() == []
    assert await records.list_pending() == [("moby-dick", number)]


async def test_a_new_edition_replaces_the_old_one_at_once(records: Records) -> None:
    old = await add(records, FIRST, SECOND)
    later = replace(make_book(), title="Moby Dick, revised", updated_at=NOON + timedelta(days=9))
    new = await add(
        records, FIRST, "An entirely new second chapter.", book=replace(later, added_at=later.updated_at)
    )
    assert await records.find_book("moby-dick") == later  # with the day on which the first edition came
    assert await records.list_chunks("moby-dick") == new
    assert await records.list_editions() == {"moby-dick": 2}
    assert list_ids(await records.find_chunks(list_ids(old))) == [old[0].id]
    assert await records.list_removals() == {"moby-dick": (old[1].id,)}


async def test_the_text_of_a_superseded_edition_stays_for_its_citations(
    records: Records, place: RecordsPlace
) -> None:
    await add(records, FIRST, SECOND)
    await add(records, FIRST)
    assert await records.sweep() == (0, 1)
    kept = place.rows(
        "SELECT text FROM sections JOIN texts ON hash = text_hash WHERE edition = 1 ORDER BY position"
    )
    assert kept == [(FIRST,), (SECOND,)]
    states = place.rows("SELECT state FROM editions ORDER BY edition")
    assert states == [("superseded",), ("ready",)]


async def test_a_text_is_kept_once_for_all_who_have_it(records: Records, place: RecordsPlace) -> None:
    await add(records, FIRST)
    await add(records, FIRST, FIRST, book=make_book("twin"))
    assert place.rows("SELECT count(*) FROM texts") == [(1,)]


async def test_a_second_beginning_replaces_the_first(records: Records) -> None:
    first, abandoned = await begin(records, FIRST, SECOND)
    second, kept = await begin(records, FIRST)
    assert await records.list_pending() == [("moby-dick", second)]
    assert second > first, "a number is never used again"
    assert await records.list_removals() == {"moby-dick": (abandoned[1].id,)}
    await records.publish("moby-dick", second)
    assert await records.list_chunks("moby-dick") == kept


async def test_an_abandoned_edition_leaves_the_ready_one_and_a_note_for_the_store(records: Records) -> None:
    ready = await add(records, FIRST)
    number, pending = await begin(records, FIRST, SECOND)
    await records.abandon("moby-dick", number)
    assert await records.list_pending() == []
    assert await records.list_chunks("moby-dick") == ready
    assert await records.list_removals() == {"moby-dick": (pending[1].id,)}


async def test_steps_that_the_states_do_not_have_are_refused(records: Records) -> None:
    await add(records, FIRST)
    with pytest.raises(InvalidTransition, match="from ready to ready"):
        await records.publish("moby-dick", 1)
    with pytest.raises(InvalidTransition):
        await records.abandon("moby-dick", 1)
    await add(records, SECOND)
    with pytest.raises(InvalidTransition):
        await records.publish("moby-dick", 1)
    assert await records.list_editions() == {"moby-dick": 2}


async def test_what_is_not_there_cannot_be_published_settled_or_removed(records: Records) -> None:
    for step in (
        records.publish("emma", 1),
        records.abandon("emma", 1),
        records.settle("emma"),
        records.remove("emma"),
    ):
        with pytest.raises(NotFound, match="emma"):
            await step


async def test_a_removed_book_is_gone_and_the_store_has_a_list_of_what_to_drop(records: Records) -> None:
    stays = await add(records, FIRST, book=make_book("emma"))
    ready = await add(records, FIRST)
    _, pending = await begin(records, FIRST, SECOND)
    doomed = await records.remove("moby-dick")
    assert set(doomed) == {*list_ids(ready), *list_ids(pending)}
    assert [book.id for book in await records.list_books()] == ["emma"]
    assert await records.list_pending() == []
    assert set((await records.list_removals())["moby-dick"]) == set(doomed)
    await records.clear_removals("moby-dick")
    assert await records.list_removals() == {}
    assert await records.sweep() == (1, 1)
    assert await records.list_chunks("emma") == stays


async def test_a_book_that_comes_back_is_not_dropped_by_an_old_list(records: Records) -> None:
    chunks = await add(records, FIRST, SECOND)
    await records.remove("moby-dick")
    await add(records, FIRST)
    assert await records.list_removals() == {"moby-dick": (chunks[1].id,)}


async def test_the_list_of_a_removal_outlives_the_process(place: RecordsPlace) -> None:
    records = await Records.open(place.url)
    chunks = await add(records, FIRST)
    await records.remove("moby-dick")
    await records.close()
    again = await Records.open(place.url)
    assert await again.list_removals() == {"moby-dick": (chunks[0].id,)}
    await again.close()


async def test_vectors_are_kept_as_they_first_were(records: Records) -> None:
    await records.save_vectors({"k": make_vector(1.0, 0.0)})
    await records.save_vectors({"k": make_vector(0.0, 1.0)})
    await records.save_vectors({})
    assert await records.find_vectors(["k", "l", "k"]) == {"k": make_vector(1.0, 0.0)}


@pytest.mark.parametrize("bad", [(0.0, 0.0), (float("nan"), 1.0), (2.0, 0.0), ()])
async def test_a_bad_vector_is_refused_with_its_whole_batch(records: Records, bad: tuple[float, ...]) -> None:
    with pytest.raises(InvalidValue):
        await records.save_vectors({"good": make_vector(1.0), "bad": bad})
    assert await records.find_missing_vectors(["good", "bad"]) == ["good", "bad"]


async def test_a_cancelled_change_is_undone_and_the_records_stay_usable(records: Records) -> None:
    await add(records, FIRST)
    for delay in (0.0, 0.001, 0.003, 0.01):
        book = make_book("emma")
        change = asyncio.create_task(
            begin(records, *(f"Sentence number {n} of it." for n in range(400)), book=book)
        )
        await asyncio.sleep(delay)
        change.cancel()
        await asyncio.gather(change, return_exceptions=True)
        for left in await records.list_pending():
            await records.abandon(*left)
        await records.set_meta("still", "writable")
    assert [book.id for book in await records.list_books()] == ["moby-dick"]
    assert await records.find_problems() == []


async def test_readers_are_not_held_up_by_a_change(tmp_path: Path, in_file: Records) -> None:
    await add(in_file, FIRST)
    other = sqlite3.connect(tmp_path / "records.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    other.execute("DELETE FROM chunks")
    assert len(await in_file.list_chunks("moby-dick")) == 1
    other.execute("ROLLBACK")
    other.close()


async def test_a_change_that_another_process_blocks_says_who_is_to_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("octavo.records.database.PRAGMAS", ("busy_timeout = 50", "journal_mode = WAL"))
    records = await Records.open(tmp_path / "r.sqlite")
    other = sqlite3.connect(tmp_path / "r.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LibraryBusy, match=r"r\.sqlite are being changed by another process"):
        await records.set_meta("a", "b")
    other.execute("ROLLBACK")
    other.close()
    await records.close()


async def test_commits_are_on_the_disk_before_they_return(in_file: Records) -> None:
    async with in_file._database.connect() as connection:
        said = [
            (await connection.exec_driver_sql(f"PRAGMA {name}")).scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys")
        ]
    assert said == ["wal", 2, 1]


async def test_a_file_that_is_no_database_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "r.sqlite").write_bytes(b"These are not the records you are looking for. " * 100)
    with pytest.raises(RecordsError, match=r"r\.sqlite are damaged") as refused:
        await Records.open(tmp_path / "r.sqlite")
    assert "backup" in refused.value.hint


async def test_a_place_where_no_file_can_be_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "r.sqlite").mkdir()
    with pytest.raises(RecordsError, match=r"r\.sqlite cannot be opened"):
        await Records.open(tmp_path / "r.sqlite")


async def test_an_address_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordsError, match="not a database URL"):
        await Records.open("://nonsense")


async def test_a_changed_text_is_never_quoted(place: RecordsPlace, records: Records) -> None:
    chunks = await add(records, FIRST)
    place.rows("UPDATE texts SET text = replace(text, 'Ishmael', 'Ishmaels')")
    for read in (
        records.find_chunks(list_ids(chunks)),
        records.list_sections("moby-dick"),
        records.find_section("moby-dick", "s0"),
    ):
        with pytest.raises(RecordsError, match=r"the records at .+ are damaged: the text of"):
            await read
    assert await records.find_problems() == [
        f"a text is damaged ({hashlib.sha256(FIRST.encode()).hexdigest()[:12]})"
    ]


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE sections SET pages = '[[1]]'",
        "UPDATE sections SET level = -1",
        "UPDATE sections SET title = 'x'",
    ],
)
async def test_rows_that_make_no_sense_are_damage(place: RecordsPlace, records: Records, damage: str) -> None:
    await add(records, FIRST)
    place.rows(damage)
    with pytest.raises(RecordsError, match=r"the records at .+ are damaged"):
        await records.list_outline("moby-dick")


async def test_json_that_is_none_is_damage(tmp_path: Path, in_file: Records) -> None:
    await add(in_file, FIRST)
    SqliteFile(tmp_path / "records.sqlite").rows("UPDATE sections SET heading_path = '[1'")
    with pytest.raises(RecordsError, match=r"records\.sqlite are damaged"):
        await in_file.list_outline("moby-dick")


async def test_flipped_pages_are_errors_of_ours_or_change_nothing(tmp_path: Path) -> None:
    file = tmp_path / "r.sqlite"
    records = await Records.open(file)
    chunks = await add(records, *(f"Sentence number {n}, quite long enough." for n in range(60)))
    book = await records.find_book("moby-dick")
    await records.close()
    sound = file.read_bytes()
    chance = random.Random(7)
    refusals = []
    for page in range(0, len(sound), 4096):
        spoiled = bytearray(sound)
        spoiled[page : page + 64] = chance.randbytes(64)
        file.write_bytes(spoiled)
        try:
            again = await Records.open(file)
            try:
                assert await read_seen(again, chunks) == (book, chunks)
            finally:
                await again.close()
        except OctavoError as error:
            refusals.append(str(error))
    assert len(refusals) > 5
    assert all("r.sqlite" in said for said in refusals)


async def read_seen(records: Records, chunks: list[Chunk]) -> tuple[Book | None, list[Chunk]]:
    return await records.find_book("moby-dick"), await records.find_chunks(list_ids(chunks))
