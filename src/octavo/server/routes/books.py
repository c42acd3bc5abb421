"""The books: list, read, add, change and remove them.

A restricted key sees its own books and no others. A book is added as a file; an address is never fetched. The
file is queued when it is complete on the disk, and the response names the job to watch.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Sequence
from hashlib import sha256
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import Field

from octavo.errors import AccessDenied, BadBook, InvalidValue, NotFound
from octavo.ingest.edition import TITLE_MOST, find_section_language
from octavo.ingest.worker import UPLOADS
from octavo.library import Library
from octavo.library.printed import PAGE_WIDTH, make_page_tag
from octavo.limits import MB
from octavo.readers.parsed import COVER_MOST_MB
from octavo.readers.pictures import find_image_type
from octavo.records import covers, files, scans
from octavo.records.options import BookOptions
from octavo.records.tags import TAGS_MOST, normalise_tag
from octavo.schemas import (
    BookPageJson,
    BookWithCoverJson,
    ContentsJson,
    JobJson,
    PrintedPagesJson,
    QueuedBookJson,
    ScanJson,
    SectionTextJson,
)
from octavo.server.auth import AccessControl, AskCaller, Caller, CurrentAccess, CurrentLibrary, IngestCaller
from octavo.server.errors import get_request_id, make_problem
from octavo.server.ingest_queue import CurrentIngestQueue, IngestQueue
from octavo.server.schemas import (
    Body,
    BookName,
    IdempotencyKey,
    ImageName,
    Offset,
    PageNumber,
    PageParameters,
    PageWidth,
    SectionId,
    TagName,
    WantedAuthor,
    WantedLanguage,
    WantedSubject,
    WantedTag,
    describe,
    describe_image,
    respond,
)
from octavo.server.space import Reservation
from octavo.server.uploads import FIELDS, FILE, Upload, receive_upload
from octavo.types import Book
from octavo.types.books import matches_metadata

router = APIRouter(tags=["books"])
# A book needs this many times the size of its file: for its text, its vectors, its index, and a PDF's pages.
SPACE_FACTOR = 4
COVER_CHARACTERS = 4 * -(-COVER_MOST_MB * MB // 3)
"""The length in base64 of the largest cover."""
CHANGE_MOST_BYTES = COVER_CHARACTERS + 64 * 1024
"""The longest request that changes a book: a cover and the rest."""
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


@router.get("/v1/books", response_model=BookPageJson, responses=describe("The books, sorted by id.", 404))
async def books(
    library: CurrentLibrary,
    caller: AskCaller,
    page: PageParameters,
    tag: WantedTag = None,
    author: WantedAuthor = "",
    subject: WantedSubject = "",
    language: WantedLanguage = "",
) -> Response:
    readable = [
        book
        for book in await library.books()
        if caller.can_read(book) and matches_metadata(book, author=author, subject=subject, language=language)
    ]
    if tag is not None:
        tagged = await library.tagged([tag], among=caller.books)
        readable = [book for book in readable if book.id in tagged]
    shown, following = page.select(readable, lambda book: book.id)
    return respond(BookPageJson(books=await _describe_books(library, shown), next=following))


async def _describe_books(library: Library, shown: Sequence[Book]) -> list[BookWithCoverJson]:
    ids = [book.id for book in shown]
    covered = await covers.find_covered_books(library.database, ids)
    printed = await files.list_books_with_files(library.database, ids)
    tags, scanned = await library.tags(), await scans.list_scans(library.database, ids)
    return [
        BookWithCoverJson.from_value(
            book,
            tags=list(tags.get(book.id, ())),
            scan=ScanJson.from_summary(scanned.get(book.id)),
            cover=book.id in covered,
            printed=book.id in printed,
        )
        for book in shown
    ]


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
    (described,) = await _describe_books(library, [found])
    return respond(described)


class BookChangeBody(Body):
    """What can be changed of a book. What is not given stays as it is."""

    title: Annotated[str, Field(min_length=1, max_length=TITLE_MOST)] | None = None
    base_url: Annotated[str, Field(max_length=2_000)] | None = Field(
        None, description="Where the book is published; empty to take it away."
    )
    cover: str | None = Field(
        None,
        max_length=COVER_CHARACTERS,
        description=f"A PNG, JPEG, GIF or WebP of up to {COVER_MOST_MB} MB in base64; empty to take it away.",
    )
    tags: Annotated[list[TagName], Field(max_length=TAGS_MOST)] | None = Field(
        None, description="All tags that the book is to have.", examples=[["sea", "whaling"]]
    )


@router.patch(
    "/v1/books/{book_id}", response_model=BookWithCoverJson, responses=describe("The book now.", 404, 507)
)
async def change(
    book_id: BookName, body: BookChangeBody, library: CurrentLibrary, caller: IngestCaller
) -> Response:
    """Changes title, web address, cover or tags. Ids, passages and citations stay the same.

    A request that is refused changes nothing. Tags that others give or take away meanwhile stay so.
    """
    found = await library.book(book_id, among=caller.books)
    before = set((await library.tags()).get(found.id, ()))
    picture = None
    if body.cover is not None:
        try:
            picture = b64decode(body.cover, validate=True)
        except ValueError:
            raise InvalidValue("cover", "must be a picture in base64", body.cover[:40]) from None
    tags = before if body.tags is None else {normalise_tag(tag) for tag in body.tags}
    if (body.title, body.base_url, picture) != (None, None, None):
        found = await library.edit(found.id, title=body.title, base_url=body.base_url, cover=picture)
    if tags != before:
        await library.tag(found.id, add=sorted(tags - before), remove=sorted(before - tags))
    (described,) = await _describe_books(library, [found])
    return respond(described)


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
    return respond(SectionTextJson.from_section(text, find_section_language(found, text)))


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


@router.get(
    "/v1/books/{book_id}/sections/{section_id}/pages",
    response_model=PrintedPagesJson,
    responses=describe("The pages of a section of a PDF.", 404, 422),
)
async def section_pages(
    book_id: BookName,
    section_id: SectionId,
    library: CurrentLibrary,
    caller: AskCaller,
    start: Offset = 0,
    end: Offset = 0,
) -> Response:
    """The pages that a section of a PDF is on, with boxes around its characters from `start` to `end`."""
    found = await library.book(book_id, among=caller.books)
    pages = await library.pages(found.id, section_id, start=start, end=end)
    return respond(PrintedPagesJson.model_validate({"pages": pages}))


@router.get(
    "/v1/books/{book_id}/pages/{number}",
    response_class=Response,
    responses=describe_image("A page of a PDF as it is printed, as a PNG.", 404, 422),
)
async def page(
    book_id: BookName,
    number: PageNumber,
    request: Request,
    library: CurrentLibrary,
    caller: AskCaller,
    width: PageWidth = PAGE_WIDTH,
) -> Response:
    """Drawn when it is asked for. A page with too many pixels becomes narrower."""
    found = await library.book(book_id, among=caller.books)
    file = await files.find_file(library.database, found.id)
    tag = make_page_tag(file, number, width=width, limits=library.settings.limits)
    if _has_picture(request, tag):
        return _confirm_picture(tag, keep="no-cache")
    drawn = await library.page(found.id, number, width=width)
    return Response(drawn, media_type="image/png", headers=_make_headers(tag, keep="no-cache"))


def _send_picture(request: Request, data: bytes, media_type: str, *, keep: str) -> Response:
    tag = sha256(data).hexdigest()[:20]
    if _has_picture(request, tag):
        return _confirm_picture(tag, keep=keep)
    return Response(data, media_type=media_type, headers=_make_headers(tag, keep=keep))


def _has_picture(request: Request, tag: str) -> bool:
    """Whether the client says that it has the picture."""
    known = request.headers.get("if-none-match", "")
    return f'"{tag}"' in (given.strip().removeprefix("W/") for given in known.split(","))


def _confirm_picture(tag: str, *, keep: str) -> Response:
    return Response(status_code=304, headers=_make_headers(tag, keep=keep))


def _make_headers(tag: str, *, keep: str) -> dict[str, str]:
    """Make the headers of a picture that can do nothing but be shown, whoever opens it and however."""
    return {
        "etag": f'"{tag}"',
        "cache-control": f"private, {keep}",
        "x-content-type-options": "nosniff",
        "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox",
    }
