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
from octavo.answers.extract import MOST_WORDS, Extraction, extract_answer, shortlist
from octavo.answers.features import SentenceScore, state_answer
from octavo.answers.short import fit_short
from octavo.answers.workspace import Workspace
from octavo.concurrency import run_blocking

if TYPE_CHECKING:
    from octavo.models.cross_encoders import PassageScore
    from octavo.protocols import Embedder, SupportModel
    from octavo.search.ranking import ReaderSize
    from octavo.search.rerank import Reranker
    from octavo.types import Chunk
    from octavo.verification.claims import Claim, Phrase, Sentence

EmbedQuery = Callable[[str], Awaitable[tuple[float, ...]]]
Place = tuple[str, int]
"""The id of a chunk, and where the part of it begins that may be seen."""
# So many sentences are compared with the question by their vectors. More are not worth the time.
MOST_EMBEDDED = 4


@dataclass(frozen=True, slots=True)
class Reply:
    """Claims, and how likely it is that the evidence answers at all and that these claims are right.

    `dropped` are claims that the answerer gave up itself, with the reason, and `checking` the seconds that it
    took to check them. `answerer` says who answered if it was not the one that was asked. `readers` are the
    local models that read passages for it. `notes` go on the receipt. `short` are the words that answer by
    themselves, if they are known: words of a sentence that a claim rests on, and that stand in that claim.
    """

    claims: tuple[Claim, ...]
    answerable: float
    confidence: float
    features: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    dropped: tuple[tuple[str, str], ...] = ()
    checking: float = 0.0
    answerer: str = ""
    readers: tuple[str, ...] = ()
    notes: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    short: Phrase | None = None


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
            return await self._reply_with_reader(question, given, self._reranker)
        extraction = extract_answer(question, await self._add_similarity(question, given))
        return _make_reply(extraction, extraction.features, reader="off")

    async def _reply_with_reader(self, question: str, given: Sequence[Sentence], reranker: Reranker) -> Reply:
        """Answer from the passages that were read. Where there is a large model, the opinion is its own."""
        chunks = {(s.chunk.id, s.chunk.start): s.chunk for s in given}
        if reranker.large is None:
            reader, opinion = reranker.reader.name, _find_opinion(given, reranker)
            scores = await reranker.score_passages(question, list(chunks.values()))
        else:
            reader, opinion = reranker.large.name, reranker.large.score_support
            chunks = _select_deep(chunks, given)
            scores = await reranker.score_deeply(question, list(chunks.values()))
        by_chunk = dict(zip(chunks, scores, strict=False))
        read = [s for s in given if (s.chunk.id, s.chunk.start) in by_chunk]
        seen = {s.id: _score_sentence(s, by_chunk[s.chunk.id, s.chunk.start]) for s in read}
        extraction = extract_answer(question, read, seen=seen, reader=reranker.size)
        features = await _add_opinion(question, extraction, opinion)
        reply = _make_reply(extraction, features, reader=reranker.size)
        return replace(reply, readers=(reader,) if read else ())

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


def _make_reply(extraction: Extraction, features: Mapping[str, float], *, reader: ReaderSize) -> Reply:
    short, claims = fit_short(extraction.short, extraction.claims, most=MOST_WORDS)
    return Reply(
        claims,
        answerable=calibration.answerable(features, reader=reader),
        confidence=calibration.confidence(features, reader=reader),
        features=features,
        short=short,
    )


def _find_opinion(given: Sequence[Sentence], reranker: Reranker) -> SupportModel | None:
    return given.opinion if isinstance(given, Workspace) else reranker.opinion


def _select_deep(chunks: Mapping[Place, Chunk], given: Sequence[Sentence]) -> dict[Place, Chunk]:
    """Select the passages that the large model read for the order, or all if it read none of them."""
    deep = given.deep if isinstance(given, Workspace) else frozenset()
    return {place: chunk for place, chunk in chunks.items() if chunk.id in deep} or dict(chunks)


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
