"""What a model read of the passages and around them, and the sentences that may be quoted from there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from octavo.answers.features import SentenceScore
from octavo.answers.workspace import Workspace
from octavo.search.surroundings import covers

if TYPE_CHECKING:
    from octavo.answers.extract import Extraction
    from octavo.models.cross_encoders import PassageScore
    from octavo.search.rerank import Reranker
    from octavo.types import Chunk
    from octavo.verification.claims import Sentence

Place = tuple[str, int]
"""The id of a chunk, and where the part of it begins that may be seen."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a model read, best first, each with its scores."""

    read: Sequence[tuple[Chunk, PassageScore]]

    def score(self, sentence: Sentence) -> SentenceScore | None:
        """Score a sentence by its own passage, or by the first that was read with it; None if none was."""
        place = (sentence.chunk, sentence.start, sentence.end)
        having = [one for one in self.read if covers(one[0], *place)]
        own = (one for one in having if one[0].id == sentence.chunk.id)
        found = next(own, having[0]) if having else None
        return score_sentence(sentence, *found) if found else None

    def join(self, other: Reading) -> Reading:
        """Add what else was read."""
        return Reading((*self.read, *other.read))


def score_sentence(sentence: Sentence, chunk: Chunk, score: PassageScore) -> SentenceScore:
    """Score a sentence by what a model says of a passage that has it."""
    at = sentence.start - chunk.start
    words = score.find_answer(at, at + len(sentence.text))
    return SentenceScore(score.rank, score.answerable, words.margin, words.start - at, words.end - at)


def select_deep(
    chunks: Mapping[Place, Chunk], known: Mapping[str, Chunk], given: Sequence[Sentence]
) -> list[Chunk]:
    """Select what the large model read for the order, or all passages if it read none of them.

    They are in the order of `known`, because the budget may not allow to read all of them for this question.
    """
    cut = isinstance(given, Workspace) and given.bounds.may_cut
    by_id = {chunk.id: chunk for chunk in chunks.values()}
    read = [by_id[id_] if cut else wide for id_, wide in known.items() if id_ in by_id]
    return read or list(chunks.values())


def narrow(known: Mapping[str, Chunk], chunks: Sequence[Chunk]) -> dict[str, Chunk]:
    """Return the passages that were read, alone or with others, each by itself."""
    wide = known.values()
    return {c.id: c for c in chunks if any(covers(read, c, c.start, c.end) for read in wide)}


async def read_deeply(question: str, chunks: Sequence[Chunk], reranker: Reranker) -> Reading:
    """Have the large model read passages, as many as its budget allows."""
    scores = await reranker.score_deeply(question, chunks)
    return Reading(tuple(zip(chunks, scores, strict=False)))


async def look_around(reading: Reading, given: Sequence[Sentence]) -> list[Sentence]:
    """Return the sentences that were read around the passages of a workspace, without adding new ones."""
    if not isinstance(given, Workspace) or given.bounds.may_cut or given.bounds.passage is not None:
        return []
    known = {(chunk.id, chunk.start, chunk.end) for chunk in (item.chunk for item in given.evidence)}
    wide = [chunk for chunk, _ in reading.read if (chunk.id, chunk.start, chunk.end) not in known]
    return await given.look_at(wide)


async def take_quoted(extraction: Extraction, around: Sequence[Sentence], workspace: Workspace) -> Extraction:
    """Add to the workspace the sentences from around that claims rest on; they get their numbers there.

    Their passage is as relevant as the one that it was read with.
    """
    known = {sentence.id for sentence in workspace}
    named = {id_ for claim in extraction.claims for id_ in claim.sentences}
    numbers: dict[str, str] = {}
    for sentence in around:
        if sentence.id in named and sentence.id not in known:
            (own,) = await workspace.take([sentence], relevance=_find_relevance(sentence, workspace))
            numbers[sentence.id] = own.id
    claims = tuple(
        replace(claim, sentences=tuple(numbers.get(id_, id_) for id_ in claim.sentences))
        for claim in extraction.claims
    )
    short = extraction.short
    if short is not None:
        short = replace(short, sentence=numbers.get(short.sentence, short.sentence))
    return replace(extraction, claims=claims, short=short)


def _find_relevance(sentence: Sentence, workspace: Workspace) -> float:
    """Find how relevant the passage is that a sentence was read with."""
    place = (sentence.chunk, sentence.start, sentence.end)
    having = {id_ for id_, wide in workspace.deep.items() if covers(wide, *place)}
    found = (item.relevance_score for item in workspace.evidence if item.chunk.id in having)
    return max(found, default=1.0)
