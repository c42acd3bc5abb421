"""The gate that every claim passes before it is published, whoever wrote it.

A claim passes if it names sentences of the evidence and they say so. `verify_claim` is strict: `check`
measures how much of the claim the sentences hold, `judge` applies the rules for paraphrases, and either one
can turn a claim down. `decide` lets through what is strictly so, and weighs the rest by meaning where there
is a trained verifier: it is published, or quoted, or dropped. A claim is quoted if it is doubtful: the
sentences that it names take its place, so that a reader loses the words and not the content.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from octavo.text.language import detect_language
from octavo.text.sentences import split_sentences
from octavo.types import ElementKind
from octavo.verification.check import Support, check, claims_something
from octavo.verification.claims import CatalogueClaim, Claim, GlossedClaim, UnansweredClaim
from octavo.verification.context import CitedSentence
from octavo.verification.meaning import Decision, Opinions, weigh
from octavo.verification.paraphrase import judge
from octavo.verification.rules import NEW_WORD, may_overrule

if TYPE_CHECKING:
    from octavo.protocols import SupportModel
    from octavo.verification.claims import Sentence

UNSAID = "the sentences do not say so"
UNSURE_TRANSLATION = "the translation may not say what the sentences say"
SURE_TRANSLATION = 0.0
"""The log odds from which on the multilingual verifier's word is taken for a translation.

Of 24 honest translations of English sentences into four languages it lets 5 through, of 24 lies 1. It was
chosen on these same 48, so that it is no measured rate."""
RISK = 0.01
"""The share of a language model's false claims that may pass, if no other is chosen."""
# The most characters between two sentences that follow each other.
_MOST_GAP = 4
# How many sentences back may tell who "it" is, and how many are quoted in the place of a claim.
_MOST_EARLIER, _MOST_QUOTED = 4, 3
# How many sentences are tried if a claim names the wrong ones.
_MOST_TRIED = 40
_WORSE: tuple[Decision, ...] = ("publish", "quote", "drop")


@dataclass(frozen=True, slots=True)
class Ruling:
    """What is done with a claim, and why: it is published, or its sentences are quoted, or it is dropped."""

    decision: Decision
    support: Support

    @property
    def reason(self) -> str:
        return "; ".join(self.support.reasons) or UNSAID


def verify_claims(
    claims: Sequence[Claim],
    sentences: Mapping[str, Sentence],
    *,
    given: str = "",
    opinions: Opinions | None = None,
    risk: float = RISK,
) -> tuple[tuple[Claim, ...], tuple[tuple[str, str], ...]]:
    """Split claims into those that pass the gate, and the texts of the others, each with the reason.

    In the place of a doubtful claim stand the sentences that it names.
    """
    rulings = [decide(claim, sentences, given=given, opinions=opinions, risk=risk) for claim in claims]
    kept: list[Claim] = []
    for claim, ruling in zip(claims, rulings, strict=True):
        if ruling.decision == "publish":
            kept.append(claim)
        elif ruling.decision == "quote":
            kept += quote_claim(claim, sentences, beside=(*claims, *kept))
    dropped = [
        (claim.text, ruling.reason)
        for claim, ruling in zip(claims, rulings, strict=True)
        if ruling.decision == "drop"
    ]
    return tuple(kept), tuple(dict.fromkeys(dropped))


def decide(
    claim: Claim,
    sentences: Mapping[str, Sentence],
    *,
    given: str = "",
    opinions: Opinions | None = None,
    risk: float = RISK,
) -> Ruling:
    """Decide what is done with a claim. Without `opinions`, or with no `risk`, the strict rules decide alone.

    So they do where the judges by meaning have learnt nothing: for books in other languages than English, and
    for a claim in another language than its book's. A claim of several sentences is as good as the worst.
    """
    support = verify_claim(claim, sentences, given=given, opinion=opinions.verifier if opinions else None)
    if support.supported and _is_sure_translation(claim, sentences, opinions):
        return Ruling("publish", support)
    if support.supported:
        return Ruling("quote", replace(support, supported=False, reasons=(UNSURE_TRANSLATION,)))
    named = [sentences[id_] for id_ in claim.sentences if id_ in sentences]
    if not risk or opinions is None or isinstance(claim, GlossedClaim) or len(named) < len(claim.sentences):
        return Ruling("drop", support)
    parts = [claim.text[part.start : part.end] for part in split_sentences(claim.text)]
    if len(parts) > 1:
        each = (replace(claim, text=part) for part in parts)
        rulings = [decide(one, sentences, given=given, opinions=opinions, risk=risk) for one in each]
        return max(rulings, key=lambda ruling: (_WORSE.index(ruling.decision), -ruling.support.score))
    return _decide_by_meaning(claim, named, sentences, support, opinions=opinions, risk=risk)


def _is_sure_translation(claim: Claim, sentences: Mapping[str, Sentence], opinions: Opinions | None) -> bool:
    """Say whether a claim needs no translation, or its own words are borne out by the book's.

    The gloss was checked already. Whether the claim says the same is another question: a model may gloss
    honestly and lie in the language that the reader sees. Where no model can compare them, nothing is sure.
    """
    if not isinstance(claim, GlossedClaim):
        return True
    if opinions is None or opinions.multilingual is None:
        return False
    named = [sentences[id_] for id_ in claim.sentences]
    cited, _ = cite_texts(named, sentences.values())
    return opinions.multilingual(claim.text, [cited])[0] >= SURE_TRANSLATION


def _decide_by_meaning(
    claim: Claim,
    named: Sequence[Sentence],
    sentences: Mapping[str, Sentence],
    support: Support,
    *,
    opinions: Opinions,
    risk: float,
) -> Ruling:
    """Decide about one sentence that the strict rules do not let through."""
    cited, near = cite_texts(named, sentences.values())
    english = detect_language(f"{claim.text} {cited}") == "en"
    if not named or not english or not claims_something(claim.text):
        return Ruling("drop", support)
    weighed = weigh(claim.text, cited, near, opinions, risk=risk)
    decision = weighed.decision
    if decision == "publish" and not may_overrule(claim.text, cited):
        decision = "quote"
    if decision == "publish":
        return Ruling("publish", replace(support, supported=True, score=weighed.score, reasons=()))
    # That a word is new is nothing to tell: it was not what decided.
    reasons = tuple(reason for reason in support.reasons if not reason.endswith(NEW_WORD))
    return Ruling(decision, replace(support, supported=False, score=weighed.score, reasons=reasons))


def cite_carrier(
    claim: Claim, sentences: Mapping[str, Sentence], *, recite: Callable[[str], Claim | None], given: str = ""
) -> Claim:
    """Return the claim with the one sentence that says it by itself, if there is one that strictly does.

    A small model often makes a true claim and points beside it, or at a whole page. The sentences that it
    names come first. A claim that names what does not exist is left as it is, to be dropped. `recite` makes
    the claim anew with one sentence, or None if it may not stand with that one.
    """
    if not claim.sentences or any(id_ not in sentences for id_ in claim.sentences):
        return claim
    holds = verify_claim(claim, sentences, given=given).supported
    if holds and len(claim.sentences) == 1:
        return claim
    tried = claim.sentences if holds else (*claim.sentences, *tuple(sentences)[:_MOST_TRIED])
    for one in map(recite, dict.fromkeys(tried)):
        if one is not None and verify_claim(one, sentences, given=given).supported:
            return one
    return claim


def quote_claim(
    claim: Claim, sentences: Mapping[str, Sentence], *, beside: Iterable[Claim]
) -> Iterator[Claim]:
    """Yield the sentences that a claim names as claims of their own, without those that stand `beside` it."""
    texts = {one.text for one in beside}
    for id_ in claim.sentences[:_MOST_QUOTED]:
        if sentences[id_].text not in texts:
            yield Claim(sentences[id_].text, (id_,))


def cite_texts(named: Sequence[Sentence], evidence: Iterable[Sentence]) -> tuple[str, str]:
    """Return the text of sentences in the order of the book, alone and with the sentences beside each."""
    chunks = {one.chunk.id for one in named}
    passages = sorted((one for one in evidence if one.chunk.id in chunks), key=_find_place)
    ids = {one.id for one in named}
    cited = [n for n, one in enumerate(passages) if one.id in ids]
    near = {
        m
        for n in cited
        for m in range(max(0, n - 1), min(len(passages), n + 2))
        if passages[m].chunk.id == passages[n].chunk.id
    }
    return " ".join(passages[n].text for n in cited), " ".join(passages[n].text for n in sorted(near))


def _find_place(one: Sentence) -> tuple[str, int, int]:
    return one.chunk.book_id, one.chunk.document_position, one.start


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
    if isinstance(claim, CatalogueClaim | UnansweredClaim) and not unknown:
        # The catalogue is what its claims are true of, and what is not answered is told by us.
        return Support(supported=True, score=1.0)
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
    for one in sorted(set(named), key=_find_place):
        above = [s for s in passages if s.chunk.id == one.chunk.id and s.end <= one.start]
        above.sort(key=lambda s: -s.start)
        headings = one.chunk.heading_path
        found.append(
            CitedSentence(
                one.text,
                words=one.words,
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
    for before in above[:_MOST_EARLIER]:
        if before.block != one.block:
            return
        yield before.text


def _find_lead(one: Sentence, above: Sequence[Sentence]) -> str:
    """Return the line over the list that a sentence is an item of: one that does not end by itself."""
    if one.kind is not ElementKind.ITEM:
        return ""
    over = next((before for before in above if before.kind is not ElementKind.ITEM), None)
    if over is None or over.kind is ElementKind.ROW or over.text.endswith((".", "!", "?")):
        return ""
    return over.text
