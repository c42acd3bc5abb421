"""Clean what files say about a book: subjects, series, publisher, date and identifiers.

Everything comes from untrusted files, so every value is one short line, and there are only so many of them.
A date that says nothing, as programs write it for "unknown", and an identifier that only a program can use
(a random number) are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from octavo.readers.titles import clean_line
from octavo.types import BookMetadata

_MOST_VALUES = 50
_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?(?!\d)")
_COMPACT_DATE = re.compile(r"(\d{4})(\d{2})(\d{2})\b")
_KIND = re.compile(r"(?:urn:)?([A-Za-z][A-Za-z0-9_.-]{1,19}):\s*(\S.*)")
_ISBN = re.compile(r"97[89]\d{10}|\d{9}[\dXx]")
_RANDOM = frozenset(("uuid", "calibre", "uri", "id"))


def build_metadata(
    *,
    subjects: Iterable[str] = (),
    series: str = "",
    series_position: str = "",
    publisher: str = "",
    published: str = "",
    identifiers: Iterable[tuple[str, str]] = (),
) -> BookMetadata:
    """Build the metadata from values as files have them. An identifier is its kind, if known, and itself."""
    named = clean_line(series)
    position = clean_line(series_position)
    return BookMetadata(
        subjects=_keep_lines(subjects),
        series=named,
        series_position=re.sub(r"\.0+$", "", position)[:20] if named else "",
        publisher=clean_line(publisher),
        published=_read_date(published),
        identifiers=_keep_lines(_name_identifier(kind, value) for kind, value in identifiers),
    )


def _keep_lines(values: Iterable[str]) -> tuple[str, ...]:
    lines = dict.fromkeys(line for value in values if (line := clean_line(value)))
    return tuple(lines)[:_MOST_VALUES]


def _read_date(text: str) -> str:
    """Return the date that a text begins with; '' for none, and for the year 101 that means none."""
    line = clean_line(text)
    found = _COMPACT_DATE.match(line) or _DATE.match(line)
    if not found or int(found.group(1)) < 1000:
        return ""
    return "-".join(part for part in found.groups() if part)


def _name_identifier(kind: str, value: str) -> str:
    line = clean_line(value)
    found = _KIND.fullmatch(line)
    if found and found.group(1).lower() not in ("http", "https"):
        kind, line = found.group(1), found.group(2)
    bare = re.sub(r"[\s-]", "", line)
    kind = clean_line(kind).lower()
    if kind == "isbn" or (not kind and _ISBN.fullmatch(bare)):
        return f"isbn:{bare.upper()}" if _ISBN.fullmatch(bare.upper()) else ""
    if kind in _RANDOM or not line:
        return ""
    return f"{kind}:{line}" if kind else line
