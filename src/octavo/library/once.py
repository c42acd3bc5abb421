"""What a program asks of a library only once: it opens the library, asks, and closes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.library import Library

if TYPE_CHECKING:
    from pathlib import Path

    from octavo.answers.retrieve import Context, Retrieval
    from octavo.types import Question


async def retrieve(
    query: str | Question,
    context: Context | None = None,
    *,
    data: str | Path | None = None,
    top_k: int | None = None,
    embeddings: bool = False,
) -> Retrieval:
    """Open the library in folder `data`, and find passages for a query in its context.

    Whoever has several queries opens the library once, and calls `Library.retrieve`.
    """
    async with Library.open(data) as library:
        return await library.retrieve(query, context, top_k=top_k, embeddings=embeddings)
