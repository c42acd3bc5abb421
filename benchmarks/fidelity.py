"""Find what a book has on the page as well: pictures, tables, links, notes, formulas.

    python -m benchmarks.fidelity [--lost] BOOK …

The source is read by its own tags, in the documents that the book's sections come from, without menus,
contents, headers and footers, and without links that only mark a heading. Each thing in it is looked for in
the markup by its words: a picture by its bytes, a table by its first row, a formula by its symbols. A picture
counts when it lies in the book, a link when the page can follow it, a formula when the page draws it: those
in TeX are read by the page's own script in a browser. Things with the same words are matched one to one.
`--lost` prints what was not found. The last column is the CPU time of reading.
"""

from __future__ import annotations

import base64
import hashlib
import json
import posixpath
import re
import shutil
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

from playwright.sync_api import sync_playwright
from selectolax.lexbor import LexborHTMLParser, LexborNode

from octavo.limits import Limits
from octavo.readers import read_book
from octavo.readers.parsed import ParsedBook
from octavo.types import Element, ElementKind

KINDS = ("pictures", "tables", "links", "notes", "formulas")
Things = Counter[tuple[str, str]]
"""How often a book has a thing, by its kind and its words."""
Load = Callable[[str], bytes]
"""Returns the bytes of a file that a document names; nothing if the book does not have it."""

_FENCE = re.compile(r"^([ \t>]*)(`{3,}|~{3,}).*?^\1\2[`~]*[ \t]*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_MENUS = (
    "nav, header, footer, script, style, .navfooter, .navheader, .docnav, .toc, .breadcrumb, .related, "
    ".sphinxsidebar, .toctree-wrapper, .footer, .list-of-figures, .list-of-tables, .list-of-examples, #banner"
)
_CONTENTS = ("SUMMARY.md",)
_PICTURE = re.compile(r"!\[[^\]]*\]\(<?([^)\s>]+)")
_IMG = re.compile(r"""<img\b[^>]*\bsrc=["']([^"']+)["']""")
_DEFINITION = re.compile(r"^ {0,3}\[([^\]^][^\]]*)\]:[ \t]*\S+.*$", re.MULTILINE)
_WORDS = r"(?<![!\\])\[(?!\^)((?:[^\[\]]|\[[^\[\]]*\])+)\]"
_LINK = re.compile(rf"{_WORDS}\(<?(?:https?:|mailto:|[#./\w])")
_REFERENCE = re.compile(rf"{_WORDS}(?:\[([^\[\]]*)\])?(?![(:])")
_ANCHOR = re.compile(r"<a\b[^>]*\bhref=[^>]*>(.*?)</a>|<(https?:[^<>\s]+)>", re.DOTALL)
_TABLE = re.compile(r"^[ \t]*(\|?[^\n]*\|[^\n]*)\n[ \t]*\|?(?:[ \t]*:?-+:?[ \t]*\|)+", re.MULTILINE)
_NOTE = re.compile(r"\[\^([^\]]+)\](?!:)")
_FORMULA = re.compile(r"\$\$([^$]*\\[^$]*)\$\$|(?<!\$)\$([^$\s][^$\n]*\\[^$\n]*)\$(?!\$)")
_MATH_ROLE = re.compile(r":math:`((?:[^`\\]|\\.)+)`", re.DOTALL)
_MATH_DIRECTIVE = re.compile(r"^( *)\.\. math::(.*(?:\n(?:\1 +\S.*| *(?=\n)))*)", re.MULTILINE)
_FIELDS = re.compile(r"^ *:\w+:.*$", re.MULTILINE)
_BETWEEN_SIGNS = re.compile(r"\\\((.+?)\\\)|\\\[(.+?)\\\]", re.DOTALL)
_SCRIPT = re.compile(r"<script[^>]*(?:mathjax|katex)", re.IGNORECASE)
_FORMULA_IMAGES = "img.math, .math img, img.formulaInl, img.formulaDsp, img.tex, img.latex"
_TEX_SCRIPT = Path(__file__).parent.parent / "src/octavo/web/app/tex.js"
_READ_ALL = """async ([script, all]) => {
  const { readTex } = await import(`data:text/javascript;base64,${script}`);
  return all.map(([tex, display]) => readTex(tex, display) !== null);
}"""


def squash(words: str) -> str:
    """Return the letters and digits of a text, by which things are compared."""
    return re.sub(r"[\W_]+", "", words)


def name_picture(data: bytes) -> str:
    """Return what a picture is compared by; drawings are written anew, so they are all alike."""
    return hashlib.sha256(data).hexdigest() if b"<svg" not in data[:2000] else "drawing"


def list_documents(book: Path, files: set[str]) -> Iterator[tuple[str, str, Load]]:
    """Yield the documents of a book: name, text, and how to load a file that it names."""
    if book.suffix == ".epub":
        with zipfile.ZipFile(book) as archive:
            names = set(archive.namelist())
            for name in sorted(files & names):
                load = _make_loader(name, lambda path: archive.read(path) if path in names else b"")
                yield name, archive.read(name).decode("utf-8", "replace"), load
        return
    root = book if book.is_dir() else book.parent
    known = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()}
    for name in sorted(name for name in files if not name.endswith(_CONTENTS)):
        inside = next((path for path in (name, f"docs/{name}", f"src/{name}") if path in known), "")
        if inside:
            load = _make_loader(inside, lambda path: known[path].read_bytes() if path in known else b"")
            yield name, known[inside].read_text("utf-8", "replace"), load


def _make_loader(document: str, read: Load) -> Load:
    def load(source: str) -> bytes:
        path = posixpath.join(posixpath.dirname(document), unquote(source.partition("#")[0]))
        return read(posixpath.normpath(path))

    return load


def list_source(name: str, text: str, load: Load) -> Things:
    """Return what a document has by its own tags."""
    is_markdown = name.endswith((".md", ".mdx", ".markdown"))
    things, pictures = (
        _list_markdown(text)
        if is_markdown
        else (_list_restructured_text(text), [])
        if name.endswith((".rst", ".txt"))
        else _list_html(text)
    )
    shown = [data for source in pictures if (data := load(source))]
    return things + Counter(("pictures", name_picture(data)) for data in shown)


def _list_markdown(text: str) -> tuple[Things, list[str]]:
    def disarm(code: re.Match[str]) -> str:
        return squash(code.group(2))

    bare = _CODE.sub(disarm, _COMMENT.sub("", _FENCE.sub("", text)))
    labels = {" ".join(label.lower().split()) for label in _DEFINITION.findall(bare)}
    body = _DEFINITION.sub("", bare)
    links = [*_LINK.findall(body), *(words or address for words, address in _ANCHOR.findall(body))]
    links += [
        words
        for words, label in _REFERENCE.findall(body)
        if " ".join((label or words).lower().split()) in labels
    ]
    things = Counter(("links", squash(re.sub(r"<[^>]*>|\]\([^)]*\)", "", words))) for words in links)
    things += Counter(("tables", squash(row)) for row in _TABLE.findall(body))
    things += Counter(("notes", squash(label)) for label in _NOTE.findall(body))
    things += Counter(("formulas", squash(display or tex)) for display, tex in _FORMULA.findall(body))
    return +things, [*_PICTURE.findall(body), *_IMG.findall(body)]


def _list_restructured_text(text: str) -> Things:
    """Return the formulas of a document; other things are not counted in this form."""
    blocks = (_FIELDS.sub("", found[1]) for found in _MATH_DIRECTIVE.findall(text))
    formulas = [tex for block in blocks for tex in re.split(r"\n[ \t]*\n", block)]
    formulas += _MATH_ROLE.findall(_MATH_DIRECTIVE.sub("", text))
    return Counter(("formulas", words) for tex in formulas if (words := squash(tex)))


def _list_html(text: str) -> tuple[Things, list[str]]:
    body = LexborHTMLParser(re.sub(r"<a\b([^<>]*)/>", r"<a\1></a>", text)).body
    if body is None:
        return Counter(), []
    for gone in body.css(_MENUS):
        gone.decompose()
    things: Things = Counter()
    for link in body.css("a[href]"):
        if words := squash(link.text(deep=True)):
            things["notes" if _is_note(link) else "links", words] += 1
    for table in body.css("table"):
        rows = (squash(row.text(deep=True)) for row in table.css("tr"))
        if table.css_first("th, caption, thead") is not None:
            things["tables", next((row for row in rows if row), "")] += 1
    for formula in body.css("math"):
        for note in formula.css("annotation, annotation-xml"):
            note.decompose()
        things["formulas", squash(formula.text(deep=True))] += 1
    things += _list_tex(
        body, is_drawn_by_script=re.search(r"<script[^>]*(?:mathjax|katex)", text, re.I) is not None
    )
    return things, [picture.attributes.get("src") or "" for picture in body.css("img[src]")]


def _list_tex(body: LexborNode, *, is_drawn_by_script: bool) -> Things:
    """Return the formulas in TeX: those of pictures, of elements that say so, and of the text around them."""
    pictures = [squash(picture.attributes.get("alt") or "") for picture in body.css(_FORMULA_IMAGES)]
    formulas = [words for words in pictures if words]
    for number in body.css(".math .eqno"):
        number.decompose()
    formulas += [
        squash(each.text(deep=True))
        for each in body.css("span.math, div.math")
        if each.css_first("img") is None and each.text(deep=True).strip()
    ]
    if is_drawn_by_script:
        for gone in body.css("pre, code, .math"):
            gone.decompose()
        formulas += [squash(inline or display) for inline, display in _BETWEEN_SIGNS.findall(body.text())]
    return Counter(("formulas", words) for words in formulas)


def _is_note(link: LexborNode) -> bool:
    kinds = " ".join(link.attributes.get(key) or "" for key in ("epub:type", "role", "class"))
    return "noteref" in kinds or "footnote-ref" in kinds


def list_markup(book: ParsedBook) -> Things:
    """Return what the markup of a book has and the page draws."""
    things: Things = Counter()
    written: list[tuple[str, bool]] = []
    for section in book.sections:
        for number, element in enumerate(section.markup):
            attributes = element.attributes
            words = squash(section.text[element.start : element.end])
            if element.kind is ElementKind.IMAGE and "image" in attributes:
                things["pictures", name_picture(book.images[str(attributes["image"])])] += 1
            elif element.kind is ElementKind.TABLE:
                things["tables", _read_first_row(section.markup[number + 1 :], section.text)] += 1
            elif element.kind is ElementKind.FORMULA:
                mathml = attributes.get("mathml")
                if isinstance(mathml, str):
                    things["formulas", squash(_flatten(json.loads(mathml)))] += 1
                else:
                    written.append((str(attributes["tex"]), "display" in attributes))
            elif {"section", "url"} & attributes.keys():
                things["notes" if element.kind is ElementKind.NOTE_REFERENCE else "links", words] += 1
    drawn = (tex for (tex, _), is_drawn in zip(written, try_tex(written), strict=True) if is_drawn)
    return things + Counter(("formulas", squash(re.sub(r"\\tag\{.*?\}", "", tex))) for tex in drawn)


def try_tex(formulas: Sequence[tuple[str, bool]]) -> list[bool]:
    """Return which formulas in TeX the page draws."""
    if not formulas:
        return []
    script = base64.b64encode(_TEX_SCRIPT.read_bytes()).decode()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        drawn: list[bool] = browser.new_page().evaluate(_READ_ALL, [script, list(formulas)])
        browser.close()
    return drawn


def _read_first_row(elements: tuple[Element, ...], text: str) -> str:
    words = ""
    for element in elements:
        if element.kind is ElementKind.TABLE or (element.kind is ElementKind.ROW and words):
            break
        if element.kind is ElementKind.CELL:
            words += squash(text[element.start : element.end])
    return words


def _flatten(tree: list[object]) -> str:
    return "".join(
        part if isinstance(part, str) else _flatten(part) if isinstance(part, list) else ""
        for part in tree[1:]
    )


def match(source: Things, kept: Things) -> Things:
    """Return what of the source was kept. What the source calls a link may be a note on the page."""
    found = source & kept
    others = Counter({("links", words): n for (kind, words), n in (kept - found).items() if kind == "notes"})
    return found + ((source - found) & others)


def main() -> None:
    names = [name for name in sys.argv[1:] if name != "--lost"]
    print(f"| book | {' | '.join(KINDS)} | CPU s |\n|{'---|' * (len(KINDS) + 2)}")
    had: Counter[str] = Counter()
    have: Counter[str] = Counter()
    for name in names:
        started = time.process_time()
        book = read_book(Path(name), Limits())
        seconds = time.process_time() - started
        source: Things = Counter()
        for document in list_documents(Path(name), {section.source_file for section in book.sections}):
            source += list_source(*document)
        found = match(source, list_markup(book))
        totals, kept = _count(source), _count(found)
        cells = [f"{kept[kind]} of {totals[kind]}" if totals[kind] else "" for kind in KINDS]
        print(f"| {Path(name).name} | {' | '.join(cells)} | {seconds:.2f} |")
        if "--lost" in sys.argv:
            for (kind, words), times in (source - found).items():
                print(f"  lost {times} of {kind}: {words[:80]}")
        had += totals
        have += kept
    shares = [f"{have[kind] / had[kind]:.1%} of {had[kind]}" if had[kind] else "" for kind in KINDS]
    print(f"| all | {' | '.join(shares)} | |")


def _count(things: Things) -> Counter[str]:
    totals: Counter[str] = Counter()
    for (kind, _), times in things.items():
        totals[kind] += times
    return totals


if __name__ == "__main__":
    main()
