"""The books: list, read, add and remove them.

A restricted key sees its own books and no others. A book is added as a file; an address is never fetched. The
file is queued when it is complete on the disk, and the response names the job to watch.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from octavo.errors import AccessDenied, BadBook, NotFound
from octavo.ingest.worker import UPLOADS
from octavo.library import Library
from octavo.limits import MB
from octavo.readers.pictures import find_image_type
from octavo.records import covers
from octavo.records.options import BookOptions
from octavo.schemas import (
    BookPageJson,
    BookWithCoverJson,
    ContentsJson,
    JobJson,
    QueuedBookJson,
    SectionTextJson,
)
from octavo.server.auth import AccessControl, AskCaller, Caller, CurrentAccess, CurrentLibrary, IngestCaller
from octavo.server.errors import get_request_id, make_problem
from octavo.server.ingest_queue import CurrentIngestQueue, IngestQueue
from octavo.server.schemas import (
    BookName,
    IdempotencyKey,
    ImageName,
    PageParameters,
    SectionId,
    describe,
    describe_image,
    respond,
)
from octavo.server.space import Reservation
from octavo.server.uploads import FIELDS, FILE, Upload, receive_upload

router = APIRouter(tags=["books"])
# A book needs this many times the size of its file: for its text, its vectors and its index.
SPACE_FACTOR = 3
_TEXT = {"type": "string"}
_FORM: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": [FILE],
                    "additionalProperties": False,
                    "properties": {
                        FILE: {"type": "string", "format": "binary"},
                        **dict.fromkeys(FIELDS, _TEXT),
                    },
                }
            }
        },
    }
}


@router.get("/v1/books", response_model=BookPageJson, responses=describe("The books, sorted by id."))
async def books(library: CurrentLibrary, caller: AskCaller, page: PageParameters) -> Response:
    readable = [book for book in await library.books() if caller.can_read(book)]
    shown, following = page.select(readable, lambda book: book.id)
    covered = await covers.find_covered_books(library.database, [book.id for book in shown])
    listed = [BookWithCoverJson.from_value(book, cover=book.id in covered) for book in shown]
    return respond(BookPageJson(books=listed, next=following))


@router.post(
    "/v1/books",
    status_code=202,
    response_model=QueuedBookJson,
    responses=describe("Queued to be added.", 400, 409, 413, 415, 507, status=202),
    openapi_extra=_FORM,
)
async def upload(
    request: Request,
    library: CurrentLibrary,
    ingest: CurrentIngestQueue,
    access: CurrentAccess,
    caller: IngestCaller,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """A book as a file: Markdown, HTML, EPUB, PDF or text. Its job says what becomes of it.

    Optional fields: `title`, `base_url` (where the book is published), `book_id` (whose new edition it is).
    """
    content_type = request.headers.get("content-type", "")
    if content_type.partition(";")[0].strip().lower() == "application/json":
        return _refuse_address(request)
    await ingest.jobs.require_room()
    said = request.headers.get("content-length", "")
    expected = int(said[:12]) if said.isdecimal() else 0
    with access.hold_upload(caller), access.space.reserve(expected * SPACE_FACTOR) as reserved:
        return await _receive(request, library, ingest, access, caller, idempotency_key, reserved)


async def _receive(
    request: Request,
    library: Library,
    ingest: IngestQueue,
    access: AccessControl,
    caller: Caller,
    idempotency_key: str | None,
    reserved: Reservation,
) -> Response:
    """Write the upload to the disk and put it into the queue."""
    settings = library.settings
    async with receive_upload(
        request.stream(),
        content_type=request.headers.get("content-type", ""),
        uploads=settings.data / UPLOADS,
        most_bytes=settings.limits.max_file_mb * MB,
        reserved=reserved,
        kb_per_second=settings.service.upload_kb_per_second,
    ) as sent:
        options = _check_options(sent, caller)
        digest = b"/v1/books " + sent.digest
        async with access.idempotency.claim(idempotency_key, owner=caller.owner, request=digest) as once:
            if once.previous is None:
                job = await ingest.jobs.put(
                    sent.name, source=sent.source, owner=caller.owner, options=options, id=sent.id
                )
                once.response = QueuedBookJson(job=JobJson.from_job(job)).to_json()
                ingest.worker.wake()
        if once.previous is not None:
            ingest.worker.discard(sent.id)
    answer = once.response or once.previous or {}
    where = {"location": f"/v1/jobs/{answer['job']['job_id']}"}
    return JSONResponse(answer, status_code=202, headers=where)


def _check_options(sent: Upload, caller: Caller) -> BookOptions:
    """Read what the sender says about the book, and refuse it before the response is sent."""
    if not sent.size:
        raise BadBook("empty_file", f"{sent.name} is empty: it has 0 bytes")
    said = sent.fields
    options = BookOptions(title=said.get("title"), base_url=said.get("base_url"), book_id=said.get("book_id"))
    if caller.books is not None and options.book_id not in caller.books:
        raise AccessDenied(
            "this key is for some books only",
            code="forbidden",
            hint="Say with `book_id` which of its books this is a new edition of.",
        )
    return options


def _refuse_address(request: Request) -> Response:
    said = "a book is sent as a file; this service does not fetch addresses"
    hint = "Download the book, and send it as multipart/form-data in the part `file`."
    return make_problem(422, "url_refused", said, hint, request_id=get_request_id(request.scope))


@router.get("/v1/books/{book_id}", response_model=BookWithCoverJson, responses=describe("The book.", 404))
async def book(book_id: BookName, library: CurrentLibrary, caller: AskCaller) -> Response:
    found = await library.book(book_id, among=caller.books)
    covered = await covers.find_covered_books(library.database, [found.id])
    return respond(BookWithCoverJson.from_value(found, cover=bool(covered)))


@router.delete("/v1/books/{book_id}", status_code=204, responses=describe("Removed.", 404, status=204))
async def remove(book_id: BookName, library: CurrentLibrary, caller: IngestCaller) -> Response:
    """Takes the book out of the library, with everything stored of it."""
    found = await library.book(book_id, among=caller.books)
    await library.remove(found.id)
    return Response(status_code=204)


@router.get(
    "/v1/books/{book_id}/contents",
    response_model=ContentsJson,
    responses=describe("The table of contents, in reading order.", 404),
)
async def contents(book_id: BookName, library: CurrentLibrary, caller: AskCaller) -> Response:
    found = await library.book(book_id, among=caller.books)
    return respond(ContentsJson.from_sections(await library.contents(found.id)))


@router.get(
    "/v1/books/{book_id}/sections/{section_id}",
    response_model=SectionTextJson,
    responses=describe("The section with its text.", 404),
)
async def section(
    book_id: BookName, section_id: SectionId, library: CurrentLibrary, caller: AskCaller
) -> Response:
    found = await library.book(book_id, among=caller.books)
    text = await library.section(found.id, section_id)
    return respond(SectionTextJson.from_section(text))


@router.get(
    "/v1/books/{book_id}/cover",
    response_class=Response,
    responses=describe_image("The cover image.", 404),
)
async def cover(book_id: BookName, request: Request, library: CurrentLibrary, caller: AskCaller) -> Response:
    found = await library.book(book_id, among=caller.books)
    picture = await covers.find_cover(library.database, found.id)
    if picture is None:
        raise NotFound("cover of book", found.id)
    return _send_picture(request, picture.data, picture.media_type, keep="no-cache")


@router.get(
    "/v1/books/{book_id}/images/{image}",
    response_class=Response,
    responses=describe_image("A picture that the markup of a section names.", 404),
)
async def image(
    book_id: BookName, image: ImageName, request: Request, library: CurrentLibrary, caller: AskCaller
) -> Response:
    found = await library.book(book_id, among=caller.books)
    data = await library.image(found.id, image)
    # Its name is the hash of its bytes, so it never changes.
    return _send_picture(request, data, find_image_type(data), keep="max-age=31536000, immutable")


def _send_picture(request: Request, data: bytes, media_type: str, *, keep: str) -> Response:
    """Send a picture that can do nothing but be shown, whoever opens it and however."""
    tag = f'"{sha256(data).hexdigest()[:20]}"'
    headers = {
        "etag": tag,
        "cache-control": f"private, {keep}",
        "x-content-type-options": "nosniff",
        "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox",
    }
    known = request.headers.get("if-none-match", "")
    if tag in (given.strip().removeprefix("W/") for given in known.split(",")):
        return Response(status_code=304, headers=headers)
    return Response(data, media_type=media_type, headers=headers)
