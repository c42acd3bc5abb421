"""Asks a book with a model on this machine: `ollama pull qwen2.5:7b`, then
python examples/ollama_model.py BOOK "QUESTION". The same goes for vLLM, llama.cpp and LM Studio."""

import asyncio
import os
import sys

from octavo import Library, Settings


async def main(path: str, question: str) -> None:
    address = os.environ.get("OLLAMA_HOST", "127.0.0.1:11434")
    settings = Settings(data="my-library", model="qwen2.5:7b", model_url=f"http://{address}/v1")
    async with Library.open(settings=settings) as library:
        book = await library.add(path)
        answer = await library.ask(question, book_id=book.id)
        print(answer.content, *(f"[{c.number}] {c.source_location}" for c in answer.citations), sep="\n")


asyncio.run(main(*sys.argv[1:]))
