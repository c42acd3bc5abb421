"""The counts of words follow what readers see, and a library of an earlier version gets them."""

from __future__ import annotations

from collections import Counter

import pytest

from octavo.errors import RecordsError
from octavo.records.catalogue import Records
from octavo.records.words import ANY_WORD, count_words, pack_counts, unpack_counts
from tests.records.test_catalogue import FIRST, SECOND, add
from tests.support.builders import make_book
from tests.support.places import RecordsPlace


def test_counts_are_packed_and_no_changed_byte_gives_other_counts() -> None:
    counts = Counter({ANY_WORD: 3, 7: 2, 2**32 - 1: 1})
    packed = pack_counts(counts)
    assert unpack_counts(packed) == counts
    noticed = 0
    for place in range(len(packed)):
        try:
            # A bit that only fills up a byte says nothing.
            assert unpack_counts(packed[:place] + bytes([packed[place] ^ 1]) + packed[place + 1 :]) == counts
        except RecordsError:
            noticed += 1
    assert noticed >= len(packed) - 1


async def test_the_words_of_an_older_library_are_counted_once(records: Records, place: RecordsPlace) -> None:
    chunks = await add(records, FIRST, SECOND) + await add(records, SECOND, book=make_book("emma"))
    expected = +count_words(chunks)
    for table in ("words", "edition_words"):
        place.rows(f"DELETE FROM {table}")
    assert await records.count_uncounted_books() == 2
    assert await records.count_missing_words() == 2
    assert await records.count_missing_words() == 0
    assert await records.count_passages_with(expected) == expected
    assert expected[ANY_WORD] == 3


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE words SET passages = passages + 1",
        "UPDATE edition_words SET counts = substr(counts, 2)",
        "DELETE FROM words",
    ],
)
async def test_wrong_counts_are_noticed_and_made_again(
    records: Records, place: RecordsPlace, damage: str
) -> None:
    expected = +count_words(await add(records, FIRST, SECOND))
    place.rows(damage)
    assert await records.count_wrong_words()
    await records.recount_words()
    assert await records.count_wrong_words() == 0
    assert await records.count_passages_with(expected) == expected


async def test_the_words_of_one_book_are_counted_in_that_book_alone(records: Records) -> None:
    own = +count_words(await add(records, FIRST, SECOND))
    other = +count_words(await add(records, SECOND, book=make_book("emma")))
    book = FIRST.book_id if hasattr(FIRST, "book_id") else make_book().id
    assert await records.count_passages_of(book) == own
    assert await records.count_passages_of("emma") == other
    assert await records.count_passages_of("persuasion") == {}
