"""Conversations: started, listed, read, exported and ended by whoever they belong to."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response

from octavo import schemas
from octavo.answers import export
from octavo.errors import AccessDenied
from octavo.server import shapes
from octavo.server.auth import Asking, TheLibrary
from octavo.server.routes.answers import answered_of
from octavo.server.shapes import SessionId, ThePage

router = APIRouter(prefix="/v1/sessions", tags=["sessions"])
_EXPORTED = {
    "text/markdown": {"schema": {"type": "string"}},
    "application/json": {"schema": {"type": "object"}},
}


@router.post("", status_code=201, responses=shapes.gives(shapes.Session, "A new session.", status=201))
async def start(library: TheLibrary, caller: Asking) -> Response:
    """Its id goes into the body of each question of the conversation."""
    session = await library.conversations.start_session(owner=caller.owner)
    return JSONResponse(schemas.session_json(session), status_code=201)


@router.get("", responses=shapes.gives(shapes.Sessions, "Your sessions, the newest first."))
async def list_sessions(library: TheLibrary, caller: Asking, page: ThePage) -> Response:
    """A public key is shared by strangers, who must not see each other: it lists nothing."""
    if caller.public:
        raise AccessDenied("a public key lists no sessions", code="forbidden")
    found = await library.conversations.list_sessions(
        owner=caller.owner, most=page.limit + 1, after=page.after
    )
    shown, after = page.cut(found, lambda session: session.session_id)
    return JSONResponse({"sessions": [schemas.session_json(s) for s in shown], "next": after})


@router.get("/{session_id}", responses=shapes.gives(shapes.Conversation, "The session with its turns.", 404))
async def one(session_id: SessionId, library: TheLibrary, caller: Asking) -> Response:
    session = await library.conversations.find_session(session_id, owner=caller.owner)
    entries = await library.conversations.list_exchanges(session_id)
    turns = [schemas.answered_json(answered_of(entry)) for entry in entries if entry.answer is not None]
    return JSONResponse({**schemas.session_json(session), "turns": turns})


@router.delete(
    "/{session_id}", status_code=204, responses=shapes.gives(None, "It has ended.", 404, status=204)
)
async def end(session_id: SessionId, library: TheLibrary, caller: Asking) -> Response:
    """What was said stays readable; a new question in it opens it again."""
    await library.conversations.end_session(session_id, owner=caller.owner)
    return Response(status_code=204)


@router.get(
    "/{session_id}/export",
    responses={
        **shapes.gives(None, "The conversation with its citations.", 404),
        200: {"description": "The conversation with its citations.", "content": _EXPORTED},
    },
)
async def exported(
    session_id: SessionId, library: TheLibrary, caller: Asking, format: Literal["md", "json"] = "md"
) -> Response:
    session = await library.conversations.find_session(session_id, owner=caller.owner)
    meant = {
        entry.question.id: entry.interpreted
        for entry in await library.conversations.list_exchanges(session_id)
    }
    name = {"content-disposition": f'attachment; filename="conversation.{format}"'}
    if format == "json":
        return JSONResponse(export.session_json(session, interpreted=meant), headers=name)
    page = export.session_markdown(session, interpreted=meant)
    return Response(page, media_type="text/markdown; charset=utf-8", headers=name)
