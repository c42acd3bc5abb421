"""The offline answerer: quotes the sentences of the evidence that answer a question.

It is one `Answerer`, and a language model is another. An answerer gets sentences with ids and makes claims
that name ids, so that its claims can be checked and quoted without it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from octavo.answers import calibration
from octavo.answers.extract import Extraction, extract_answer, shortlist
from octavo.answers.features import SentenceScore, state_answer
from octavo.answers.workspace import Workspace
from octavo.concurrency import run_blocking

if TYPE_CHECKING:
    from octavo.models.cross_encoders import PassageScore
    from octavo.protocols import Embedder, SupportModel
    from octavo.search.rerank import Reranker
    from octavo.verification.claims import Claim, Sentence

EmbedQuery = Callable[[str], Awaitable[tuple[float, ...]]]
# So many sentences are compared with the question by their vectors. More are not worth the time.
MOST_EMBEDDED = 4


@dataclass(frozen=True, slots=True)
class Reply:
    """Claims, and how likely it is that the evidence answers at all and that these claims are right.

    `dropped` are claims that the answerer gave up itself, with the reason, and `checking` the seconds that it
    took to check them. `answerer` says who answered if it was not the one that was asked. `notes` go on the
    receipt.
    """

    claims: tuple[Claim, ...]
    answerable: float
    confidence: float
    features: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    dropped: tuple[tuple[str, str], ...] = ()
    checking: float = 0.0
    answerer: str = ""
    notes: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))


class Answerer(Protocol):
    """Answers from numbered sentences. A workspace is a sequence of them, and can find more."""

    @property
    def name(self) -> str: ...

    async def reply(self, question: str, workspace: Workspace, /) -> Reply: ...


class OfflineAnswerer:
    """Quotes the book. The trained reader chooses the sentences, or, without it, words and meaning do."""

    name = "offline"

    def __init__(
        self, embedder: Embedder, *, embed_query: EmbedQuery | None = None, reranker: Reranker | None = None
    ) -> None:
        """`embed_query` returns the vector of a question, from a cache if it can."""
        self._embedder, self._reranker = embedder, reranker
        self._embed_query = embed_query or self._embed

    async def reply(self, question: str, given: Sequence[Sentence]) -> Reply:
        if self._reranker is not None:
            scores = await self._score_sentences(question, given, self._reranker)
            extraction = extract_answer(question, given, seen=scores)
            opinion = given.opinion if isinstance(given, Workspace) else self._reranker.opinion
            features = await _add_opinion(question, extraction, opinion)
        else:
            extraction = extract_answer(question, await self._add_similarity(question, given))
            features = extraction.features
        return Reply(
            extraction.claims,
            answerable=calibration.answerable(features),
            confidence=calibration.confidence(features),
            features=features,
        )

    async def _score_sentences(
        self, question: str, given: Sequence[Sentence], reranker: Reranker
    ) -> dict[str, SentenceScore]:
        """Return the trained reader's score of every sentence."""
        chunks = {(s.chunk.id, s.chunk.start): s.chunk for s in given}
        scores = await reranker.score_passages(question, list(chunks.values()))
        by_chunk = dict(zip(chunks, scores, strict=True))
        return {s.id: _score_sentence(s, by_chunk[s.chunk.id, s.chunk.start]) for s in given}

    async def _add_similarity(self, question: str, given: Sequence[Sentence]) -> list[Sentence]:
        """Compare the likeliest sentences with the question by meaning. The others have 0."""
        likely = set(shortlist(question, given, most=MOST_EMBEDDED))
        texts = {sentence.id: sentence.text for sentence in given if sentence.id in likely}
        if not texts:
            return list(given)
        asked = await self._embed_query(question)
        vectors = await run_blocking(self._embedder.embed, list(texts.values()))
        near = {id_: _cosine(asked, vector) for id_, vector in zip(texts, vectors, strict=True)}
        return [replace(sentence, similarity=near.get(sentence.id, 0.0)) for sentence in given]

    async def _embed(self, question: str) -> tuple[float, ...]:
        (vector,) = await run_blocking(self._embedder.embed, [question])
        return vector


async def _add_opinion(
    question: str, extraction: Extraction, opinion: SupportModel | None
) -> Mapping[str, float]:
    """Add the trained verifier's opinion of question and answer as one statement to the features."""
    if opinion is None or not extraction.around:
        return extraction.features
    (odds,) = await run_blocking(opinion, state_answer(question, extraction.words), [extraction.around])
    return MappingProxyType({**extraction.features, "stated": round(float(odds), 4)})


def _score_sentence(sentence: Sentence, score: PassageScore) -> SentenceScore:
    at = sentence.start - sentence.chunk.start
    words = score.find_answer(at, at + len(sentence.text))
    return SentenceScore(score.rank, score.answerable, words.margin, words.start - at, words.end - at)


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))
