"""Join the pages of a text that was laid out for a printer.

It has a margin, lines between the pages, and words that are broken at the ends of lines.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set

from octavo.readers.book_words import BookWords
from octavo.readers.titles import clean_line

# A word that goes on in the next line, and the marks after it.
_BROKEN_AT_END = re.compile(
    r"(?<!\w)([^\W\d_]{2,40})-\n([ \t]{0,80})([^\W\d_A-Z]{2,40})([.,;:!?)\"'”’]{0,4})(?![\w-])"
    r"[ \t]{0,80}(\n?)"
)
# So many lines that differ in a number only may be those between pages, if sentences go on over so many.
_RUNNING_LEAST, _CROSSED_LEAST, _LONGEST = 5, 3, 120
_PAGE_END = re.compile(
    r"(?<!\n)\n*^\S[^\n]*\[Page \d{1,4}\][ \t]*$\n*(?:^(?:RFC \d+|Internet-Draft) [^\n]*\d{4}[ \t]*$\n*)?",
    re.M,
)


def join_pages(text: str) -> str:
    """Return the text without what a printer needs. Its other lines stay as they are."""
    return _mend_broken_words(_drop_running_heads(_drop_page_ends(_take_off_margin(text))))


def _drop_page_ends(text: str) -> str:
    """Drop the lines between the pages of a memo, such as an RFC; sentences continue over the page."""

    def choose_gap(found: re.Match[str]) -> str:
        before = text[max(0, found.start() - 40) : found.start()]
        return _choose_gap(before, text[found.end() : found.end() + 40])

    return _PAGE_END.sub(choose_gap, text) if text.count("[Page ") > 1 else text


def _choose_gap(before: str, after: str) -> str:
    """Choose what stands between two texts where a page ended: a sentence may go on."""
    goes_on = after.lstrip()[:1].islower() and before.rstrip()[-1:] not in (".", ":", "!", "?")
    return "\n" if goes_on else "\n\n"


def _take_off_margin(text: str) -> str:
    """Take off the margin that nearly all lines have, as manuals that were laid out for a printer do."""
    lines = text.split("\n")
    indents = sorted(len(line) - len(line.lstrip(" ")) for line in lines if line.strip())
    margin = indents[len(indents) // 20] if indents else 0
    return "\n".join(line[min(margin, len(line) - len(line.lstrip(" "))) :] for line in lines)


def _drop_running_heads(text: str) -> str:
    """Drop the lines at the ends of pages that differ in a number only.

    A heading may be like that ("Day 5"), but no sentence goes on over a heading.
    """
    lines = [line for line in text.split("\n") if line.strip()]
    alike: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        shape = re.sub(r"\d+", "0", clean_line(line))
        if "0" in shape and shape != "0" and len(shape) <= _LONGEST:
            alike.setdefault(shape, []).append(number)
    heads: set[str] = set()
    for places in alike.values():
        if len(places) >= _RUNNING_LEAST and _count_crossed(lines, places) >= _CROSSED_LEAST:
            heads |= {lines[place] for place in places}
    return _leave_out(text, heads) if heads else text


def _count_crossed(lines: Sequence[str], places: Sequence[int]) -> int:
    """Count over how many of the lines at some places, or runs of them, a sentence goes on."""
    inside = set(places)
    firsts = [place for place in places if place - 1 not in inside and place > 0]
    crossed = 0
    for first in firsts:
        after = next((n for n in range(first + 1, len(lines)) if n not in inside), None)
        crossed += after is not None and _choose_gap(lines[first - 1], lines[after]) == "\n"
    return crossed


def _leave_out(text: str, heads: Set[str]) -> str:
    """Leave out lines with the blank ones around them. Sentences go on."""
    kept: list[str] = []
    is_gap = False
    for line in text.split("\n"):
        if line in heads:
            is_gap = True
            while kept and not kept[-1].strip():
                kept.pop()
        elif not is_gap or line.strip():
            kept += [""] if is_gap and kept and _choose_gap(kept[-1], line) == "\n\n" else []
            kept.append(line)
            is_gap = False
    return "\n".join(kept)


def _mend_broken_words(text: str) -> str:
    """Write each word whole in the line where it begins. The book's own words tell if it has a hyphen."""
    words: BookWords | None = None

    def mend(found: re.Match[str]) -> str:
        nonlocal words
        words = words or BookWords([text])
        hyphen = "-" if words.keeps_hyphen(found[1], found[3]) else ""
        return f"{found[1]}{hyphen}{found[3]}{found[4]}\n{'' if found[5] else found[2]}"

    return _BROKEN_AT_END.sub(mend, text)
