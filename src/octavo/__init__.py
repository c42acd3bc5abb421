"""Octavo answers questions about your books, and shows the exact passage behind every sentence.

async with Library.open() as library:
    await library.add("moby-dick.epub")
    answer = await library.ask("Why is the whale white?")
    for citation in answer.citations:
        print(citation.source_location, citation.content_snippet)

The names in `__all__` are imported when they are first used, so that `import octavo` costs nothing.
More names can be imported in the same way: `retrieve`, types that are seldom needed by name, and the names
that the source documents have for the same types (`UserQuery`, `AgentResponse`, …).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from octavo.answers.audit import Verdict
    from octavo.answers.evaluate import Evaluation as Evaluation
    from octavo.answers.gaps import GapReport as GapReport
    from octavo.answers.retrieve import Retrieval as Retrieval
    from octavo.errors import BadBook, InvalidValue, ModelError, NotFound, OctavoError
    from octavo.events import Answered, AskEvent, Compared
    from octavo.library import Library
    from octavo.library.once import retrieve as retrieve
    from octavo.maintenance.background_check import StoreCheck as StoreCheck
    from octavo.maintenance.doctor import Finding
    from octavo.settings import Settings
    from octavo.text.bookmap.describe import MapDescriber as MapDescriber
    from octavo.text.bookmap.model import BookMap as BookMap
    from octavo.text.bookmap.model import EntityDetails as EntityDetails
    from octavo.types import AgentResponse as AgentResponse
    from octavo.types import AgentSession as AgentSession
    from octavo.types import (
        Answer,
        Book,
        Chunk,
        Citation,
        Evidence,
        Question,
        Refusal,
        RefusalReason,
        Scope,
        ScopeType,
        Section,
        Session,
    )
    from octavo.types import BookContentChunk as BookContentChunk
    from octavo.types import ChatMessage as ChatMessage
    from octavo.types import Message as Message
    from octavo.types import PageBox as PageBox
    from octavo.types import PrintedPage as PrintedPage
    from octavo.types import Query as Query
    from octavo.types import QueryContext as QueryContext
    from octavo.types import QueryScope as QueryScope
    from octavo.types import RetrievedContent as RetrievedContent
    from octavo.types import RetrievedContentChunk as RetrievedContentChunk
    from octavo.types import SourceCitation as SourceCitation
    from octavo.types import SourceReference as SourceReference
    from octavo.types import UserQuery as UserQuery
    from octavo.verification.check import Support

__version__ = "0.1.0"
__all__ = [
    "Answer",
    "Answered",
    "AskEvent",
    "BadBook",
    "Book",
    "Chunk",
    "Citation",
    "Compared",
    "Evidence",
    "Finding",
    "InvalidValue",
    "Library",
    "ModelError",
    "NotFound",
    "OctavoError",
    "Question",
    "Refusal",
    "RefusalReason",
    "Scope",
    "ScopeType",
    "Section",
    "Session",
    "Settings",
    "Support",
    "Verdict",
]
_MODULES = {
    "octavo.answers.audit": ("Verdict",),
    "octavo.answers.evaluate": ("Evaluation",),
    "octavo.answers.gaps": ("GapReport",),
    "octavo.answers.retrieve": ("Retrieval",),
    "octavo.errors": ("BadBook", "InvalidValue", "ModelError", "NotFound", "OctavoError"),
    "octavo.events": ("Answered", "AskEvent", "Compared"),
    "octavo.library": ("Library",),
    "octavo.library.once": ("retrieve",),
    "octavo.maintenance.background_check": ("StoreCheck",),
    "octavo.maintenance.doctor": ("Finding",),
    "octavo.settings": ("Settings",),
    "octavo.text.bookmap.describe": ("MapDescriber",),
    "octavo.text.bookmap.model": ("BookMap", "EntityDetails"),
    "octavo.verification.check": ("Support",),
}


_ALSO = (
    "AgentResponse",
    "AgentSession",
    "BookContentChunk",
    "BookMap",
    "ChatMessage",
    "EntityDetails",
    "Evaluation",
    "GapReport",
    "MapDescriber",
    "Message",
    "PageBox",
    "PrintedPage",
    "Query",
    "QueryContext",
    "QueryScope",
    "Retrieval",
    "RetrievedContent",
    "RetrievedContentChunk",
    "SourceCitation",
    "SourceReference",
    "StoreCheck",
    "UserQuery",
    "retrieve",
)


def __getattr__(name: str) -> object:
    if name not in __all__ and name not in _ALSO:
        raise AttributeError(f"module 'octavo' has no attribute {name!r}")
    module = next((module for module, names in _MODULES.items() if name in names), "octavo.types")
    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
