"""Readers' notes, and where they stopped reading.

Everything here belongs to the caller's key; on a service without keys, to the one reader of the machine. A
public key is shared by strangers and has neither notes nor places: the page keeps a place in the browser.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import Response
from pydantic import Field

from octavo.answers.export_blocks import find_sections
from octavo.answers.notes_export import make_link, write_notes_csv, write_notes_markdown
from octavo.errors import AccessDenied
from octavo.library import Library
from octavo.records.notes import MOST_CHARACTERS, Note, NoteKind, Notes
from octavo.schemas import NoteJson, NotesExport, NotesJson, ReadingPlaceJson, ReadingPlacesJson
from octavo.server.auth import AskCaller, Caller, CurrentLibrary
from octavo.server.schemas import Body, BookName, Name, describe, describe_errors, respond
from octavo.types import Book

router = APIRouter(tags=["notes"])
COMMENT_MOST = 5_000
NoteId = Annotated[str, Path(max_length=64, pattern=r"^[\w-]+$", description="The note's id.")]
Comment = Annotated[str, Field(max_length=COMMENT_MOST, pattern=r"^[^\x00]*$")]
About = Annotated[
    str | None,
    Query(max_length=500, pattern=r"^[^\x00-\x1f]+$", description="Only those in this book."),
]
_FORMATS = {kind: {"schema": {"type": "string"}} for kind in ("text/markdown", "text/csv")}
_MEDIA_TYPES = {"md": "text/markdown", "csv": "text/csv"}


class PlaceBody(Body):
    """Where the reader is."""

    section_id: Annotated[str, Field(min_length=1, max_length=500, pattern=r"^[^\x00]+$")]
    offset: int = Field(0, ge=0, le=2**31 - 1, strict=True)
    share: float = Field(0.0, ge=0, le=1)


class NoteBody(Body):
    """A new note on a passage."""

    kind: NoteKind = "highlight"
    section_id: Annotated[str, Field(min_length=1, max_length=500, pattern=r"^[^\x00]+$")]
    start: int = Field(ge=0, le=2**31 - 1, strict=True)
    end: int = Field(ge=1, le=2**31 - 1, strict=True, description=f"At most {MOST_CHARACTERS} after `start`.")
    comment: Comment = ""


class NoteChangeBody(Body):
    """What can be changed of a note."""

    kind: NoteKind | None = None
    comment: Comment | None = None


async def find_reader(caller: AskCaller) -> Caller:
    """Return the caller if notes can be theirs alone."""
    if caller.public:
        raise AccessDenied("a public key has no notes and no reading places", code="forbidden")
    return caller


Reader = Annotated[Caller, Depends(find_reader)]


@router.get(
    "/v1/places",
    response_model=ReadingPlacesJson,
    responses=describe("Where the caller stopped reading, the last book first."),
)
async def places(library: CurrentLibrary, caller: Reader) -> Response:
    found = await Notes(library.database).list_places(owner=caller.owner)
    readable = [place for place in found if caller.books is None or place.book_id in caller.books]
    return respond(ReadingPlacesJson.from_places(readable))


@router.put(
    "/v1/books/{book_id}/place", response_model=ReadingPlaceJson, responses=describe("The place.", 404)
)
async def save_place(book_id: BookName, body: PlaceBody, library: CurrentLibrary, caller: Reader) -> Response:
    """One place for each book: it takes the place of the one before."""
    book = await library.book(book_id, among=caller.books)
    section = await library.section(book.id, body.section_id)
    place = await Notes(library.database).save_place(
        section, owner=caller.owner, offset=body.offset, share=body.share
    )
    return respond(ReadingPlaceJson.from_value(place))


@router.get(
    "/v1/books/{book_id}/notes",
    response_model=NotesJson,
    responses=describe("The caller's notes in the book, in the order of the text.", 404),
)
async def list_notes(book_id: BookName, library: CurrentLibrary, caller: Reader) -> Response:
    book = await library.book(book_id, among=caller.books)
    found = await Notes(library.database).list_notes(book.id, owner=caller.owner)
    return respond(NotesJson.from_notes(found))


@router.post(
    "/v1/books/{book_id}/notes",
    status_code=201,
    response_model=NoteJson,
    responses=describe("The new note.", 404, status=201),
)
async def add(book_id: BookName, body: NoteBody, library: CurrentLibrary, caller: Reader) -> Response:
    """The words are copied from the book, so that they can be found again in another edition."""
    book = await library.book(book_id, among=caller.books)
    section = await library.section(book.id, body.section_id)
    note = await Notes(library.database).add(
        section,
        owner=caller.owner,
        kind=body.kind,
        start=body.start,
        end=body.end,
        comment=body.comment.strip(),
    )
    return respond(NoteJson.from_value(note), status=201)


@router.patch("/v1/notes/{note_id}", response_model=NoteJson, responses=describe("The note now.", 404))
async def change(note_id: NoteId, body: NoteChangeBody, library: CurrentLibrary, caller: Reader) -> Response:
    notes = await _open_notes(note_id, library, caller)
    comment = None if body.comment is None else body.comment.strip()
    changed = await notes.change(note_id, owner=caller.owner, kind=body.kind, comment=comment)
    return respond(NoteJson.from_value(changed))


@router.delete("/v1/notes/{note_id}", status_code=204, responses=describe("Deleted.", 404, status=204))
async def delete(note_id: NoteId, library: CurrentLibrary, caller: Reader) -> Response:
    notes = await _open_notes(note_id, library, caller)
    await notes.delete(note_id, owner=caller.owner)
    return Response(status_code=204)


@router.get(
    "/v1/export/notes",
    response_model=NotesExport,
    responses={
        200: {"description": "The caller's notes, each with a link to its words.", "content": _FORMATS},
        **describe_errors(404),
    },
)
async def export(
    request: Request,
    library: CurrentLibrary,
    caller: Reader,
    format: Literal["md", "csv", "json"] = "md",
    book_id: About = None,
) -> Response:
    """Markdown for Obsidian, CSV for Anki and Readwise, or JSON."""
    books = await _collect_notes(library, caller, book_id)
    base = str(request.base_url)
    name = {"content-disposition": f'attachment; filename="notes.{format}"'}
    if format == "json":
        links = [make_link(note, base) for _, notes in books for note in notes]
        return respond(NotesExport.from_books(books, links), headers=name)
    if format == "csv":
        written = write_notes_csv(books, base=base)
    else:
        places = [(note.book_id, note.section_id) for _, notes in books for note in notes]
        sections = await find_sections(places, library.section)
        written = write_notes_markdown(books, base=base, sections=sections)
    kind = f"{_MEDIA_TYPES[format]}; charset=utf-8"
    return Response(written, media_type=kind, headers=name)


async def _open_notes(note_id: str, library: Library, caller: Caller) -> Notes:
    """Open the notes if the caller may still read the book of this one."""
    notes = Notes(library.database)
    found = await notes.find(note_id, owner=caller.owner)
    await library.book(found.book_id, among=caller.books)
    return notes


async def _collect_notes(
    library: Library, caller: Caller, wanted: Name | None
) -> list[tuple[Book, Sequence[Note]]]:
    notes = Notes(library.database)
    if wanted is not None:
        books = [await library.book(wanted, among=caller.books)]
    else:
        noted = set(await notes.list_noted_books(owner=caller.owner))
        books = [book for book in await library.books() if book.id in noted and caller.can_read(book)]
    return [(book, await notes.list_notes(book.id, owner=caller.owner)) for book in books]
