"""Which book a file is, and what its edition would change, before anything is written."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from octavo.errors import BadBook, InvalidValue
from octavo.ingest.edition import (
    Identity,
    build_edition,
    compare,
    identify,
    make_fingerprint,
    prepare_edition,
)
from octavo.readers.parsed import ParsedBook, ParsedSection
from octavo.records.catalogue import Records
from octavo.records.options import BookOptions
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from octavo.types import BookFormat

EMBEDDER, SETTINGS = TinyEmbedder(), Settings()
TEXTS = {
    "Harbour": "The harbour master counted the ships at dawn.",
    "Storm": "A storm broke the northern pier in a night.",
    "Morning": "In the morning the gulls came back again.",
}
OTHER = {"Harbour": "Quite another book speaks of another harbour.", "End": "And it ends in another way."}


def parsed(
    texts: dict[str, str],
    *,
    title: str = "Tides",
    file: str = "tides.md",
    format: BookFormat = BookFormat.MARKDOWN,
) -> ParsedBook:
    sections = [ParsedSection(title=n, heading_path=(n,), text=t, source_file=file) for n, t in texts.items()]
    return ParsedBook(title=title, format=format, sections=tuple(sections))


@pytest.fixture
async def records(tmp_path: Path) -> AsyncIterator[Records]:
    opened = await Records.open(tmp_path / "records.sqlite")
    yield opened
    await opened.close()


async def look(records: Records, book: ParsedBook, options: BookOptions | None = None) -> Identity:
    return await identify(
        book,
        book.sections[0].source_file,
        options=options or BookOptions(),
        records=records,
        fingerprint=make_fingerprint(SETTINGS, EMBEDDER),
    )


async def shelve(records: Records, book: ParsedBook, options: BookOptions | None = None) -> str:
    """Adds without a store: what identity needs to see is in the records."""
    new = prepare_edition(book, await look(records, book, options), embedder=EMBEDDER, settings=SETTINGS)
    number = await records.begin_edition(
        new.book,
        words_hash=new.words_hash,
        sections=new.sections,
        chunks=new.chunks,
        vector_keys=new.vector_keys,
    )
    vectors = EMBEDDER.embed([new.texts[id_] for id_ in new.vector_keys])
    await records.save_vectors(dict(zip(new.vector_keys.values(), vectors, strict=True)))
    await records.publish(new.book.id, number)
    return new.book.id


async def test_the_first_book_of_a_title_has_the_titles_id(records: Records) -> None:
    seen = await look(records, parsed(TEXTS, title="The Tides!"))
    assert (seen.book_id, seen.title, seen.known, seen.unchanged) == ("the-tides", "The Tides!", None, False)


async def test_the_same_edition_is_unchanged_until_the_index_is_made_otherwise(records: Records) -> None:
    await shelve(records, parsed(TEXTS))
    assert (await look(records, parsed(TEXTS))).unchanged
    later = await identify(
        parsed(TEXTS), "tides.md", options=BookOptions(), records=records, fingerprint="chunks-2 tiny"
    )
    assert later.known is not None
    assert not later.unchanged


async def test_a_new_title_or_address_for_the_same_words_is_a_change(records: Records) -> None:
    await shelve(records, parsed(TEXTS))
    copy = parsed(TEXTS, format=BookFormat.EPUB, file="tides.epub")
    assert (await look(records, copy)).unchanged
    for options in (BookOptions(title="High Tides"), BookOptions(base_url="https://example.org/")):
        for book in (parsed(TEXTS), copy):
            seen = await look(records, book, options)
            assert (seen.book_id, seen.unchanged) == ("tides", False)


async def test_a_given_title_and_address_stay_for_later_editions(records: Records) -> None:
    await shelve(records, parsed(TEXTS), BookOptions(title="High Tides", base_url="https://example.org/"))
    again = await look(records, parsed(TEXTS))
    assert (again.title, again.base_url, again.unchanged) == ("High Tides", "https://example.org/", True)
    revised = await look(records, parsed({**TEXTS, "Storm": "Another storm in another year came."}))
    assert (revised.book_id, revised.title, revised.unchanged) == ("high-tides", "High Tides", False)


async def test_a_password_in_the_address_of_an_earlier_edition_is_left_out(records: Records) -> None:
    await shelve(records, replace(parsed(TEXTS), base_url="https://me:secret@example.org/"))
    assert (await look(records, parsed(TEXTS))).base_url == "https://example.org/"


async def test_two_books_of_one_title_have_two_ids_and_each_keeps_its_own(records: Records) -> None:
    first = await shelve(records, parsed(TEXTS))
    second = await shelve(records, parsed(OTHER, file="other.md"))
    assert (first, second) == ("tides", "tides-2")
    revised = {**OTHER, "End": "It ends, in its second edition, in yet another way."}
    assert (await look(records, parsed(revised, file="other.md"))).book_id == "tides-2"
    assert (await look(records, parsed(revised, file="moved.md"))).book_id == "tides-2"
    third = await look(records, parsed({"A": "Nothing in common with any of them."}, file="third.md"))
    assert third.book_id == "tides-3"


async def test_a_new_title_in_the_same_file_with_most_of_its_text_is_a_new_edition(records: Records) -> None:
    await shelve(records, parsed(TEXTS))
    revised = {**TEXTS, "Storm": "Another storm in another year came."}
    assert (await look(records, parsed(revised, title="Tides, Revised"))).book_id == "tides"
    stranger = parsed({**OTHER, "Storm": TEXTS["Storm"]}, title="Rivers")
    assert (await look(records, stranger)).book_id == "rivers"


async def test_a_hundred_copies_are_one_book_and_never_more_than_one_set_of_vectors(records: Records) -> None:
    await shelve(records, parsed(TEXTS))
    for number in range(100):
        assert (await look(records, parsed(TEXTS, file=f"copy {number}.md"))).unchanged
    copy = await look(records, parsed(TEXTS), BookOptions(book_id="copy"))  # asked for by name
    new = prepare_edition(parsed(TEXTS), copy, embedder=EMBEDDER, settings=SETTINGS)
    assert await records.find_missing_vectors(new.vector_keys.values()) == []


async def test_a_given_id_decides_which_book_it_is(records: Records) -> None:
    await shelve(records, parsed(TEXTS))
    assert (await look(records, parsed(TEXTS), BookOptions(book_id="copy"))).known is None
    taken = await look(records, parsed(OTHER, title="Rivers"), BookOptions(book_id="tides"))
    assert (taken.book_id, taken.title, taken.unchanged) == ("tides", "Tides", False)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"title": ""}, "title"),
        ({"title": " \n\u200b"}, "title"),
        ({"base_url": "example.org"}, "base_url"),
        ({"base_url": "https://a b/"}, "base_url"),
        ({"base_url": ""}, "base_url"),
        ({"book_id": "Moby Dick"}, "book_id"),
        ({"book_id": "../x"}, "book_id"),
        ({"book_id": ""}, "book_id"),
        ({"book_id": "a" * 201}, "book_id"),
    ],
)
def test_options_that_break_a_rule_are_refused(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        BookOptions(**options)
    assert refused.value.field == field


async def test_what_a_source_says_wrongly_of_itself_is_not_held_against_the_book(records: Records) -> None:
    book = replace(parsed(TEXTS, title="<script>" * 2000), base_url="{{ SITE }}")
    new = prepare_edition(book, await look(records, book), embedder=EMBEDDER, settings=SETTINGS)
    assert new.book.base_url is None
    assert new.book.title.startswith("<script>")
    assert len(new.book.title) <= 300
    assert new.book.id.startswith("script")


@pytest.mark.parametrize(
    "name", ["../../x", "CON", "n" * 300, "🐳.md", "a\r\nb.md", ";rm -rf", "\udcff.md", "\x1b[31m"]
)
async def test_a_file_name_is_only_shown(records: Records, name: str) -> None:
    seen = await identify(parsed(TEXTS), name, options=BookOptions(), records=records, fingerprint="f")
    new = prepare_edition(parsed(TEXTS), seen, embedder=EMBEDDER, settings=SETTINGS)
    assert new.book.source_file.isprintable()


async def test_a_comparison_counts_sections_and_passages(records: Records) -> None:
    await shelve(records, parsed(TEXTS))
    changed = {
        "Foreword": "A foreword that was not there.",
        **TEXTS,
        "Storm": "Another storm in another year.",
    }
    del changed["Morning"]
    book = parsed(changed)
    new = prepare_edition(book, await look(records, book), embedder=EMBEDDER, settings=SETTINGS)
    seen = await compare(new, records)
    assert (seen.added, seen.changed, seen.removed, seen.kept) == (1, 1, 1, 1)
    assert (seen.chunks_new, seen.chunks_gone) == (2, 2)


async def test_the_same_book_gives_the_same_chunks_and_vector_keys(records: Records) -> None:
    seen = await look(records, parsed(TEXTS))
    one, two = (prepare_edition(parsed(TEXTS), seen, embedder=EMBEDDER, settings=SETTINGS) for _ in range(2))
    assert [c.id for c in one.chunks] == [c.id for c in two.chunks]
    assert one.vector_keys == two.vector_keys
    other = prepare_edition(parsed(TEXTS), seen, embedder=TinyEmbedder(name="other"), settings=SETTINGS)
    assert [c.id for c in one.chunks] == [c.id for c in other.chunks]
    assert not set(one.vector_keys.values()) & set(other.vector_keys.values())


async def test_a_book_with_no_passage_to_find_is_refused(records: Records) -> None:
    book = parsed({"One": "Word"})
    with pytest.raises(BadBook) as refused:
        prepare_edition(book, await look(records, book), embedder=EMBEDDER, settings=SETTINGS)
    assert refused.value.code == "no_text"
    whole = prepare_edition(
        parsed(TEXTS), await look(records, parsed(TEXTS)), embedder=EMBEDDER, settings=SETTINGS
    )
    with pytest.raises(BadBook):
        build_edition(whole.book, (), words_hash="", embedder=EMBEDDER, settings=SETTINGS)
