"""Read a book in plain text.

The title and author come from where the file states them. The licence around a Project Gutenberg book is
taken off. Lines that were wrapped at a width are joined to paragraphs; verse, tables and listings keep their
lines.

Headings are recognised by how people write them: underlined lines, `CHAPTER I.` and the like in a paragraph
of their own, and short lines in capitals when there are several. A list of contents at the front does not
become a row of empty chapters. A text without headings is one section.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from octavo.errors import BadBook
from octavo.readers.files import check_sections, load_file
from octavo.readers.page_ends import join_pages
from octavo.readers.parsed import ParsedBook, ParsedSection
from octavo.readers.parts import Part, build_elements, mark_lines, shift_element
from octavo.readers.sections import SectionBuilder, nest_sections
from octavo.readers.titles import clean_line, make_title
from octavo.text.clean import clean, decode
from octavo.text.layout import read_prose
from octavo.types import BookFormat, ElementKind

if TYPE_CHECKING:
    from octavo.limits import Limits

# Headings
_UNDERLINE = re.compile(r"^([=\-~*^\"+#'`.:_])\1{2,}$")
_RANKS = {"volume": 1, "vol": 1, "book": 2, "part": 3, "act": 4, "scene": 6, "section": 7}
_CHAPTER_RANK, _CAPITALS_RANK, _UNDERLINED_RANK, _NUMERAL_RANK = 5, 20, 10, 8
_NUMBER = (
    r"(?:[ivxlcdm]{1,9}|\d{1,4}|the\s+\w+|first|last|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|"
    r"(?:thir|four|fif|six|seven|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty(?:[- ]\w+)?)"
)
_NAMED = re.compile(
    rf"^(volume|vol|book|part|act|scene|section|chapter|chap|letter|canto|stave|fable|tale|story|lecture|lesson|"
    rf"chapitre|kapitel|cap[ií]tulo)\.?\s+({_NUMBER})\b\s*(?:[.:—–-]+\s*|$|\s(?=\S))(.*)$",
    re.IGNORECASE,
)
_UNNUMBERED = re.compile(
    r"^(?:(?:author['’]s\s+|translator['’]s\s+)?(?:preface|prologue|epilogue|introduction|foreword|afterword|"
    r"conclusion|contents|table of contents|dedication|acknowledge?ments|appendix(?:\s+\w{1,4})?|glossary|"
    r"bibliography|etymology|index|notes|footnotes))\s*[.:]?$",
    re.IGNORECASE,
)
_NUMERAL_ALONE = re.compile(r"^(?:[IVXLCDM]{1,8}|\d{1,3})\.?$")
_NUMBERED_CAPITALS = re.compile(r"^(?:[IVXLCDM]{1,8}|\d{1,3})[.:]\s+(?=[A-Z])[^a-z]{3,70}$")
_NUMBERED_TITLE = re.compile(
    r"^(?:([IVXLC]{1,7})\.|(\d{1,2}(?:\.\d{1,2}){0,3})\.|(\d{1,2}(?:\.\d{1,2}){1,3}))\s+(\S.{1,69})$"
)
_JAPANESE_CHAPTER = re.compile(r"^第[0-9０-９一二三四五六七八九十百千]{1,6}[章回節巻部](?:\s.{0,40})?$")
_LONGEST_HEADING, _LONGEST_CAPITALS = 120, 70

# Paragraphs
_ITEM = re.compile(
    r"^\s*(?:[*+•·‣–-]|\(?\d{1,3}(?:\.\d{1,3}){0,3}[.)]|\(?(?:[a-zA-Z]|[IVXLC]{2,7}|[ivx]{2,5})[.)])\s+\S"
)
_COLUMNS = re.compile(r"\S(?: {3,}|\t+)\S|^\s*[|+].*[|+]\s*$|[=~-]{4,}\s+[=~-]{4,}")
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n)+")
_CODE_END = re.compile(r"[;{}\\]$|^\s*(?:[$>%#] |//|--|#include)")
_WIDEST_WRAP = 160
_CJK = re.compile("[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]")
_CJK_GAP = re.compile(f"(?<={_CJK.pattern}) (?={_CJK.pattern})")
_LONGEST_VERSE = 60
_FIRST_CAPITAL = re.compile(r"[^\w]*[^\W\d_a-z]")
_BROKEN_AT_HYPHEN = re.compile("(?<=[a-z])\u2010 (?=[a-z])")
_BROKEN_AT_OWN_HYPHEN = re.compile(r"(?<=\w\w)- (?=[a-z]{2})(?!(?:and|or|to)\b)")

# The title page
_GUTENBERG_START = re.compile(
    r"^[ \t]*\*{3}[ \t]*START OF (?:THE|THIS) PROJECT GUTENBERG.*?\*{3}[^\n]*$", re.M | re.I | re.S
)
_GUTENBERG_END = re.compile(
    r"^[ \t]*(?:\*{3}[ \t]*)?END OF (?:THE |THIS )?PROJECT GUTENBERG[^\n]*$", re.M | re.I
)
_FIELD = re.compile(r"^(Title|Author|Authors|Language|By)\s*:\s*(\S.*)$", re.I)
_BY = re.compile(r"^by\s+(\S.{2,80})$", re.I)
_LANGUAGES = {
    "english": "en",
    "french": "fr",
    "german": "de",
    "spanish": "es",
    "italian": "it",
    "dutch": "nl",
}
_HEAD_LENGTH = 4_000


@dataclass(frozen=True, slots=True)
class _TitlePage:
    """What a book says about itself before it begins."""

    title: str = ""
    authors: tuple[str, ...] = ()
    language: str = ""


def read_plain_text(path: Path, limits: Limits) -> ParsedBook:
    """Read the book in a text file."""
    data = load_file(path, limits)
    if not data:
        raise BadBook("empty_file", f"{path.name} is empty: it has 0 bytes")
    decoded = decode(data)
    stated, text = _read_title_page(join_pages(clean(decoded.text).expandtabs(8)))
    parts = split_blocks(text)
    if not parts:
        raise BadBook("no_text", f"{path.name} has no text in it")
    found = find_headings(parts)
    stated, first = _read_opening(parts, found, stated)
    title = stated.title or make_title(path.stem)
    return ParsedBook(
        title=title,
        format=BookFormat.TEXT,
        sections=check_sections(
            _build_sections(parts, found, first, title, path.name), limits, name=path.name
        ),
        authors=stated.authors,
        language=stated.language,
        warnings=tuple(f"{path.name}: {w}" for w in decoded.warnings),
    )


def _read_title_page(text: str) -> tuple[_TitlePage, str]:
    """Return what the head of the file states, and the text without the licence around it."""
    start = _GUTENBERG_START.search(text[: 8 * _HEAD_LENGTH])
    head = text[: start.start()] if start else text[:_HEAD_LENGTH].split("\n\n")[0]
    fields: dict[str, str] = {}
    lines = head.split("\n")
    for number, line in enumerate(lines):
        if field := _FIELD.match(line):
            more = [
                b.strip() for b in lines[number + 1 : number + 2] if b.startswith("    ") and ":" not in b
            ]
            fields.setdefault(field.group(1).lower(), clean_line(" ".join([field.group(2), *more])))
    if start:
        end = _GUTENBERG_END.search(text, start.end())
        text = text[start.end() : end.start() if end else len(text)]
    elif "title" in fields and all(_FIELD.match(line) or re.match(r"^[\w -]{2,20}:", line) for line in lines):
        text = text[len(head) :]
    else:
        fields = {key: value for key, value in fields.items() if key == "title"} if "title" in fields else {}
    author = fields.get("author") or fields.get("authors") or fields.get("by", "")
    authors = tuple(a for part in re.split(r"\s*;\s*|\s+and\s+", author) if (a := clean_line(part)))
    language = fields.get("language", "").lower()
    return _TitlePage(fields.get("title", ""), authors, _LANGUAGES.get(language, language[:2])), text


def _read_opening(
    parts: list[list[str]], found: dict[int, _TextHeading], stated: _TitlePage
) -> tuple[_TitlePage, int]:
    """Return the title and author that the first lines show, and how many blocks only showed that."""
    head = found.get(0)
    title, taken = stated.title, 0
    line = clean_line(parts[0][0])
    if head and head.kind == "underlined" and len(found) > 1:
        title, taken = title or head.title, 0 if head.rest else 1
        found.pop(0)
        parts[0] = list(head.rest)
    elif len(parts[0]) == 1 and len(line) <= 100 and (not head or head.kind == "capitals"):
        shown = line.isupper() or (len(parts) > 1 and len(parts[1]) == 1 and bool(_BY.match(parts[1][0])))
        if shown or line.casefold() == title.casefold():
            title, taken = title or line.rstrip("."), 1
            found.pop(0, None)
    authors = stated.authors
    by = (
        _BY.match(clean_line(parts[taken][0]))
        if taken and taken < len(parts) and len(parts[taken]) == 1
        else None
    )
    if by:
        authors = authors or (clean_line(by.group(1)),)
        taken += 1
    return _TitlePage(title, authors, stated.language), taken


def _build_sections(
    parts: list[list[str]], found: dict[int, _TextHeading], first: int, title: str, name: str
) -> list[ParsedSection]:
    wrapped = measure_width(parts)
    built = [SectionBuilder(0, title)]
    number = first
    while number < len(parts):
        lines: list[str] | tuple[str, ...] = parts[number]
        head = found.get(number)
        number += head.takes if head else 1
        if head:
            built.append(SectionBuilder(head.rank, head.title))
            lines = head.rest
        if lines:
            text, is_block = reflow(lines, wrapped)
            if text.strip():
                markup = _mark_block(text, is_block=is_block)
                built[-1].body.add(text, block=is_block, markup=markup)
    for builder in built:
        builder.body.markup = _mark_prose(builder.body.text, builder.body.markup)
    sections = nest_sections([b.build() for b in built[1:]], path=(), source_file=name)
    opening = built[0].build()
    if opening.text:
        section = ParsedSection(
            title=title,
            heading_path=(title,),
            text=opening.text,
            source_file=name,
            blocks=opening.blocks,
            markup=build_elements(opening.markup),
        )
        sections.insert(0, section)
    return sections


@dataclass(frozen=True, slots=True)
class _TextHeading:
    """A heading that takes one block or two. `rest` holds the lines of the block that are text already."""

    rank: int
    title: str
    key: str
    rest: tuple[str, ...] = ()
    kind: str = "named"
    takes: int = 1


def find_headings(parts: Sequence[Sequence[str]]) -> dict[int, _TextHeading]:
    """Find the headings among the blocks of a text, by block number."""
    underlines: dict[str, int] = {}
    found: dict[int, _TextHeading] = {}
    taken = -1
    for number, lines in enumerate(parts):
        if number == taken:
            continue
        head = _read_underlined(lines, underlines) if len(lines) > 1 else None
        if head is None and len(lines) <= 3 and len(lines[0]) <= _LONGEST_HEADING:
            head = _read_named(lines)
            if head and head.title == head.key and _is_subtitle(parts, number + 1):
                title = clean_line(f"{head.title.rstrip('.:')}: {parts[number + 1][0]}")
                head, taken = _TextHeading(head.rank, title, head.key, takes=2), number + 1
            head = head or _read_candidate(lines)
        head = head or _read_hanging(lines)
        if head:
            found[number] = head
    return _select_headings(found, parts)


def _read_underlined(lines: Sequence[str], ranks: dict[str, int]) -> _TextHeading | None:
    """Read a title over a line of `===` or the like; each kind of line has its own rank."""
    over = 1 if len(lines) > 2 and _UNDERLINE.match(lines[0]) and lines[0] == lines[2] else 0
    title, rule = lines[over], _UNDERLINE.match(lines[over + 1])
    if not rule or len(title) > 200 or (not over and title[:1].isspace()) or _UNDERLINE.match(title):
        return None
    if not len(title.strip()) - 3 <= len(rule.group()) <= len(title.strip()) + 12 or not re.search(
        r"\w", title
    ):
        return None
    rank = ranks.setdefault(f"{rule.group(1)}{over}", _UNDERLINED_RANK + len(ranks))
    return _TextHeading(
        rank, clean_line(title), clean_line(title).casefold(), tuple(lines[over + 2 :]), "underlined"
    )


def _read_named(lines: Sequence[str]) -> _TextHeading | None:
    """Read `CHAPTER I.`, with or without a title behind or below it."""
    first = clean_line(lines[0])
    if _UNNUMBERED.match(first) and len(lines) == 1:
        return _TextHeading(_CHAPTER_RANK, first.rstrip(".:"), first.casefold(), kind="unnumbered")
    match = _NAMED.match(first) or _JAPANESE_CHAPTER.match(first)
    if not match:
        return None
    word = match.group(1).lower() if match.re is _NAMED else "chapter"
    behind = match.group(3) if match.re is _NAMED else ""
    if behind and not (behind[:1].isupper() or behind[:1] in "\"'“‘(_[" or behind[:1].isdigit()):
        return None
    if len(lines) > 1 and any(len(line) > 80 for line in lines[1:]):
        return None
    below = clean_line(" ".join(lines[1:]))
    # A line in brackets stands for a picture; it is not a title.
    rest = tuple(lines[1:]) if below.startswith("[") else ()
    below = "" if rest else below
    listed = [m.group(1).lower() for line in lines[1:] if (m := _NAMED.match(clean_line(line)))]
    if word in listed or (below and not _is_title(below)):
        return None
    if behind.endswith((",", ";")) or (len(behind.split()) > 14):
        return None
    name = first if behind else first.rstrip(" .:—–-") or first
    title = clean_line(": ".join(part for part in (name.rstrip(".") if below else name, below) if part))
    key = f"{word} {match.group(2).lower()}" if behind or below else title
    return _TextHeading(_RANKS.get(word, _CHAPTER_RANK), title, key, rest)


def _read_candidate(lines: Sequence[str]) -> _TextHeading | None:
    """Read a line that is a heading if there are others like it."""
    line = clean_line(lines[0])
    if len(lines) > 1 or len(line) > _LONGEST_CAPITALS:
        return None
    if _NUMERAL_ALONE.match(line):
        return _TextHeading(_NUMERAL_RANK, line.rstrip("."), line.rstrip("."), kind="numeral")
    if titled := _read_numbered_title(lines[0]):
        return titled
    letters = [c for c in line if c.isalpha()]
    if len(letters) < 3 or any(c.islower() for c in letters) or not any(c.isupper() for c in letters):
        return None
    if line.endswith((",", ";", "*")) or line.startswith(("*", "[", "_", '"', "“")):
        return None
    kind = "numbered" if _NUMBERED_CAPITALS.match(line) else "capitals"
    return _TextHeading(_CAPITALS_RANK, line.rstrip("."), line.casefold(), kind=kind)


def _read_numbered_title(line: str) -> _TextHeading | None:
    """Read `IV. The Storm` or `2.1. Fields`, whose dots say how deep it is."""
    match = _NUMBERED_TITLE.match(clean_line(line))
    if not match or (match.group(1) is None and line[:1].isspace()):
        return None
    number, words = match.group(1) or match.group(2) or match.group(3), match.group(4)
    if (
        words.isupper()
        or not _is_title(words)
        or words.endswith(("!", "?") if match.group(1) else (".", "!", "?"))
    ):
        return None
    title = clean_line(line)
    return _TextHeading(_NUMERAL_RANK + number.count("."), title, title.casefold(), kind="titled")


def _read_hanging(lines: Sequence[str]) -> _TextHeading | None:
    """Read a heading in capitals with indented text below it, as in a manual page."""
    if len(lines) < 2 or lines[0][:1].isspace() or not all(line.startswith("   ") for line in lines[1:]):
        return None
    head = _read_candidate(lines[:1])
    if head is None or head.kind != "capitals" or len(lines[0]) > 40:
        return None
    return _TextHeading(head.rank, head.title, head.key, tuple(lines[1:]), "capitals")


def _is_title(line: str) -> bool:
    """Whether a line reads like a title: short, and most of its longer words capitalised."""
    words = [w for w in re.findall(r"[^\W\d_]+", line) if len(w) > 3]
    if len(line) > 100 or line.endswith((",", ";", ":", "-")):
        return False
    return line.isupper() or not words or sum(w[0].isupper() for w in words) >= 0.7 * len(words)


def _is_subtitle(parts: Sequence[Sequence[str]], number: int) -> bool:
    """Whether a block is one short title that belongs to the heading before it."""
    if number + 1 >= len(parts) or len(parts[number]) != 1:
        return False
    line = clean_line(parts[number][0])
    return (
        2 < len(line) <= 70
        and _is_title(line)
        and not line.startswith(("[", "*"))
        and not (_read_named([line]) or _NUMERAL_ALONE.match(line))
        and (line.isupper() or not line.endswith((".", "!", "?", '"', "”")))
    )


def _select_headings(
    found: dict[int, _TextHeading], parts: Sequence[Sequence[str]]
) -> dict[int, _TextHeading]:
    """Drop candidates that the text does not use as headings, and lists of contents."""
    kinds = Counter(head.kind for head in found.values())
    capitals = [head.key for head in found.values() if head.kind in ("capitals", "numbered")]
    recurring = len(capitals) >= 3 and len(set(capitals)) >= 0.7 * len(capitals)
    alone = sum(head.kind in ("capitals", "numbered") and not head.rest for head in found.values())
    crowded = alone > 0.6 * len(parts)
    numerals = kinds["numeral"] >= 3 and any(
        h.title in ("I", "1") for h in found.values() if h.kind == "numeral"
    )
    titled = _is_numbered_run([number for number, head in found.items() if head.kind == "titled"], found)
    keep = {
        number: head
        for number, head in found.items()
        if head.kind in ("named", "unnumbered", "underlined")
        or (head.kind == "numeral" and numerals)
        or (head.kind == "titled" and titled)
        or (head.kind in ("capitals", "numbered") and recurring and not crowded)
    }
    return _drop_contents(_level_prefaces(keep), parts)


def _level_prefaces(found: dict[int, _TextHeading]) -> dict[int, _TextHeading]:
    """Put a preface beside the chapters, whatever their rank, so that they are not sections of it."""
    chapters = [
        head.rank for head in found.values() if head.kind != "unnumbered" and head.rank >= _CHAPTER_RANK
    ]
    rank = min(chapters, default=_CHAPTER_RANK)
    return {n: replace(head, rank=rank) if head.kind == "unnumbered" else head for n, head in found.items()}


def _is_numbered_run(places: Sequence[int], found: dict[int, _TextHeading]) -> bool:
    """Whether numbered titles start at one and have text under them; otherwise they are a list."""
    begins = any(found[place].title.startswith(("I. ", "1. ")) for place in places)
    under = sum(place + 1 not in found for place in places)
    return len(places) >= 3 and begins and under >= 0.7 * len(places)


def _drop_contents(found: dict[int, _TextHeading], parts: Sequence[Sequence[str]]) -> dict[int, _TextHeading]:
    """Drop runs of empty headings that come again later: a table of contents."""
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


def split_blocks(text: str) -> list[list[str]]:
    """Split a text at blank lines into blocks of lines, without blanks at line ends."""
    return [
        [line.rstrip() for line in part.split("\n")]
        for part in _BLANK_LINES.split(text.strip("\n"))
        if part.strip()
    ]


def measure_width(parts: Sequence[Sequence[str]]) -> int:
    """Measure the width that a text was wrapped at, where most of its longest lines end; 0 if it was not."""
    sizes = sorted(len(line) for part in parts for line in part[:-1])
    if not sizes:
        return 0
    most = sizes[int(len(sizes) * 0.95)]
    return most if most <= _WIDEST_WRAP else 0


def reflow(lines: Sequence[str], wrapped: int) -> tuple[str, bool]:
    """Return a block as text, and whether its line breaks carry meaning (a table, a listing)."""
    if len(lines) == 1:
        return lines[0].strip(), False
    if _ITEM.match(lines[0]) or sum(1 for line in lines if _ITEM.match(line)) > 1:
        return _reflow_list(lines), False
    columns = sum(1 for line in lines if _COLUMNS.search(line))
    if 2 * columns > len(lines):
        return "\n".join(lines), True
    return _reflow_prose(lines, wrapped)


def _reflow_prose(lines: Sequence[str], wrapped: int) -> tuple[str, bool]:
    """Join wrapped lines to paragraphs; keep the lines of verse, code and everything that was not wrapped."""
    indents = [len(line) - len(line.lstrip()) for line in lines]
    term = next((n for n, indent in enumerate(indents) if indent != indents[0]), len(lines))
    if term < len(lines) and min(indents[term:]) >= indents[0] + 2 and len(lines[0]) < 0.75 * wrapped:
        below, kept = reflow(lines[term:], wrapped)
        return f"{_join_lines(lines[:term])}\n{below}", kept
    common = min(indents[1:])
    coded = sum(1 for line in lines if _CODE_END.search(line))
    if wrapped and 3 * coded <= len(lines) and not _is_verse(lines) and _is_wrapped(lines, wrapped, common):
        inset = [indent - common >= 2 for indent in indents]
        starts = [
            n for n in range(1, len(lines)) if inset[n] and not any(inset[n + 1 : n + 2]) and not inset[n - 1]
        ]
        cuts = [0, *starts, len(lines)]
        return "\n\n".join(_join_lines(lines[a:b]) for a, b in pairwise(cuts)), False
    deep = min(indents) >= 3
    shift = 0 if deep else min(indents)
    return "\n".join(line[shift:] for line in lines).strip("\n"), deep


def _mark_block(text: str, *, is_block: bool) -> list[Part]:
    """Say that a block is a listing or verse; () if it is a list or paragraphs."""
    if is_block:
        return [Part(ElementKind.CODE, 0, len(text))]
    is_list = any(element.kind is ElementKind.LIST for element in read_prose(text))
    if "\n" in text and "\n\n" not in text and not is_list:
        return [Part(ElementKind.VERSE, 0, len(text)), *mark_lines(text, "\n", depth=1)]
    return []


def _mark_prose(text: str, marked: Sequence[Part]) -> list[Part]:
    """Add the paragraphs and lists that stand between the listings and verse of a section."""
    found: list[Part] = []
    at = 0
    for part in (*marked, Part(ElementKind.BREAK, len(text), len(text))):
        if part.depth == 0:
            found += (shift_element(element, at) for element in read_prose(text[at : part.start]))
            at = part.end
        if part.end > part.start:
            found.append(part)
    return found


def _is_verse(lines: Sequence[str]) -> bool:
    """Whether all lines are short and start with a capital; prose would start some line in mid-sentence."""
    if len(lines) < 3 or max(map(len, lines)) > _LONGEST_VERSE or "".join(lines).isupper():
        return False
    return all(_FIRST_CAPITAL.match(line) for line in lines)


def _is_wrapped(lines: Sequence[str], wrapped: int, common: int) -> bool:
    """Whether the lines break where the next word would not have fitted."""
    longest = max(max(len(line) for line in lines) - common, 0.75 * (wrapped - common), 30)
    full = 0
    for line, below in pairwise(lines):
        first = below.lstrip().partition(" ")[0]
        full += len(line) - common + 1 + len(first) > 0.88 * longest or bool(_CJK.match(first))
    return full >= 0.8 * (len(lines) - 1)


def _reflow_list(lines: Sequence[str]) -> str:
    """Join the lines of each list item."""
    items: list[list[str]] = []
    for line in lines:
        if _ITEM.match(line) or not items:
            items.append([line])
        else:
            items[-1].append(line)
    least = min(len(line) - len(line.lstrip()) for line in lines)
    return "\n".join(
        item[0][least : len(item[0]) - len(item[0].lstrip())] + _join_lines(item) for item in items
    )


def _join_lines(lines: Sequence[str]) -> str:
    """Join lines to one; a word that was broken at its own hyphen becomes whole again."""
    joined = " ".join(" ".join(lines).split())
    joined = _BROKEN_AT_OWN_HYPHEN.sub("-", joined) if "- " in joined and len(lines) > 1 else joined
    return (
        joined if joined.isascii() or len(lines) == 1 else _CJK_GAP.sub("", _BROKEN_AT_HYPHEN.sub("", joined))
    )
