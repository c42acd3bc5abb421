"""Write down with every stored chunk what the records know of it, and read whole editions back from that.

The records are the source of truth, and the store holds the only other copy of the text. A *note* is kept
with every point. It says where the chunk stands in its section and which text lies between it and its
neighbours. The first chunk of a section also carries the section, and the first chunk of a book the book.
Together the notes hold everything that the records know of an edition, so that lost records can be rebuilt
from the store alone. The note of the book has a digest of all chunks: an edition is read back whole or not at
all.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from octavo.concurrency import run_blocking
from octavo.errors import RecordsError
from octavo.ingest.chunking import make_embedded_text
from octavo.ingest.edition import Edition
from octavo.types import NO_METADATA, Book, BookFormat, BookMetadata, Chunk, PageMark, Section, Span

if TYPE_CHECKING:
    from octavo.protocols import StoredPoint
    from octavo.records.catalogue import Records

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode
Fields = dict[str, Any]
_CHUNK_FIELDS = ("chapter", "section", "chunk_index", "source_location", "start", "page_label")


@dataclass(frozen=True, slots=True)
class _Passage:
    """A point with its note."""

    point: StoredPoint
    note: Fields

    @property
    def position(self) -> int:
        return int(self.point.payload["document_position"])


def write_notes(edition: Edition) -> dict[str, str]:
    """Return the note of every chunk of an edition, by the chunk's id."""
    by_section: dict[str, list[Chunk]] = {section.id: [] for section in edition.sections}
    for chunk in sorted(edition.chunks, key=lambda chunk: chunk.start):
        by_section[chunk.section_id].append(chunk)
    notes: dict[str, Fields] = {}
    empty: list[Fields] = []
    last = ""
    for section in edition.sections:
        those = by_section[section.id]
        if not those:
            empty.append(_describe_section(section) | {"text": section.text})
            continue
        notes |= _describe_chunks(section, those, edition.vector_keys)
        notes[those[0].id] |= {"heading": _describe_section(section), "preceding": empty}
        last, empty = those[-1].id, []
    if notes:
        notes[last]["following"] = empty
        notes[next(iter(notes))]["book"] = _describe_book(edition)
    return {id: _encode(note) for id, note in notes.items()}


async def read_recorded_notes(records: Records, book_id: str) -> dict[str, str]:
    """Return the notes of the ready edition of a book; none if it cannot be read."""
    book = await records.find_book(book_id)
    if book is None:
        return {}
    try:
        edition = Edition(
            book=book,
            words_hash=await records.find_words_hash(book_id) or "",
            sections=tuple(await records.list_sections(book_id)),
            chunks=tuple(await records.list_chunks(book_id)),
            texts={},
            vector_keys={id: key for id, (_, key) in (await records.read_manifest(book_id)).items()},
        )
    except RecordsError:
        # A new edition replaces records that are damaged.
        return {}
    return await run_blocking(write_notes, edition)


def _describe_chunks(section: Section, those: Sequence[Chunk], keys: Mapping[str, str]) -> dict[str, Fields]:
    notes: dict[str, Fields] = {}
    end = 0
    for chunk in those:
        note: Fields = {name: getattr(chunk, name) for name in _CHUNK_FIELDS}
        note |= {"metadata": dict(chunk.metadata), "vector_key": keys[chunk.id]}
        notes[chunk.id] = note | {"before": section.text[end : chunk.start]}
        end = max(end, chunk.end)
    notes[those[-1].id]["after"] = section.text[end:]
    return notes


def _describe_section(section: Section) -> Fields:
    described: Fields = {f.name: getattr(section, f.name) for f in fields(section)}
    # The order of the sections gives their positions, so that a new section changes no other note.
    del described["text"], described["book_id"], described["position"]
    # How a text is drawn comes back when its book is added again.
    del described["markup"], described["lines"]
    described["pages"] = [[mark.offset, mark.number, mark.label] for mark in section.pages]
    described["blocks"] = [[span.start, span.end] for span in section.blocks]
    return described


def _describe_book(edition: Edition) -> Fields:
    book = asdict(edition.book)
    # Books without metadata have the note that an earlier version wrote.
    if edition.book.metadata == NO_METADATA:
        del book["metadata"]
    times = {name: book[name].isoformat() for name in ("added_at", "updated_at")}
    ids = digest_ids(chunk.id for chunk in edition.chunks)
    return book | times | {"format": str(edition.book.format), "words_hash": edition.words_hash, "ids": ids}


def digest_ids(ids: Iterable[str]) -> str:
    """Return a digest of chunk ids that does not depend on their order."""
    return blake2b("\n".join(sorted(ids)).encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class RecoveredEdition:
    """An edition as the store's notes describe it, with the vector of each of its chunks."""

    edition: Edition
    vectors: Mapping[str, tuple[float, ...]]


def read_notes(points: Sequence[StoredPoint]) -> RecoveredEdition | None:
    """Read the newest whole edition of a book from its points; None where there is none.

    Points of an unfinished edition, or of an older one, may lie between them. Damaged points do not count.
    """
    passages = [_Passage(p, json.loads(p.note)) for p in points if p.sound and p.note]
    heads = sorted((p for p in passages if "book" in p.note), key=lambda p: -_number(p))
    for head in heads:
        for these in (passages, [p for p in passages if _number(p) <= _number(head)]):
            only = [p for p in these if p is head or "book" not in p.note]
            if digest_ids(p.point.id for p in only) == head.note["book"]["ids"]:
                return _build_edition(sorted(only, key=lambda p: p.position), head.note["book"])
    return None


def _number(passage: _Passage) -> int:
    return int(passage.point.payload["edition"])


def _build_edition(passages: Sequence[_Passage], said: Fields) -> RecoveredEdition:
    book = _build_book(said)
    texts = _join_texts(passages)
    sections: list[Section] = []
    for passage in passages:
        note = passage.note
        if "heading" in note:
            sections += [_build_section(book, each, each["text"]) for each in note["preceding"]]
            sections.append(_build_section(book, note["heading"], texts[note["heading"]["id"]]))
        sections += [_build_section(book, each, each["text"]) for each in note.get("following", ())]
    numbered = tuple(replace(section, position=n) for n, section in enumerate(sections))
    by_id = {section.id: section for section in numbered}
    chunks = tuple(_build_chunk(book, passage, by_id) for passage in passages)
    edition = Edition(
        book=book,
        words_hash=said["words_hash"],
        sections=numbered,
        chunks=chunks,
        texts={chunk.id: make_embedded_text(chunk) for chunk in chunks},
        vector_keys={p.point.id: p.note["vector_key"] for p in passages},
    )
    return RecoveredEdition(edition, {p.note["vector_key"]: p.point.vector for p in passages})


def _build_book(said: Fields) -> Book:
    times = {name: datetime.fromisoformat(said[name]) for name in ("added_at", "updated_at")}
    fields = {name: value for name, value in said.items() if name not in ("words_hash", "ids")}
    fields["metadata"] = BookMetadata.from_json(said.get("metadata", {}))
    return Book(**fields | times | {"format": BookFormat(said["format"]), "authors": tuple(said["authors"])})


def _join_texts(passages: Sequence[_Passage]) -> dict[str, str]:
    """Join the text of each section from its chunks, which may overlap, and what lies between them."""
    texts: dict[str, str] = {}
    for passage in sorted(passages, key=lambda passage: passage.note["start"]):
        section_id, note = passage.point.payload["sections"][-1], passage.note
        text = texts.get(section_id, "") + note["before"]
        text += passage.point.payload["text"][len(text) - note["start"] :]
        texts[section_id] = text + note.get("after", "")
    return texts


def _build_section(book: Book, said: Fields, text: str) -> Section:
    fields = said | {
        "book_id": book.id,
        "position": 0,
        "text": text,
        "pages": tuple(PageMark(*mark) for mark in said["pages"]),
        "blocks": tuple(Span(*span) for span in said["blocks"]),
        "heading_path": tuple(said["heading_path"]),
        "ancestors": tuple(said["ancestors"]),
    }
    return Section(**fields)


def _build_chunk(book: Book, passage: _Passage, sections: Mapping[str, Section]) -> Chunk:
    payload, note = passage.point.payload, passage.note
    section = sections[payload["sections"][-1]]
    fields: Fields = {name: note[name] for name in _CHUNK_FIELDS}
    return Chunk(
        **fields,
        id=passage.point.id,
        chunk_id=payload["chunk_id"],
        content=payload["text"],
        book_id=book.id,
        section_id=section.id,
        document_position=payload["document_position"],
        url=payload["url"],
        source_file=section.source_file,
        source_title=payload["source_title"],
        end=note["start"] + len(payload["text"]),
        created_at=book.updated_at,
        heading_path=section.heading_path,
        ancestors=section.ancestors,
        page_number=payload.get("page_number"),
        page_end=payload.get("page_end"),
        metadata=note["metadata"],
    )
