"""What `make demo` runs: adds the bundled book (this documentation), asks it, and shows the way on."""

from __future__ import annotations

import asyncio
import textwrap
from pathlib import Path

from octavo import Library
from octavo.events import Embedding, IngestEvent

ROOT = Path(__file__).parent.parent
DATA = ROOT / ".demo"
QUESTIONS = (
    "What is a section?",
    "What happens if the process dies before step 5?",
    "Why is each text put through the model by itself?",
    "Who won the football world cup in 1998?",
)


def progress(event: IngestEvent) -> None:
    if isinstance(event, Embedding):
        print(f"\r  {event.done} of {event.total} passages", end="", flush=True)


async def main() -> None:
    async with Library.open(DATA) as library:
        print("Adding the bundled book: Octavo's own documentation.")
        book = await library.add(ROOT / "docs", on_event=progress)
        print(f"\r  {book.title}: {book.section_count} sections, {book.chunk_count} passages\n")
        for question in QUESTIONS:
            answer = await library.ask(question, book_id=book.id)
            print(f"? {question}")
            print(textwrap.fill(answer.content, 100, initial_indent="  ", subsequent_indent="  "))
            for cited in answer.citations:
                print(f"    [{cited.number}] {cited.source_location}")
            print(f"    {answer.processing_time_ms} ms\n")
    print("Now try it yourself:\n")
    print("  .venv/bin/octavo add YOUR-BOOK.epub")
    print('  .venv/bin/octavo ask "a question of yours"')
    print(
        f"  .venv/bin/octavo --data {DATA.name} serve      # the API, described at http://127.0.0.1:8321/docs"
    )


if __name__ == "__main__":
    asyncio.run(main())
