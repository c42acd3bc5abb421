"""Find out what format a file has, by its content first and its name second.

`detect_format` looks at the first bytes (and an archive's last) and never starts a parser. When the name says
one format and the content another, it raises an error that names both: a guess could give a book that is
silently wrong.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from octavo.errors import BAD_BOOK_CODES, BadBook

HEAD, _TAIL = 1 << 16, 1 << 18
KNOWN_FORMATS = BAD_BOOK_CODES["unsupported_format"]
BY_SUFFIX = {
    ".pdf": "pdf",
    ".epub": "epub",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".md": "markdown",
    ".markdown": "markdown",
    ".mdx": "markdown",
    ".txt": "text",
    ".text": "text",
    ".docx": "docx",
    ".odt": "odt",
    ".fb2": "fb2",
    ".mobi": "mobi",
    ".azw": "mobi",
    ".azw3": "mobi",
    ".prc": "mobi",
    ".rst": "rst",
    ".rest": "rst",
    ".adoc": "asciidoc",
    ".asciidoc": "asciidoc",
}
NAMES = {
    "pdf": "a PDF",
    "epub": "an EPUB",
    "html": "an HTML page",
    "markdown": "Markdown",
    "text": "plain text",
    "rst": "reStructuredText",
    "asciidoc": "AsciiDoc",
    "docx": "a Word document",
    "xlsx": "an Excel workbook",
    "pptx": "a PowerPoint presentation",
    "odt": "an OpenDocument text",
    "office": "an old Microsoft Office document",
    "zip": "a zip archive",
    "archive": "a packed archive",
    "rtf": "a Rich Text document",
    "mobi": "a Kindle book",
    "kfx": "a Kindle book of the newest kind (KFX)",
    "palm": "an old Palm book",
    "djvu": "a DjVu scan",
    "postscript": "PostScript",
    "fb2": "a FictionBook",
    "sitemap": "the list of a web site's pages",
    "picture": "a picture",
    "media": "audio or video",
    "program": "a program",
    "blank": "nothing but zeros at its beginning",
    "binary": "binary data of an unknown kind",
}
_ADVICE = {
    "office": "Save it as PDF, EPUB or HTML and add that.",
    "rtf": "Save it as PDF, HTML or plain text and add that.",
    "kfx": "Convert it to EPUB, for example with Calibre, and add that.",
    "palm": "Convert it to EPUB, for example with Calibre, and add that.",
    "djvu": "Convert it to a PDF with a text layer (OCR) and add that.",
    "picture": "Run OCR on it and add the PDF or text file.",
    "postscript": "Convert it to PDF and add that.",
    "zip": "Unpack it and add the book or folder inside.",
    "archive": "Unpack it and add the book or folder inside.",
    "sitemap": "To add the pages, name its address: `octavo add https://example.org/sitemap.xml`.",
    "xlsx": "Save it as PDF or HTML and add that.",
    "pptx": "Save it as PDF or HTML and add that.",
    "media": "Transcribe it to a text file and add that.",
    "program": "It is not a book. If somebody gave it to you as one, do not open it.",
    "blank": "The download or copy went wrong: repeat it.",
}
_UNKNOWN = (
    "It may be damaged or encrypted: download or copy it again, or save it as PDF in a program that opens it."
)
_ENDINGS = {
    "pdf": ".pdf",
    "epub": ".epub",
    "html": ".html",
    "markdown": ".md",
    "text": ".txt",
    "docx": ".docx",
    "odt": ".odt",
    "fb2": ".fb2",
    "mobi": ".mobi",
}
# Formats that are told by their content; the others are text, and their names say which.
_BY_CONTENT = ("pdf", "epub", "docx", "odt", "fb2", "mobi")
_UNREADABLE = {
    "office": (".doc", ".xls", ".ppt"),
    "xlsx": (".xlsx",),
    "pptx": (".pptx",),
    "rtf": (".rtf",),
    "kfx": (".kfx",),
    "djvu": (".djvu", ".djv"),
    "postscript": (".ps",),
    "zip": (".zip",),
    "picture": (".png", ".jpg", ".jpeg", ".gif", ".tif", ".tiff", ".webp"),
    "media": (".mp3", ".m4b", ".mp4"),
    "archive": (".gz", ".7z", ".rar", ".xz", ".bz2", ".tar"),
}
_UNREADABLE_SUFFIXES = {suffix: kind for kind, suffixes in _UNREADABLE.items() for suffix in suffixes}
_MAGIC = (
    (b"{\\rtf", "rtf"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "office"),
    (b"AT&TFORM", "djvu"),
    (b"%!PS", "postscript"),
    (b"\x89PNG\r\n\x1a\n", "picture"),
    (b"\xff\xd8\xff", "picture"),
    (b"GIF87a", "picture"),
    (b"GIF89a", "picture"),
    (b"II*\x00", "picture"),
    (b"MM\x00*", "picture"),
    (b"\x1f\x8b\x08", "archive"),
    (b"7z\xbc\xaf\x27\x1c", "archive"),
    (b"Rar!\x1a\x07", "archive"),
    (b"\xfd7zXZ\x00", "archive"),
    (b"BZh91AY&SY", "archive"),
    (b"\x28\xb5\x2f\xfd", "archive"),
    (b"ID3\x03", "media"),
    (b"ID3\x04", "media"),
    (b"OggS\x00", "media"),
    (b"fLaC\x00", "media"),
)
# Words may begin with these too, so they count only for what is no text.
_BINARY_MAGIC = (
    (0, b"MZ", "program"),
    (0, b"\x7fELF", "program"),
    (0, b"\xcf\xfa\xed\xfe", "program"),
    (8, b"WEBP", "picture"),
    (4, b"ftypavif", "picture"),
    (4, b"ftyphei", "picture"),
    (4, b"ftyp", "media"),
    (0, b"RIFF", "media"),
    (0, b"BM", "picture"),
)
# The text of a Word document. Word on the web writes `document2.xml`.
WORD_TEXT = re.compile(r"word/document\d*\.xml")
# The name of a member stands after its head in the archive, and again in the archive's list.
_MEMBER_HEAD = rb"(?s:PK\x03\x04.{26}|PK\x01\x02.{42})"
_IN_ARCHIVE = (
    (re.compile(rb"application/epub\+zip|META-INF/container\.xml"), "epub"),
    (re.compile(_MEMBER_HEAD + WORD_TEXT.pattern.encode()), "docx"),
    (re.compile(rb"xl/workbook\.xml"), "xlsx"),
    (re.compile(rb"ppt/presentation\.xml"), "pptx"),
    (re.compile(rb"application/vnd\.oasis\.opendocument\."), "odt"),
)
_HTML = re.compile(
    rb"\s*(?:<\?xml[^>]*>\s*)?(?>(?>(?:<!--.*?-->|<\?.*?\?>)\s*)*)<(?:!doctype\s+html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
)
_SITEMAP = re.compile(rb"^(?:\xef\xbb\xbf)?\s*(?:<[?!][^>]*>\s*)*<(?:urlset|sitemapindex)[\s>]")
_BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")


def detect_format(path: Path) -> str:
    """Return the format of a file by its reader's name; raise BadBook for what no reader takes."""
    named = BY_SUFFIX.get(path.suffix.lower())
    found = _detect_content(path, named)
    if found in ("text", "html", "markdown"):
        return _choose_text_reader(path, named, found)
    if named is not None and found != named:
        raise _describe_mismatch(path, named, found)
    if found in _BY_CONTENT:
        return found
    if found == "binary":
        found = _UNREADABLE_SUFFIXES.get(path.suffix.lower(), found)
    raise _describe_unsupported(path, found)


def _describe_mismatch(path: Path, named: str, found: str) -> BadBook:
    advice = _ADVICE.get(found, _UNKNOWN)
    if found in _ENDINGS:
        advice = f"If that is the book, name it {path.stem}{_ENDINGS[found]} and add it again."
        if found in ("html", "text"):
            # What a site sends in place of a book often says why.
            advice = f"A failed download can leave this: look into the file, or download it again. {advice}"
    if (named, found) == ("docx", "office"):
        advice = f"If a password protects it, save it without one and add it again. Otherwise: {advice}"
    message = f"{path.name} is named like {NAMES[named]}, but its content is {NAMES[found]}"
    return BadBook("type_mismatch", message, hint=advice)


def _describe_unsupported(path: Path, found: str) -> BadBook:
    hint = f"{_ADVICE[found]} {KNOWN_FORMATS}" if found in _ADVICE else KNOWN_FORMATS
    return BadBook(
        "unsupported_format", f"{path.name} is {NAMES[found]}, which Octavo does not read", hint=hint
    )


def _choose_text_reader(path: Path, named: str | None, found: str) -> str:
    """Return the reader of a text file: what its name says, or else its content."""
    if named in _BY_CONTENT or (named == "text" and found == "html"):
        raise _describe_mismatch(path, named, found)
    other = _UNREADABLE_SUFFIXES.get(path.suffix.lower())
    if other is not None:
        raise _describe_unsupported(path, other)
    return named or found


def _detect_content(path: Path, named: str | None) -> str:
    with path.open("rb") as file:
        head = file.read(HEAD)
        file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
        tail = file.read(_TAIL) if head.startswith(b"PK") else b""
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")):
        return _detect_archive(head + tail, named)
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    if head[60:68] in (b"BOOKMOBI", b"TEXtREAd"):
        return "mobi" if head[60:68] == b"BOOKMOBI" else "palm"
    if _is_pdf(head[:1024], named):
        return "pdf"
    return _detect_text(head)


def _detect_archive(seen: bytes, named: str | None) -> str:
    for mark, kind in _IN_ARCHIVE:
        if mark.search(seen):
            return kind
    return named if named in ("epub", "odt") else "zip"


def _is_pdf(head: bytes, named: str | None) -> bool:
    """Whether the PDF mark stands first. Other bytes may come before it unless the name says text."""
    place = head.find(b"%PDF-")
    return place >= 0 and (not head[:place].strip(b"\xef\xbb\xbf \t\r\n\0") or named in ("pdf", None))


def _detect_text(head: bytes) -> str:
    if _is_binary(head) and not head.startswith(_BOMS) and not _is_wide(head):
        return _detect_binary(head)
    if b"<FictionBook" in head[:1024]:
        return "fb2"
    if _SITEMAP.search(head[:4096]):
        return "sitemap"
    bare = head.replace(b"\0", b"")[:4096]
    for mark in _BOMS:
        bare = bare.removeprefix(mark)
    return "html" if _HTML.match(bare) else "text"


def _detect_binary(head: bytes) -> str:
    if not head.strip(b"\0"):
        return "blank"
    return next((kind for at, mark, kind in _BINARY_MAGIC if head.startswith(mark, at)), "binary")


def _is_binary(head: bytes) -> bool:
    """Whether the bytes contain zeros. One in a thousand is damage that a text may have."""
    return head.count(0) > len(head) // 1000


def _is_wide(head: bytes) -> bool:
    """Whether this is UTF-16 without a mark: zeros in every second place, and readable text."""
    even, odd = head[0:4096:2].count(0), head[1:4096:2].count(0)
    if max(even, odd) < min(len(head), 4096) // 5:
        return False
    text = head[:4096].decode("utf-16-le" if odd > even else "utf-16-be", errors="replace")
    return sum(c.isprintable() or c.isspace() for c in text) > 0.95 * len(text)
