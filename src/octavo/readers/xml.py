"""XML from inside a book, read by a parser that fetches nothing and expands nothing.

A document that declares its own entities is refused: books do not need them, and attacks do. So is one that
is nested deeper than the parser goes, or has longer texts: it would be cut off. Untidy XML is repaired as far
as it goes. Elements are found by their local names, whatever their namespace prefix is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.entities import html5

from lxml import etree

from octavo.errors import BadBook
from octavo.text.clean import clean, collapse, decode

_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")
_DECLARED_ENCODING = re.compile(rb"""^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.-]{1,40})["']""")
_OWN_ENTITIES = re.compile(r"<!DOCTYPE[^<>\[]*+\[|<!ENTITY", re.IGNORECASE)
_NAMED_ENTITY = re.compile(r"&([A-Za-z][A-Za-z0-9]{1,30});")
DEEPEST = 256
"""How deep the parser goes."""
_XML_ENTITIES = frozenset(("amp", "lt", "gt", "quot", "apos"))
Element = etree._Element


def parse_xml(data: bytes, *, name: str, code: str = "bad_epub") -> Element:
    """Parse an XML document from inside a book and return its root; `code` is for what is no XML."""
    declared = _DECLARED_ENCODING.search(data[:300])
    text = decode(data, declared.group(1).decode("ascii") if declared else None).text
    text = _DECLARATION.sub("", text.lstrip("\ufeff"), count=1)
    if _OWN_ENTITIES.search(text):
        raise BadBook(code, f"{name} declares its own entities, as no book does")
    text = _NAMED_ENTITY.sub(_spell_entity, text)
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=True
    )
    try:
        root = etree.fromstring(text.encode("utf-8", "replace"), parser)
    except (etree.XMLSyntaxError, ValueError):
        root = None
    if any(error.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT for error in parser.error_log):
        raise BadBook(
            code,
            f"{name} is nested deeper than {DEEPEST} levels, or has a text of more than 10 MB in one element",
        )
    if root is None:
        raise BadBook(code, f"{name} is not XML")
    return root


def _spell_entity(found: re.Match[str]) -> str:
    name = found.group(1)
    return found.group() if name in _XML_ENTITIES else html5.get(f"{name};", found.group())


def get_local_name(node: Element) -> str:
    """Return an element's name without its namespace; '' for comments and the like."""
    tag = node.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def get_attribute(node: Element, name: str) -> str:
    """Return an attribute by its local name; '' when it is missing."""
    return next((str(v) for k, v in node.attrib.items() if str(k).rpartition("}")[2] == name), "")


def find_all(root: Element, *names: str) -> Iterator[Element]:
    """Yield the elements of these names in the whole tree, in document order."""
    return (node for node in root.iter() if get_local_name(node) in names)


def find_first(root: Element | None, *names: str) -> Element | None:
    """Return the first element of these names below `root`."""
    return None if root is None else next(find_all(root, *names), None)


def find_children(node: Element, *names: str) -> list[Element]:
    """Return the direct children of these names."""
    return [child for child in node if get_local_name(child) in names]


def read_words(node: Element | None) -> str:
    """Return all the text in an element on one line."""
    if node is None:
        return ""
    return collapse(clean("".join(str(part) for part in node.itertext())))
