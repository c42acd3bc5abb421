"""Adds a book and asks it: python examples/ask.py BOOK "QUESTION"."""

import asyncio
import sys

from octavo import Library


async def main(path: str, question: str) -> None:
    async with Library.open("my-library") as library:
        book = await library.add(path)
        answer = await library.ask(question, book_id=book.id)
        print(answer.content, *(f"[{c.number}] {c.source_location}" for c in answer.citations), sep="\n")


asyncio.run(main(*sys.argv[1:]))
