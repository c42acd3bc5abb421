"""The gap report of a book: what its readers asked and did not get, for keys with the scope `gaps`.

It tells questions and how often they were asked, never who asked them.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from octavo.answers.gaps import GAPS_DEFAULT, GAPS_MOST, WEEKS_DEFAULT, WEEKS_MOST
from octavo.schemas import GapReportJson
from octavo.server.auth import CurrentLibrary, GapsCaller
from octavo.server.schemas import BookName, describe, respond

router = APIRouter(tags=["books"])
Weeks = Annotated[int, Query(ge=1, le=WEEKS_MOST, description="This week and the weeks before it.")]
Limit = Annotated[int, Query(ge=1, le=GAPS_MOST, description="How many gaps at most.")]


@router.get(
    "/v1/books/{book_id}/gaps",
    response_model=GapReportJson,
    responses=describe("What readers asked in vain, grouped, the most wanted first.", 404),
)
async def gaps(
    book_id: BookName,
    library: CurrentLibrary,
    caller: GapsCaller,
    weeks: Weeks = WEEKS_DEFAULT,
    limit: Limit = GAPS_DEFAULT,
) -> Response:
    found = await library.book(book_id, among=caller.books)
    return respond(GapReportJson.from_value(await library.gaps(found.id, weeks=weeks, limit=limit)))
