"""PDFs written by hand: small real books, and files made to break their parser."""

from __future__ import annotations

import hashlib
import random
import zlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

PAD = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")
PLAIN, BOLD = b"/F1", b"/F2"
A4 = b"[0 0 595 842]"


class Text(NamedTuple):
    """A line at its place on the page."""

    x: float
    y: float
    words: str
    size: float = 10
    font: bytes = PLAIN


class Mark(NamedTuple):
    """An entry of the outline; `page` counts from 1."""

    level: int
    title: str
    page: int
    y: float | None = None


def column(lines: Iterable[str], *, top: float = 720, left: float = 72, size: float = 10) -> list[Text]:
    """Lines one under the other."""
    return [Text(left, top - 1.2 * size * i, line, size) for i, line in enumerate(lines)]


def stream(data: bytes, extra: bytes = b"") -> bytes:
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(data), extra, data)


def compress(data: bytes) -> bytes:
    return stream(zlib.compress(data, 9), b"/Filter /FlateDecode")


def write_file(objects: dict[int, bytes], *, trailer: bytes = b"", size: int = 0) -> bytes:
    """A whole file from its numbered objects; object 1 is the catalog."""
    out = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
    places = {}
    for number, body in objects.items():
        places[number] = len(out)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start, count = len(out), max(objects) + 1
    out += b"xref\n0 %d\n0000000000 65535 f \n" % count
    for number in range(1, count):
        out += b"%010d 00000 %s \n" % (places.get(number, 0), b"n" if number in places else b"f")
    out += b"trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n" % (
        size or count,
        trailer,
        start,
    )
    return bytes(out)


def literal(text: str) -> bytes:
    return b"<" + (b"\xfe\xff" + text.encode("utf-16-be")).hex().encode() + b">"


def _content(lines: Sequence[Text]) -> bytes:
    shown = []
    for line in lines:
        words = (
            line.words.encode("cp1252").replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")
        )
        shown.append(
            b"BT %s %g Tf 1 0 0 1 %g %g Tm (%s) Tj ET" % (line.font, line.size, line.x, line.y, words)
        )
    return b"\n".join(shown)


def objects(
    pages: Sequence[Sequence[Text]], *, outline: Sequence[Mark] = (), labels: bytes = b"", lang: bytes = b""
) -> dict[int, bytes]:
    """A book: 1 catalog, 2 page tree, 3 and 4 fonts, from 10 on page and content in turn, then outline."""
    fonts = b"/Resources << /Font << /F1 3 0 R /F2 4 0 R >> >>"
    kids = b" ".join(b"%d 0 R" % (10 + 2 * i) for i in range(len(pages)))
    made = {
        2: b"<< /Type /Pages /Kids [%s] /Count %d /MediaBox %s %s >>" % (kids, len(pages), A4, fonts),
        3: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        4: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>",
    }
    for i, lines in enumerate(pages):
        made[10 + 2 * i] = b"<< /Type /Page /Parent 2 0 R /Contents %d 0 R >>" % (11 + 2 * i)
        made[11 + 2 * i] = compress(_content(lines))
    root = 10 + 2 * len(pages)
    extra = b"/Outlines %d 0 R" % root if outline else b""
    if outline:
        made |= _outline(outline, root)
    extra += b" /PageLabels << /Nums [%s] >>" % labels if labels else b""
    extra += b" /Lang (%s)" % lang if lang else b""
    return {1: b"<< /Type /Catalog /Pages 2 0 R %s >>" % extra, **made}


def _outline(marks: Sequence[Mark], root: int) -> dict[int, bytes]:
    """Linked bookmark objects: each knows its parent, its next sister and its first and last child."""
    number = {i: root + 1 + i for i in range(len(marks))}
    parent = [max((j for j in range(i) if marks[j].level < m.level), default=-1) for i, m in enumerate(marks)]
    made = {}
    for i in range(-1, len(marks)):
        children = [j for j in range(len(marks)) if parent[j] == i]
        body = b""
        if children:
            body += b"/First %d 0 R /Last %d 0 R /Count %d" % (
                number[children[0]],
                number[children[-1]],
                len(children),
            )
        if i >= 0:
            mark = marks[i]
            place = b"/Fit" if mark.y is None else b"/XYZ 0 %g 0" % mark.y
            body += b" /Title %s /Dest [%d 0 R %s]" % (literal(mark.title), 8 + 2 * mark.page, place)
            body += b" /Parent %d 0 R" % number.get(parent[i], root)
            later = [j for j in range(i + 1, len(marks)) if parent[j] == parent[i]]
            body += b" /Next %d 0 R" % number[later[0]] if later else b""
        made[number.get(i, root)] = b"<< %s >>" % body
    return made


def make_book(
    pages: Sequence[Sequence[Text]],
    *,
    outline: Sequence[Mark] = (),
    labels: bytes = b"",
    lang: bytes = b"",
    title: str = "",
    author: str = "",
) -> bytes:
    """A small real book."""
    made = objects(pages, outline=outline, labels=labels, lang=lang)
    info = max(made) + 1
    made[info] = b"<< /Title %s /Author %s >>" % (literal(title), literal(author))
    return write_file(made, trailer=b"/Info %d 0 R" % info)


def make_prose(pages: int) -> bytes:
    """A book of so many pages, each with a sentence that names it."""
    numbers = range(1, pages + 1)
    return make_book(
        [column([f"Here begins page {n} of the book.", f"Line two of {n}."], top=500) for n in numbers]
    )


def _rc4(key: bytes, data: bytes) -> bytes:
    box, j = list(range(256)), 0
    for i in range(256):
        j = (j + box[i] + key[i % len(key)]) % 256
        box[i], box[j] = box[j], box[i]
    i = j = 0
    out = bytearray()
    for byte in data:
        i = (i + 1) % 256
        j = (j + box[i]) % 256
        box[i], box[j] = box[j], box[i]
        out.append(byte ^ box[(box[i] + box[j]) % 256])
    return bytes(out)


def make_encrypted(user: bytes) -> bytes:
    """A one-page book under the standard 40-bit lock; `user` is the password that opens it."""
    content = _content(column(["The locked words of the book."]))
    owner = _rc4(hashlib.md5((user + PAD)[:32]).digest()[:5], (user + PAD)[:32])
    rights, ident = (-4).to_bytes(4, "little", signed=True), b"0123456789abcdef"
    key = hashlib.md5((user + PAD)[:32] + owner + rights + ident).digest()[:5]
    made = objects([[]])
    object_key = hashlib.md5(key + (11).to_bytes(3, "little") + b"\0\0").digest()[:10]
    made[11] = stream(_rc4(object_key, content))
    lock = b"<< /Filter /Standard /V 1 /R 2 /O <%s> /U <%s> /P -4 >>"
    made[12] = lock % (owner.hex().encode(), _rc4(key, PAD).hex().encode())
    return write_file(
        made, trailer=b"/Encrypt 12 0 R /ID [<%s> <%s>]" % (ident.hex().encode(), ident.hex().encode())
    )


def make_with_content(packed: bytes) -> bytes:
    """One page whose content is this stream object."""
    made = objects([[]])
    made[11] = packed
    return write_file(made)


def _packed_blanks(size: int) -> bytes:
    """So many blanks, packed; the same packed megabyte again and again, so that it is quickly made."""
    packer = zlib.compressobj(9)
    head = packer.compress(b" ") + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(b" " * (1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return head + block * (size >> 20) + packer.flush()


def flate_bomb(size: int = 1 << 30) -> bytes:
    return make_with_content(stream(_packed_blanks(size), b"/Filter /FlateDecode"))


def nested_flate_bomb(size: int = 1 << 30) -> bytes:
    packed = zlib.compress(_packed_blanks(size), 9)
    return make_with_content(stream(packed, b"/Filter [/FlateDecode /FlateDecode]"))


def text_bomb(operators: int) -> bytes:
    """So many words, each drawn by itself, on one page; packed so that no ratio gives it away."""
    chance = random.Random(1)
    words = b"".join(b"(%d) Tj\n" % chance.getrandbits(40) for _ in range(operators // 40)) * 40
    return make_with_content(
        stream(zlib.compress(b"BT /F1 9 Tf\n" + words + b"ET", 1), b"/Filter /FlateDecode")
    )


def self_calling_form() -> bytes:
    made = objects([[]])
    forms = b"/Resources << /XObject << /A 12 0 R /B 13 0 R >> >>"
    made[10] = b"<< /Type /Page /Parent 2 0 R /Contents 11 0 R %s >>" % forms
    made[11] = stream(b"/A Do /B Do")
    made[12] = stream(b"/B Do /A Do " * 40, b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] %s" % forms)
    made[13] = stream(b"/A Do /B Do " * 40, b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] %s" % forms)
    return write_file(made)


def page_tree_loop() -> bytes:
    made = objects([[]])
    made[2] = b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 9 >>"
    return write_file(made)


def page_tree_fan_out(*, deep: int = 7) -> bytes:
    """Ten times ten times ten … the same page."""
    made = objects([[]])
    made[2] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b"20 0 R " * 10, 10**deep)
    for level in range(deep - 1):
        last = level == deep - 2
        kid = b"10 0 R " if last else b"%d 0 R " % (21 + level)
        made[20 + level] = b"<< /Type /Pages /Parent 2 0 R /Kids [%s] /Count %d >>" % (
            kid * 10,
            10 ** (deep - 1 - level),
        )
    return write_file(made)


def previous_loop() -> bytes:
    made = write_file(objects([column(["Words before a loop."])]))
    start = made.rindex(b"xref\n0 ", 0, made.rindex(b"startxref"))
    return made.replace(b"/Root 1 0 R", b"/Root 1 0 R /Prev %d" % start)


def huge_size() -> bytes:
    return write_file(objects([column(["Words of a huge file."])]), size=999_999_999)


def nested_arrays(depth: int = 200_000) -> bytes:
    made = objects([column(["Words beside a deep hole."])])
    made[12] = b"[" * depth + b"]" * depth
    return write_file(made)


def make_fuzzed(count: int, *, seed: int = 7) -> list[bytes]:
    """Copies of a small book with some of their bytes changed, cut out or doubled."""
    chance = random.Random(seed)
    made = []
    for _ in range(count):
        data = bytearray(make_prose(3))
        for _ in range(chance.randint(1, 30)):
            at = chance.randrange(len(data))
            if chance.random() < 0.2:
                del data[at : at + chance.randint(1, 60)]
            elif chance.random() < 0.2:
                data[at:at] = data[at : at + 40]
            else:
                data[at] = chance.randrange(256)
        made.append(bytes(data))
    return made
