"""What `make demo` runs: adds the bundled book (this documentation), asks it three things, shows the way on."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from octavo import Library, Scope
from octavo.events import Embedding, IngestEvent
from octavo.types import ScopeType

ROOT = Path(__file__).parent.parent
DATA = ROOT / ".demo"


def progress(event: IngestEvent) -> None:
    if isinstance(event, Embedding):
        print(f"\r  {event.done} of {event.total} passages", end="", flush=True)


async def main() -> None:
    async with Library.open(DATA) as library:
        print("Adding the bundled book: Octavo's own documentation.")
        book = await library.add(ROOT / "docs", title="The Octavo Book", on_event=progress)
        print(f"\r  {book.title}: {book.section_count} sections, {book.chunk_count} passages\n")

        await library.search("warm up")
        for query, scope in (
            ("What happens if the power fails while a book is being added?", None),
            ("password protected files", None),
            (
                "where do ids come from?",
                Scope(type=ScopeType.SECTION, identifier="Sections, chunks and ids"),
            ),
        ):
            began = time.monotonic()
            found = await library.search(query, book_id=book.id, scope=scope, top_k=1)
            took = (time.monotonic() - began) * 1000
            print(f"? {query}" + (f"   (only in “{scope.identifier}”)" if scope else ""))
            for hit in found:
                print(f"  {hit.chunk.source_location}  [{hit.relevance_score:.0%}, {took:.0f} ms]")
                print("  | " + "\n  | ".join(hit.chunk.content.splitlines()) + "\n")
    print("Now try it yourself:\n")
    print("  .venv/bin/octavo add YOUR-BOOK.epub")
    print('  .venv/bin/octavo search "a question of yours"\n')
    print(
        f"The demo's library is in {DATA.relative_to(ROOT)}; `octavo --data {DATA.name} contents the-octavo-book` shows it."
    )


if __name__ == "__main__":
    asyncio.run(main())
