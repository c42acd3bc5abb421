"""Count what a book has and what its markup has of it: pictures, tables, links, notes, formulas.

    python -m benchmarks.fidelity BOOK …

The source is counted by its own tags, in the documents that the book's sections come from, without menus,
headers and footers. Only pictures that lie in the book count, since others cannot be shown. A picture or a
link counts as kept when the page can show it or follow it. The last column is the CPU time of reading.
"""

from __future__ import annotations

import posixpath
import re
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import unquote

from selectolax.lexbor import LexborHTMLParser

from octavo.limits import Limits
from octavo.readers import read_book
from octavo.readers.parsed import ParsedBook
from octavo.types import ElementKind

KINDS = ("pictures", "tables", "links", "notes", "formulas")
_FENCE = re.compile(r"^([ \t>]*)(`{3,}|~{3,}).*?^\1\2[`~]*[ \t]*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]+`|<!--.*?-->", re.DOTALL)
_MENUS = (
    "nav, header, footer, script, style, .headerlink, .navfooter, .navheader, .docnav, .toc, .breadcrumb, "
    ".list-of-figures, .list-of-tables, .list-of-examples"
)
_PICTURE = re.compile(r"!\[[^\]]*\]\(<?([^)\s>]+)")
_IMG = re.compile(r"""<img\b[^>]*\bsrc=["']([^"']+)["']""")
_LINK = re.compile(r"(?<!!)\[(?!\^)[^\[\]]+\]\(<?(?:https?:|mailto:|[#./\w])")
_TABLE = re.compile(r"^[ \t]*\|?(?:[ \t]*:?-{2,}:?[ \t]*\|)+", re.MULTILINE)
_NOTE = re.compile(r"\[\^[^\]]+\](?!:)")
_FORMULA = re.compile(r"\$\$[^$]*\\[^$]*\$\$|(?<!\$)\$[^$\s][^$\n]*\\[^$\n]*\$(?!\$)")


def list_documents(book: Path, files: set[str]) -> Iterator[tuple[str, str, Callable[[str], bool]]]:
    """Yield the documents of a book: name, text, and whether a picture that it names lies in the book."""
    if book.suffix == ".epub":
        with zipfile.ZipFile(book) as archive:
            names = set(archive.namelist())
            for name in sorted(files & names):
                yield name, archive.read(name).decode("utf-8", "replace"), _make_finder(name, names)
        return
    root = book if book.is_dir() else book.parent
    known = {p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file()}
    for name in sorted(files):
        found = next(
            (p for p in (root / name, root / "docs" / name, root / "src" / name) if p.is_file()), None
        )
        if found:
            inside = found.relative_to(root).as_posix()
            yield name, found.read_text("utf-8", "replace"), _make_finder(inside, known)


def _make_finder(name: str, known: set[str]) -> Callable[[str], bool]:
    def find(source: str) -> bool:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(source.partition("#")[0])))
        return path in known

    return find


def count_document(name: str, text: str, has_picture: Callable[[str], bool]) -> Counter[str]:
    """Count what a document has by its own tags."""
    if name.endswith((".md", ".mdx", ".markdown")):
        bare = _CODE.sub("", _FENCE.sub("", text))
        pictures = [*_PICTURE.findall(bare), *_IMG.findall(bare)]
        return Counter(
            pictures=sum(map(has_picture, pictures)),
            tables=len(_TABLE.findall(bare)),
            links=len(_LINK.findall(bare)),
            notes=len(_NOTE.findall(bare)),
            formulas=len(_FORMULA.findall(bare)),
        )
    body = LexborHTMLParser(re.sub(r"<a\b([^<>]*)/>", r"<a\1></a>", text)).body
    if body is None:
        return Counter()
    for gone in body.css(_MENUS):
        gone.decompose()
    links = [a for a in body.css("a[href]") if a.text(deep=True).strip() not in ("", "¶", "#")]
    is_note = [
        "noteref" in (a.attributes.get("epub:type") or a.attributes.get("role") or "")
        or "footnote-ref" in (a.attributes.get("class") or "")
        for a in links
    ]
    pictures = [i.attributes.get("src") or "" for i in body.css("img[src]")]
    return Counter(
        pictures=sum(map(has_picture, pictures)),
        tables=sum(t.css_first("th, caption, thead") is not None for t in body.css("table")),
        links=len(links) - sum(is_note),
        notes=sum(is_note),
        formulas=len(body.css("math")),
    )


def count_markup(book: ParsedBook) -> Counter[str]:
    """Count what the markup of a book has of it."""
    kept: Counter[str] = Counter()
    for section in book.sections:
        for element in section.markup:
            leads = bool({"section", "url"} & element.attributes.keys())
            kept["pictures"] += element.kind is ElementKind.IMAGE and "image" in element.attributes
            kept["tables"] += element.kind is ElementKind.TABLE
            kept["links"] += element.kind is ElementKind.LINK and leads
            kept["notes"] += element.kind is ElementKind.NOTE_REFERENCE and leads
            kept["formulas"] += element.kind is ElementKind.FORMULA
    return kept


def main() -> None:
    print(f"| book | {' | '.join(KINDS)} | CPU s |\n|{'---|' * (len(KINDS) + 2)}")
    had: Counter[str] = Counter()
    have: Counter[str] = Counter()
    for name in sys.argv[1:]:
        started = time.process_time()
        book = read_book(Path(name), Limits())
        seconds = time.process_time() - started
        source: Counter[str] = Counter()
        for document in list_documents(Path(name), {section.source_file for section in book.sections}):
            source += count_document(*document)
        kept = count_markup(book)
        # A raised link may count as a link in the source and as a note here.
        cells = [f"{kept[kind]} of {source[kind]}" for kind in KINDS]
        print(f"| {Path(name).name} | {' | '.join(cells)} | {seconds:.2f} |")
        had += source
        have += Counter({kind: min(kept[kind], source[kind]) for kind in KINDS})
        over = min(max(0, kept["notes"] - source["notes"]), max(0, source["links"] - kept["links"]))
        have["links"] += over
    shares = [f"{have[kind] / had[kind]:.1%}" if had[kind] else "—" for kind in KINDS]
    print(f"| all | {' | '.join(shares)} | |")


if __name__ == "__main__":
    main()
