"""Octavo answers questions about your books, and shows the exact passage behind every sentence.

async with Library.open() as library:
    await library.add("moby-dick.epub")
    answer = await library.ask("Why is the whale white?")
    for citation in answer.citations:
        print(citation.source_location, citation.content_snippet)

The names in `__all__` are imported when they are first used, so that `import octavo` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from octavo.answers.audit import Verdict
    from octavo.errors import BadBook, InvalidValue, ModelError, NotFound, OctavoError
    from octavo.events import Answered, AskEvent, Compared
    from octavo.library import Library
    from octavo.maintenance.doctor import Finding
    from octavo.settings import Settings
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
    "octavo.errors": ("BadBook", "InvalidValue", "ModelError", "NotFound", "OctavoError"),
    "octavo.events": ("Answered", "AskEvent", "Compared"),
    "octavo.library": ("Library",),
    "octavo.maintenance.doctor": ("Finding",),
    "octavo.settings": ("Settings",),
    "octavo.verification.check": ("Support",),
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'octavo' has no attribute {name!r}")
    module = next((module for module, names in _MODULES.items() if name in names), "octavo.types")
    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
