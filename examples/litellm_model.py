"""Asks a book with a model of any vendor that LiteLLM knows: pip install 'octavo[litellm]', then
ANTHROPIC_API_KEY=… python examples/litellm_model.py BOOK "QUESTION". OCTAVO_MODEL names another one."""

import asyncio
import os
import sys

from octavo import Library, OctavoError, Settings


async def main(path: str, question: str) -> None:
    model = os.environ.get("OCTAVO_MODEL", "litellm/anthropic/claude-sonnet-4-5")
    settings = Settings(data="my-library", model=model)
    async with Library.open(settings=settings) as library:
        book = await library.add(path)
        try:
            answer = await library.ask(question, book_id=book.id)
        except OctavoError as error:
            sys.exit(f"{error} {error.hint}")
        print(answer.content, *(f"[{c.number}] {c.source_location}" for c in answer.citations), sep="\n")


asyncio.run(main(*sys.argv[1:]))
