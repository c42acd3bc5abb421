"""The JSON shapes of the service's own things: jobs, books on the shelf, sections for the reading pane."""

from __future__ import annotations

from dataclasses import asdict

from octavo.jobs import Job
from octavo.types import Book, Section
from octavo.wire import Json, book_json, section_json


def job_json(job: Job) -> Json:
    return {
        "job_id": job.id,
        "state": str(job.state),
        "name": job.name,
        "progress": asdict(job.progress),
        "book_id": job.book_id,
        "error": dict(job.error) if job.error else None,
        "created_at": job.created_at.isoformat(),
    }


def shelved_json(book: Book, *, cover: bool) -> Json:
    """A book, and whether there is a picture to show for it."""
    return {**book_json(book), "cover": cover}


def reading_json(section: Section) -> Json:
    """A section with its text, and where in it pages begin and blocks of code or tables stand."""
    return {
        **section_json(section),
        "text": section.text,
        "blocks": [{"start": span.start, "end": span.end} for span in section.blocks],
        "pages": [asdict(mark) for mark in section.pages],
    }
