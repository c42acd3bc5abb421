"""Adds a book and searches it: python examples/search.py BOOK "QUESTION"."""

import asyncio
import sys

from octavo import Library


async def main(path: str, question: str) -> None:
    async with Library.open("my-library") as library:
        book = await library.add(path)
        for found in await library.search(question, book_id=book.id):
            print(f"{found.relevance_score:.0%} {found.chunk.source_location}\n{found.chunk.content}\n")


asyncio.run(main(*sys.argv[1:]))
