"""The elements that HTML tags inside Markdown open and close.

Tags in Markdown come one by one and need not match. `HtmlMarks` closes only what it has opened, and closes
whatever is left when the text around it ends.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from octavo.types import ElementKind
from octavo.types.markup import NO_ATTRIBUTES, Attribute

if TYPE_CHECKING:
    from octavo.readers.parts import MarkedRuns

_TAG_NAME = re.compile(r"<(/?)([A-Za-z][\w.:-]*)")
_KINDS = {
    **dict.fromkeys(("em", "i", "cite", "dfn", "var"), ElementKind.EMPHASIS),
    **dict.fromkeys(("strong", "b"), ElementKind.STRONG),
    **dict.fromkeys(("code", "kbd", "samp", "tt"), ElementKind.INLINE_CODE),
    **dict.fromkeys(("del", "s"), ElementKind.DELETED),
    "sup": ElementKind.SUPERSCRIPT,
    "sub": ElementKind.SUBSCRIPT,
    "a": ElementKind.LINK,
}
_VALUE = r"""\b%s\s*=\s*(?:"([^"]*)"|'([^']*)'|\{\s*["'`]([^"'`]*)["'`]\s*\})"""
_ATTRIBUTES = {name: re.compile(_VALUE % name) for name in ("href", "src", "alt")}


class HtmlMarks:
    """Elements that tags have opened in the runs of one text."""

    def __init__(self, marks: MarkedRuns) -> None:
        self._marks = marks
        self._open: list[tuple[str, int]] = []

    def mark(self, tag: str, shown: str) -> None:
        """Add a tag: open or close what it means, and write what is shown in its place."""
        found = _TAG_NAME.match(tag)
        closing, name = (bool(found.group(1)), found.group(2).lower()) if found else (False, "")
        if name == "img" and not closing:
            self._marks.open(ElementKind.IMAGE, _describe_image(tag))
            self._marks.runs.append(shown)
            self._marks.close()
            return
        self._marks.runs.append(shown)
        if name not in _KINDS:
            return
        if closing:
            if self._open and self._open[-1] == (name, self._marks.depth):
                self._marks.close()
                self._open.pop()
        elif not tag.endswith("/>"):
            address = _read_attribute(tag, "href") if name == "a" else ""
            if name != "a" or address:
                self._marks.open(_KINDS[name], {"url": address} if address else NO_ATTRIBUTES)
                self._open.append((name, self._marks.depth))

    def close_to(self, depth: int) -> None:
        """Close what tags have opened above a depth, and never closed."""
        while self._open and self._open[-1][1] > depth:
            self._marks.close()
            self._open.pop()


def _describe_image(tag: str) -> dict[str, Attribute]:
    made: dict[str, Attribute] = {}
    if source := _read_attribute(tag, "src"):
        made["image"] = source
    if alt := _read_attribute(tag, "alt"):
        made["alt"] = alt
    return made


def _read_attribute(tag: str, name: str) -> str:
    found = _ATTRIBUTES[name].search(tag)
    return html.unescape(next((g for g in found.groups() if g), "")) if found else ""
