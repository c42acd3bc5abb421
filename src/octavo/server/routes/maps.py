"""The map of a book: its people, places, things and terms, and the gist of each chapter.

`up_to` names a section or a page: what comes after it is not looked at, so it cannot be told.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response

from octavo.library import MAP_DEFAULT, MAP_MOST, MENTIONS_DEFAULT, MENTIONS_MOST, NAME_MOST
from octavo.schemas import BookMapJson, EntityDetailsJson
from octavo.server.auth import AskCaller, CurrentLibrary
from octavo.server.schemas import BookName, describe, respond

router = APIRouter(tags=["books"])
_PRINTED = r"^[^\x00-\x1f]+$"
UpTo = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=NAME_MOST,
        pattern=_PRINTED,
        description="Only what comes before the end of this section, or page (`p. 12`).",
    ),
]
Limit = Annotated[int, Query(ge=1, le=MAP_MOST, description="How many entities of each kind.")]
Mentions = Annotated[int, Query(ge=1, le=MENTIONS_MOST, description="How many mentions at most.")]
EntityName = Annotated[
    str, Path(min_length=1, max_length=NAME_MOST, pattern=_PRINTED, description="A name or a term.")
]


@router.get(
    "/v1/books/{book_id}/map",
    response_model=BookMapJson,
    responses=describe("People, places, things and terms, and the gist of each chapter.", 404),
)
async def map_(
    book_id: BookName,
    library: CurrentLibrary,
    caller: AskCaller,
    up_to: UpTo = None,
    limit: Limit = MAP_DEFAULT,
) -> Response:
    found = await library.book(book_id, among=caller.books)
    return respond(BookMapJson.from_value(await library.map(found.id, up_to=up_to, limit=limit)))


@router.get(
    "/v1/books/{book_id}/map/{name:path}",
    response_model=EntityDetailsJson,
    responses=describe("Where a name or a term is introduced, defined and mentioned.", 404),
)
async def look_up(
    book_id: BookName,
    name: EntityName,
    library: CurrentLibrary,
    caller: AskCaller,
    up_to: UpTo = None,
    mentions: Mentions = MENTIONS_DEFAULT,
) -> Response:
    found = await library.book(book_id, among=caller.books)
    details = await library.look_up(found.id, name, up_to=up_to, mentions=mentions)
    return respond(EntityDetailsJson.from_value(details))
