"""Writes a passage as Markdown by its markup: tables as tables, code as code, lists as lists.

Everything a book says is escaped, except inside a fence of code, which nothing in it can close.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from octavo.errors import NotFound
from octavo.text.clean import collapse
from octavo.types import Element, ElementKind, Section

_STRUCTURE = frozenset((ElementKind.TABLE, ElementKind.CODE, ElementKind.LIST))
_LEAVES = frozenset((ElementKind.PARAGRAPH, ElementKind.HEADING, ElementKind.TERM, ElementKind.CAPTION))
_WORD = re.compile(r"[^\W_]+")
_TICKS = re.compile(r"`+")
_NOT_IN_NAME = re.compile(r"[^\w+#.-]")
Escape = Callable[[str], str]
FindSection = Callable[[str, str], Awaitable[Section]]
Sections = Mapping[tuple[str, str], Section]


async def find_sections(names: Iterable[tuple[str, str]], find: FindSection) -> Sections:
    """Find the sections that are quoted, by book and id, with their markup; some may be gone."""
    found: dict[tuple[str, str], Section] = {}
    for key in set(names):
        try:
            found[key] = await find(*key)
        except NotFound:
            continue
    return found


@dataclass(slots=True)
class _Node:
    element: Element
    start: int
    end: int
    number: int = 0
    """Which item of its list it is, from 1."""
    items: int = 0
    children: list[_Node] = field(default_factory=list)


def write_passage(section: Section, start: int, end: int, *, escape: Escape) -> str:
    """Write a passage of a section as Markdown; '' where it has no table, code or list.

    So it is where Markdown would lose a word of the passage. `escape` puts a text on one line of Markdown.
    """
    nodes = _nest(section.markup, start, end)
    if not any(node.element.kind in _STRUCTURE for node in _walk(nodes)):
        return ""
    written = "\n\n".join(_write_blocks(nodes, section.text, escape))
    return written if _list_words(section.text[start:end]) <= _list_words(written) else ""


def _list_words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text))


def _nest(elements: Sequence[Element], start: int, end: int) -> list[_Node]:
    """Nest the elements that are in a passage, each cut to what is inside. Items keep their numbers."""
    top: list[_Node] = []
    above: list[_Node] = []
    for element in elements:
        while above and above[-1].element.depth >= element.depth:
            above.pop()
        node = _Node(element, max(start, element.start), min(end, element.end))
        if above and element.kind is ElementKind.ITEM:
            above[-1].items += 1
            node.number = above[-1].items
        if element.end > start and element.start < end:
            (above[-1].children if above else top).append(node)
        above.append(node)
    return top


def _walk(nodes: Iterable[_Node]) -> Iterator[_Node]:
    for node in nodes:
        yield node
        yield from _walk(node.children)


def _write_blocks(nodes: Iterable[_Node], text: str, escape: Escape) -> Iterator[str]:
    for node in nodes:
        kind, words = node.element.kind, text[node.start : node.end]
        if kind is ElementKind.CODE:
            yield _write_code(words, str(node.element.attributes.get("language", "")))
        elif kind is ElementKind.TABLE:
            yield _write_table(node, text, escape)
        elif kind is ElementKind.LIST:
            yield "\n".join(_write_items(node, text, escape))
        elif kind in _LEAVES or not node.children:
            yield escape(words)
        else:
            yield from _write_blocks(node.children, text, escape)


def _write_code(code: str, language: str) -> str:
    fence = "`" * max(3, 1 + max((len(run) for run in _TICKS.findall(code)), default=0))
    return f"{fence}{_NOT_IN_NAME.sub('', language)}\n{code}\n{fence}"


def _write_table(table: _Node, text: str, escape: Escape) -> str:
    rows = [child for child in table.children if child.element.kind is ElementKind.ROW]
    written = [[escape(text[cell.start : cell.end]) for cell in row.children] for row in rows]
    width = max((len(cells) for cells in written), default=0)
    has_header = any(cell.element.attributes.get("header") for row in rows[:1] for cell in row.children)
    if not has_header:
        written.insert(0, [""] * width)
    lines = [f"| {' | '.join(cells + [''] * (width - len(cells)))} |" for cells in written]
    captions = [child for child in table.children if child.element.kind is ElementKind.CAPTION]
    above = [f"{escape(text[caption.start : caption.end])}\n" for caption in captions]
    return "\n".join([*above, lines[0], f"|{' --- |' * width}", *lines[1:]])


def _write_items(list_: _Node, text: str, escape: Escape, indent: str = "") -> Iterator[str]:
    for item in list_.children:
        marker = _mark_item(list_.element, item, text)
        inner = [child for child in item.children if child.element.kind is ElementKind.LIST]
        end = inner[0].start if inner else item.end
        words = [child for child in item.children if child.element.kind in _LEAVES and child.start < end]
        said = " ".join(text[leaf.start : leaf.end] for leaf in words) or text[item.start : end]
        yield f"{indent}{marker}{escape(collapse(said))}"
        for nested in inner:
            yield from _write_items(nested, text, escape, indent + " " * (marker.index(" ") + 1))


def _mark_item(list_: Element, item: _Node, text: str) -> str:
    """Write what stands before an item. Markdown has only numbers: letters stay as they are."""
    if not list_.attributes.get("ordered"):
        return "- "
    words = item.children[0].element.start if item.children else item.element.start
    own = text[item.element.start : words].strip()
    if list_.attributes.get("style") and any(sign.isalpha() for sign in own):
        return f"- {own} "
    return f"{int(list_.attributes.get('start', 1)) + max(0, item.number - 1)}. "
