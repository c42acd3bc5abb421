"""The parts of an open library, passed to the flows together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from octavo.errors import LibraryBusy
from octavo.models.embedding import count_cores
from octavo.models.loading import load_multilingual
from octavo.protocols import find_embedder
from octavo.settings import AUTO

if TYPE_CHECKING:
    from octavo.protocols import ChunkStore, Embedder
    from octavo.records.catalogue import Records
    from octavo.records.database import Database
    from octavo.settings import Settings

BOOKS = "the books"
"""The name of the lock that every instance holds while it changes books."""


@dataclass(frozen=True, slots=True)
class LibraryContext:
    settings: Settings
    records: Records
    store: ChunkStore
    embedder: Embedder
    multilingual: Embedder | None = None
    """Embeds books that are not in English, where the settings leave the choice to Octavo."""
    embedding: asyncio.Lock = field(default_factory=asyncio.Lock, compare=False)
    """Held while a batch is embedded: a batch uses every core, so two at once gain nothing."""
    recognizing: asyncio.Semaphore = field(
        default_factory=lambda: asyncio.Semaphore(count_cores()), compare=False
    )
    """Held while OCR reads a page, which uses one core."""

    @property
    def embedders(self) -> tuple[Embedder, Embedder | None]:
        return self.embedder, self.multilingual

    def choose_embedder(self, language: str) -> Embedder:
        """Choose who embeds a new book in this language; "" is English."""
        chosen = self.multilingual if language and self.settings.embedder == AUTO else None
        return chosen or self.embedder

    def find_embedder(self, fingerprint: str) -> Embedder:
        """Find the embedder that an index with this fingerprint was made with."""
        return find_embedder(fingerprint, self.embedder, self.multilingual)


def make_context(
    settings: Settings, records: Records, store: ChunkStore, embedder: Embedder
) -> LibraryContext:
    """Put the parts together, with the multilingual embedder where there may be books for it."""
    other = load_multilingual(settings, beside=embedder)
    return LibraryContext(settings, records, store, embedder, other)


Changes = Callable[[], AbstractAsyncContextManager[LibraryContext]]
"""Waits until no other change is running, and holds the lock while the block runs."""


@asynccontextmanager
async def join_instances(database: Database, *, alone: bool) -> AsyncIterator[None]:
    """Register with the instances that use one database, while the block runs.

    An instance with the store in its own folder cannot see what others change, so it must be `alone`.
    """
    async with database.try_lock("the instances", shared=not alone) as granted:
        if not granted:
            raise LibraryBusy(
                f"the records at {database.place} are in use by another instance, and "
                f"{'this one' if alone else 'that one'} has its store in its own folder",
                hint="Set OCTAVO_STORE_URL for all of them, so that they share one store.",
            )
        yield
