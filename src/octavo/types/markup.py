"""The markup of a section: what each part of its text is, by offset.

Markup is a flat list of elements in the order of the text. `depth` says how many of the elements before it an
element is inside: the nearest earlier element of depth *d* - 1 is the parent of one of depth *d*. Blocks
(paragraphs, lists, tables) and inline elements (emphasis, links) are elements alike. An element may be empty:
a picture without words is a place in the text. Characters of the text that no paragraph, cell or other leaf
holds are layout of the plain text (`- ` before an item, ` | ` between cells), and a page need not show them.

Markup says how a text is drawn and nothing else: no id, offset or citation depends on it, and a section
without markup is shown as text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from octavo import validation
from octavo.errors import InvalidValue

Attribute = str | int
NO_ATTRIBUTES: Mapping[str, Attribute] = MappingProxyType({})
LONGEST_ATTRIBUTE = 100_000
DEEPEST = 64


class ElementKind(StrEnum):
    # Blocks that hold other blocks.
    LIST = "list"
    ITEM = "item"
    QUOTATION = "quotation"
    ASIDE = "aside"
    NOTE = "note"
    FIGURE = "figure"
    VERSE = "verse"
    DEFINITION = "definition"
    TABLE = "table"
    ROW = "row"
    # Blocks that hold words.
    PARAGRAPH = "paragraph"
    HEADING = "heading"
    TERM = "term"
    CAPTION = "caption"
    CELL = "cell"
    CODE = "code"
    # In a line, or alone.
    IMAGE = "image"
    FORMULA = "formula"
    BREAK = "break"
    # In a line.
    EMPHASIS = "emphasis"
    STRONG = "strong"
    INLINE_CODE = "inline_code"
    SUPERSCRIPT = "superscript"
    SUBSCRIPT = "subscript"
    DELETED = "deleted"
    LINK = "link"
    NOTE_REFERENCE = "note_reference"
    SPAN = "span"
    # Words with their reading, which stands in brackets after each part of them: 東(とう)京(きょう).
    RUBY = "ruby"
    READING = "reading"


ATTRIBUTES: Mapping[ElementKind, frozenset[str]] = {
    # `section` and `offset` are the place that a link leads to; `url` is an address outside the book.
    ElementKind.LINK: frozenset(("url", "section", "offset")),
    ElementKind.NOTE_REFERENCE: frozenset(("url", "section", "offset")),
    # `ordered` is 1 for a numbered list, `start` is its first number, and `style` is one of `LIST_STYLES`
    # where letters or roman numerals stand for the numbers.
    ElementKind.LIST: frozenset(("ordered", "start", "style")),
    ElementKind.NOTE: frozenset(("label",)),
    ElementKind.HEADING: frozenset(("level",)),
    # `header` is 1 for a header cell; `columns` and `rows` are how many it spans.
    ElementKind.CELL: frozenset(("header", "columns", "rows")),
    ElementKind.CODE: frozenset(("language",)),
    # `image` is the SHA-256 of the picture's bytes, under which the library stores it.
    ElementKind.IMAGE: frozenset(("image", "alt")),
    # `mathml` is a tree in JSON: [tag, {attributes}, child, …]. `display` is 1 for a formula on its own line.
    ElementKind.FORMULA: frozenset(("mathml", "tex", "display")),
}
LIST_STYLES = frozenset(("a", "A", "i", "I"))
ANYWHERE = frozenset(("lang", "dir"))
"""The language and the writing direction (`ltr`, `rtl` or `auto`), which every element may have."""
SHOWN_EMPTY = frozenset(
    (ElementKind.IMAGE, ElementKind.BREAK, ElementKind.CELL, ElementKind.ROW, ElementKind.TABLE)
)
"""What is worth drawing where it holds no text."""


@dataclass(frozen=True, slots=True)
class Element:
    """A part of a section's text and what it is."""

    kind: ElementKind
    start: int
    end: int
    depth: int = 0
    attributes: Mapping[str, Attribute] = field(default_factory=lambda: NO_ATTRIBUTES, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", validation.to_member("Element.kind", self.kind, ElementKind))
        validation.check_integer("Element.start", self.start, least=0)
        validation.check_integer("Element.end", self.end, least=self.start)
        validation.check_integer("Element.depth", self.depth, least=0, most=DEEPEST)
        if self.attributes:
            _check_attributes(self.kind, self.attributes)


def _check_attributes(kind: ElementKind, attributes: Mapping[str, Attribute]) -> None:
    allowed = ATTRIBUTES.get(kind, frozenset()) | ANYWHERE
    for name, value in attributes.items():
        if name not in allowed:
            raise InvalidValue("Element.attributes", f"must be of {sorted(allowed)} for a {kind}", name)
        if isinstance(value, str):
            validation.check_storable(f"Element.{name}", value)
            if len(value) > LONGEST_ATTRIBUTE:
                raise InvalidValue(f"Element.{name}", "must be shorter", f"{len(value)} characters")
        else:
            validation.check_integer(f"Element.{name}", value, least=0)


def check_nesting(field_name: str, elements: Sequence[Element], length: int) -> None:
    """Raise unless the elements are in order, each inside its parent and none over its neighbours."""
    last_ends = [0]
    ends = [length]
    for element in elements:
        if element.depth >= len(last_ends):
            raise InvalidValue(field_name, "must not skip a depth", element)
        del last_ends[element.depth + 1 :], ends[element.depth + 1 :]
        if element.start < last_ends[-1] or element.end > ends[-1]:
            raise InvalidValue(field_name, "must be inside its parent and after what is before it", element)
        last_ends[-1] = element.end
        last_ends.append(element.start)
        ends.append(element.end)


def encode_markup(elements: Iterable[Element]) -> list[list[object]]:
    """Return the elements as lists for JSON: kind, depth, start, length and, if there are any, attributes."""
    return [
        [str(e.kind), e.depth, e.start, e.end - e.start, *([dict(e.attributes)] if e.attributes else ())]
        for e in elements
    ]


def decode_markup(rows: Iterable[Sequence[object]]) -> tuple[Element, ...]:
    """Return the elements that `encode_markup` encoded; raise `InvalidValue` for anything else."""
    return tuple(_decode(row) for row in rows)


def _decode(row: Sequence[object]) -> Element:
    if not 4 <= len(row) <= 5:
        raise InvalidValue("Element", "must have four or five parts", row)
    kind, depth, start, length, *rest = row
    attributes = rest[0] if rest else {}
    if not (isinstance(depth, int) and isinstance(start, int) and isinstance(length, int)):
        raise InvalidValue("Element", "must have three numbers", row)
    if not isinstance(kind, str) or not isinstance(attributes, dict):
        raise InvalidValue("Element", "must have a kind and attributes", row)
    return Element(
        kind=validation.to_member("Element.kind", kind, ElementKind),
        start=start,
        end=start + length,
        depth=depth,
        attributes=MappingProxyType(attributes) if attributes else NO_ATTRIBUTES,
    )
