"""Asks a book with a model at OpenAI: OPENAI_API_KEY=… python examples/openai_model.py BOOK "QUESTION"."""

import asyncio
import sys

from octavo import Library, Settings
from octavo.events import Answered, Working


async def main(path: str, question: str) -> None:
    settings = Settings(data="my-library", model="gpt-4.1-mini", price_in=0.4, price_out=1.6)
    async with Library.open(settings=settings) as library:
        book = await library.add(path)
        async for event in library.stream(question, book_id=book.id):
            if isinstance(event, Working):
                print(f"… {event.step} {event.detail}")
            if isinstance(event, Answered):
                answer = event.answer
                print(
                    answer.content, *(f"[{c.number}] {c.source_location}" for c in answer.citations), sep="\n"
                )
                print(f"answered by {event.answerer}")


asyncio.run(main(*sys.argv[1:]))
