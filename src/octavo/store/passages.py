"""What is read from a collection that somebody else filled, and where it is read from."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

from octavo.types import COLLECTION


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Which collection, on which Qdrant server. `vector` names the one to read where points have several."""

    url: str
    collection: str = COLLECTION
    key: str = field(default="", repr=False)
    vector: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A point as it was found. Its `vector` has unit length, or is None when the point has no sound one."""

    point_id: str | int
    text: str
    url: str
    source_title: str
    chunk_id: int | None
    vector: array[float] | None
