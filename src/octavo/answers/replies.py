"""What an answerer replies with, and how replies to parts of a question are put together.

An answerer gets sentences with ids and makes claims that name ids, so that its claims can be checked and
quoted without it. The offline answerer is one, and a language model is another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from octavo.answers import calibration
from octavo.answers.halves import Half, list_named
from octavo.types import UNANSWERED
from octavo.verification.claims import Claim, UnansweredClaim

if TYPE_CHECKING:
    from octavo.answers.names import FoundName
    from octavo.answers.workspace import Workspace
    from octavo.search.ranking import ReaderKind
    from octavo.verification.claims import Phrase


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
    reader: ReaderKind | None = None
    """Whose calibration the probabilities are of, if it is not that of the settings."""
    halves: tuple[Half, ...] = ()
    """The parts of a question that asks several things."""

    def keep_answered(self, *, answerable: float, sure: float) -> Reply:
        """Keep the answers to the parts that have one if another part has none, and say so.

        A part has an answer if it is at least so likely to be `answerable`, and at least so `sure`. Where
        all parts have one, or none has, the reply stays as it is. What answers half of a question is half as
        sure to be what was asked for.
        """
        found = [
            h for h in self.halves if h.answerable >= answerable and h.confidence >= sure and h.sentences
        ]
        if not found or len(found) == len(self.halves):
            return self
        own = {id_ for half in found for id_ in half.sentences}
        told = (claim for claim in self.claims if own & list_named(claim))
        missing = (half.question for half in self.halves if half not in found)
        part = "half" if len(self.halves) == 2 else "part"
        named = (UnansweredClaim(f"{UNANSWERED} {part}: “{one}”", ()) for one in missing)
        together = combine_confidence([half.confidence for half in found])
        share = len(found) / len(self.halves)
        return replace(
            self,
            claims=(*told, *named),
            answerable=min(half.answerable for half in found),
            confidence=max(together * share, min(calibration.LEAST_CONFIDENCE, together)),
        )


class Answerer(Protocol):
    """Answers from numbered sentences. A workspace is a sequence of them, and can find more."""

    @property
    def name(self) -> str: ...

    async def reply(self, question: str, workspace: Workspace, /) -> Reply: ...


def choose_name(reply: Reply, named: FoundName, short: str) -> Reply:
    """Answer with the name that all of the book speaks for. Passages that agree have the better sentence.

    Passages that say something else are kept if they are surer. `short` are the words that answer in the
    reply from passages, if it has any.
    """
    if reply.short is None or not named.is_said(short):
        if reply.claims and reply.confidence > named.confidence:
            return reply
        claims, sure = (named.claim,), named.confidence
        return Reply(claims, sure, sure, readers=reply.readers, short=named.short)
    answerable = max(reply.answerable, named.confidence)
    return replace(reply, answerable=answerable, confidence=max(reply.confidence, named.confidence))


def combine_confidence(each: Sequence[float]) -> float:
    """How sure several answers are together: they are right only if each of them is.

    If each is sure enough to be told, all are.
    """
    return max(prod(each), min(calibration.LEAST_CONFIDENCE, *each))


def join_replies(replies: Sequence[Reply], *, claims_each: int | None) -> Reply | None:
    """Join the answers to parts of a question. Each part gives its first `claims_each` claims, or all."""
    claims: list[Claim] = []
    for claim in (claim for reply in replies for claim in reply.claims[:claims_each]):
        said = {id_ for other in claims for id_ in list_named(other)}
        if not list_named(claim) <= said:
            claims = [other for other in claims if not list_named(other) <= list_named(claim)]
            claims.append(claim)
    if not claims:
        return None
    least = min(replies, key=lambda reply: reply.confidence)
    answerable = min(reply.answerable for reply in replies)
    confidence = combine_confidence([reply.confidence for reply in replies])
    return replace(least, claims=tuple(claims), answerable=answerable, confidence=confidence, short=None)


def join_comparison(each: Sequence[Reply], both: Reply) -> Reply | None:
    """Join what is said of each side of a comparison with what is said of both.

    Where what is said of both is surer than the sides together, it is the answer, and opens with the sides
    that are as sure. Else the sides are, and what is said of both adds to them and makes them no less sure.
    """
    sides = join_replies(each, claims_each=1)
    if sides is None or both.confidence > sides.confidence:
        sure = [replace(r, claims=r.claims[:1]) for r in each if r.confidence >= both.confidence]
        joined = join_replies([*sure, both], claims_each=None)
        return joined and replace(joined, answerable=both.answerable, confidence=both.confidence)
    return join_replies([*each, replace(both, confidence=1.0)], claims_each=1)
