"""Opens a library's collection on a Qdrant server, and says what state it is in."""

from __future__ import annotations

from uuid import uuid4

from octavo.errors import StoreError
from octavo.rules import text
from octavo.settings import Settings
from octavo.store.qdrant import QdrantStore
from octavo.store.qdrant_collection import Shape, ours, ready, replace
from octavo.store.qdrant_line import Line, Patience


async def connect(
    settings: Settings,
    *,
    dimension: int,
    library: str,
    expected: bool = False,
    anew: bool = False,
    patience: Patience | None = None,
) -> QdrantStore:
    """The store on the server, its collection checked, or made, or made `anew`."""
    text("name of the library", library)
    shape = Shape.of(settings, dimension=dimension, library=library)
    line = Line(settings.store_url, key=settings.store_key, patience=patience)
    try:
        if anew:
            await replace(line, shape)
        else:
            await ready(line, shape, expected=expected)
    except BaseException:
        await line.close()
        raise
    return QdrantStore(line, shape)


async def seal(settings: Settings, *, library: str) -> str:
    """The collection's address and how many points of the library it holds; unlike any other if unknown."""
    line = Line(settings.store_url, key=settings.store_key, patience=Patience(tries=1))
    try:
        said = await line.call(
            "count its points",
            lambda server: server.count(settings.collection, count_filter=ours(library), exact=True),
        )
    except StoreError:
        return f"unknown {uuid4()}"
    finally:
        await line.close()
    return f"{line.url} {settings.collection} {said.count}"
