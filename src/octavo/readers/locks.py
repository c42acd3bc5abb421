"""Whether a publisher has locked an EPUB, and with what. Octavo names the lock and leaves it alone.

Fonts that are only scrambled against copying lock nothing: the text is readable, and the book is taken in.
"""

from __future__ import annotations

from octavo.errors import BadBook
from octavo.readers import opf
from octavo.readers.archive import Archive
from octavo.readers.opf import Package

_SCRAMBLED_FONTS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_SIGNS = (
    (b"readium.org/2014/01/lcp", "Readium LCP"),
    (b"ns.adobe.com/adept", "Adobe ADEPT"),
    (b"apple.com", "Apple FairPlay"),
    (b"kobo", "Kobo"),
)
_DOCUMENT_ENDS = (".xhtml", ".html", ".htm", ".xht", ".xml", ".opf", ".ncx", ".svg")


def refuse_locked(archive: Archive, package: Package) -> None:
    """Raises when what the book says cannot be read without its publisher's key."""
    if archive.find("META-INF/sinf.xml"):
        _refuse(archive, "Apple FairPlay")
    if archive.find("META-INF/license.lcpl"):
        _refuse(archive, "Readium LCP")
    rights = archive.find("META-INF/rights.xml")
    if rights:
        _refuse(archive, _scheme(archive.read(rights)))
    listed = archive.find("META-INF/encryption.xml")
    if not listed:
        return
    data = archive.read(listed)
    documents = {item.path for item in package.items if item.is_document}
    for method, file in opf.encrypted(data):
        if method in _SCRAMBLED_FONTS:
            continue
        if file in documents or file.lower().endswith(_DOCUMENT_ENDS):
            _refuse(archive, _scheme(data))


def _scheme(data: bytes) -> str:
    lowered = data[:1_000_000].lower()
    return next((name for sign, name in _SIGNS if sign in lowered), "an unknown scheme")


def _refuse(archive: Archive, scheme: str) -> None:
    raise BadBook("drm", f"{archive.name} is locked by its publisher with {scheme}")
