"""Chooses who answers and who reads: the models of the settings, who was given, or the offline answerer."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from octavo.answers.offline import OfflineAnswerer
from octavo.concurrency import run_blocking
from octavo.models import weights
from octavo.search.rerank import Reranker

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from octavo.answers.replies import Answerer
    from octavo.answers.steps import Rewrite
    from octavo.llm.agent import ModelAnswerer
    from octavo.llm.client import ModelEndpoint
    from octavo.models.cross_encoders import LocalModels
    from octavo.protocols import Embedder
    from octavo.search.retrieval import Retriever
    from octavo.settings import Settings


class Answerers(NamedTuple):
    """Who answers; and for a language model, who looks beyond the scope and who completes questions."""

    answerer: Answerer
    offline: Answerer | None = None
    rewrite: Rewrite | None = None


class LanguageModel(NamedTuple):
    """What asks a language model."""

    answerer: type[ModelAnswerer]
    endpoint: type[ModelEndpoint]
    write_question: Callable[[ModelEndpoint, str], Awaitable[str | None]]


class AnswererFactory:
    """Chooses who answers: who was given, the language model that the settings name, or the offline answerer.

    All questions share the connection to the language model.
    """

    def __init__(self, settings: Settings, given: Answerer | None) -> None:
        self._settings, self._given = settings, given
        self._endpoint: ModelEndpoint | None = None

    async def choose(self, retriever: Retriever, embedder: Embedder) -> Answerers:
        offline = OfflineAnswerer(embedder, embed_query=retriever.embed_query, reranker=retriever.reranker)
        language_model = await self._load_model()
        if language_model is None:
            return Answerers(self._given or offline)
        loaded, endpoint = language_model
        model = loaded.answerer(self._settings, endpoint, offline)
        return Answerers(model, offline=offline, rewrite=model.rewrite)

    async def write_question(self, passage: str) -> str | None:
        """Have the language model write a question that a passage answers. Without a model, return None."""
        language_model = await self._load_model()
        if language_model is None:
            return None
        loaded, endpoint = language_model
        return await loaded.write_question(endpoint, passage)

    async def _load_model(self) -> tuple[LanguageModel, ModelEndpoint] | None:
        """Load the language model and open its endpoint, if it is the one that answers."""
        if self._given is not None or not self._settings.model:
            return None
        loaded = await run_blocking(_load_language_model, self._settings.model)
        self._endpoint = self._endpoint or loaded.endpoint(self._settings)
        return loaded, self._endpoint

    async def close(self) -> None:
        if self._endpoint is not None:
            await self._endpoint.close()


def make_reranker(settings: Settings, models: LocalModels) -> Reranker | None:
    """Make a reranker with the models that the settings name, or none if no model is to read."""
    if not settings.local_models or settings.reader == "off":
        return None
    is_large = settings.reader == "large"
    if settings.model:
        # A missing file is told now, and not after a model was paid for an answer.
        for needed in (weights.GATE, *((weights.GATE_LARGE,) if is_large else ())):
            needed.find()
    return Reranker(
        models.reader,
        opinion=models.verifier.score_support,
        gate=models.gate.score_support,
        gate_large=models.gate_large.score_support if is_large else None,
        large=models.large if is_large else None,
        multilingual=models.multilingual,
    )


def _load_language_model(name: str) -> LanguageModel:
    """Import what asks a language model. It is heavy, and only loaded where a model is set."""
    from octavo.llm.agent import ModelAnswerer, write_question
    from octavo.llm.client import LITELLM, ModelEndpoint, load_litellm

    if name.startswith(LITELLM):
        load_litellm()
    return LanguageModel(ModelAnswerer, ModelEndpoint, write_question)
