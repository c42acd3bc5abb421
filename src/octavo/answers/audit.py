"""Checks stored answers again: is every quotation still, letter for letter, what the book said?

Each citation points into the canonical text of a section. The text is looked up in the records, in the
edition that readers see or in an older one, and compared from `start` to `end` with what the answer quoted.
An answer is read as it is stored, damaged or not; its checksum shows whether it was changed since.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from octavo.records.conversations import Conversations, StoredAnswer, Values, checksum_answer
from octavo.records.rows import hash_text
from octavo.search.scope import bound_by_text
from octavo.types import CHUNK_LEAST, CHUNK_MOST

if TYPE_CHECKING:
    from octavo.records.catalogue import Records

GONE = "the book is no longer in the library"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One citation, and whether its quotation is in the book. `note` says in which edition, or why not.

    Number 0 is the answer as a whole: it is there only when the stored answer is not the one that was given.
    """

    answer_id: str
    number: int
    true: bool
    note: str
    snippet: str
    source_location: str
    checked: bool = True
    """False when there is nothing left to check against: the book has been removed."""


async def verify(
    conversations: Conversations, records: Records, answer_id: str | None = None
) -> list[Verdict]:
    """A verdict for every citation of one answer, or of all."""
    shelf = _Texts(records)
    found: list[Verdict] = []
    for kept in await conversations.list_stored_answers(answer_id):
        if kept.receipt.get("seal") != checksum_answer(kept):
            found.append(Verdict(kept.id, 0, False, "the stored answer was changed afterwards", "", ""))
        found += [await _verdict(kept, citation, shelf) for citation in kept.citations]
    return found


async def _verdict(kept: StoredAnswer, citation: Values, shelf: _Texts) -> Verdict:
    chunk = kept.chunks.get(citation["retrieved_content_id"])
    number, snippet = citation["number"], citation["content_snippet"]
    if chunk is None:
        return Verdict(kept.id, number, False, "the passage it was quoted from is not stored", snippet, "")
    true, note = await _compared(citation, chunk, shelf)
    return Verdict(kept.id, number, true, note, snippet, chunk["source_location"], checked=note != GONE)


async def _compared(citation: Values, chunk: Values, shelf: _Texts) -> tuple[bool, str]:
    start, end, snippet = citation["start"], citation["end"], citation["content_snippet"]
    if _is_selection(chunk):
        same = chunk["content"][start:end] == snippet
        return same, "quoted from the reader's own selection" if same else "the selection does not say this"
    present, texts = await shelf.of(chunk["book_id"], chunk["section_id"])
    if not texts:
        return False, GONE
    editions = [text for text in texts if text[start:end] == snippet]
    if not editions:
        return False, "the text of the section does not say this at that place"
    shown = any(hash_text(text) == present for text in editions)
    return True, "in the present edition" if shown else "in an earlier edition"


def _is_selection(chunk: Values) -> bool:
    """Whether this is a reader's own text, which its id is made from, rather than a passage of a book."""
    if chunk["book_id"] != "selection" or not CHUNK_LEAST <= len(chunk["content"]) <= CHUNK_MOST:
        return False
    own = bound_by_text(chunk["content"], now=datetime.now(UTC)).passage
    return own is not None and own.id == chunk["id"]


@dataclass(frozen=True, slots=True)
class _Texts:
    """The texts of sections in all editions, each looked up once."""

    records: Records
    hashes: dict[str, dict[str, str]] = field(default_factory=dict)
    texts: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    async def of(self, book_id: str, section_id: str) -> tuple[str | None, list[str]]:
        """The hash of the text that readers see, and the texts of all editions."""
        if book_id not in self.hashes:
            self.hashes[book_id] = await self.records.list_section_hashes(book_id)
        place = (book_id, section_id)
        if place not in self.texts:
            self.texts[place] = await self.records.list_section_texts(book_id, section_id)
        return self.hashes[book_id].get(section_id), self.texts[place]
