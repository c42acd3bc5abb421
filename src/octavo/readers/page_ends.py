"""Join the pages of a text that was laid out for a printer.

It has a margin, lines between the pages, and words that are broken at the ends of lines.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from itertools import pairwise

from octavo.readers.book_words import BookWords
from octavo.readers.titles import clean_line

# A word that goes on in the next line, and the marks after it.
_BROKEN_AT_END = re.compile(
    r"(?<!\w)([^\W\d_]{2,40})-\n([ \t]{0,80})([^\W\d_A-Z]{2,40})([.,;:!?)\"'”’]{0,4})(?![\w-])"
    r"[ \t]{0,80}(\n?)"
)
# "Pre- and post-war" leaves something out.
_JOINS = frozenset(("and", "or", "nor", "to", "und", "oder", "bis", "et", "ou", "en", "of", "och", "og"))
# So many pages may have lines between them that count, if sentences go on over so many. They are far apart.
_RUNNING_LEAST, _CROSSED_LEAST, _APART, _LONGEST = 5, 3, 15, 120
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
    """Drop the lines at the ends of pages, which count the pages and are else alike.

    A heading may be like that ("Day 5"), but no sentence goes on over a heading.
    """
    lines = text.split("\n")
    alike: dict[str, list[int]] = {}
    for place, line in enumerate(lines):
        shape = re.sub(r"\d+", "0", clean_line(line))
        if "0" in shape and shape != "0" and len(shape) <= _LONGEST and _is_alone(lines, place):
            alike.setdefault(shape, []).append(place)
    heads: set[int] = set()
    for places in alike.values():
        if _count_pages(lines, places) and _count_crossed(lines, set(places)) >= _CROSSED_LEAST:
            heads.update(places)
    return _leave_out(lines, heads) if heads else text


def _is_alone(lines: Sequence[str], place: int) -> bool:
    return not any(
        line.strip() for line in (*lines[max(0, place - 1) : place], *lines[place + 1 : place + 2])
    )


def _count_pages(lines: Sequence[str], places: Sequence[int]) -> bool:
    """Whether lines have a number that never falls, and are as far apart as the ends of pages."""
    rows = [[int(digits[:9]) for digits in re.findall(r"\d+", lines[place])] for place in places]
    for numbers in zip(*rows, strict=True):
        pages = len(set(numbers))
        far = places[-1] - places[0] >= _APART * (pages - 1)
        if pages >= _RUNNING_LEAST and far and all(a <= b for a, b in pairwise(numbers)):
            return True
    return False


def _count_crossed(lines: Sequence[str], places: Set[int]) -> int:
    """Count over how many lines at some places, or runs of them, a sentence goes on."""
    crossed, before, is_gap = 0, "", False
    for place, line in enumerate(lines):
        if place in places:
            is_gap = True
        elif line.strip():
            crossed += bool(is_gap and before) and _choose_gap(before, line) == "\n"
            before, is_gap = line, False
    return crossed


def _leave_out(lines: Sequence[str], places: Set[int]) -> str:
    """Leave out lines with the blank ones around them. Sentences go on."""
    kept: list[str] = []
    is_gap = False
    for place, line in enumerate(lines):
        if place in places:
            is_gap = True
            while kept and not kept[-1].strip():
                kept.pop()
        elif not is_gap or line.strip():
            kept += [""] if is_gap and kept and _choose_gap(kept[-1], line) == "\n\n" else []
            kept.append(line)
            is_gap = False
    return "\n".join(kept)


def _mend_broken_words(text: str) -> str:
    """Write each word whole in the line where it begins, if the hyphen is not its own."""
    words: BookWords | None = None

    def mend(found: re.Match[str]) -> str:
        nonlocal words
        words = words or BookWords([text])
        if found[3] in _JOINS or not words.is_broken(found[1], found[3]):
            return found[0]
        return f"{found[1]}{found[3]}{found[4]}\n{'' if found[5] else found[2]}"

    return _BROKEN_AT_END.sub(mend, text)
