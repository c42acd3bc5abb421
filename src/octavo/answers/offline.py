"""The offline answerer: reads the evidence sentence by sentence and quotes the ones that answer.

It is one implementation of `Answerer`; a language model is another. Whatever answers, it gets sentences with
ids and gives claims that name ids, so what is published can be checked and quoted without it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from octavo.answers import calibration
from octavo.answers.extract import Claim, Draft, answer, shortlist
from octavo.answers.features import Seen, Sentence, stated
from octavo.answers.workspace import Workspace
from octavo.concurrency import blocking
from octavo.text.sentences import ITEM
from octavo.verification.check import Similarity, Support, check
from octavo.verification.paraphrase import Cited, judge

if TYPE_CHECKING:
    from octavo.models.cross_encoders import PassageScore
    from octavo.protocols import Embedder
    from octavo.search.rerank import Reranker

VectorOf = Callable[[str], Awaitable[tuple[float, ...]]]
_BESIDE = 4  # characters between two sentences that follow each other
_EARLIER = 4  # sentences back that may tell who "it" is
UNSAID = "the sentences do not say so"
EMBEDDED = 4  # sentences whose nearness to the question is worth the time


@dataclass(frozen=True, slots=True)
class Glossed(Claim):
    """A claim in another language than the book's. `gloss` says it in the book's, and is what is checked."""

    gloss: str = ""


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

    async def reply(self, question: str, room: Workspace, /) -> Reply: ...


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
            drafted = answer(question, given, seen=await self._seen(question, given, self._reranker))
            opinion = given.opinion if isinstance(given, Workspace) else self._reranker.opinion
            features = await _with_opinion(question, drafted, opinion)
        else:
            drafted = answer(question, await self._with_similarity(question, given))
            features = drafted.features
        return Reply(
            drafted.claims,
            answerable=calibration.answerable(features),
            confidence=calibration.confidence(features),
            features=features,
        )

    async def _seen(self, question: str, given: Sequence[Sentence], reranker: Reranker) -> dict[str, Seen]:
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
        vectors = await blocking(self._embedder.embed, list(texts.values()))
        near = {id_: _cosine(asked, vector) for id_, vector in zip(texts, vectors, strict=True)}
        return [replace(sentence, similarity=near.get(sentence.id, 0.0)) for sentence in given]

    async def _embedded(self, question: str) -> tuple[float, ...]:
        (vector,) = await blocking(self._embedder.embed, [question])
        return vector


def verified(
    claims: Sequence[Claim],
    sentences: Mapping[str, Sentence],
    *,
    given: str = "",
    opinion: Similarity | None = None,
) -> tuple[tuple[Claim, ...], tuple[tuple[str, str], ...]]:
    """The claims that point at real sentences and are borne out by them; the others, with the reason."""
    kept: list[Claim] = []
    dropped: list[tuple[str, str]] = []
    for claim in claims:
        support = borne_out(claim, sentences, given=given, opinion=opinion)
        if support.supported:
            kept.append(claim)
        else:
            dropped.append((claim.text, "; ".join(support.reasons) or UNSAID))
    return tuple(kept), tuple(dropped)


def borne_out(
    claim: Claim,
    sentences: Mapping[str, Sentence],
    *,
    given: str = "",
    opinion: Similarity | None = None,
) -> Support:
    """Whether a claim names sentences that are there and say so; of one in another language, its gloss.

    `given` is the question, which may tell whom the book means by "it" and is no evidence of anything.
    `opinion` is a trained verifier's, where there is one.
    """
    unknown = [id_ for id_ in claim.sentences if id_ not in sentences]
    if unknown or not claim.sentences:
        said = f"names no sentence of the evidence: {', '.join(unknown) or 'none'}"
        return Support(supported=False, score=0.0, reasons=(said,))
    words = claim.gloss if isinstance(claim, Glossed) else claim.text
    cited = _in_order([sentences[id_] for id_ in claim.sentences], sentences.values())
    texts = tuple(one.text for one in cited)
    support = check(words, [" ".join(texts)], opinion=opinion)
    judged = judge(words, cited, given=given)
    if not judged.against and judged.texts != texts and (support.reasons or not support.supported):
        support = check(words, [" ".join(judged.texts)], opinion=opinion)
    against = support.reasons or judged.against
    if support.supported and (
        against or support.snippet is None
    ):  # a lead-in claims nothing and has no place
        return replace(support, supported=False, reasons=against)
    return support


def _in_order(named: Sequence[Sentence], around: Iterable[Sentence]) -> list[Cited]:
    """The sentences as the book has them, each with what stands around it in its passage."""
    chunks = {one.chunk.id for one in named}
    passages = [one for one in around if one.chunk.id in chunks]
    found: list[Cited] = []
    last: Sentence | None = None
    for one in sorted(set(named), key=lambda s: (s.chunk.book_id, s.chunk.document_position, s.start)):
        beside = last and last.chunk.section_id == one.chunk.section_id and one.start - last.end <= _BESIDE
        before = last.text if last and beside else ""
        headings = one.chunk.heading_path
        above = [s for s in passages if s.chunk.id == one.chunk.id and s.end <= one.start]
        above.sort(key=lambda s: -s.start)
        found.append(
            Cited(
                one.text,
                before,
                " . ".join(headings),
                earlier=tuple(_paragraph(one, above)),
                lead=_lead(one, above),
                topic=headings[-1] if headings else "",
                passage=tuple(s.text for s in above),
            )
        )
        last = one
    return found


def _paragraph(one: Sentence, above: Sequence[Sentence]) -> Iterator[str]:
    """The sentences before it in its paragraph, the nearest first."""
    after = one
    for before in above[:_EARLIER]:
        content, start = one.chunk.content, one.chunk.start
        if "\n\n" in content[before.end - start : after.start - start] or ITEM.match(after.text):
            return
        yield before.text
        after = before


def _lead(one: Sentence, above: Sequence[Sentence]) -> str:
    """The line over the list that a sentence is an item of: one that does not end by itself."""
    if not ITEM.match(one.text):
        return ""
    over = next((before.text for before in above if not ITEM.match(before.text)), "")
    return "" if over.endswith((".", "!", "?")) or "|" in over else over


async def _with_opinion(question: str, drafted: Draft, opinion: Similarity | None) -> Mapping[str, float]:
    """The features, with what a verifier thinks of question and answer as one statement."""
    if opinion is None or not drafted.around:
        return drafted.features
    (told,) = await blocking(opinion, stated(question, drafted.words), [drafted.around])
    return MappingProxyType({**drafted.features, "stated": round(float(told), 4)})


def _seen(sentence: Sentence, score: PassageScore) -> Seen:
    at = sentence.start - sentence.chunk.start
    words = score.within(at, at + len(sentence.text))
    return Seen(score.rank, score.answerable, words.margin, words.start - at, words.end - at)


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))
