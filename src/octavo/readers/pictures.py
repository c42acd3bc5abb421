"""Take the pictures of a book: only what browsers show, by its first bytes, within limits.

PNG, JPEG, GIF and WebP are kept byte for byte. A drawing in SVG is a program for the browser, so it is
written anew with only the elements and attributes that draw: no script, no style sheet that loads anything,
no link and no address outside the drawing. What cannot be read that way is refused.
"""

from __future__ import annotations

import math
import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes
from xml.etree import ElementTree

from octavo.errors import BadBook
from octavo.limits import MB
from octavo.readers.html.tags import split_names
from octavo.readers.parsed import find_picture_type

if TYPE_CHECKING:
    from octavo.limits import Limits

Load = Callable[[str], bytes | None]
"""From a path inside the book to the bytes of that file, or None."""

SVG = "http://www.w3.org/2000/svg"
_XLINK = "{http://www.w3.org/1999/xlink}href"
_DOCTYPE = re.compile(rb"<!DOCTYPE[^>\[]*>", re.IGNORECASE)
_DECLARATIONS = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_TAGS = split_names(
    "svg g defs symbol use path rect circle ellipse line polyline polygon text tspan textPath title desc "
    "linearGradient radialGradient stop clipPath mask pattern marker style image"
)
_ATTRIBUTES = split_names(
    "id class d x y x1 y1 x2 y2 cx cy r rx ry fx fy dx dy width height points transform viewBox version "
    "preserveAspectRatio fill fill-rule fill-opacity clip-rule stroke stroke-width stroke-linecap "
    "stroke-linejoin stroke-dasharray stroke-dashoffset stroke-miterlimit stroke-opacity opacity color "
    "font-family font-size font-weight font-style text-anchor dominant-baseline alignment-baseline "
    "letter-spacing text-decoration textLength lengthAdjust rotate startOffset baseline-shift "
    "gradientUnits gradientTransform spreadMethod offset stop-color stop-opacity clip-path clipPathUnits "
    "mask maskUnits maskContentUnits patternUnits patternContentUnits patternTransform marker-start "
    "marker-mid marker-end markerWidth markerHeight markerUnits refX refY orient overflow visibility display "
    "style shape-rendering text-rendering vector-effect paint-order direction unicode-bidi role"
)
_GROUPS = frozenset(("a", "switch"))
_TEXTS = frozenset(("text", "tspan", "textPath"))
# `url(#name)` names a part of the drawing itself.
_LOADS = re.compile(r"url\s*+\(\s*+['\"]?+(?!#)|@|expression|javascript:|\\|behavior", re.IGNORECASE)
_GRADIENTS = frozenset(("linearGradient", "radialGradient"))
_REFERENCE = re.compile(r"(?:^|\s|url\(\s*['\"]?)#([^\s'\")]+)")
_RULE = re.compile(r"([^{}]++)\{([^{}]*+)\}")
_SELECTED = re.compile(r"[\w-]+|\*")
DRAWN_MOST = 100_000
"""How many elements a drawing may have, with those that it shows again by reference."""
_EMBEDDED = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]*")


class Pictures:
    """The pictures of one book, by the SHA-256 of their bytes."""

    def __init__(self, load: Load, limits: Limits) -> None:
        self._load, self._limits = load, limits
        self._known: dict[str, str] = {}
        self._size = 0
        self.found: dict[str, bytes] = {}
        self.left_out = 0

    def take(self, address: str) -> str:
        """Return the name of the picture at an address of the book; '' when it cannot be shown."""
        if address not in self._known:
            self._known[address] = self._keep(address)
        return self._known[address]

    def _keep(self, address: str) -> str:
        data = self._read(address)
        picture = make_picture(data) if data else None
        if picture is None:
            return ""
        name = sha256(picture).hexdigest()
        if name not in self.found:
            size = len(picture)
            is_too_large = size > self._limits.max_image_mb * MB
            if is_too_large or self._size + size > self._limits.max_images_mb * MB:
                self.left_out += 1
                return ""
            self._size += size
            self.found[name] = picture
        return name

    def _read(self, address: str) -> bytes | None:
        if address.startswith("data:"):
            return _decode_data_address(address)
        if not address.startswith("/"):
            return None
        try:
            return self._load(address.partition("#")[0].lstrip("/"))
        except (BadBook, OSError, ValueError):
            return None


def _decode_data_address(address: str) -> bytes | None:
    head, _, body = address.partition(",")
    try:
        return b64decode(body, validate=False) if head.endswith(";base64") else unquote_to_bytes(body)
    except ValueError:
        return None


def make_picture(data: bytes) -> bytes | None:
    """Return the bytes to store of a picture; None for what is none, or cannot be made safe."""
    if find_picture_type(data):
        return data
    return _rewrite_drawing(data) if b"<svg" in data[:4096] else None


def find_image_type(data: bytes) -> str:
    """Return the media type of a stored picture."""
    return find_picture_type(data) or "image/svg+xml"


def is_shown(data: bytes) -> bool:
    """Whether the bytes begin like what `make_picture` returns."""
    return bool(find_picture_type(data)) or data.startswith(b"<svg ")


def _rewrite_drawing(data: bytes) -> bytes | None:
    data = _DOCTYPE.sub(b"", data, count=1)
    if _DECLARATIONS.search(data):
        return None
    try:
        # Entities, which make XML dangerous, have been refused above.
        root = ElementTree.fromstring(data)  # noqa: S314
    except (ElementTree.ParseError, ValueError, LookupError, RecursionError):
        return None
    if root.tag != f"{{{SVG}}}svg":
        return None
    try:
        drawing = _copy_element(root)
        if drawing is None or _count_drawn(drawing) > DRAWN_MOST:
            return None
    except RecursionError:
        return None
    drawing.set("xmlns", SVG)
    return bytes(ElementTree.tostring(drawing, encoding="utf-8", xml_declaration=False))


def _copy_element(element: ElementTree.Element, parent: str = "") -> ElementTree.Element | None:
    """Copy an element with what it may have; None for one that may not be in a drawing."""
    space, _, tag = str(element.tag).removeprefix("{").rpartition("}")
    if tag in _GROUPS:
        # What a link or a choice holds is drawn, and leads nowhere.
        tag = "tspan" if parent in _TEXTS else "g"
    if space != SVG or tag not in _TAGS:
        return None
    if tag == "style" and (len(element) or _LOADS.search(element.text or "")):
        return None
    kept = {
        name: value
        for name, value in element.attrib.items()
        if name in _ATTRIBUTES and not _LOADS.search(value)
    }
    target = (element.get("href") or element.get(_XLINK) or "").strip()
    if target.startswith("#") if tag != "image" else _EMBEDDED.fullmatch(target):
        kept["href"] = target
    copy = ElementTree.Element(tag, kept)
    copy.text, copy.tail = element.text, element.tail
    for child in element:
        inner = _copy_element(child, tag)
        if inner is not None:
            copy.append(inner)
        elif tag in _TEXTS and child.tail:
            _append_text(copy, child.tail)
    return copy


def _count_drawn(drawing: ElementTree.Element) -> float:
    """Count the elements that a browser draws, those that are drawn again by reference each time.

    A few elements that refer to each other can stand for millions, which would keep a browser busy for hours.
    References in a circle count as without end.
    """
    named = {name: e for e in drawing.iter() if (name := e.get("id")) and e.tag not in _GRADIENTS}
    rules = [rule for e in drawing.iter("style") for rule in _read_rules(e.text or "")]
    known: dict[str, float] = {}

    def count_named(name: str) -> float:
        if name not in known:
            known[name] = math.inf
            known[name] = count(named[name])
        return known[name]

    def count(element: ElementTree.Element) -> float:
        own = {"*", element.tag, *(element.get("class") or "").split(), element.get("id") or "*"}
        shown = set(_REFERENCE.findall(" ".join(element.attrib.values())))
        shown.update(name for selected, names in rules if selected & own for name in names)
        return 1 + sum(map(count_named, named.keys() & shown)) + sum(map(count, element))

    return count(drawing)


def _read_rules(sheet: str) -> Iterator[tuple[set[str], list[str]]]:
    """Yield of each rule of a style sheet which tags, classes and ids it selects, and what it refers to."""
    for selectors, body in _RULE.findall(sheet):
        if names := _REFERENCE.findall(body):
            yield set(_SELECTED.findall(selectors)), names


def _append_text(element: ElementTree.Element, text: str) -> None:
    """Append text behind everything that an element holds."""
    if len(element):
        element[-1].tail = (element[-1].tail or "") + text
    else:
        element.text = (element.text or "") + text
