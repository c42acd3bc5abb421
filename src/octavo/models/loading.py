"""Loads the embedders that the settings name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.models.embedding import OnnxEmbedder, OpenAIEmbedder
from octavo.models.multilingual import MultilingualEmbedder
from octavo.models.weights import TRAINED_MINILM, find_weights
from octavo.settings import AUTO

if TYPE_CHECKING:
    from octavo.protocols import Embedder
    from octavo.settings import Settings

MULTILINGUAL = "multilingual"
ENGLISH = (AUTO, "english", "minilm-int8")
"""The settings with which English books are embedded by the model that comes with Octavo."""
_OPENAI = "https://api.openai.com/v1"


def load_embedder(settings: Settings, *, download: bool = False) -> Embedder:
    """Load the embedder of English books, or of all. Weights are downloaded only if `download` is true."""
    if settings.embedder.startswith("openai:"):
        return OpenAIEmbedder(
            settings.embedder.removeprefix("openai:"),
            url=settings.embedder_url or _OPENAI,
            key=settings.embedder_key,
            batch_pieces=settings.batch_tokens,
        )
    if settings.embedder == MULTILINGUAL:
        return MultilingualEmbedder(threads=settings.threads)
    name = "minilm-int8" if settings.embedder in ENGLISH else settings.embedder
    weights = find_weights(name, cache=settings.data / "models", download=download)
    return OnnxEmbedder(weights, threads=settings.threads)


def load_multilingual(settings: Settings, *, beside: Embedder) -> Embedder | None:
    """Return the embedder of books in other languages, if it is another. Its files are read on first use.

    It stands only beside the English model that comes with Octavo, whose vectors have the same size. With
    `english` no new book is embedded by it, but those that were are still found.
    """
    if settings.embedder not in ENGLISH or not beside.fingerprint.startswith(f"{TRAINED_MINILM}:"):
        return None
    return MultilingualEmbedder(threads=settings.threads)
