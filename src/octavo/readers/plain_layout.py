"""The lay-out of plain text: paragraphs, and whether their line breaks mean anything.

`blocks` parts a text at blank lines. `flow` gives a block as canonical text: prose that was wrapped at a
width is joined again, list items keep their markers, and verse, tables, listings and everything else whose
lines stand by themselves stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

_ITEM = re.compile(
    r"^\s*(?:[*+•·‣–-]|\(?\d{1,3}(?:\.\d{1,3}){0,3}[.)]|\(?(?:[a-zA-Z]|[IVXLC]{2,7}|[ivx]{2,5})[.)])\s+\S"
)
_COLUMNS = re.compile(r"\S(?: {3,}|\t+)\S|^\s*[|+].*[|+]\s*$|[=~-]{4,}\s+[=~-]{4,}")
_BREAK = re.compile(r"\n(?:[ \t]*\n)+")
_CODE_END = re.compile(r"[;{}\\]$|^\s*(?:[$>%#] |//|--|#include)")
_LONG = 160
_CJK = re.compile("[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]")
_CJK_GAP = re.compile(f"(?<={_CJK.pattern}) (?={_CJK.pattern})")
_LONGEST_VERSE = 60
_FIRST_CAPITAL = re.compile(r"[^\w]*[^\W\d_a-z]")
_BROKEN = re.compile("(?<=[a-z])\u2010 (?=[a-z])")
_PARTED = re.compile(r"(?<=\w\w)- (?=[a-z]{2})(?!(?:and|or|to)\b)")


def blocks(text: str) -> list[list[str]]:
    """Runs of lines between blank lines, without blanks at line ends."""
    return [
        [line.rstrip() for line in part.split("\n")]
        for part in _BREAK.split(text.strip("\n"))
        if part.strip()
    ]


def width(parts: Sequence[Sequence[str]]) -> int:
    """The width a text was wrapped at, or 0 when it was not: most of its longest lines end there."""
    sizes = sorted(len(line) for part in parts for line in part[:-1])
    if not sizes:
        return 0
    most = sizes[int(len(sizes) * 0.95)]
    return most if most <= _LONG else 0


def flow(lines: Sequence[str], wrapped: int) -> tuple[str, bool]:
    """A block as text, and whether its lay-out is kept because it carries meaning (a table, a listing)."""
    if len(lines) == 1:
        return lines[0].strip(), False
    if _ITEM.match(lines[0]) or sum(1 for line in lines if _ITEM.match(line)) > 1:
        return _listed(lines), False
    columns = sum(1 for line in lines if _COLUMNS.search(line))
    if 2 * columns > len(lines):
        return "\n".join(lines), True
    return _prose(lines, wrapped)


def _prose(lines: Sequence[str], wrapped: int) -> tuple[str, bool]:
    indents = [len(line) - len(line.lstrip()) for line in lines]
    term = next((n for n, indent in enumerate(indents) if indent != indents[0]), len(lines))
    if term < len(lines) and min(indents[term:]) >= indents[0] + 2 and len(lines[0]) < 0.75 * wrapped:
        below, kept = flow(lines[term:], wrapped)
        return f"{_join(lines[:term])}\n{below}", kept
    common = min(indents[1:])
    coded = sum(1 for line in lines if _CODE_END.search(line))
    if wrapped and 3 * coded <= len(lines) and not _is_verse(lines) and _filled(lines, wrapped, common):
        inset = [indent - common >= 2 for indent in indents]
        starts = [
            n for n in range(1, len(lines)) if inset[n] and not any(inset[n + 1 : n + 2]) and not inset[n - 1]
        ]
        cuts = [0, *starts, len(lines)]
        return "\n\n".join(_join(lines[a:b]) for a, b in pairwise(cuts)), False
    deep = min(indents) >= 3
    shift = 0 if deep else min(indents)
    return "\n".join(line[shift:] for line in lines).strip("\n"), deep


def _is_verse(lines: Sequence[str]) -> bool:
    """Short lines that all begin with a capital: prose would begin some line in the middle of a sentence."""
    if len(lines) < 3 or max(map(len, lines)) > _LONGEST_VERSE or "".join(lines).isupper():
        return False
    return all(_FIRST_CAPITAL.match(line) for line in lines)


def _filled(lines: Sequence[str], wrapped: int, common: int) -> bool:
    """Whether lines break where the next word would not have fitted."""
    longest = max(max(len(line) for line in lines) - common, 0.75 * (wrapped - common), 30)
    full = 0
    for line, below in pairwise(lines):
        first = below.lstrip().partition(" ")[0]
        full += len(line) - common + 1 + len(first) > 0.88 * longest or bool(_CJK.match(first))
    return full >= 0.8 * (len(lines) - 1)


def _listed(lines: Sequence[str]) -> str:
    """List items, each with the lines that belong to it joined."""
    items: list[list[str]] = []
    for line in lines:
        if _ITEM.match(line) or not items:
            items.append([line])
        else:
            items[-1].append(line)
    least = min(len(line) - len(line.lstrip()) for line in lines)
    return "\n".join(item[0][least : len(item[0]) - len(item[0].lstrip())] + _join(item) for item in items)


def _join(lines: Sequence[str]) -> str:
    """One line of lines; a word that was parted at its own hyphen is whole again."""
    joined = " ".join(" ".join(lines).split())
    joined = _PARTED.sub("-", joined) if "- " in joined and len(lines) > 1 else joined
    return joined if joined.isascii() or len(lines) == 1 else _CJK_GAP.sub("", _BROKEN.sub("", joined))
