"""Small real books for tests that need whole files, in each format."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

TIDES = {
    "Harbour": "The harbour master counted the ships at dawn. He wrote each name into a ledger bound in red.",
    "Lighthouse": "The keeper of the lighthouse trimmed the lamp at dusk. Its beam reached eleven miles.",
    "Storm": "A storm broke the northern pier in a single night. Seven boats were lost with all their nets.",
    "Morning": "In the morning the gulls came back. Nobody spoke of the boats until the bells had rung.",
}


def write_markdown(path: Path, chapters: Mapping[str, str] = TIDES, *, title: str = "The Tides") -> Path:
    body = "\n".join(f"## {name}\n\n{write_text}\n" for name, write_text in chapters.items())
    path.write_text(f"# {title}\n\n{body}", encoding="utf-8")
    return path


def write_html(path: Path, chapters: Mapping[str, str] = TIDES, *, title: str = "The Tides") -> Path:
    body = "".join(f"<h2>{name}</h2><p>{write_text}</p>" for name, write_text in chapters.items())
    head = f'<meta charset="utf-8"><title>{title}</title>'
    path.write_text(f"<html><head>{head}</head><body><h1>{title}</h1>{body}</body></html>", encoding="utf-8")
    return path


def write_text(path: Path, chapters: Mapping[str, str] = TIDES) -> Path:
    """Without headings: nothing in the file says what the book is called."""
    path.write_text("\n\n".join(chapters.values()) + "\n", encoding="utf-8")
    return path


def write_epub(path: Path, chapters: Mapping[str, str] = TIDES, *, title: str = "The Tides") -> Path:
    names = [f"c{number}.xhtml" for number in range(len(chapters))]
    items = "".join(f'<item id="{n}" href="{n}" media-type="application/xhtml+xml"/>' for n in names)
    spine = "".join(f'<itemref idref="{n}"/>' for n in names)
    package = (
        '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0">'
        f'<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title>'
        "<dc:creator>A. Writer</dc:creator><dc:language>en</dc:language></metadata>"
        f"<manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    container = (
        '<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
        '<rootfiles><rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles>'
        "</container>"
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr("META-INF/container.xml", container)
        archive.writestr("book.opf", package)
        for file, (name, said) in zip(names, chapters.items(), strict=True):
            page = f"<head><title>{name}</title></head><body><h1>{name}</h1><p>{said}</p></body>"
            archive.writestr(file, f'<html xmlns="http://www.w3.org/1999/xhtml">{page}</html>')
    return path


def write_pdf(path: Path, pages: Sequence[Sequence[str]], *, roman: int = 0) -> Path:
    """A page for each list of lines; the first `roman` are labelled i, ii, …, the others 1, 2, …"""
    first, kids = 4, " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    labels = f"/PageLabels << /Nums [0 << /S /r >> {roman} << /S /D >>] >>" if roman else ""
    objects = [
        f"<< /Type /Catalog /Pages 2 0 R {labels} >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, lines in enumerate(pages):
        shown = " ".join(f"({line}) Tj 0 -14 Td" for line in lines)
        content = f"BT /F1 11 Tf 72 700 Td {shown} ET"
        fonts = "/Resources << /Font << /F1 3 0 R >> >> /MediaBox [0 0 612 792]"
        objects.append(f"<< /Type /Page /Parent 2 0 R {fonts} /Contents {first + 2 * number + 1} 0 R >>")
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    made, offsets = "%PDF-1.4\n", []
    for number, item in enumerate(objects, start=1):
        offsets.append(len(made))
        made += f"{number} 0 obj\n{item}\nendobj\n"
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    end = f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(made)}\n%%EOF\n"
    path.write_bytes(f"{made}xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{end}".encode("ascii"))
    return path
