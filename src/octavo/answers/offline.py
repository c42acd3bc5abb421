"""The offline answerer: reads the evidence sentence by sentence and quotes the ones that answer.

It is one implementation of `Answerer`; a language model is another. Whatever answers, it gets sentences with
ids and gives claims that name ids, so what is published can be checked and quoted without it.
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

VectorOf = Callable[[str], Awaitable[tuple[float, ...]]]
EMBEDDED = 4  # sentences whose nearness to the question is worth the time


@dataclass(frozen=True, slots=True)
class Reply:
    """Claims, and how likely it is that the evidence answers at all and that these claims are right.

    `dropped` are claims that were given up already, with the reason; `checking` the seconds that this took;
    `answerer` says who answered where that is not the one who was asked; `notes` go on the receipt.
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
    """Anything that answers from numbered sentences. A room is a sequence of them, and leads to more."""

    @property
    def name(self) -> str: ...

    async def reply(self, question: str, workspace: Workspace, /) -> Reply: ...


class OfflineAnswerer:
    """Quotes the book. A trained reader chooses the sentences where there is one; else words and meaning."""

    name = "offline"

    def __init__(
        self, embedder: Embedder, *, vector: VectorOf | None = None, reranker: Reranker | None = None
    ) -> None:
        """`vector` gives a question's vector where that is known already."""
        self._embedder, self._reranker = embedder, reranker
        self._vector = vector or self._embedded

    async def reply(self, question: str, given: Sequence[Sentence]) -> Reply:
        if self._reranker is not None:
            drafted = extract_answer(question, given, seen=await self._seen(question, given, self._reranker))
            opinion = given.opinion if isinstance(given, Workspace) else self._reranker.opinion
            features = await _with_opinion(question, drafted, opinion)
        else:
            drafted = extract_answer(question, await self._with_similarity(question, given))
            features = drafted.features
        return Reply(
            drafted.claims,
            answerable=calibration.answerable(features),
            confidence=calibration.confidence(features),
            features=features,
        )

    async def _seen(
        self, question: str, given: Sequence[Sentence], reranker: Reranker
    ) -> dict[str, SentenceScore]:
        """What the reader makes of every sentence."""
        chunks = {(s.chunk.id, s.chunk.start): s.chunk for s in given}
        scores = dict(
            zip(chunks, await reranker.score_passages(question, list(chunks.values())), strict=True)
        )
        return {s.id: _seen(s, scores[s.chunk.id, s.chunk.start]) for s in given}

    async def _with_similarity(self, question: str, given: Sequence[Sentence]) -> list[Sentence]:
        """Nearness in meaning for the likeliest sentences; 0 for the others."""
        likely = set(shortlist(question, given, most=EMBEDDED))
        texts = {sentence.id: sentence.text for sentence in given if sentence.id in likely}
        if not texts:
            return list(given)
        asked = await self._vector(question)
        vectors = await run_blocking(self._embedder.embed, list(texts.values()))
        near = {id_: _cosine(asked, vector) for id_, vector in zip(texts, vectors, strict=True)}
        return [replace(sentence, similarity=near.get(sentence.id, 0.0)) for sentence in given]

    async def _embedded(self, question: str) -> tuple[float, ...]:
        (vector,) = await run_blocking(self._embedder.embed, [question])
        return vector


async def _with_opinion(
    question: str, drafted: Extraction, opinion: SupportModel | None
) -> Mapping[str, float]:
    """The features, with what a verifier thinks of question and answer as one statement."""
    if opinion is None or not drafted.around:
        return drafted.features
    (told,) = await run_blocking(opinion, state_answer(question, drafted.words), [drafted.around])
    return MappingProxyType({**drafted.features, "stated": round(float(told), 4)})


def _seen(sentence: Sentence, score: PassageScore) -> SentenceScore:
    at = sentence.start - sentence.chunk.start
    words = score.find_answer(at, at + len(sentence.text))
    return SentenceScore(score.rank, score.answerable, words.margin, words.start - at, words.end - at)


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))
