"""Find the part of a book that readers name: "chapter 3", "the last chapter", "the section on cron".

A number is looked for in the headings of chapters, then in the names of the files, and then chapters are
counted. A title may be given in part, if no other heading fits as well. A part that is not there is None.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING

from octavo.text.bookmap.chapters import find_descendants, list_chapters
from octavo.text.clean import collapse
from octavo.text.english import list_numbers, list_words, stem, tokenize

if TYPE_CHECKING:
    from octavo.types import Section


class Extent(StrEnum):
    """What of a part is wanted."""

    WHOLE = "whole"
    OPENING = "opening"
    END = "end"


@dataclass(frozen=True, slots=True)
class Part:
    """Sections in the order of the book. `whole_book` says that they are its chapters.

    `title` is that of the section which has all of them under it, if the part is one.
    """

    sections: tuple[Section, ...]
    extent: Extent = Extent.WHOLE
    whole_book: bool = False
    title: str = ""


KINDS = (
    r"(?:chapter|chap\.?|ch\.?|part|section|sec\.?|appendix|book|volume|act|scene|canto|lesson|module|unit"
    r"|week|letter|lecture|day|stave|story|tale)"
)
# What has a title, but no number that a reader would count by.
_TITLED_KINDS = rf"(?:{KINDS}|page|topic|article|entry|scene)"
_BOOK = re.compile(
    r"(?:(?:the|this) )?(?:whole |entire |full )?"
    r"(?:(?:hand|guide|text|cook|rule|work|source|story)?book|novel|story|plot|poem|play|essay|report|manual|guide|text|document|documentation)"
    r"(?: so far)?",
    re.IGNORECASE,
)
_EDGE = re.compile(
    r"(?:the )?(?:very )?(?:(?P<end>end|ending|conclusion|close|finale)"
    r"|(?P<opening>beginning|start|opening|introduction|intro))(?: (?:of|to|in) (?P<rest>.+))?",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    rf"(?:the )?(?P<kind>{KINDS})\s*(?:no\.? |number |#)?(?P<number>[\w.]+)", re.IGNORECASE
)
_ORDINAL = re.compile(
    rf"(?:the )?(?P<which>[\w-]+) (?P<kind>{KINDS})(?: of (?:the|this) book)?", re.IGNORECASE
)
_TITLED = (
    re.compile(
        rf"(?:the |this )?{_TITLED_KINDS} (?:on|about|called|titled|entitled|named|of|for)? ?"
        r"(?P<title>.*[^\W\d_].*)",
        re.IGNORECASE,
    ),
    re.compile(rf"(?:the )?(?P<title>.+?) {_TITLED_KINDS}", re.IGNORECASE),
)
_NTH = re.compile(r"(\d+)(?:st|nd|rd|th)")
# By their first two letters: appendix and part; chapter, lesson, module, week and unit.
_NEVER_BARE, _FILED = ("ap", "pa"), ("ch", "le", "mo", "we", "un")
_SECTION = "se"
# Chapters, stories, staves and tales may be counted where they have no numbers.
_COUNTED = ("ch", "st", "ta")
LONGEST = 120
_LAST = frozenset(("last", "final", "closing"))
_ROMAN = re.compile(r"(?=[ivxlcdm])(m{0,3})(cm|cd|d?c{0,3})(xc|xl|l?x{0,3})(ix|iv|v?i{0,3})")
_WORTH = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100, "d": 500, "m": 1000}
_HEAD = re.compile(
    rf"(?:(?P<kind>{KINDS})\s+)?(?P<number>\d+(?:\.\d+)*|[ivxlcdm]+|[a-z]+)(?=[.:)\s—–-]|$)", re.IGNORECASE
)
_FILE = re.compile(
    r"(?:^|/)(?:ch|chap|chapter|part|lesson|module|week|unit|section|s|c)?[-_ ]?0*(\d+)(?=\D)[^/]*$",
    re.IGNORECASE,
)
# Before and after the chapters of a book.
_MATTER = re.compile(
    r"(?:title page|half title|cover|contents|table of contents|copyright.*|imprint|colophon|index|licen[cs]e"
    r"|legal notice|dedication|acknowledge?ments?|about the authors?|also by.*|glossary"
    r"|bibliography|references|notes(?: (?:on|to|for) .*)?"
    r"|footnotes|errata|credits|foreword|preface|introduction|prologue|epigraph|etymology|extracts.*"
    r"|(?:original )?transcriber.?s notes?|project gutenberg.*|appendix.*|further reading)\W*$",
    re.IGNORECASE,
)
_TITLE_PAGE = re.compile(r"copyright|©|all rights reserved|\blicen[cs]e\b|\bISBN\b", re.IGNORECASE)
_ENDING = re.compile(r"(?:epilogue|conclusion|afterword|postscript|finis)\b", re.IGNORECASE)
_APOSTROPHE = re.compile(r"(?<=\w)['’](?=\w)")
_SUBTITLE = re.compile(r"[:;—]| [-–] |, or\b", re.IGNORECASE)
# What stands under the title of a book on its first page has fewer characters than this, and no sentence.
_TITLE_PAGE_MOST = 300
_SENTENCE = re.compile(r"\w\w[.!?][\"”’')]*(?:\s|$)")
# A chapter with fewer characters than this is told together with the one before it.
_SHORT = 2_500


def resolve_part(name: str, sections: Sequence[Section], *, title: str = "") -> Part | None:
    """Find the part of a book that a name means. The sections are in the order of the book.

    Its `title` means the book.
    """
    said = collapse(name[: LONGEST + 1]).strip(" \"“”'.,?!")
    if not sections or not said or len(name) > LONGEST:
        return None
    named = _resolve_title(said, sections, exact=True)
    if _BOOK.fullmatch(said) or _is_own_title(said, named, sections, title):
        return Part(tuple(_find_openings(list_body(sections), sections)), whole_book=True)
    named = named or _resolve_edge(said, sections, title)
    if named is None and _names_number(said):
        return _resolve_number(said, sections)
    return named or _resolve_ordinal(said, sections) or _resolve_title(said, sections, exact=False)


def is_titled(name: str, title: str) -> bool:
    """Whether a name is the title of a book, or the first part of it."""
    first, *_ = _SUBTITLE.split(title)
    return bool(fold_title(name)) and fold_title(name) in (fold_title(title), fold_title(first))


def _is_own_title(said: str, named: Part | None, sections: Sequence[Section], title: str) -> bool:
    """Whether a name means the book: it is its title or heads its title page, and no story in it has it.

    What has all chapters under it is no story in it, and neither is a chapter with a number. "The end" and
    "part 2" mean a part whatever the title is.
    """
    edge = _EDGE.fullmatch(said)
    if (edge and not edge["rest"]) or _names_number(said):
        return False
    if named is None:
        return is_titled(said, title)
    own = {section.id for section in named.sections}
    above_all = own >= {section.id for section in list_body(sections)}
    numbered = drop_number(named.title) != named.title
    own_title = (above_all or numbered) and is_titled(said, title)
    return own_title or _is_title_page(named.sections, sections)


def _is_title_page(part: Sequence[Section], sections: Sequence[Section]) -> bool:
    """Whether a part is a section at the beginning with an author or a year, but without a sentence."""
    text = part[0].text.strip()
    alone = len(part) == 1 and part[0].id == sections[0].id and len(sections) > 1
    return (
        alone
        and len(text) < _TITLE_PAGE_MOST
        and not _MATTER.match(part[0].title)
        and not _SENTENCE.search(text)
    )


def keep_visible(part: Part, visible: Set[str]) -> Part | None:
    """Leave out the sections that the reader may not see, or return None if there is nothing else."""
    kept = tuple(section for section in part.sections if section.id in visible)
    return replace(part, sections=kept) if kept else None


def _gather(section: Section, sections: Sequence[Section]) -> Part:
    """Return a section with everything under it."""
    number = next(n for n, other in enumerate(sections) if other.id == section.id)
    gathered = tuple(sections[n] for n in find_descendants(sections, number))
    return Part(gathered, title=collapse(section.title))


def is_book(name: str) -> bool:
    """Whether a name means the whole book: "the book", "this novel"."""
    return _BOOK.fullmatch(name) is not None


def list_headed(sections: Sequence[Section], kind: str) -> list[Section]:
    """Return the sections that their headings call by a kind and a number or letter: "Chapter 3", "Part II".

    One alone is no series. Of several levels, the highest that has a series counts.
    """
    wanted = kind.lower()
    if not re.fullmatch(KINDS, wanted):
        # "Character" begins like "chapter".
        return []
    headed = [
        section
        for section in sections
        if (head := _HEAD.match(section.title))
        and head["kind"]
        and head["kind"].lower()[:2] == wanted[:2]
        and _read_number(head["number"]) is not None
    ]
    levels = sorted({section.level for section in headed})
    series = ([section for section in headed if section.level == level] for level in levels)
    return next((found for found in series if len(found) > 1), [])


def list_body(sections: Sequence[Section]) -> list[Section]:
    """Return the chapters without what stands before and after them, or all if nothing else is there."""
    chapters = [sections[number] for number in list_chapters(sections)]
    if (
        len(chapters) > 1
        and _TITLE_PAGE.search(chapters[0].text[:_SHORT])
        and _is_leaf(chapters[0], sections)
    ):
        chapters = chapters[1:]
    return [chapter for chapter in chapters if not _MATTER.match(chapter.title)] or chapters


def _is_leaf(chapter: Section, sections: Sequence[Section]) -> bool:
    return not any(chapter.id in section.ancestors for section in sections)


def _is_under(chapter_id: str, section: Section) -> bool:
    return chapter_id in section.ancestors


def _find_openings(chapters: Sequence[Section], sections: Sequence[Section]) -> list[Section]:
    """Return the text that opens each chapter: its own, or that of the first section under it with any."""
    numbers = {section.id: number for number, section in enumerate(sections)}
    found: list[Section] = []
    for chapter in chapters:
        after = sections[numbers[chapter.id] + 1 :]
        below = (chapter, *takewhile(partial(_is_under, chapter.id), after))
        found.append(next((section for section in below if section.text.strip()), chapter))
    return found


def _resolve_edge(said: str, sections: Sequence[Section], title: str) -> Part | None:
    found = _EDGE.fullmatch(said)
    if not found:
        return None
    extent = Extent.END if found["end"] else Extent.OPENING
    rest = found["rest"] or "the book"
    inner = None if _EDGE.fullmatch(rest) else resolve_part(rest, sections, title=title)
    if inner is None:
        return None
    if not inner.whole_book:
        told = [section for section in inner.sections if section.text.strip()] or inner.sections
        own = tuple(told[:1] if extent is Extent.OPENING else told[-1:])
        return Part(own, Extent.WHOLE if extent is Extent.OPENING and len(inner.sections) > 1 else extent)
    body = list_body(sections)
    if extent is Extent.OPENING:
        return replace(_gather(body[0], sections), title="")
    last = [_gather(body[-1], sections)]
    short = sum(len(section.text) for section in last[0].sections) < _SHORT
    if len(body) > 1 and (short or _ENDING.match(body[-1].title)):
        last.insert(0, _gather(body[-2], sections))
    return Part(tuple(s for part in last for s in part.sections), Extent.END)


def _names_number(said: str) -> bool:
    found = _NUMBERED.fullmatch(said)
    return found is not None and _read_number(found["number"]) is not None


def _resolve_number(said: str, sections: Sequence[Section]) -> Part | None:
    found = _NUMBERED.fullmatch(said)
    number = _read_number(found["number"]) if found else None
    if found is None or number is None:
        return None
    kind = found["kind"].lower()[:2]
    headed = [(section, head) for section in sections if (head := _HEAD.match(section.title))]
    same = [(section, head) for section, head in headed if _read_number(head["number"]) == number]
    named = [section for section, head in same if head["kind"] and head["kind"].lower()[:2] == kind]
    series = headed if kind == _SECTION else _keep_chapters(headed, sections)
    plain = [(s, head) for s, head in series if not head["kind"] and _read_number(head["number"]) == number]
    bare = [section for section, head in plain if not head["number"].isalpha()]
    roman = [section for section, head in plain if _is_roman_heading(section.title)]
    filed = [s for s in sections if (file := _FILE.search(s.source_file)) and file[1] == number]
    for matching in (
        named,
        bare if kind not in _NEVER_BARE else [],
        roman if kind != "ap" else [],
        _find_by_parts(number, headed, sections) if kind == "ch" else [],
        filed if kind in _FILED else [],
    ):
        if matching:
            return _gather(matching[0], sections)
    counted = list_body(sections)
    if kind == "ch" and number.isdecimal() and not named and 0 < int(number) <= len(counted):
        return _gather(counted[int(number) - 1], sections)
    return None


def _keep_chapters(
    headed: Sequence[tuple[Section, re.Match[str]]], sections: Sequence[Section]
) -> list[tuple[Section, re.Match[str]]]:
    """Keep the numbered headings that are chapters, or that count on from one chapter to the next.

    Others number the parts of one page ("1. Quizzes"), or count anew in each chapter.
    """
    chapters = {sections[number].id for number in list_chapters(sections)}
    plain = [(s, h["number"]) for s, h in headed if not h["kind"] and _is_number(s.title, h["number"])]
    counting = set[int]()
    for level in {section.level for section, _ in plain}:
        alike = [(s, number) for s, number in plain if s.level == level]
        above = {next((a for a in s.ancestors if a in chapters), "") for s, _ in alike}
        if len(above) > 1 and len({number for _, number in alike}) == len(alike):
            counting.add(level)
    return [
        (section, head)
        for section, head in headed
        if section.id in chapters or "." in head["number"] or section.level in counting
    ]


def _is_number(title: str, number: str) -> bool:
    """Whether a heading begins with a number: "3. The House" or "III. The House"."""
    return number.isdecimal() or _is_roman_heading(title)


def _is_roman_heading(title: str) -> bool:
    """Whether a heading begins with a Roman number of its own: "III. The Fire Sermon"."""
    found = re.match(r"([IVXLC]+)(?:[.:)]|\s*[—–-])", title)
    return found is not None and _ROMAN.fullmatch(found[1].lower()) is not None


def _find_by_parts(
    number: str, headed: Sequence[tuple[Section, re.Match[str]]], sections: Sequence[Section]
) -> list[Section]:
    """Find the chapter without a number whose sections have it: "4.1 Mailing lists" is of chapter 4."""
    inner = {
        above
        for section, head in headed
        if not head["kind"] and re.match(rf"{re.escape(number)}\.\d", head["number"])
        for above in section.ancestors
    }
    return [sections[n] for n in list_chapters(sections) if sections[n].id in inner][:1]


def _resolve_ordinal(said: str, sections: Sequence[Section]) -> Part | None:
    found = _ORDINAL.fullmatch(said)
    if not found:
        return None
    which, kind = found["which"].lower(), found["kind"].lower()[:2]
    body = list_body(sections) if kind in _COUNTED else []
    if which in _LAST:
        return _gather(body[-1], sections) if body else None
    nth = _NTH.fullmatch(which)
    place = int(nth[1] if nth else list_numbers("ordinals").get(which, 0))
    if not place:
        return None
    by_number = _resolve_number(f"{found['kind']} {place}", sections)
    return by_number or (_gather(body[place - 1], sections) if place <= len(body) else None)


def _resolve_title(said: str, sections: Sequence[Section], *, exact: bool) -> Part | None:
    if exact:
        wanted = fold_title(said)
        same = [s for s in sections if wanted in (fold_title(s.title), fold_title(drop_number(s.title)))]
        same = same if wanted else []
        return _gather(min(same, key=lambda s: s.level), sections) if same else None
    for pattern in _TITLED:
        found = pattern.fullmatch(said)
        if found:
            return _resolve_words(found["title"].strip(" \"“”'"), sections)
    return None


def _resolve_words(title: str, sections: Sequence[Section]) -> Part | None:
    """Find the heading that has all of the words, and the fewest besides."""
    wanted = _collect_words(title)
    if not wanted:
        return None
    having = [(s, words) for s in sections if wanted <= (words := _collect_words(s.title))]
    if not having:
        return None
    best = min(having, key=lambda item: (len(item[1]), item[0].level, item[0].position))
    return _gather(best[0], sections)


def _collect_words(text: str) -> frozenset[str]:
    found = (token for token in tokenize(text) if token.text.lower() not in list_words("stop"))
    return frozenset(stem(token.text) for token in found)


def find_untold_title(part: Part, name: str) -> str:
    """Find the title of a part if it says more than the name that the reader gave it; else return "".

    "Chapter 3" says nothing of "III: Of Individuality". Who names the title knows it.
    """
    told = {t.stem for t in tokenize(drop_number(part.title)) if not t.stop and _read_number(t.text) is None}
    return part.title if told - {token.stem for token in tokenize(name)} else ""


def drop_number(title: str) -> str:
    found = _HEAD.match(title)
    numbered = found and (found["kind"] or not found["number"].isalpha())
    return title[found.end() :].lstrip(" .:)—–-") if found and numbered else title


def fold_title(title: str) -> str:
    """Return the words of a title in lower case, without marks. An apostrophe joins: "silvers embassy"."""
    return re.sub(r"[\W_]+", " ", _APOSTROPHE.sub("", title)).strip().casefold()


def _read_number(text: str) -> str | None:
    """Read "9", "IX", "nine" or "A" as one spelling, or return None."""
    low = text.lower().strip(".")
    if re.fullmatch(r"\d+(?:\.\d+)*", low):
        return low
    if low in list_numbers("numbers"):
        return str(list_numbers("numbers")[low])
    if len(low) == 1 and low not in "ivx":
        return low
    roman = _ROMAN.fullmatch(low)
    return str(_read_roman(low)) if roman else None


def _read_roman(text: str) -> int:
    values = [_WORTH[letter] for letter in text]
    return sum(-v if v < max(values[n:]) else v for n, v in enumerate(values))
