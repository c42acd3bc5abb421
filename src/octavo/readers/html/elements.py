"""Which element of a section's markup an HTML element is, and the attributes that it brings along.

A formula in MathML becomes a tree of lists that holds only the tags and attributes named here, so nothing of
the book's markup itself leaves the reader.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from selectolax.lexbor import LexborHTMLParser, LexborNode

from octavo.readers.html.tags import split_names
from octavo.readers.parts import Container, describe_writing
from octavo.types import ElementKind
from octavo.types.markup import LIST_STYLES

if TYPE_CHECKING:
    from octavo.readers.addresses import Locate
    from octavo.readers.html.boilerplate import Attributes
    from octavo.types.markup import Attribute

_INLINE = {
    **dict.fromkeys(("em", "i", "cite", "dfn", "var"), ElementKind.EMPHASIS),
    **dict.fromkeys(("strong", "b"), ElementKind.STRONG),
    **dict.fromkeys(("code", "kbd", "samp", "tt"), ElementKind.INLINE_CODE),
    **dict.fromkeys(("del", "s", "strike"), ElementKind.DELETED),
    "sup": ElementKind.SUPERSCRIPT,
    "sub": ElementKind.SUBSCRIPT,
    "ruby": ElementKind.RUBY,
}
_CONTAINERS = {
    **dict.fromkeys(("ul", "ol", "dir"), ElementKind.LIST),
    "li": ElementKind.ITEM,
    "blockquote": ElementKind.QUOTATION,
    "figure": ElementKind.FIGURE,
    "aside": ElementKind.ASIDE,
    "details": ElementKind.ASIDE,
    "dd": ElementKind.DEFINITION,
}
LEAVES = {
    "figcaption": ElementKind.CAPTION,
    "caption": ElementKind.CAPTION,
    "dt": ElementKind.TERM,
}
_NOTES = frozenset(("footnote", "endnote", "rearnote", "doc-footnote", "doc-endnote", "footnote-definition"))
_ASIDES = split_names("admonition callout theme-admonition sidebar note tip warning caution important")
_NOTE_REFERENCES = frozenset(("noteref", "doc-noteref", "footnote-ref", "footnote-reference", "fnref"))
_LANGUAGE_CLASS = re.compile(r"(?:^|\s)(?:language|lang|highlight|brush:?|sourceCode)[-\s]([\w+#.-]{1,30})")
_NO_LANGUAGES = frozenset(("default", "none", "notranslate", "text", "plaintext", "highlight"))
_MATH_TAGS = split_names(
    "math mrow mi mn mo ms mtext mspace msup msub msubsup munder mover munderover mfrac msqrt mroot mtable "
    "mtr mtd mstyle mpadded mphantom merror mfenced menclose mmultiscripts mprescripts none semantics"
)
_MATH_ATTRIBUTES = split_names(
    "display mathvariant stretchy fence separator accent accentunder linethickness columnalign rowalign "
    "columnspan rowspan open close separators notation lspace rspace movablelimits minsize maxsize symmetric "
    "largeop form width height depth dir displaystyle scriptlevel"
)
_DEEPEST_FORMULA = 40
_TEX_SIGNS = re.compile(r"^\s*(?:\\[(\[]|\$\$?)|(?:\\[)\]]|\$\$?)\s*$")
_TEX_OPENS = re.compile(r"\\([(\[])")
_TEX_CLOSES = {"(": "\\)", "[": "\\]"}
_LONGEST_TEX = 4_000
_WORDS = re.compile(r"\b[^\W\d_]{3,}\s+(?:[^\W\d_]{1,2}\s+)?[^\W\d_]{3,}")
_NO_TEX = split_names("code pre kbd samp tt script style textarea")
_EQUATION_NUMBER = re.compile(r"\(([\w.]+)\)")
_FORMULA_PICTURES = split_names("math tex latex formulaInl formulaDsp")


def read_writing(attributes: Attributes) -> dict[str, Attribute]:
    """Return the language and the writing direction that an element states."""
    return describe_writing(attributes.get("lang") or attributes.get("xml:lang"), attributes.get("dir"))


def find_inline_kind(tag: str) -> ElementKind | None:
    return _INLINE.get(tag)


def make_container(tag: str, attributes: Attributes, *, verse: bool, in_list: bool) -> Container | None:
    """Return the container that an element opens; None when it is only a block."""
    kinds = set(f"{attributes.get('epub:type') or ''} {attributes.get('role') or ''}".split())
    classes = set((attributes.get("class") or "").lower().split())
    writing = read_writing(attributes)
    if (kinds | classes) & _NOTES:
        return Container(ElementKind.NOTE, writing)
    if verse:
        return Container(ElementKind.VERSE, writing)
    kind = _CONTAINERS.get(tag)
    if kind is None and tag in ("div", "section", "p") and (classes & _ASIDES or "note" in kinds):
        kind = ElementKind.ASIDE
    if kind is None or (kind is ElementKind.ITEM and not in_list):
        return None
    if tag == "ol":
        start = attributes.get("start") or "1"
        number = int(start) if start.isascii() and start.isdigit() and len(start) < 9 else 1
        style = attributes.get("type") or ""
        writing |= {"ordered": 1} | ({"start": number} if number != 1 else {})
        writing |= {"style": style} if style in LIST_STYLES else {}
    return Container(kind, writing)


def describe_link(
    node: LexborNode, attributes: Attributes, locate: Locate
) -> tuple[ElementKind, dict[str, Attribute]]:
    """Return what a link is, with the address that it leads to."""
    href = attributes.get("href") or ""
    address = locate(href)
    made: dict[str, Attribute] = {"url": address} if address else {}
    kinds = set(" ".join(attributes.get(key) or "" for key in ("class", "epub:type", "role")).lower().split())
    if kinds & _NOTE_REFERENCES:
        return ElementKind.NOTE_REFERENCE, made
    parent = node.parent
    raised = node.css_first("sup") is not None or (parent is not None and parent.tag == "sup")
    if raised and "#" in href and len(node.text(deep=True).strip()) < 6:
        return ElementKind.NOTE_REFERENCE, made
    return ElementKind.LINK, made


def find_code_language(node: LexborNode) -> str:
    """Return the language that a listing, the code in it or the box around it names."""
    inner = node.css_first("code")
    near = [node, inner, node.parent, node.parent.parent if node.parent is not None else None]
    for place in near:
        if place is None:
            continue
        attributes = place.attributes
        stated = attributes.get("data-lang") or attributes.get("data-language") or ""
        found = _LANGUAGE_CLASS.search(attributes.get("class") or "")
        name = (stated or (found.group(1) if found else "")).lower()
        if name and name not in _NO_LANGUAGES and re.fullmatch(r"[\w+#.-]{1,30}", name):
            return name
    return ""


def describe_formula(node: LexborNode) -> dict[str, Attribute]:
    """Return a formula as a tree in JSON, and its source in TeX where the page has that."""
    made: dict[str, Attribute] = {}
    tree = _build_formula(node)
    if tree is not None:
        made["mathml"] = json.dumps(tree, ensure_ascii=False, separators=(",", ":"))
    source = next((a for a in node.css("annotation") if "tex" in (a.attributes.get("encoding") or "")), None)
    if source is not None and (tex := source.text(deep=True).strip()):
        made["tex"] = tex
    if node.attributes.get("display") == "block":
        made["display"] = 1
    return made


def describe_tex(node: LexborNode) -> dict[str, Attribute]:
    """Return the formula that a page leaves to a script: its source is the text of the element."""
    text = node.text(deep=True)
    number = node.css_first(".eqno")
    said = number.text(deep=True) if number is not None else ""
    label = _EQUATION_NUMBER.search(said)
    tex = _TEX_SIGNS.sub("", text.replace(said, "", 1))
    made: dict[str, Attribute] = {"tex": tex.strip() + (f"\\tag{{{label.group(1)}}}" if label else "")}
    return made | {"display": 1} if node.tag == "div" else made


def is_tex(node: LexborNode, attributes: Attributes) -> bool:
    """Whether an element holds the source of a formula, as Sphinx and Pandoc write it."""
    if "math" not in (attributes.get("class") or "").split() or node.css_first("img") is not None:
        return False
    return not _is_said_in_words(node.text(deep=True))


def has_tex_script(tree: LexborHTMLParser) -> bool:
    """Whether a page loads MathJax or KaTeX, which find formulas in its text."""
    sources = ((script.attributes.get("src") or "").lower() for script in tree.css("script[src]"))
    return any("mathjax" in source or "katex" in source for source in sources)


def is_prose(node: LexborNode) -> bool:
    """Whether such a script looks for formulas in a text: not in code, nor in what is a formula already."""
    parent = node.parent
    while parent is not None:
        if parent.tag in _NO_TEX or "math" in (parent.attributes.get("class") or "").split():
            return False
        parent = parent.parent
    return True


def split_tex(text: str) -> Iterator[tuple[str, dict[str, Attribute] | None]]:
    """Split a text at the formulas between the signs of TeX; each comes with what it says."""
    end = 0
    closes = dict.fromkeys(_TEX_CLOSES, 0)
    for found in _TEX_OPENS.finditer(text):
        start, sign = found.end(), found.group(1)
        # The sign that closes a formula is looked for once, and not from each sign that opens one.
        if -1 < closes[sign] < start:
            closes[sign] = text.find(_TEX_CLOSES[sign], start)
        close = closes[sign]
        if found.start() < end or not start < close <= start + _LONGEST_TEX:
            continue
        yield text[end : found.start()], None
        end = close + 2
        made: dict[str, Attribute] = {"tex": text[start:close].strip()}
        yield text[found.start() : end], made | {"display": 1} if sign == "[" else made
    yield text[end:], None


def describe_pictured_tex(node: LexborNode) -> dict[str, Attribute]:
    """Return the formula that a picture shows, whose source is its other text; empty for other pictures."""
    around = [node]
    while len(around) < 3 and (parent := around[-1].parent) is not None:
        around.append(parent)
    classes = [split_names(each.attributes.get("class") or "") for each in around]
    tex = _TEX_SIGNS.sub("", node.attributes.get("alt") or "").strip()
    is_formula = classes[0] & _FORMULA_PICTURES or any("math" in names for names in classes)
    if not is_formula or not tex or _is_said_in_words(tex):
        return {}
    is_display = "formulaDsp" in classes[0] or any(
        "math" in names and each.tag == "div" for each, names in zip(around, classes, strict=True)
    )
    return {"tex": tex, "display": 1} if is_display else {"tex": tex}


def _is_said_in_words(tex: str) -> bool:
    """Whether a text is words and not TeX, which has words only in commands."""
    return "\\" not in tex and _WORDS.search(tex) is not None


def _build_formula(node: LexborNode, depth: int = 0) -> list[object] | None:
    tag = (node.tag or "").lower()
    if tag not in _MATH_TAGS or depth > _DEEPEST_FORMULA:
        return None
    attributes = {
        name: value[:100]
        for name, value in node.attributes.items()
        if name in _MATH_ATTRIBUTES and value is not None
    }
    made: list[object] = [tag, attributes] if attributes else [tag]
    child = node.first_child
    while child is not None:
        if child.tag == "-text":
            words = (child.text_content or "").strip()
            if words:
                made.append(words)
        elif (inner := _build_formula(child, depth + 1)) is not None:
            made.append(inner)
        child = child.next
    return made
