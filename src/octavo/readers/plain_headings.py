"""Headings in plain text, told by the ways in which people set them.

Underlined lines, `CHAPTER I.` and its kin in a paragraph of their own, and short lines in capitals when the
text uses them again and again. A list of contents at the front is not a row of empty chapters: headings
that come back later and have nothing under them are only lines of text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from octavo.readers.tree import one_line

_UNDERLINE = re.compile(r"^([=\-~*^\"+#'`.:_])\1{2,}$")
_RANKS = {"volume": 1, "vol": 1, "book": 2, "part": 3, "act": 4, "scene": 6, "section": 7}
_CHAPTER_RANK, _CAPITALS_RANK, _UNDERLINED_RANK, _NUMERAL_RANK = 5, 20, 10, 8
_COUNT = (
    r"(?:[ivxlcdm]{1,9}|\d{1,4}|the\s+\w+|first|last|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|"
    r"(?:thir|four|fif|six|seven|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty(?:[- ]\w+)?)"
)
_NAMED = re.compile(
    rf"^(volume|vol|book|part|act|scene|section|chapter|chap|letter|canto|stave|fable|tale|story|lecture|lesson|"
    rf"chapitre|kapitel|cap[ií]tulo)\.?\s+({_COUNT})\b\s*(?:[.:—–-]+\s*|$|\s(?=\S))(.*)$",
    re.IGNORECASE,
)
_ALONE = re.compile(
    r"^(?:(?:author['’]s\s+|translator['’]s\s+)?(?:preface|prologue|epilogue|introduction|foreword|afterword|"
    r"conclusion|contents|table of contents|dedication|acknowledge?ments|appendix(?:\s+\w{1,4})?|glossary|"
    r"bibliography|etymology|index|notes|footnotes))\s*[.:]?$",
    re.IGNORECASE,
)
_NUMERAL = re.compile(r"^(?:[IVXLCDM]{1,8}|\d{1,3})\.?$")
_NUMBERED_CAPITALS = re.compile(r"^(?:[IVXLCDM]{1,8}|\d{1,3})[.:]\s+(?=[A-Z])[^a-z]{3,70}$")
_NUMBERED_TITLE = re.compile(
    r"^(?:([IVXLC]{1,7})\.|(\d{1,2}(?:\.\d{1,2}){0,3})\.|(\d{1,2}(?:\.\d{1,2}){1,3}))\s+(\S.{1,69})$"
)
_JAPANESE = re.compile(r"^第[0-9０-９一二三四五六七八九十百千]{1,6}[章回節巻部](?:\s.{0,40})?$")
_LONGEST, _LONGEST_CAPITALS = 120, 70


@dataclass(frozen=True, slots=True)
class Found:
    """A block, or two, that are a heading; `rest` are lines of it that are text already."""

    rank: int
    title: str
    key: str
    rest: tuple[str, ...] = ()
    kind: str = "named"
    takes: int = 1


def find(parts: Sequence[Sequence[str]]) -> dict[int, Found]:
    """The headings among the blocks of a text, by their place."""
    underlines: dict[str, int] = {}
    found: dict[int, Found] = {}
    taken = -1
    for number, lines in enumerate(parts):
        if number == taken:
            continue
        head = _underlined(lines, underlines) if len(lines) > 1 else None
        if head is None and len(lines) <= 3 and len(lines[0]) <= _LONGEST:
            head = _named(lines)
            if head and head.title == head.key and _is_subtitle(parts, number + 1):
                title = one_line(f"{head.title.rstrip('.:')}: {parts[number + 1][0]}")
                head, taken = Found(head.rank, title, head.key, takes=2), number + 1
            head = head or _candidate(lines)
        head = head or _hanging(lines)
        if head:
            found[number] = head
    return _settled(found, parts)


def _underlined(lines: Sequence[str], ranks: dict[str, int]) -> Found | None:
    over = 1 if len(lines) > 2 and _UNDERLINE.match(lines[0]) and lines[0] == lines[2] else 0
    title, rule = lines[over], _UNDERLINE.match(lines[over + 1])
    if not rule or len(title) > 200 or (not over and title[:1].isspace()) or _UNDERLINE.match(title):
        return None
    if not len(title.strip()) - 3 <= len(rule.group()) <= len(title.strip()) + 12 or not re.search(
        r"\w", title
    ):
        return None
    rank = ranks.setdefault(f"{rule.group(1)}{over}", _UNDERLINED_RANK + len(ranks))
    return Found(rank, one_line(title), one_line(title).casefold(), tuple(lines[over + 2 :]), "underlined")


def _named(lines: Sequence[str]) -> Found | None:
    """`CHAPTER I.`, perhaps with its title behind or below it."""
    first = one_line(lines[0])
    if _ALONE.match(first) and len(lines) == 1:
        return Found(_CHAPTER_RANK, first.rstrip(".:"), first.casefold(), kind="unnumbered")
    match = _NAMED.match(first) or _JAPANESE.match(first)
    if not match:
        return None
    word = match.group(1).lower() if match.re is _NAMED else "chapter"
    behind = match.group(3) if match.re is _NAMED else ""
    if behind and not (behind[:1].isupper() or behind[:1] in "\"'“‘(_[" or behind[:1].isdigit()):
        return None
    if len(lines) > 1 and any(len(line) > 80 for line in lines[1:]):
        return None
    below = one_line(" ".join(lines[1:]))
    rest = tuple(lines[1:]) if below.startswith("[") else ()  # a picture, not a title
    below = "" if rest else below
    listed = [m.group(1).lower() for line in lines[1:] if (m := _NAMED.match(one_line(line)))]
    if word in listed or (below and not _titled(below)):
        return None
    if behind.endswith((",", ";")) or (len(behind.split()) > 14):
        return None
    name = first if behind else first.rstrip(" .:—–-") or first
    title = one_line(": ".join(part for part in (name.rstrip(".") if below else name, below) if part))
    key = f"{word} {match.group(2).lower()}" if behind or below else title
    return Found(_RANKS.get(word, _CHAPTER_RANK), title, key, rest)


def _candidate(lines: Sequence[str]) -> Found | None:
    """A line that is a heading if others like it are."""
    line = one_line(lines[0])
    if len(lines) > 1 or len(line) > _LONGEST_CAPITALS:
        return None
    if _NUMERAL.match(line):
        return Found(_NUMERAL_RANK, line.rstrip("."), line.rstrip("."), kind="numeral")
    if titled := _numbered_title(lines[0]):
        return titled
    letters = [c for c in line if c.isalpha()]
    if len(letters) < 3 or any(c.islower() for c in letters) or not any(c.isupper() for c in letters):
        return None
    if line.endswith((",", ";", "*")) or line.startswith(("*", "[", "_", '"', "“")):
        return None
    kind = "numbered" if _NUMBERED_CAPITALS.match(line) else "capitals"
    return Found(_CAPITALS_RANK, line.rstrip("."), line.casefold(), kind=kind)


def _numbered_title(line: str) -> Found | None:
    """`IV. The Storm` or `2.1. Fields`, whose dots say how deep it stands."""
    match = _NUMBERED_TITLE.match(one_line(line))
    if not match or (match.group(1) is None and line[:1].isspace()):
        return None
    number, words = match.group(1) or match.group(2) or match.group(3), match.group(4)
    if (
        words.isupper()
        or not _titled(words)
        or words.endswith(("!", "?") if match.group(1) else (".", "!", "?"))
    ):
        return None
    title = one_line(line)
    return Found(_NUMERAL_RANK + number.count("."), title, title.casefold(), kind="titled")


def _hanging(lines: Sequence[str]) -> Found | None:
    """A heading in capitals whose text hangs below it, set in, as in the pages of a manual."""
    if len(lines) < 2 or lines[0][:1].isspace() or not all(line.startswith("   ") for line in lines[1:]):
        return None
    head = _candidate(lines[:1])
    if head is None or head.kind != "capitals" or len(lines[0]) > 40:
        return None
    return Found(head.rank, head.title, head.key, tuple(lines[1:]), "capitals")


def _titled(line: str) -> bool:
    """Whether a line reads as a title: short, its longer words with capitals."""
    words = [w for w in re.findall(r"[^\W\d_]+", line) if len(w) > 3]
    if len(line) > 100 or line.endswith((",", ";", ":", "-")):
        return False
    return line.isupper() or not words or sum(w[0].isupper() for w in words) >= 0.7 * len(words)


def _is_subtitle(parts: Sequence[Sequence[str]], number: int) -> bool:
    if number + 1 >= len(parts) or len(parts[number]) != 1:
        return False
    line = one_line(parts[number][0])
    return (
        2 < len(line) <= 70
        and _titled(line)
        and not line.startswith(("[", "*"))
        and not (_named([line]) or _NUMERAL.match(line))
        and (line.isupper() or not line.endswith((".", "!", "?", '"', "”")))
    )


def _settled(found: dict[int, Found], parts: Sequence[Sequence[str]]) -> dict[int, Found]:
    """Without candidates that are not used as headings, and without lists of contents."""
    kinds = Counter(head.kind for head in found.values())
    capitals = [head.key for head in found.values() if head.kind in ("capitals", "numbered")]
    recurring = len(capitals) >= 3 and len(set(capitals)) >= 0.7 * len(capitals)
    alone = sum(head.kind in ("capitals", "numbered") and not head.rest for head in found.values())
    crowded = alone > 0.6 * len(parts)
    numerals = kinds["numeral"] >= 3 and any(
        h.title in ("I", "1") for h in found.values() if h.kind == "numeral"
    )
    titled = _count_along([number for number, head in found.items() if head.kind == "titled"], found)
    keep = {
        number: head
        for number, head in found.items()
        if head.kind in ("named", "unnumbered", "underlined")
        or (head.kind == "numeral" and numerals)
        or (head.kind == "titled" and titled)
        or (head.kind in ("capitals", "numbered") and recurring and not crowded)
    }
    return _without_contents(_beside_chapters(keep), parts)


def _beside_chapters(found: dict[int, Found]) -> dict[int, Found]:
    """A preface stands beside the chapters, whatever sets these off; they are not sections of it."""
    chapters = [
        head.rank for head in found.values() if head.kind != "unnumbered" and head.rank >= _CHAPTER_RANK
    ]
    rank = min(chapters, default=_CHAPTER_RANK)
    return {n: replace(head, rank=rank) if head.kind == "unnumbered" else head for n, head in found.items()}


def _count_along(places: Sequence[int], found: dict[int, Found]) -> bool:
    """Whether numbered titles begin at the beginning and have text under them: else they are a list."""
    begins = any(found[place].title.startswith(("I. ", "1. ")) for place in places)
    under = sum(place + 1 not in found for place in places)
    return len(places) >= 3 and begins and under >= 0.7 * len(places)


def _without_contents(found: dict[int, Found], parts: Sequence[Sequence[str]]) -> dict[int, Found]:
    last = {head.key: number for number, head in found.items()}
    run: list[int] = []
    dropped: set[int] = set()
    places = list(found)
    for place, after in zip(places, [*places[1:], len(parts)], strict=False):
        empty = after <= place + found[place].takes and not found[place].rest
        if empty:
            run.append(place)
            continue
        if len(run) >= 3:
            dropped |= {p for p in run if last[found[p].key] > p}
        run = []
    return {number: head for number, head in found.items() if number not in dropped}
