"""Tell whether a line of a book says who wrote it, what it is called, or when it was published.

That a name or a year stands in a line is not enough: "To Ada Berg, who taught me" names no author, and
"Darwin published his book in 1859" tells of another book.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from octavo.answers.parts import fold_title

_IMPRINT = re.compile(r"copyright|imprint|colophon|legal|licen[cs]e|title page|edition", re.IGNORECASE)
_PUBLISHED = re.compile(
    r"(?:\b(?:published|publication|releas(?:ed|e date)|printed|first edition|copyright)\b|©)"
    r"[^.\n]*\b(?:1[4-9]|20)\d\d\b",
    re.IGNORECASE,
)
# How a line begins that tells it of the book itself.
_OF_ITSELF = re.compile(
    r"^\W*(?:(?:(?:the|this) (?:book|work|edition|volume|novel|manual|text)|it) (?:was|is) )?"
    rf"(?:(?:first|originally) )?{_PUBLISHED.pattern}",
    re.IGNORECASE | re.MULTILINE,
)
# Never given back once it is matched, so that a line of commas takes no time.
_JOINED = r"(?:\s*+(?:,|;|&|\band\b)\s*+)++"
# What is by somebody else than the author, or by the author without being the book.
_OTHER_WORK = (
    r"(?<!\bforeword )(?<!\bpreface )(?<!\bintroduction )(?<!\bafterword )(?<!\bnotes )(?<!\bcover )"
    r"(?<!\bdesign )(?<!\btranslation )(?<!\bphotographs )(?<!\billustrations )(?<!\bdrawings )"
)
_PARTICIPLE = r"(?<![a-z]ed )"
_AUTHOR = r"\b(?:written|authored) by|\bauthors?(?:\s+is|\s+are)?\s*:?"


_CREDITS = re.compile(
    r"\W*(?-i:(?:\d[\d.]*|[A-Z]\.?)\s+)?(?P<about>about )?(?:the |this )?"
    r"(?:authors?|contributors?|writers|credits)(?: and contributors)?\W*",
    re.IGNORECASE,
)


def is_credits(title: str, *, at_edge: bool) -> bool:
    """Whether a section is by its title one about the authors.

    "Authors" alone may be a chapter of a manual, and counts only at the edge of a book: near its beginning or
    end.
    """
    found = _CREDITS.fullmatch(title)
    return found is not None and (at_edge or bool(found["about"]))


def is_imprint(title: str) -> bool:
    """Whether a section is by its title one that tells who made a book, and when."""
    return bool(_IMPRINT.search(title))


def says_author(line: str, author: str, *, authors: Sequence[str], alone: bool) -> bool:
    """Whether a line says that somebody wrote the book. `alone`: on a title page the bare name does."""
    others = "|".join(re.escape(name) for name in authors)
    led = rf"(?:(?:{others}){_JOINED})*{re.escape(author)}(?!\w)"
    by = rf"(?:{_AUTHOR}|{_PARTICIPLE}{_OTHER_WORK}\bby)\s+{led}"
    if re.search(by, line, re.IGNORECASE):
        return True
    names = rf"\W*(?:{others})(?:{_JOINED}(?:{others}))*\W*"
    lines = [part for part in line.splitlines() if author.casefold() in part.casefold()]
    return alone and any(re.fullmatch(names, part, re.IGNORECASE) for part in lines)


def says_title(line: str, title: str, *, authors: Sequence[str]) -> bool:
    """Whether a line is the title of the book, alone or followed by its authors."""
    wanted = fold_title(title)
    endings = ("", *(fold_title(f"by {name}") for name in authors))
    said = {f"{wanted} {ending}".strip() for ending in endings}
    return any(fold_title(part) in said for part in (line, *line.splitlines()))


def says_date(line: str, *, imprint: bool) -> bool:
    """Whether a line says when the book was published. In an imprint, every such date is its own."""
    return bool((_PUBLISHED if imprint else _OF_ITSELF).search(line))
