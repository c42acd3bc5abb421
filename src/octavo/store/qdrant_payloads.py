"""Find text, address, title and order in the payloads of a collection that another program filled.

Each of them is under a key that the caller names, or under the first known key that most points have:
Octavo's own names and those of the source documents, of LangChain (`page_content`, `metadata.source`) and of
LlamaIndex (`_node_content`, which is JSON). A dot leads into an object: `metadata.source`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from octavo.errors import BadBook, InvalidValue

NODE = "_node_content"
SHOWN = 20
_HOLDERS = ("", "metadata.", f"{NODE}.metadata.", "payload.")
_KNOWN = {
    "text": (
        *("text", "content", "page_content", f"{NODE}.text", "chunk_text", "chunk", "passage", "body"),
        *("document", "raw_text", "content_text"),
    ),
    "url": (
        *("url", "source_url", "page_url", "link", "uri", "href", "source", "source_file", "file_path"),
        *("file_name", "filename", "path", "document_id", "doc_id"),
    ),
    "title": (
        *("source_title", "title", "section_heading", "heading", "section", "section_title", "chapter"),
        *("source_location", "page_title", "file_name", "filename", "book_title"),
    ),
    "order": (
        *("chunk_id", "chunk_index", "document_position", "position", "order", "index", "chunk_number"),
        *("start_index", "start_char_idx", "page_number", "page", "page_label"),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PayloadKeys:
    """The keys to read. What is None is guessed, and "" where there is none."""

    text: str | None = None
    url: str | None = None
    title: str | None = None
    order: str | None = None

    def describe(self) -> str:
        shown = {name: getattr(self, name) for name in ("text", "url", "title", "order")}
        return ", ".join(f"{name} from {key!r}" if key else f"no {name}" for name, key in shown.items())


def open_payload(payload: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a payload with the object that LlamaIndex writes into it as text."""
    opened = dict(payload or {})
    node = opened.get(NODE)
    if isinstance(node, str):
        try:
            opened[NODE] = json.loads(node)
        except (ValueError, RecursionError):
            del opened[NODE]
    return opened


def find_value(payload: Mapping[str, Any], key: str) -> Any:
    """Return what is under a key; a dot leads into an object. None if nothing is."""
    if key in payload:
        return payload[key]
    name, dot, rest = key.partition(".")
    inner = payload.get(name)
    return find_value(inner, rest) if dot and isinstance(inner, Mapping) else None


def read_text(payload: Mapping[str, Any], key: str | None) -> str:
    value = find_value(payload, key) if key else None
    if isinstance(value, str):
        return value
    return str(value) if type(value) in (int, float) else ""


def read_order(payload: Mapping[str, Any], key: str | None) -> float | None:
    """Return a number by which points can be sorted; page labels like "12" count as numbers."""
    value = find_value(payload, key) if key else None
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 16:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < 2**53 else None


def choose_keys(sample: Sequence[Mapping[str, Any]], wanted: PayloadKeys, *, place: str) -> PayloadKeys:
    """Return the wanted keys, with guesses for the others. Raises if there is no text under any."""
    chosen: dict[str, str] = {}
    for role in fields(wanted):
        given = getattr(wanted, role.name)
        if given is None:
            chosen[role.name] = _guess(role.name, sample)
            continue
        if sample and given and all(find_value(payload, given) is None for payload in sample):
            keys = ", ".join(list_keys(sample)) or "none"
            raise InvalidValue(f"{role.name}_key", f"must be a key that the points have ({keys})", given)
        chosen[role.name] = given
    if not any(read_text(payload, chosen["text"]).strip() for payload in sample):
        found = ", ".join(list_keys(sample))
        said = f"no texts: its points have the keys {found}" if found else "no points"
        raise BadBook(
            "no_text",
            f"{place} has {said}",
            hint="Name the key with the text: --text-key KEY. See `octavo attach --help` for the others.",
        )
    return PayloadKeys(**chosen)


def _guess(role: str, sample: Sequence[Mapping[str, Any]]) -> str:
    """Return the first known key that at least half of the points have, or else the most common one."""
    fits: Callable[[Mapping[str, Any], str], object] = read_text
    if role == "order":
        fits = lambda payload, key: read_order(payload, key) is not None  # noqa: E731
    names = _KNOWN[role]
    # Every name directly in the payload counts before the first one inside an object.
    candidates = [f"{holder}{name}" for holder in _HOLDERS for name in names if not (holder and "." in name)]
    if role == "order":
        candidates.append(f"{NODE}.start_char_idx")
    counted = {key: sum(bool(fits(payload, key)) for payload in sample) for key in candidates}
    common = next((key for key, count in counted.items() if count and 2 * count >= len(sample)), "")
    best = max(counted, key=lambda key: counted[key])
    return common or (best if counted[best] else "")


def list_keys(sample: Iterable[Mapping[str, Any]]) -> list[str]:
    """List the keys of the payloads, the most common first; those inside an object with a dot."""
    counted: Counter[str] = Counter()
    for payload in sample:
        for key, value in payload.items():
            inner = [f"{key}.{name}" for name in value] if isinstance(value, Mapping) else []
            counted.update(inner or [key])
    named = [key for key, _ in counted.most_common(SHOWN)]
    return [*named, "…"] if len(counted) > SHOWN else named
