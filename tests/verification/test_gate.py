"""The gate: which claims pass, and what a trained verifier's opinion changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from octavo.answers.workspace import CachedVerifier, number_sentences
from octavo.search.scope import bound_by_books
from octavo.verification.claims import Claim, GlossedClaim, Sentence
from octavo.verification.gate import SURE_TRANSLATION, cite_carrier, decide, verify_claim, verify_claims
from octavo.verification.meaning import Opinions, load_judges
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


def test_a_claim_is_cited_with_the_one_sentence_that_says_it() -> None:
    evidence = [make_evidence(make_chunk("Ahab has one leg. The ship has three masts."))]
    sentences = {s.id: s for s in number_sentences(evidence, bound_by_books())}
    claim = Claim("The ship has three masts.", ("s1",))
    cited = [
        cite_carrier(
            replace(claim, sentences=ids), sentences, recite=lambda id_: replace(claim, sentences=(id_,))
        )
        for ids in (("s1",), ("s1", "s2"), ("s2",), ("s1", "s99"))
    ]
    assert [one.sentences for one in cited] == [("s2",), ("s2",), ("s2",), ("s1", "s99")]
    assert cite_carrier(claim, sentences, recite=lambda _: None) == claim


def test_a_lead_in_is_no_claim_and_the_reason_is_told() -> None:
    claim = Claim("Here is a summary of the passage:", ("s1",))
    kept, ((text, reason),) = verify_claims([claim], SENTENCES)
    assert (kept, text) == ((), claim.text)
    assert reason == "Here: not in the sentences"


def test_a_translation_that_the_multilingual_verifier_doubts_gives_way_to_the_books_own_words() -> None:
    claim = GlossedClaim("Ganz etwas anderes.", ("s1",), gloss=SENTENCES["s1"].text)
    quoted = Claim(SENTENCES["s1"].text, ("s1",))
    for odds, kept in ((SURE_TRANSLATION, claim), (SURE_TRANSLATION - 0.1, quoted)):
        opinions = Opinions(Verifier(0.0), Verifier(9.0), multilingual=Verifier(odds))
        assert verify_claims([claim], SENTENCES, opinions=opinions) == ((kept,), ())


def test_a_translation_that_no_multilingual_verifier_compares_gives_way_to_the_books_own_words() -> None:
    claim = GlossedClaim("Ganz etwas anderes.", ("s1",), gloss=SENTENCES["s1"].text)
    for opinions in (None, Opinions(Verifier(9.0), Verifier(9.0))):
        kept = (Claim(SENTENCES["s1"].text, ("s1",)),)
        assert verify_claims([claim], SENTENCES, opinions=opinions) == (kept, ())


def test_a_claim_in_another_language_is_checked_by_its_gloss() -> None:
    text = SENTENCES["s1"].text
    assert verify_claim(GlossedClaim("Das Relais.", ("s1",), gloss=text), SENTENCES).supported
    assert not verify_claim(GlossedClaim(text, ("s1",), gloss="The relay has wheels."), SENTENCES).supported


@pytest.mark.parametrize(
    ("sentence", "claim", "kept"),
    [
        ("توفي الملك عام ١٥٤٧ في المدينة القديمة.", "توفي الملك عام 1547.", True),
        ("توفي الملك عام ١٥٤٧ في المدينة القديمة.", "توفي الملك عام 1548.", False),
        ("توفي الملك عام ١٥٤٧ في المدينة القديمة.", "لم يتوف الملك عام ١٥٤٧.", False),
        ("国王于一五四七年在旧城去世。", "国王于一五四七年在旧城去世。", True),
        ("国王于一五四七年在旧城去世。", "国王于一五四八年在旧城去世。", False),
        ("那些旧船不能在冬天出海。", "那些旧船能在冬天出海。", False),
        ("船は冬には海に出ません。", "船は冬には海に出ます。", False),
        ("船は夏には海に出ます。", "船は夏には海に出ません。", False),
        ("배는 여름에 바다로 나갑니다.", "배는 여름에 바다로 나가지 않습니다.", False),
        ("Корабли не выходят в море зимой.", "Корабли выходят в море зимой.", False),
        ("Корабли выходят в море летом.", "Корабли не выходят в море летом.", False),
        ("Die Schiffe fahren im Sommer aus.", "Die Schiffe fahren im Sommer nicht aus.", False),
        ("Los barcos no salen en invierno.", "Los barcos salen en invierno.", False),
        ("Les navires sortent en été.", "Les navires ne sortent jamais en été.", False),
    ],
)
def test_a_changed_number_and_a_changed_negation_pass_in_no_language(
    sentence: str, claim: str, kept: bool
) -> None:
    assert verify_claim(Claim(claim, ("s1",)), make_sentences({(): sentence})).supported is kept


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
    gate = Verifier(0.0)
    assert verify_claims([claim], SENTENCES, opinions=Opinions(verifier, gate)) == ((claim,), ())
    assert (verifier.asked, gate.asked) == ([claim.text], [])


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


# Judged by meaning

PIER = make_sentences(
    {
        ("Storm",): "The storm of 1874 broke the northern pier. Captain Marlow blamed the harbour master. "
        "Nobody repaired it before the spring."
    }
)
FREELY = Claim("A tempest in 1874 destroyed the pier on the north side.", ("s1",))


def judge_by(odds: float) -> Opinions:
    return Opinions(Verifier(0.0), Verifier(odds), Verifier(odds), Verifier(odds))


def test_what_is_said_freely_is_published_quoted_or_dropped_by_its_meaning() -> None:
    rulings = [decide(FREELY, PIER, opinions=judge_by(odds)) for odds in (8.0, 1.5, -8.0)]
    assert [ruling.decision for ruling in rulings] == ["publish", "quote", "drop"]
    assert rulings[0].support.supported
    assert not rulings[2].reason.endswith("not in the sentences")


def test_in_the_place_of_a_doubtful_claim_stand_its_sentences_once() -> None:
    claims = [FREELY, Claim("In 1874 the pier to the north was destroyed by a gale.", ("s1",))]
    kept, dropped = verify_claims(claims, PIER, opinions=judge_by(1.5))
    assert [(claim.text, claim.sentences) for claim in kept] == [(PIER["s1"].text, ("s1",))]
    assert dropped == ()


def test_without_risk_or_opinions_the_strict_rules_decide_alone() -> None:
    assert decide(FREELY, PIER, opinions=judge_by(8.0), risk=0.0).decision == "drop"
    assert decide(FREELY, PIER).decision == "drop"


def test_where_all_words_are_the_books_own_a_sure_verifier_does_not_overrule_who_did_it() -> None:
    for text, ids in (
        ("The northern pier broke the storm of 1874.", ("s1",)),
        ("The storm of 1874 blamed the harbour master.", ("s1", "s2")),
    ):
        assert decide(Claim(text, ids), PIER, opinions=judge_by(8.0)).decision == "quote"


def test_one_bad_sentence_spoils_a_claim_and_a_wrong_id_cannot_be_made_good() -> None:
    class Suspicious(Verifier):
        def __call__(self, claim: str, passages: Sequence[str], /) -> list[float]:
            return [-8.0 if "Bishop" in claim else 8.0 for _ in passages]

    opinions = Opinions(Verifier(0.0), Suspicious(0.0), Suspicious(0.0), Suspicious(0.0))
    both = Claim(f"{FREELY.text} Bishop Odo paid for it.", ("s1",))
    assert decide(both, PIER, opinions=opinions).decision == "drop"
    for claim in (
        replace(FREELY, sentences=("s99",)),
        GlossedClaim("Der Sturm.", ("s1",), gloss=FREELY.text),
    ):
        assert decide(claim, PIER, opinions=judge_by(8.0)).decision == "drop"


def test_every_weight_by_meaning_has_the_sign_of_its_meaning_and_less_risk_asks_for_more() -> None:
    for name in ("small", "large"):
        fit = load_judges()[name]
        shares, limits = zip(*fit["publish"], strict=True)
        assert list(shares) == sorted(shares, reverse=True)
        assert list(limits) == sorted(limits)
        assert limits[0] > fit["quote"]
        against = {n for n, w in fit["weights"].items() if w < 0 and n != "bias"}
        assert {n.split("_")[0] for n in against} <= {"near", "cited", "rule", "new", "gains", "loses"}
        assert min(fit["weights"][n] for n in ("gate", "large", "reader") if n in fit["weights"]) > 0
