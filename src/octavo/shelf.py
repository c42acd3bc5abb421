"""The parts of an open library, handed to the flows together."""

from __future__ import annotations

from dataclasses import dataclass

from octavo.protocols import ChunkStore, Embedder
from octavo.records import Records
from octavo.settings import Settings


@dataclass(frozen=True, slots=True)
class Shelf:
    settings: Settings
    records: Records
    store: ChunkStore
    embedder: Embedder
