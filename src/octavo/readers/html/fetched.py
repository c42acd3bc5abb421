"""The folder of a web site that was fetched: its pages, and a manifest with the address of each.

`octavo.ingest.site` writes such a folder, and the HTML reader takes the addresses from it in place of the
file names. Two spellings of one address are the same after `normalise_address`.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

from octavo.errors import BadBook
from octavo.limits import MB

MANIFEST = "octavo-site.json"
_MANIFEST_MOST = 64 * MB
_PORTS = {"http": 80, "https": 443}
_SAFE = "/%~:@!$&'()*+,;="
_ESCAPE = re.compile(r"%[0-9a-fA-F]{2}")
_MOST = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedSite:
    """`pages` has the address of each file, in the order of fetching; `moved` leads from old ones to new."""

    address: str
    pages: Mapping[str, str] = field(default_factory=dict)
    moved: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def to_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)


class SiteLinks:
    """Finds the file that a link on a page of a fetched site leads to."""

    def __init__(self, fetched: FetchedSite) -> None:
        self._pages = fetched.pages
        self._files = {address: file for file, address in fetched.pages.items()}
        for old, new in fetched.moved.items():
            if new in self._files:
                self._files.setdefault(old, self._files[new])

    def resolve(self, file: str, href: str) -> str:
        """Return the file that `href`, written on the page of `file`, leads to; '' for any other."""
        address = normalise_address(href, base=self._pages[file])
        return self._files.get(address, "") if address else ""


def load_manifest(root: Path) -> FetchedSite | None:
    """Read the manifest of a fetched site; None for any other folder."""
    path = root / MANIFEST
    if not path.is_file():
        return None
    try:
        if path.stat().st_size > _MANIFEST_MOST:
            raise ValueError("it is too large")
        fields = json.loads(path.read_bytes())
        pages = {str(file): _require_address(at) for file, at in fields["pages"].items()}
        moved = {str(old): str(new) for old, new in fields["moved"].items()}
        notes = tuple(map(str, fields["notes"]))
        return FetchedSite(address=_require_address(fields["address"]), pages=pages, moved=moved, notes=notes)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as wrong:
        raise BadBook(
            "unsupported_format",
            f"{root.name}/{MANIFEST} is not the list of a fetched site: {wrong}",
            hint="Delete this file, so that the folder is read like any other.",
        ) from None


def _require_address(value: object) -> str:
    address = normalise_address(value) if isinstance(value, str) else None
    if address is None:
        raise ValueError(f"{value!r} is not a web address")
    return address


def normalise_address(text: str, *, base: str = "") -> str | None:
    """Return the address of a web page in one spelling, without its fragment; None for anything else."""
    try:
        parts = urlsplit(urljoin(base, text.strip()))
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme not in _PORTS or not host or "@" in parts.netloc:
        return None
    try:
        name = host.rstrip(".") if host.isascii() else host.rstrip(".").encode("idna").decode()
    except UnicodeError:
        return None
    shown = f"[{name}]" if ":" in name else name.lower()
    netloc = shown if port in (None, _PORTS[parts.scheme]) else f"{shown}:{port}"
    address = urlunsplit((parts.scheme, netloc, _normalise_path(parts.path), parts.query, ""))
    return address if len(address) <= _MOST and address.isascii() and address.isprintable() else None


def _normalise_path(path: str) -> str:
    spelled = quote(path or "/", safe=_SAFE, errors="surrogateescape")
    plain = _ESCAPE.sub(lambda found: found[0].upper(), spelled)
    if "/." not in plain:
        return plain
    clean = posixpath.normpath(plain)
    return f"{clean}/" if plain.endswith(("/", "/.", "/..")) and clean != "/" else clean
