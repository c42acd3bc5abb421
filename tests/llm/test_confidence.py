"""How sure a model's answer is: the gate's scores, and whether the offline answerer agrees."""

from __future__ import annotations

from dataclasses import dataclass

from octavo.answers.replies import Reply
from octavo.llm.confidence import estimate_confidence, measure_answer
from octavo.verification.claims import Claim, Phrase


@dataclass(frozen=True, slots=True)
class Shown:
    text: str


SENTENCES = {"s1": Shown("Seven boats were lost."), "s2": Shown("The lamp was lit at dusk.")}
SEVEN = Claim("Seven boats were lost in all.", ("s1",))
OFFLINE = Reply((Claim("Seven boats were lost.", ("s1",)),), 0.8, 0.7, short=Phrase("s1", 0, 11))
ELSEWHERE = Reply((Claim("The lamp was lit at dusk.", ("s2",)),), 0.8, 0.7, short=Phrase("s2", 4, 8))


def measured(claim: Claim, quoted: Reply, there: Reply, *, score: float = 0.9) -> dict[str, float]:
    return measure_answer([claim], [score], SENTENCES, quoted, there)  # type: ignore[arg-type]


def test_an_answer_is_surer_if_the_offline_one_rests_on_the_same_sentence_and_words() -> None:
    agrees, differs = measured(SEVEN, OFFLINE, OFFLINE), measured(SEVEN, ELSEWHERE, ELSEWHERE)
    assert [agrees[name] for name in ("same_sentence", "same_sentence_there", "same_words_there")] == [
        1,
        1,
        1,
    ]
    assert [differs[name] for name in ("same_sentence", "same_sentence_there", "same_words_there")] == [
        0,
        0,
        0,
    ]
    assert estimate_confidence(agrees) > estimate_confidence(differs) + 0.3


def test_an_answer_is_surer_if_its_passages_are_likely_to_answer() -> None:
    doubtful = Reply(OFFLINE.claims, 0.2, 0.1, short=OFFLINE.short)
    sure, unsure = (estimate_confidence(measured(SEVEN, OFFLINE, there)) for there in (OFFLINE, doubtful))
    assert 0.0 < unsure < sure < 1.0


def test_words_of_a_sentence_that_was_not_shown_count_for_nothing() -> None:
    lost = Reply(OFFLINE.claims, 0.8, 0.7, short=Phrase("s9", 0, 5))
    assert measured(SEVEN, OFFLINE, lost)["same_words_there"] == 0.0
