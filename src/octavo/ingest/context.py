"""The parts of an open library, handed to the flows together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from octavo.errors import LibraryBusy

if TYPE_CHECKING:
    from octavo.protocols import ChunkStore, Embedder
    from octavo.records.catalogue import Records
    from octavo.records.database import Database
    from octavo.settings import Settings

BOOKS = "the books"
"""The turn that whoever changes books waits for, in whichever instance."""


@dataclass(frozen=True, slots=True)
class LibraryContext:
    settings: Settings
    records: Records
    store: ChunkStore
    embedder: Embedder
    embedding: asyncio.Lock = field(default_factory=asyncio.Lock, compare=False)
    """Held while a batch is embedded: it takes every core, and two at once would only fight for them."""


@asynccontextmanager
async def beside_others(database: Database, *, alone: bool) -> AsyncIterator[None]:
    """A place among the instances that use one database, as long as the block lasts.

    A store in an instance's own folder cannot know what the others change: whoever has one must be alone.
    """
    async with database.try_lock("the instances", shared=not alone) as granted:
        if not granted:
            raise LibraryBusy(
                f"the records at {database.place} are in use by another instance, and "
                f"{'this one' if alone else 'that one'} has its store in its own folder",
                hint="Set OCTAVO_STORE_URL for all of them, so that they share one store.",
            )
        yield
