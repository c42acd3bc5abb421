"""How many of a book's words survive reading it as a PDF.

    python -m benchmarks.pdf_words BOOK.pdf PUBLISHER.txt [--lost]

Counts the publisher's words, with how often each occurs, and says which share of them Octavo has read. Both
sides are compared in lower case and without hyphens at line ends, so that a word counts as found however
it was broken; headings count, running heads and page numbers do not. The second share leaves numbers out:
a PDF may number its sections in another way than the text. The next two say how many of the publisher's words
are in the PDF at all, by the characters on its pages, and which share of these Octavo has read. Page numbers
are among these characters, so that the first of the two is too high.

The last share is that of the text as the pages print it: without what stands for a picture, with the letters
of a word together that quotes or asterisks divide to show another type ("conffile"s), and with the number
that the pages print before the title of a section. `--lost` lists the words that are missing from it.
"""

from __future__ import annotations

import argparse
import re
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pypdfium2

from octavo.limits import Limits
from octavo.readers.parsed import ParsedBook
from octavo.readers.pdf.reader import read_pdf
from octavo.text.clean import clean

_WORD = re.compile(r"[^\W_]+")
_LINE_END_HYPHEN = re.compile(r"(?<=[^\W\d_])-\n\s*(?=[^\W\d_])")
_PICTURE = re.compile(r"\[image(?:: [^\]]*)?\]")
_TYPE_MARK = re.compile(r"(?<=[^\W_])[\"*](?=[^\W_])")
_NUMBERED = re.compile(r"^((?: *\* )?)(\d+(?:\.\d+)*)\.? (\S.*)$", re.MULTILINE)
_PAGE_OF_ENTRY = re.compile(r"(?: \.)* \d+$")
# So many letters and figures tell one title from another; a long title may go on in the next line.
_ENOUGH = 30


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


def write_as_printed(published: str, characters: str) -> str:
    """The text without marks for pictures and type, and with the numbers of sections that the pages have."""
    numbers = find_numbers(characters)

    def renumber(heading: re.Match[str]) -> str:
        mark, number, title = heading.groups()
        printed = numbers.get(make_key(title), {number})
        return f"{mark}{number if number in printed or len(printed) > 1 else min(printed)}. {title}"

    return _NUMBERED.sub(renumber, _TYPE_MARK.sub("", _PICTURE.sub("", published)))


def find_numbers(characters: str) -> Mapping[str, set[str]]:
    """The numbers that the pages print before each title, in the contents and above the sections."""
    numbers: dict[str, set[str]] = {}
    for _, number, title in _NUMBERED.findall(characters):
        numbers.setdefault(make_key(_PAGE_OF_ENTRY.sub("", title)), set()).add(number)
    return numbers


def make_key(title: str) -> str:
    return "".join(_WORD.findall(title.casefold()))[:_ENOUGH]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("pdf", type=Path)
    parser.add_argument("txt", type=Path)
    parser.add_argument("--lost", action="store_true")
    given = parser.parse_args()
    started = time.process_time()
    book = read_pdf(given.pdf, Limits())
    seconds = time.process_time() - started
    published, characters = given.txt.read_text(encoding="utf-8"), list_characters(given.pdf)
    share, missing = recall(book, published)
    print(f"{book.page_count} pages, {book.page_count / seconds:.0f} pages per CPU second")
    wanted = words(published)
    lettered = sum(count for word, count in missing.items() if not word.isdigit())
    total = sum(count for word, count in wanted.items() if not word.isdigit())
    print(f"without numbers {1 - lettered / max(1, total):.4%}")
    there = wanted & words(characters)
    kept = 1 - (there - (wanted - missing)).total() / there.total()
    print(f"in the PDF {there.total() / wanted.total():.4%}, of these read {kept:.4%}")
    print(f"word recall {share:.4%}; most often missing: {missing.most_common(12)}")
    share, missing = recall(book, write_as_printed(published, characters))
    print(f"of the text as it is printed {share:.4%}; {missing.total()} words missing")
    if given.lost:
        print(*(f"{word} {count}" for word, count in missing.most_common()), sep="\n")


if __name__ == "__main__":
    main()
