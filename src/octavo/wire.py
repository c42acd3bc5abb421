"""The JSON shapes that leave Octavo: the same for the command line's `--json` and for HTTP."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from octavo.errors import OctavoError
from octavo.events import Compared
from octavo.types import Book, Evidence, Section

Json = dict[str, Any]


def book_json(book: Book) -> Json:
    return {
        **asdict(book),
        "authors": list(book.authors),
        "format": str(book.format),
        "added_at": book.added_at.isoformat(),
        "updated_at": book.updated_at.isoformat(),
    }


def section_json(section: Section) -> Json:
    """A node of the contents, without its text."""
    return {
        "id": section.id,
        "title": section.title,
        "heading_path": list(section.heading_path),
        "level": section.level,
        "position": section.position,
        "url": section.url,
        "anchor": section.anchor,
        "page_start": section.page_start,
        "page_end": section.page_end,
        "source_file": section.source_file,
        "characters": len(section.text),
    }


def evidence_json(evidence: Evidence) -> Json:
    chunk = evidence.chunk
    return {
        "id": chunk.id,
        "chunk_id": chunk.chunk_id,
        "book_id": chunk.book_id,
        "content": chunk.content,
        "relevance_score": round(evidence.relevance_score, 4),
        "source_file": chunk.source_file,
        "source_location": chunk.source_location,
        "source_title": chunk.source_title,
        "chapter": chunk.chapter,
        "section": chunk.section,
        "section_id": chunk.section_id,
        "page_number": chunk.page_number,
        "page_label": chunk.page_label,
        "url": chunk.url,
        "start": chunk.start,
        "end": chunk.end,
    }


def change_json(change: Compared) -> Json:
    """What an edition changes; "changed" and the like count sections, the last two passages."""
    names = ("added", "changed", "removed", "kept", "chunks_new", "chunks_gone")
    return {name: getattr(change, name) for name in names}


def error_json(error: OctavoError) -> Json:
    return {"error": {"code": error.code, "message": error.message, "hint": error.hint}}
