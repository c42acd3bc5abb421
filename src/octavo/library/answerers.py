"""Chooses who answers: who was given, the language model of the settings, or the offline answerer."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from octavo.answers.offline import Answerer, OfflineAnswerer
from octavo.concurrency import run_blocking

if TYPE_CHECKING:
    from octavo.answers.steps import Rewrite
    from octavo.llm.agent import ModelAnswerer
    from octavo.llm.client import ModelEndpoint
    from octavo.protocols import Embedder
    from octavo.search.retrieval import Retriever
    from octavo.settings import Settings


class Answerers(NamedTuple):
    """Who answers; and for a language model, who looks beyond the scope and who completes questions."""

    answerer: Answerer
    offline: Answerer | None = None
    rewrite: Rewrite | None = None


class AnswererFactory:
    """Chooses who answers: who was given, the language model that the settings name, or the offline answerer.

    All questions share the connection to the language model.
    """

    def __init__(self, settings: Settings, given: Answerer | None) -> None:
        self._settings, self._given = settings, given
        self._endpoint: ModelEndpoint | None = None

    async def choose(self, retriever: Retriever, embedder: Embedder) -> Answerers:
        offline = OfflineAnswerer(embedder, embed_query=retriever.embed_query, reranker=retriever.reranker)
        if self._given is not None or not self._settings.model:
            return Answerers(self._given or offline)
        model_answerer, endpoint = await run_blocking(_load_language_model, self._settings.model)
        self._endpoint = self._endpoint or endpoint(self._settings)
        model = model_answerer(self._settings, self._endpoint, offline)
        return Answerers(model, offline=offline, rewrite=model.rewrite)

    async def close(self) -> None:
        if self._endpoint is not None:
            await self._endpoint.close()


def _load_language_model(name: str) -> tuple[type[ModelAnswerer], type[ModelEndpoint]]:
    """Import what asks a language model. It is heavy, and only loaded where a model is set."""
    from octavo.llm.agent import ModelAnswerer
    from octavo.llm.client import LITELLM, ModelEndpoint, load_litellm

    if name.startswith(LITELLM):
        load_litellm()
    return ModelAnswerer, ModelEndpoint
