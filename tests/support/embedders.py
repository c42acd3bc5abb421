"""Embedders that stop or fail in the middle of a book, for tests of what is left behind then, and one that
remembers."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from octavo.errors import ModelError
from octavo.testing import TinyEmbedder
from tests.support.patience import PATIENCE


class GatedEmbedder(TinyEmbedder):
    """Embeds the first `free` batches; the next one waits at the gate until it is opened."""

    def __init__(self, free: int) -> None:
        super().__init__()
        self.free = free
        self.waiting, self.gate = threading.Event(), threading.Event()

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        if self.free == 0:
            self.waiting.set()
            self.gate.wait(PATIENCE)
        self.free = max(0, self.free - 1)
        return super().embed(texts)


class FailingEmbedder(TinyEmbedder):
    """Embeds the first `free` batches and then fails, until it is mended."""

    def __init__(self, free: int) -> None:
        super().__init__()
        self.free = free

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        if self.free == 0:
            raise ModelError("the model does not answer")
        self.free -= 1
        return super().embed(texts)


class RecordingEmbedder(TinyEmbedder):
    """Remembers what it has embedded."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        self.seen += texts
        return super().embed(texts)
