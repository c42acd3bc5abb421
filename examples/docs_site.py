"""An mdBook's source as a small web site with the widget on every page.

`python examples/docs_site.py docs OUT http://127.0.0.1:8321/ the-octavo-book` writes it. Files and headings
get the addresses that mdBook would give them, so that citations lead to the right place on either.
"""

from __future__ import annotations

import re
import shutil
import sys
from html import escape
from pathlib import Path

import pyromark

from octavo.readers.markdown.reader import read_sections
from octavo.readers.sections import make_mdbook_anchor

LOOKS = Path(__file__).parent / "site"
OPTIONS = pyromark.Options.ENABLE_TABLES | pyromark.Options.ENABLE_STRIKETHROUGH
ENTRY = re.compile(r"^(?:# (?P<part>.+)|(?:- )?\[(?P<title>[^\]]+)\]\((?P<file>[^)]+)\))$", re.MULTILINE)
HEADING = re.compile(r"<h([1-6])>(.*?)</h\1>", re.DOTALL)
LINK = re.compile(r'(href="(?![a-z]+:)[^"#]*?)([\w-]+)\.md(?=["#])')
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · {book}</title>
<link rel="stylesheet" href="site.css">
<script src="site.js"></script>
</head>
<body>
<a class="skip" href="#text">Skip to the text</a>
<nav aria-label="Contents"><p class="book"><a href="index.html">{book}</a></p>{contents}
<button type="button" id="theme">Light or dark</button></nav>
<main id="text">{text}<p class="turn">{turn}</p></main>
<script src="{server}widget.js" data-book="{book_id}" data-title="Ask {book}"></script>
</body>
</html>
"""


def build(source: Path, target: Path, *, server: str, book_id: str) -> Path:
    """Writes the site of the mdBook in `source`; pages ask the service at `server` about `book_id`."""
    target.mkdir(parents=True, exist_ok=True)
    summary = (source / "SUMMARY.md").read_text(encoding="utf-8")
    entries = [m.groupdict() for m in ENTRY.finditer(summary) if m["part"] != "Summary"]
    chapters = [(entry["title"], entry["file"]) for entry in entries if entry["file"]]
    title = re.search(r'title = "(.+)"', (source / "book.toml").read_text(encoding="utf-8"))
    book = escape(title[1] if title else source.name)
    for at, (name, file) in enumerate(chapters):
        page = PAGE.format(
            title=escape(name),
            book=book,
            contents=_contents(entries, file),
            text=render((source / file).read_text(encoding="utf-8")),
            turn=_turn(chapters, at),
            server=escape(server),
            book_id=escape(book_id),
        )
        (target / address(file)).write_text(page, encoding="utf-8")
    for extra in (*LOOKS.iterdir(), *source.glob("*.svg")):
        shutil.copyfile(extra, target / extra.name)
    return target


def render(markdown: str) -> str:
    """A chapter as HTML, its headings with the ids that citations name."""
    anchors = iter([piece.anchor for piece in read_sections(markdown, rule=make_mdbook_anchor)[1:]])
    html = pyromark.html(markdown, options=OPTIONS)
    html = HEADING.sub(lambda m: f'<h{m[1]} id="{escape(next(anchors))}">{m[2]}</h{m[1]}>', html)
    return LINK.sub(lambda m: m[1] + address(f"{m[2]}.md"), html)


def address(file: str) -> str:
    return "index.html" if file == "README.md" else file.removesuffix(".md") + ".html"


def _contents(entries: list[dict[str, str]], here: str) -> str:
    def item(entry: dict[str, str]) -> str:
        if entry["part"]:
            return f'<li class="part">{escape(entry["part"])}</li>'
        current = ' aria-current="page"' if entry["file"] == here else ""
        return f'<li><a href="{address(entry["file"])}"{current}>{escape(entry["title"])}</a></li>'

    return f"<ul>{''.join(map(item, entries))}</ul>"


def _turn(chapters: list[tuple[str, str]], at: int) -> str:
    before = chapters[at - 1] if at else None
    after = chapters[at + 1] if at + 1 < len(chapters) else None
    links = [(before, "prev", "← {}"), (after, "next", "{} →")]
    return "".join(
        f'<a rel="{rel}" href="{address(to[1])}">{escape(words.format(to[0]))}</a>'
        for to, rel, words in links
        if to
    )


if __name__ == "__main__":
    _, given, wanted, service, identity = sys.argv
    print(build(Path(given), Path(wanted), server=service, book_id=identity) / "index.html")
