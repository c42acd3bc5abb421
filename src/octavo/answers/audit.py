"""Writes the receipt of an answer, and checks stored answers again.

A receipt says how an answer came about: enough to check it, and to get it again. To check an answer, each
quotation is compared, letter for letter, with what the book says. A citation points into the canonical text
of a section; the text is looked up in the records, in the edition that readers see or in an older one. An
answer is read as it is stored, damaged or not; its checksum shows whether it was changed since.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from octavo.records.answer_rows import StoredAnswer, Values, checksum_answer
from octavo.records.lost_answers import list_lost_answers
from octavo.records.rows import hash_text
from octavo.search.scope import bound_by_text
from octavo.types import CHUNK_LEAST, CHUNK_MOST, Answer, Book
from octavo.verification.claims import GlossedClaim

if TYPE_CHECKING:
    from octavo.answers.citations import CheckedReply
    from octavo.records.catalogue import Records
    from octavo.records.conversations import Conversations

GONE = "the book is no longer in the library"
GONE_EDITION = "the edition it was quoted from is no longer in the library"


def write_receipt(
    answer: Answer,
    *,
    reply: CheckedReply,
    interpreted: str,
    scope: str,
    books: Sequence[Book],
    threshold: float,
    calibration: int,
    stages: Mapping[str, float],
) -> dict[str, object]:
    """Write down how an answer came about. `calibration` is the version of the fitted weights."""
    used = {item.chunk.book_id for item in reply.evidence}
    claimed = reply.list_claimed() if answer.refusal is None else ()
    return {
        "index": {b.id: [b.index_fingerprint, b.content_hash] for b in books if b.id in used},
        "answerer": reply.answerer,
        "calibration": calibration,
        "local": list(reply.local),
        "interpreted": interpreted,
        "scope": scope,
        "evidence": [[e.chunk.id, round(e.relevance_score, 6)] for e in reply.evidence],
        "claims": [[claim.text, list(claim.sentences)] for claim in reply.claims],
        "told": [[c.text, c.citations, c.marks] for c in claimed],
        "translated": [[c.text, c.gloss] for c in reply.claims if isinstance(c, GlossedClaim)],
        "dropped": [list(pair) for pair in reply.dropped],
        "answerable": round(reply.answerable, 6),
        "confidence": round(reply.confidence, 6),
        "threshold": threshold,
        "milliseconds": answer.processing_time_ms,
        "stages": dict(stages),
        **({"model": dict(reply.notes)} if reply.notes else {}),
    }


@dataclass(frozen=True, slots=True)
class Verdict:
    """One citation, and whether its quotation is in the book. `note` says in which edition, or why not.

    Number 0 is the answer as a whole. It is listed only if the stored answer was changed or is gone.
    """

    answer_id: str
    number: int
    true: bool
    note: str
    snippet: str
    source_location: str
    checked: bool = True
    """False if there is nothing left to check against, because the book or its edition was removed."""


async def verify(
    conversations: Conversations, records: Records, answer_id: str | None = None
) -> list[Verdict]:
    """Check every citation of one answer, or of all answers."""
    if answer_id is None:
        return [verdict async for some in verify_all(conversations, records) for verdict in some]
    return await _check_answers(await conversations.list_stored_answers(answer_id), records)


async def verify_all(conversations: Conversations, records: Records) -> AsyncIterator[list[Verdict]]:
    """Check every citation of all answers, and yield the verdicts batch by batch.

    The last batch names the questions whose answers are gone, and the sessions whose questions are.
    """
    async for some in conversations.read_stored_answers():
        yield await _check_answers(some, records)
    lost = await list_lost_answers(records.database)
    yield [Verdict(id_, 0, False, note, "", "") for id_, note in lost]


async def _check_answers(answers: Sequence[StoredAnswer], records: Records) -> list[Verdict]:
    # The texts of a large library do not fit into memory: each batch looks up its own.
    texts = _SectionTexts(records)
    found: list[Verdict] = []
    for stored in answers:
        if stored.receipt.get("seal") != checksum_answer(stored):
            found.append(Verdict(stored.id, 0, False, "the stored answer was changed afterwards", "", ""))
        found += [await _check_citation(stored, citation, texts) for citation in stored.citations]
        if stored.short is not None:
            found.append(await _check_short(stored, stored.short, texts))
    return found


async def _check_citation(stored: StoredAnswer, citation: Values, texts: _SectionTexts) -> Verdict:
    chunk = stored.chunks.get(citation["retrieved_content_id"])
    number, snippet = citation["number"], citation["content_snippet"]
    if chunk is None:
        return Verdict(stored.id, number, False, "the passage it was quoted from is not stored", snippet, "")
    true, note = await _compare(citation, chunk, texts)
    if not true and await _lost_edition(stored, chunk["book_id"], texts):
        note = GONE_EDITION
    checked = note not in (GONE, GONE_EDITION)
    return Verdict(stored.id, number, true, note, snippet, chunk["source_location"], checked=checked)


async def _lost_edition(stored: StoredAnswer, book_id: str, texts: _SectionTexts) -> bool:
    """Whether the records have the book, but not the edition that the answer's receipt names.

    A book that was removed and added again has a new history. What it says now proves nothing about an answer
    from the time before. An answer whose receipt names no edition is compared with what is there.
    """
    index = stored.receipt.get("index")
    named = index.get(book_id) if isinstance(index, dict) else None
    if not isinstance(named, list) or len(named) != 2:
        return False
    present = await texts.load_editions(book_id)
    return bool(present) and named[1] not in present


async def _check_short(stored: StoredAnswer, short: Values, texts: _SectionTexts) -> Verdict:
    """Check the short answer: its words open the answer, and stand in its citation and in the book."""
    number, text = short["citation"], short["text"]
    cited = next((c for c in stored.citations if c["number"] == number), None)
    inside = cited is not None and cited["start"] <= short["start"] <= short["end"] <= cited["end"]
    if cited is None or not inside or not stored.content.startswith(text):
        note = "the short answer is not what the answer cites"
        return Verdict(stored.id, number, False, note, text, "")
    here = {**cited, "start": short["start"], "end": short["end"], "content_snippet": text}
    verdict = await _check_citation(stored, here, texts)
    return replace(verdict, note=f"short answer: {verdict.note}")


async def _compare(citation: Values, chunk: Values, sections: _SectionTexts) -> tuple[bool, str]:
    start, end, snippet = citation["start"], citation["end"], citation["content_snippet"]
    if _is_selection(chunk):
        same = chunk["content"][start:end] == snippet
        return same, "quoted from the reader's own selection" if same else "the selection does not say this"
    present, texts = await sections.load(chunk["book_id"], chunk["section_id"])
    if not texts:
        return False, GONE
    editions = [text for text in texts if text[start:end] == snippet]
    if not editions:
        return False, "the text of the section does not say this at that place"
    shown = any(hash_text(text) == present for text in editions)
    return True, "in the present edition" if shown else "in an earlier edition"


def _is_selection(chunk: Values) -> bool:
    """Whether a chunk is a reader's own text and no passage of a book. Its id is made from its text."""
    if chunk["book_id"] != "selection" or not CHUNK_LEAST <= len(chunk["content"]) <= CHUNK_MOST:
        return False
    own = bound_by_text(chunk["content"], now=datetime.now(UTC)).passage
    return own is not None and own.id == chunk["id"]


@dataclass(frozen=True, slots=True)
class _SectionTexts:
    """Looks up the texts of sections in all editions, each of them once."""

    records: Records
    hashes: dict[str, dict[str, str]] = field(default_factory=dict)
    texts: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    editions: dict[str, frozenset[str]] = field(default_factory=dict)

    async def load_editions(self, book_id: str) -> frozenset[str]:
        """Return the content hashes of all editions of a book that the records have."""
        if book_id not in self.editions:
            self.editions[book_id] = await self.records.list_content_hashes(book_id)
        return self.editions[book_id]

    async def load(self, book_id: str, section_id: str) -> tuple[str | None, list[str]]:
        """Return the hash of the text that readers see, and the texts of all editions."""
        if book_id not in self.hashes:
            self.hashes[book_id] = await self.records.list_section_hashes(book_id)
        place = (book_id, section_id)
        if place not in self.texts:
            self.texts[place] = await self.records.list_section_texts(book_id, section_id)
        return self.hashes[book_id].get(section_id), self.texts[place]
