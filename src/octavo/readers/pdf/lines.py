"""The printed lines of a PDF's pages, and what their words alone tell."""

from __future__ import annotations

import re
from typing import NamedTuple

_FIGURE_MARKS = "0123456789.,()[]$%€£¥—–-+*"
_FIGURE_ENDS = frozenset("0123456789)]%—–-+*$€£¥")
_LEADERS = re.compile(r"\s*(?:[.·…] ?){4,}\s*")
# A gap between two words is wide, in units of the type's size, where a column may begin after it.
WIDE_GAP = 0.9
ITEM = re.compile(r"(?:[•●○▪■◦‣⁃∙·➢✓]|[-–—*]\s|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,5})[.)]\s)")


class Segment(NamedTuple):
    """Words of a line that stand together, with a wide gap before and after them."""

    text: str
    left: float
    right: float
    first: int = 0
    length: int = 1
    """Which characters of the page they are: the first, and how many, as PDFium counts them."""


class PdfLine(NamedTuple):
    """One printed line: its words, its place on the page (y grows upwards) and its type."""

    page: int
    text: str
    left: float
    right: float
    y: float
    size: float
    bold: bool = False
    hyphen: bool = False
    """The line ended in a hyphen, which is no longer in `text`."""
    first: int = 0
    length: int = 1
    """Which characters of the page it is, as PDFium counts them."""
    segments: tuple[Segment, ...] = ()
    """The parts of a line that wide gaps divide; empty where there is no such gap."""


class PdfPage(NamedTuple):
    """One page and its lines, in the order in which the file draws them."""

    number: int
    label: str | None
    bottom: float
    height: float
    lines: tuple[PdfLine, ...]
    scan: bool = False
    """The page shows pictures, and has no text."""


def count_figures(text: str) -> int:
    """Count the figures that end the line: two or more make it a row of a table."""
    count = 0
    if text[-1:] not in _FIGURE_ENDS:
        return 0
    for token in reversed(text.split()):
        if token.strip(_FIGURE_MARKS) or token.endswith((",", ".")):
            break
        if token not in ("$", "%", ")", "€", "£", "¥", "(", "*"):
            count += 1
    return count


def is_leader_row(text: str) -> bool:
    """Whether dots lead to the figure at the end of the line."""
    return (". . ." in text or "...." in text) and text[-1:].isdigit()


def shorten_leaders(text: str) -> str:
    """Write a row of dots that lead to a figure as one mark."""
    return _LEADERS.sub(" … ", text).strip() if ".." in text or ". ." in text else text
