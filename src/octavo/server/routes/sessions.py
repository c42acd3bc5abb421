"""Sessions: start, list, name, read, export, end and delete one's own conversations."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from octavo.answers.export import list_sections, write_markdown
from octavo.answers.export_blocks import find_sections
from octavo.errors import AccessDenied
from octavo.schemas import (
    ConversationJson,
    SessionExport,
    SessionJson,
    SessionPageJson,
    TurnJson,
)
from octavo.server.auth import AskCaller, CurrentLibrary
from octavo.server.schemas import (
    PageParameters,
    SessionBody,
    SessionId,
    StartBody,
    describe,
    describe_errors,
    respond,
)

router = APIRouter(prefix="/v1/sessions", tags=["sessions"])
_ABOUT = Query(max_length=200, pattern=r"^[^\x00-\x1f]+$", description="Only those that asked this book.")
_MARKDOWN = {"text/markdown": {"schema": {"type": "string"}}}


@router.post(
    "", status_code=201, response_model=SessionJson, responses=describe("The new session.", 404, status=201)
)
async def start(library: CurrentLibrary, caller: AskCaller, body: StartBody | None = None) -> Response:
    """Its id goes into the body of each question of the conversation.

    With an answer that was shared, the conversation goes on from there, and the one it is from does not.
    """
    if body and body.answer_id:
        session = await library.conversations.continue_answer(body.answer_id, owner=caller.owner)
    else:
        session = await library.conversations.start_session(owner=caller.owner)
    return respond(SessionJson.from_value(session), status=201)


@router.get("", response_model=SessionPageJson, responses=describe("The caller's sessions, newest first."))
async def list_sessions(
    library: CurrentLibrary,
    caller: AskCaller,
    page: PageParameters,
    book_id: Annotated[str | None, _ABOUT] = None,
) -> Response:
    """Each with its title: the one it was given, or its first question.

    A public key is shared by strangers, who must not see each other's sessions: it lists none.
    """
    if caller.public:
        raise AccessDenied("a public key lists no sessions", code="forbidden")
    found = await library.conversations.list_sessions(
        owner=caller.owner, book_id=book_id, most=page.limit + 1, after=page.after
    )
    shown, after = page.cut(found, lambda session: session.session_id)
    titles = await library.conversations.list_titles([session.session_id for session in shown])
    listed = [SessionJson.from_value(each, title=titles.get(each.session_id, "")) for each in shown]
    return respond(SessionPageJson(sessions=listed, next=after))


@router.get(
    "/{session_id}",
    response_model=ConversationJson,
    responses=describe("The session with its questions and answers.", 404),
)
async def one(session_id: SessionId, library: CurrentLibrary, caller: AskCaller) -> Response:
    session = await library.conversations.find_session(session_id, owner=caller.owner)
    entries = await library.conversations.list_exchanges(session_id)
    votes = await library.conversations.list_votes(session_id, owner=caller.owner)
    turns = [
        TurnJson.from_turn(entry, vote=votes.get(entry.answer.id, ""))
        for entry in entries
        if entry.answer is not None
    ]
    return respond(ConversationJson.from_value(session, turns=turns))


@router.patch(
    "/{session_id}", response_model=SessionJson, responses=describe("The session, with its title.", 404)
)
async def rename(
    session_id: SessionId, body: SessionBody, library: CurrentLibrary, caller: AskCaller
) -> Response:
    """An empty title gives the conversation back the one that it has by itself: its first question."""
    named = await library.conversations.rename_session(session_id, body.title.strip(), owner=caller.owner)
    return respond(SessionJson.from_value(named))


@router.post("/{session_id}/end", status_code=204, responses=describe("Ended.", 404, status=204))
async def end(session_id: SessionId, library: CurrentLibrary, caller: AskCaller) -> Response:
    """The conversation stays readable; a new question in it opens it again."""
    await library.conversations.end_session(session_id, owner=caller.owner)
    return Response(status_code=204)


@router.delete("/{session_id}", status_code=204, responses=describe("Deleted.", 404, status=204))
async def delete(session_id: SessionId, library: CurrentLibrary, caller: AskCaller) -> Response:
    """Deletes the conversation: its questions, its answers and their ratings."""
    await library.conversations.delete_session(session_id, owner=caller.owner)
    return Response(status_code=204)


@router.get(
    "/{session_id}/export",
    response_model=SessionExport,
    responses={
        200: {"description": "The conversation with its citations.", "content": _MARKDOWN},
        **describe_errors(404),
    },
)
async def exported(
    session_id: SessionId,
    request: Request,
    library: CurrentLibrary,
    caller: AskCaller,
    format: Literal["md", "json"] = "md",
) -> Response:
    session = await library.conversations.find_session(session_id, owner=caller.owner)
    interpreted = {
        entry.question.id: entry.interpreted
        for entry in await library.conversations.list_exchanges(session_id)
    }
    name = {"content-disposition": f'attachment; filename="conversation.{format}"'}
    if format == "json":
        return respond(SessionExport.from_session(session, interpreted=interpreted), headers=name)
    quoted = await find_sections(list_sections(session), library.section)
    base = str(request.base_url)
    page = write_markdown(session, interpreted=interpreted, sections=quoted, base=base)
    return Response(page, media_type="text/markdown; charset=utf-8", headers=name)
