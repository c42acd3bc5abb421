"""The gate that every claim passes before it is published, whoever wrote it.

A claim passes if it names sentences of the evidence and they say so. `check` measures how much of the claim
the sentences hold, and `judge` applies the strict rules for paraphrases. Either one can turn a claim down.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from octavo.text.layout import ITEM
from octavo.verification.check import Support, check
from octavo.verification.claims import GlossedClaim
from octavo.verification.context import CitedSentence
from octavo.verification.paraphrase import judge

if TYPE_CHECKING:
    from octavo.protocols import SupportModel
    from octavo.verification.claims import Claim, Sentence

UNSAID = "the sentences do not say so"
# The most characters between two sentences that follow each other.
_MOST_GAP = 4
# How many sentences back may tell who "it" is.
_MOST_EARLIER = 4


def verify_claims(
    claims: Sequence[Claim],
    sentences: Mapping[str, Sentence],
    *,
    given: str = "",
    opinion: SupportModel | None = None,
) -> tuple[tuple[Claim, ...], tuple[tuple[str, str], ...]]:
    """Split claims into those that pass the gate, and the texts of the others, each with the reason."""
    kept: list[Claim] = []
    dropped: list[tuple[str, str]] = []
    for claim in claims:
        support = verify_claim(claim, sentences, given=given, opinion=opinion)
        if support.supported:
            kept.append(claim)
        else:
            dropped.append((claim.text, "; ".join(support.reasons) or UNSAID))
    return tuple(kept), tuple(dropped)


def verify_claim(
    claim: Claim,
    sentences: Mapping[str, Sentence],
    *,
    given: str = "",
    opinion: SupportModel | None = None,
) -> Support:
    """Say whether a claim names sentences that exist and say so. A glossed claim is checked by its gloss.

    `given` is the question. It may tell whom the book means by "it", and is no evidence of anything.
    `opinion` is a trained verifier's, where there is one.
    """
    unknown = [id_ for id_ in claim.sentences if id_ not in sentences]
    if unknown or not claim.sentences:
        reason = f"names no sentence of the evidence: {', '.join(unknown) or 'none'}"
        return Support(supported=False, score=0.0, reasons=(reason,))
    words = claim.gloss if isinstance(claim, GlossedClaim) else claim.text
    cited = _cite([sentences[id_] for id_ in claim.sentences], sentences.values())
    texts = tuple(one.text for one in cited)
    support = check(words, [" ".join(texts)], opinion=opinion)
    judged = judge(words, cited, given=given)
    if not judged.against and judged.texts != texts and (support.reasons or not support.supported):
        support = check(words, [" ".join(judged.texts)], opinion=opinion)
    against = support.reasons or judged.against
    # A lead-in such as "Here is a summary:" claims nothing and has no snippet.
    if support.supported and (against or support.snippet is None):
        return replace(support, supported=False, reasons=against)
    return support


def _cite(named: Sequence[Sentence], evidence: Iterable[Sentence]) -> list[CitedSentence]:
    """Put the sentences in the order of the book, each with what stands around it in its passage."""
    chunks = {one.chunk.id for one in named}
    passages = [one for one in evidence if one.chunk.id in chunks]
    found: list[CitedSentence] = []
    last: Sentence | None = None
    for one in sorted(set(named), key=lambda s: (s.chunk.book_id, s.chunk.document_position, s.start)):
        above = [s for s in passages if s.chunk.id == one.chunk.id and s.end <= one.start]
        above.sort(key=lambda s: -s.start)
        headings = one.chunk.heading_path
        found.append(
            CitedSentence(
                one.text,
                before=last.text if last and _follows(one, last) else "",
                headings=" . ".join(headings),
                earlier=tuple(_find_earlier(one, above)),
                lead=_find_lead(one, above),
                topic=headings[-1] if headings else "",
                passage=tuple(s.text for s in above),
            )
        )
        last = one
    return found


def _follows(one: Sentence, last: Sentence) -> bool:
    """Say whether a sentence comes right after another one."""
    return last.chunk.section_id == one.chunk.section_id and one.start - last.end <= _MOST_GAP


def _find_earlier(one: Sentence, above: Sequence[Sentence]) -> Iterator[str]:
    """Yield the sentences before it in its paragraph, the nearest first."""
    after = one
    for before in above[:_MOST_EARLIER]:
        content, start = one.chunk.content, one.chunk.start
        if "\n\n" in content[before.end - start : after.start - start] or ITEM.match(after.text):
            return
        yield before.text
        after = before


def _find_lead(one: Sentence, above: Sequence[Sentence]) -> str:
    """Return the line over the list that a sentence is an item of: one that does not end by itself."""
    if not ITEM.match(one.text):
        return ""
    over = next((before.text for before in above if not ITEM.match(before.text)), "")
    return "" if over.endswith((".", "!", "?")) or "|" in over else over
