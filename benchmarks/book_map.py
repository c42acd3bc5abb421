"""What the map of a book costs: CPU time when the book is added, bytes in the records, and time to link it.

    python -m benchmarks.book_map BOOK [--names]

The share is that of marking in the CPU time of adding the book to an empty library, parser included. With
`--names`, what the map lists is printed too. For the books of `questions/names.tsv`, the names that a reader
wrote down are looked up: each must be found, and its other names must lead to the same entry.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import tempfile
import time
from pathlib import Path

from sqlalchemy import func, select

from octavo.errors import NotFound
from octavo.library import Library
from octavo.records.tables import text_marks
from octavo.settings import Settings
from octavo.text.bookmap.link import link_map
from octavo.text.bookmap.model import BookMap
from octavo.text.bookmap.scan import mark_section
from octavo.text.sentences import split_sentences

NAMES = Path(__file__).parent / "questions" / "names.tsv"


def cpu() -> float:
    """Of this process and of the parsers it has started."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


async def measure(path: Path) -> BookMap:
    # The sentence model is loaded once for a process, and chunking needs it anyway.
    split_sentences("One. Two.")
    with tempfile.TemporaryDirectory() as folder:
        async with Library.open(settings=Settings(data=Path(folder))) as library:
            await library.prepare()
            began = cpu()
            book = await library.add(path)
            adding = cpu() - began
            sections = await library.contents(book.id)
            began = time.process_time()
            marks = [mark_section(section.text, section.blocks) for section in sections]
            marking = time.process_time() - began
            began = time.process_time()
            link_map(sections, marks)
            linking = time.process_time() - began
            async with library.database.connect() as connection:
                stored = await connection.scalar(select(func.sum(func.length(text_marks.c.marks))))
            characters = sum(len(section.text) for section in sections)
            print(f"{book.title}: {len(sections)} sections, {characters:,} characters")
            print(f"adding {adding:.1f} s of CPU, marking {marking:.2f} s: {marking / adding:.1%} of it")
            print(
                f"{stored:,} bytes of marks ({stored / characters:.1%} of the text); linking {linking:.2f} s"
            )
            await look_up_names(library, book.id, path.name)
            return await library.map(book.id)


async def look_up_names(library: Library, book_id: str, file: str) -> None:
    rows = [line.split("\t") for line in NAMES.read_text(encoding="utf-8").splitlines()]
    wanted = [names for name, *names in rows if name == file]
    missed = [names for names in wanted if len({await find_entry(library, book_id, n) for n in names}) != 1]
    missed += [names for names in wanted if await find_entry(library, book_id, names[0]) is None]
    if wanted:
        print(f"{len(wanted) - len(missed)} of {len(wanted)} names found, each under its other names too")
    for names in missed:
        print(f"missed: {', '.join(names)}")


async def find_entry(library: Library, book_id: str, name: str) -> str | None:
    try:
        return (await library.look_up(book_id, name)).name
    except NotFound:
        return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("book", type=Path)
    parser.add_argument("--names", action="store_true")
    given = parser.parse_args()
    found = asyncio.run(measure(given.book))
    for entity in found.entities if given.names else ():
        print(f"{entity.kind:7} {entity.mention_count:5} {', '.join([entity.name, *entity.aliases])}")


if __name__ == "__main__":
    main()
