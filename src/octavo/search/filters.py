"""Reads the filters that come with a question: books, a part of a book, files, a language.

Filters leave passages out, in the store itself. A filter that is not known is refused, because to ignore it
would show what the reader asked not to see.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from octavo.errors import InvalidValue
from octavo.types import Scope, ScopeType

KEYS = ("book_id", "section", "page", "up_to", "source_file", "language")
_PARTS = {"section": ScopeType.SECTION, "page": ScopeType.PAGE, "up_to": ScopeType.UP_TO}


@dataclass(frozen=True, slots=True)
class Filters:
    """All must hold. Several books, or several files, are alternatives."""

    books: tuple[str, ...] = ()
    scope: Scope | None = None
    source_files: tuple[str, ...] = ()
    language: str = ""


def read_filters(given: Mapping[str, object]) -> Filters:
    """Read filters. Those that are None are taken for absent."""
    present = {key: value for key, value in given.items() if value is not None}
    unknown = [key for key in present if key not in KEYS]
    if unknown:
        raise InvalidValue("filters", f"may have only {', '.join(KEYS)}", unknown[0])
    parts = [key for key in _PARTS if key in present]
    if len(parts) > 1:
        rule = "may narrow to a section, to a page or up to a place, only to one of these"
        raise InvalidValue("filters", rule, ", ".join(parts))
    return Filters(
        books=_read_names(present, "book_id"),
        scope=_read_scope(parts[0], present[parts[0]]) if parts else None,
        source_files=_read_names(present, "source_file"),
        language=_read_text("language", present["language"]) if "language" in present else "",
    )


def _read_scope(part: str, value: object) -> Scope:
    if part == "page" and isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    return Scope(type=_PARTS[part], identifier=_read_text(part, value))


def _read_names(given: Mapping[str, object], key: str) -> tuple[str, ...]:
    value = given.get(key, ())
    if not isinstance(value, list | tuple):
        return (_read_text(key, value),)
    if key in given and not value:
        raise InvalidValue(f"filters.{key}", "must not be an empty list", value)
    return tuple(_read_text(key, name) for name in value)


def _read_text(key: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InvalidValue(f"filters.{key}", "must be a name", value)
    return value
