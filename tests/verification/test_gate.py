"""The gate: which claims pass, and what a trained verifier's opinion changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from octavo.answers.workspace import CachedVerifier, number_sentences
from octavo.search.scope import bound_by_books
from octavo.verification.claims import Claim, GlossedClaim, Sentence
from octavo.verification.gate import verify_claim, verify_claims
from tests.support.builders import make_chunk, make_evidence
from tests.support.paraphrases_in_context import SHELF


def make_sentences(shelf: Mapping[tuple[str, ...], str]) -> dict[str, Sentence]:
    chunks = [replace(make_chunk(text), heading_path=headings) for headings, text in shelf.items()]
    evidence = [make_evidence(chunk, rank=rank) for rank, chunk in enumerate(chunks, start=1)]
    return {sentence.id: sentence for sentence in number_sentences(evidence, bound_by_books())}


SENTENCES = make_sentences(SHELF)


def test_a_claim_holds_when_its_sentences_bear_it_out() -> None:
    evidence = [make_evidence(make_chunk("Ahab has one leg. The ship has three masts."))]
    sentences = {s.id: s for s in number_sentences(evidence, bound_by_books())}
    claims = [
        Claim("The ship has three masts.", ("s2",)),
        Claim("The ship has three masts.", ("s1",)),
        Claim("The ship has four masts.", ("s2",)),
        Claim("Ahab has one leg, and the ship has three masts.", ("s1", "s2")),
        Claim("Ahab has no leg.", ("s1",)),
    ]
    kept, dropped = verify_claims(claims, sentences)
    assert kept == (claims[0], claims[3])
    assert [text for text, _ in dropped] == [claims[n].text for n in (1, 2, 4)]
    assert all(reason for _, reason in dropped)


def test_a_claim_that_names_no_sentence_of_the_evidence_does_not_pass() -> None:
    for ids in ((), ("s1", "s999")):
        support = verify_claim(Claim(SENTENCES["s1"].text, ids), SENTENCES)
        assert (support.supported, support.score) == (False, 0.0)
        assert support.reasons[0].startswith("names no sentence of the evidence")


def test_a_lead_in_is_no_claim_and_the_reason_is_told() -> None:
    claim = Claim("Here is a summary of the passage:", ("s1",))
    kept, ((text, reason),) = verify_claims([claim], SENTENCES)
    assert (kept, text) == ((), claim.text)
    assert reason == "Here: not in the sentences"


def test_a_claim_in_another_language_is_checked_by_its_gloss() -> None:
    text = SENTENCES["s1"].text
    assert verify_claim(GlossedClaim("Das Relais.", ("s1",), gloss=text), SENTENCES).supported
    assert not verify_claim(GlossedClaim(text, ("s1",), gloss="The relay has wheels."), SENTENCES).supported


# A trained verifier's opinion


class Verifier:
    """Says the same of everything, and notes what it was asked."""

    def __init__(self, odds: float) -> None:
        self.odds = odds
        self.asked: list[str] = []

    def __call__(self, claim: str, passages: Sequence[str], /) -> list[float]:
        self.asked.append(claim)
        return [self.odds for _ in passages]


def test_an_opinion_moves_the_score_of_a_claim_and_lifts_no_objection() -> None:
    claim = Claim("A letter of more than 20 MB may be refused by the sorter.", ("s3",))
    scores = [verify_claim(claim, SENTENCES, opinion=Verifier(odds)).score for odds in (-4.0, 0.0, 4.0)]
    assert scores == sorted(set(scores))
    lie = Claim("The sorter refuses a letter of more than 20 MB.", ("s3",))
    sure = verify_claim(lie, SENTENCES, opinion=Verifier(4.0))
    assert not sure.supported
    assert sure.reasons == ("the sentences say 'may'",)


def test_claims_are_checked_with_the_opinion_that_is_given() -> None:
    claim, verifier = (
        Claim("A letter of more than 20 MB may be refused by the sorter.", ("s3",)),
        Verifier(4.0),
    )
    assert verify_claims([claim], SENTENCES, opinion=verifier) == ((claim,), ())
    assert verifier.asked == [claim.text]


def test_a_verifier_is_asked_once_about_the_same_claim_and_not_about_a_quotation() -> None:
    verifier = Verifier(4.0)
    opinion = CachedVerifier(verifier)
    quoted = Claim(SENTENCES["s3"].text, ("s3",))
    assert verify_claim(quoted, SENTENCES, opinion=opinion).supported
    assert (opinion.was_asked, verifier.asked) == (False, [])
    claim = Claim("A letter of more than 20 MB may be refused by the sorter.", ("s3",))
    first = verify_claim(claim, SENTENCES, opinion=opinion)
    assert verify_claim(claim, SENTENCES, opinion=opinion) == first
    assert (opinion.was_asked, verifier.asked) == (True, [claim.text])
