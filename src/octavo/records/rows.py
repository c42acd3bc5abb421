"""Builds rows from books, sections, chunks and vectors, and parses them back: what goes in comes out equal.

A chunk's content is not stored twice: it is cut from its section's text, and checked against its hash every
time, so that a damaged record is an error and never a wrong quotation.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from octavo import validation
from octavo.errors import InvalidValue
from octavo.types import Book, BookFormat, BookMetadata, Chunk, PageMark, Section, Span

Row = Any
"""A row of the database, with its columns by name."""
Values = dict[str, object]

_BOOK_COLUMNS: tuple[str, ...] = (
    *("title", "language", "format", "source_file", "base_url", "content_hash", "index_fingerprint"),
    *("section_count", "chunk_count", "page_count", "added_at", "updated_at"),
)
_SECTION_COLUMNS = ("id", "book_id", "title", "level", "position", "url", "anchor", "source_file")
_CHUNK_COLUMNS: tuple[str, ...] = (
    *("id", "chunk_id", "book_id", "section_id", "start", "end", "document_position", "chunk_index"),
    *("page_number", "page_end", "page_label", "chapter", "section", "url", "source_title"),
    *("source_location", "created_at"),
)

# Columns that are read with a chunk and are no fields of it.
_BESIDE_CHUNK = ("content_hash", "vector")


def hash_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def build_book(book: Book, *, words_hash: str) -> Values:
    """Builds the catalogue entry without the id, which editions and books name differently."""
    values: Values = {name: getattr(book, name) for name in _BOOK_COLUMNS}
    return values | {
        "format": str(book.format),
        "authors": list(book.authors),
        "words_hash": words_hash,
        "metadata": {k: v for k, v in asdict(book.metadata).items() if v} or None,
    }


def parse_book(row: Row) -> Book:
    return Book(
        id=row.id,
        title=row.title,
        format=BookFormat(row.format),
        source_file=row.source_file,
        content_hash=row.content_hash,
        index_fingerprint=row.index_fingerprint,
        added_at=row.added_at,
        updated_at=row.updated_at,
        authors=tuple(row.authors),
        language=row.language,
        base_url=row.base_url,
        section_count=row.section_count,
        chunk_count=row.chunk_count,
        page_count=row.page_count,
        metadata=BookMetadata.from_json(row.metadata or {}),
    )


def build_section(section: Section, *, edition: int) -> Values:
    values: Values = {name: getattr(section, name) for name in _SECTION_COLUMNS}
    return values | {
        "edition": edition,
        "text_hash": hash_text(section.text),
        "heading_path": list(section.heading_path),
        "ancestors": list(section.ancestors),
        "pages": [[mark.offset, mark.number, mark.label] for mark in section.pages],
        "blocks": [[span.start, span.end] for span in section.blocks],
    }


def parse_section(row: Row) -> Section:
    """Parses a section with its text, and checks the text against its hash."""
    if hash_text(row.text) != row.text_hash:
        raise ValueError(f"the text of section {row.id!r} of {row.book_id!r} is not what was stored")
    pages = tuple(PageMark(offset, number, label) for offset, number, label in row.pages)
    blocks = tuple(Span(start, end) for start, end in row.blocks)
    return _parse_section(row, text=row.text, pages=pages, blocks=blocks)


def parse_heading(row: Row) -> Section:
    """Parses a section without text or blocks. Its pages are all marked at its beginning."""
    pages = tuple(PageMark(0, number, label) for _, number, label in row.pages)
    return _parse_section(row, text="", pages=pages, blocks=())


def _parse_section(row: Row, *, text: str, pages: tuple[PageMark, ...], blocks: tuple[Span, ...]) -> Section:
    return Section(
        id=row.id,
        book_id=row.book_id,
        title=row.title,
        heading_path=tuple(row.heading_path),
        level=row.level,
        position=row.position,
        url=row.url,
        text=text,
        source_file=row.source_file,
        anchor=row.anchor,
        pages=pages,
        blocks=blocks,
        ancestors=tuple(row.ancestors),
    )


def build_chunk(chunk: Chunk, *, edition: int, vector_key: str, digest: str | None) -> Values:
    values: Values = {name: getattr(chunk, name) for name in _CHUNK_COLUMNS}
    return values | {
        "edition": edition,
        "content_hash": hash_text(chunk.content),
        "vector_key": vector_key,
        "digest": digest,
        "metadata": dict(chunk.metadata),
    }


def parse_chunk(row: Row, *, embedding: tuple[float, ...] | None = None) -> Chunk:
    """Parses a chunk with the content that was cut from its section's text."""
    if hash_text(row.content) != row.content_hash:
        raise ValueError(f"the text of chunk {row.id} of {row.book_id!r} is not what was stored")
    # Reading a column by its name takes longer than all else here.
    values = dict(zip(row._fields, row, strict=True))
    for name in _BESIDE_CHUNK:
        values.pop(name, None)
    values["heading_path"], values["ancestors"] = tuple(values["heading_path"]), tuple(values["ancestors"])
    return Chunk(**values, embedding=embedding)


def check_edition(
    book: Book, sections: Sequence[Section], chunks: Sequence[Chunk], vector_keys: Mapping[str, str]
) -> None:
    """Raises `InvalidValue` unless the parts belong together and can be parsed back."""
    by_id = {section.id: section for section in sections}
    for section in sections:
        if section.book_id != book.id:
            raise InvalidValue("Section.book_id", f"must be that of the book ({book.id})", section.book_id)
    for chunk in chunks:
        section_of_chunk = by_id.get(chunk.section_id)
        if section_of_chunk is None or chunk.book_id != book.id:
            raise InvalidValue("Chunk.section_id", "must be a section of the book", chunk.section_id)
        if section_of_chunk.text[chunk.start : chunk.end] != chunk.content:
            raise InvalidValue("Chunk.content", "must be the section's text from start to end", chunk.content)
        for name in ("heading_path", "ancestors", "source_file"):
            if getattr(chunk, name) != getattr(section_of_chunk, name):
                raise InvalidValue(f"Chunk.{name}", "must be that of its section", getattr(chunk, name))
        if chunk.id not in vector_keys:
            raise InvalidValue("vector_keys", "must have a key for every chunk", chunk.id)
    if len(by_id) != len(sections) or len({chunk.id for chunk in chunks}) != len(chunks):
        raise InvalidValue("edition", "must have no two sections and no two chunks of one id", book.id)


def encode_vector(vector: Sequence[float]) -> bytes:
    """Encodes a vector as 32-bit floats, lowest byte first on every machine."""
    validation.check_unit_vector("vector", vector)
    return struct.pack(f"<{len(vector)}f", *vector)


def parse_vector(stored: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(stored) // 4}f", stored)
