"""Decode and clean text as Octavo keeps it: once, and never changed after that.

`decode` turns bytes into text and counts the damage; `clean` gives the canonical form that every offset
points into. Both are pure, and `clean(clean(x)) == clean(x)`.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from dataclasses import dataclass

from octavo.errors import BadBook

WARN_SHARE, REFUSE_SHARE = 0.01, 0.20
_BOMS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_KANA = "[\u3041-\u30f6ー、。「」]"
_CYRILLIC = "[а-яё]{3,}"
# What fills a page of writing in each legacy encoding; of equals, the first is taken.
_TYPICAL = {
    "cp1252": "(?<=[A-Za-z])[À-ÿ]{1,2}|[À-ÿ]{1,2}(?=[a-z])|[‘’“”–—…•]",
    "shift_jis": _KANA,
    "euc_jp": _KANA,
    "gb18030": "[的一是不了在人有我他这中大来上个们到说国和地也子时道出而要于就下得可你年生，。、“”：；？！]",
    "big5": "[的一是不了在人有我他這中大來上個們到說國和地也子時道出而要於就下得可你年生，。、「」：；？！]",
    "euc_kr": "[이다는에의을를은가고하지한로도기사리어자아나있그것들서라니시인해]",
    "cp1251": _CYRILLIC,
    "koi8_r": _CYRILLIC,
}
_ODD = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\u2500-\u259f\ue000-\uf8ff\uff61-\uff9f\ufffd]")
_PLAIN = re.compile(rb"([\x00-\x7f]{8})[\x00-\x7f]+([\x00-\x7f]{8})")
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
_NOT_FOR_FILES = frozenset({"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape", "utf-7"})
_LIGATURES = {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
_LIGATURE = re.compile("[\ufb00-\ufb06]")
_NEVER_SEEN = re.compile(
    "["
    "\x00-\x08\x0b\x0e-\x1f\x7f\x80-\x84\x86-\x9f"  # controls
    "\u00ad\u034f\u061c\u180e\u200b\u200e\u200f"  # soft hyphen, joiners that show nothing, direction marks
    "\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # overrides, invisible operators, annotation marks
    "\U000e0000-\U000e0fff"  # tags and variation supplements
    "]"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_MAYBE_MARKS = re.compile(r"[^\w\s\x00-\x7f]{9,}")
_MARKS_MOST = 8
_JOINERS_IN_A_ROW = re.compile("([\u200c\u200d])[\u200c\u200d]+")


@dataclass(frozen=True, slots=True)
class DecodedText:
    """Text, the encoding that gave it, and how many characters had to be replaced."""

    text: str
    encoding: str
    replaced: int = 0
    warnings: tuple[str, ...] = ()


def decode(data: bytes, declared: str | None = None) -> DecodedText:
    """Turn bytes into text: by byte-order mark, as UTF-8, as the file declares, or as fits best."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return _decode_lossy(data[len(mark) :], encoding)
    wide = _detect_utf16(data)
    if wide:
        return _decode_lossy(data, wide)
    for encoding in ("utf-8", *_resolve_encoding(declared)):
        try:
            return DecodedText(data.decode(encoding), encoding)
        except (UnicodeError, LookupError):
            continue
    telling = _sample_telling(data)
    if _is_mostly_utf8(telling):
        return _decode_lossy(data, "utf-8")
    fitness = {encoding: _score_encoding(telling, encoding) for encoding in _TYPICAL}
    best = max(fitness, key=lambda encoding: fitness[encoding])
    return _decode_lossy(data, best if fitness[best] >= 0 else "utf-8")


def _resolve_encoding(declared: str | None) -> tuple[str, ...]:
    """Return the declared encoding, if files can have it. Latin-1 means Windows-1252, as on the web."""
    try:
        name = codecs.lookup((declared or "utf-8").strip()).name
    except (LookupError, ValueError):
        return ()
    if name in ("iso8859-1", "ascii"):
        return ("cp1252",)
    return () if name == "utf-8" or name.replace("_", "-") in _NOT_FOR_FILES else (name,)


def _sample_telling(data: bytes) -> bytes:
    """Return the beginning of what is not ASCII, with the letters around it: only this tells an encoding."""
    first = _BEYOND_ASCII.search(data)
    start = max(0, first.start() - 8) if first else 0
    return _PLAIN.sub(rb"\1\2", data[start : start + (1 << 22)])[:65_536]


def _detect_utf16(data: bytes) -> str | None:
    """Recognise UTF-16 without a byte-order mark by its zeros in every second place."""
    head = data[:4096]
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if odd > len(head) // 5 and even <= len(head) // 50:
        return "utf-16-le"
    if even > len(head) // 5 and odd <= len(head) // 50:
        return "utf-16-be"
    return None


def _is_mostly_utf8(data: bytes) -> bool:
    """Say whether most of what is not ASCII decodes: damaged UTF-8 is still UTF-8."""
    text = data.decode("utf-8", errors="replace")
    beyond = sum(ord(c) > 127 for c in text)
    return beyond > 0 and text.count("\ufffd") < 0.5 * beyond


def _score_encoding(data: bytes, encoding: str) -> float:
    """Score how much the text looks like writing in this encoding: typical letters less oddities."""
    text = data.decode(encoding, errors="replace")
    beyond = max(1, sum(ord(c) > 127 for c in text))
    typical = sum(len(found) for found in re.findall(_TYPICAL[encoding], text))
    return (typical - 2.0 * len(_ODD.findall(text))) / beyond


def _decode_lossy(data: bytes, encoding: str) -> DecodedText:
    mark = "\ufffd".encode(encoding, errors="ignore")
    before = data.count(mark) if mark else 0
    text = data.decode(encoding, errors="replace")
    replaced = max(0, text.count("\ufffd") - before)
    share = replaced / max(1, len(text))
    if share > REFUSE_SHARE:
        raise BadBook("encoding", f"{share:.0%} of the text cannot be decoded as {encoding}")
    warnings = (
        (f"{share:.1%} of the characters could not be decoded as {encoding}",) if share > WARN_SHARE else ()
    )
    return DecodedText(text, encoding, replaced, warnings)


def clean(text: str) -> str:
    """Return the canonical form: NFC, `\\n` line ends, nothing invisible, ligatures spelled out."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x85", "\n")
    text = text.replace("\u2028", "\n").replace("\u2029", "\n\n").replace("\x0c", "\n").replace("\x0b", "\n")
    text = _SURROGATE.sub("\ufffd", text)
    text = _NEVER_SEEN.sub("", text)
    if text.isascii():
        return text
    text = _LIGATURE.sub(lambda found: _LIGATURES[found[0]], text)
    text = _JOINERS_IN_A_ROW.sub(r"\1", text)
    # Normalising can bring marks together, and cutting them can let others compose: until neither does.
    while (cut := unicodedata.normalize("NFC", _MAYBE_MARKS.sub(_cut_marks, text))) != text:
        text = cut
    return text


def _cut_marks(run: re.Match[str]) -> str:
    """Keep at most eight marks on a letter: none has more, and normalising more takes quadratic time."""
    kept, marks = [], 0
    for c in run[0]:
        marks = marks + 1 if unicodedata.combining(unicodedata.normalize("NFD", c)[0]) else 0
        if marks <= _MARKS_MOST:
            kept.append(c)
    return "".join(kept)


def collapse(text: str) -> str:
    """Write a text on one line: runs of white space become one space."""
    return " ".join(text.split())


def make_slug(text: str, *, most: int = 60) -> str:
    """Make an id of lower-case letters, digits and hyphens; letters of other scripts stay. Never empty."""
    plain = unicodedata.normalize("NFKD", clean(text[: 8 * most])).casefold()
    plain = re.sub("(?<=[a-z])[\u0300-\u036f]+", "", unicodedata.normalize("NFKD", plain))
    kept = "".join(c if c.isalnum() or unicodedata.category(c)[0] == "M" else "-" for c in plain)
    words = re.sub("-+", "-", unicodedata.normalize("NFC", kept))[:most].strip("-")
    return words if any(c.isalnum() for c in words) else "untitled"
