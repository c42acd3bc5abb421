"""How many of a book's words survive reading it as a PDF.

    python -m benchmarks.pdf_words BOOK.pdf PUBLISHER.txt

Counts the publisher's words, with how often each occurs, and says which share of them Octavo has read. Both
sides are compared in lower case and without hyphens at line ends, so that a word counts as found however
it was broken; headings count, running heads and page numbers do not. The second share leaves numbers out:
a PDF may number its sections in another way than the text. The last two say how many of the publisher's words
are in the PDF at all, by the characters on its pages, and which share of these Octavo has read.
"""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from pathlib import Path

import pypdfium2

from octavo.limits import Limits
from octavo.readers.parsed import ParsedBook
from octavo.readers.pdf.reader import read_pdf
from octavo.text.clean import clean

_WORD = re.compile(r"[^\W_]+")
_LINE_END_HYPHEN = re.compile(r"(?<=[^\W\d_])-\n\s*(?=[^\W\d_])")


def words(text: str) -> Counter[str]:
    """Every word of a text and how often it occurs; a compound counts as its parts."""
    return Counter(_WORD.findall(_LINE_END_HYPHEN.sub("-", clean(text)).casefold()))


def recall(book: ParsedBook, published: str) -> tuple[float, Counter[str]]:
    """The share of published words that the book has, and the words that it lacks."""
    read_text = "\n".join(f"{section.title}\n{section.text}" for section in book.sections)
    wanted, found = words(published), words(read_text)
    missing = wanted - found
    return 1 - missing.total() / max(1, wanted.total()), missing


def list_characters(pdf: Path) -> str:
    """All characters on the pages, as the PDF library gives them. U+FFFE is a hyphen at a line end."""
    with pypdfium2.PdfDocument(pdf) as document:
        pages = [page.get_textpage().get_text_range() for page in document]
    return "\n".join(pages).replace("\r\n", "\n").replace("\ufffe\n", "").replace("\ufffe", "")


def main(pdf: str, txt: str) -> None:
    started = time.process_time()
    book = read_pdf(Path(pdf), Limits())
    seconds = time.process_time() - started
    share, missing = recall(book, Path(txt).read_text(encoding="utf-8"))
    print(f"{book.page_count} pages, {book.page_count / seconds:.0f} pages per CPU second")
    wanted = words(Path(txt).read_text(encoding="utf-8"))
    lettered = sum(count for word, count in missing.items() if not word.isdigit())
    total = sum(count for word, count in wanted.items() if not word.isdigit())
    print(f"without numbers {1 - lettered / max(1, total):.4%}")
    there = wanted & words(list_characters(Path(pdf)))
    kept = 1 - (there - (wanted - missing)).total() / there.total()
    print(f"in the PDF {there.total() / wanted.total():.4%}, of these read {kept:.4%}")
    print(f"word recall {share:.4%}; most often missing: {missing.most_common(12)}")


if __name__ == "__main__":
    main(*sys.argv[1:3])
