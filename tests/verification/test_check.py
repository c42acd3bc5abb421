"""Claims against passages: what is supported, what is caught, and what never breaks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from octavo.models.cross_encoders import Verifier
from octavo.verification.check import MOST_PASSAGE, Support, check, measure

WHALE = (
    "The Pequod sailed from Nantucket in December 1841 with a crew of thirty men. Captain Ahab had lost a "
    "leg to the white whale, and he would not rest before it was dead. Starbuck, the first mate, thought the "
    "hunt was madness. He said so more than once. The owners of the ship had hoped for oil."
)
HARBOUR = (
    "New Bedford was a rich town in those years. Its houses were built with money from oil, and 65% of the "
    "families had somebody at sea. Mr. Coffin kept the inn where Ishmael slept."
)
PHYSICS = (
    "Water boils at 100 degrees at sea level. On a high mountain the pressure is lower, so it boils "
    "earlier. About 5.2 million people live above 2,500 metres. Some of them never cook beans without a "
    "pressure cooker."
)
SHELF = (HARBOUR, WHALE, PHYSICS)


def check_exactly(claim: str, passages: Sequence[str] = SHELF) -> Support:
    found = check(claim, passages)
    if found.snippet is not None:
        assert found.passage is not None
        assert found.snippet in passages[found.passage]
    return found


@pytest.mark.parametrize(
    "claim",
    [
        "Starbuck, the first mate, thought the hunt was madness.",
        "starbuck the first mate thought the hunt was madness",
        "Mr. Coffin kept the inn where Ishmael slept.",
        "He said so more than once. The owners of the ship had hoped for oil.",
    ],
)
def test_a_claim_that_is_a_sentence_of_the_passage_is_all_but_certain(claim: str) -> None:
    found = check_exactly(claim)
    assert found.supported
    assert found.score > 0.97
    assert not found.reasons


def test_the_snippet_is_the_sentence_that_carries_the_claim() -> None:
    found = check_exactly("The first mate Starbuck thought that the hunt was madness.")
    assert found.passage == 1
    assert found.snippet == "Starbuck, the first mate, thought the hunt was madness."


@pytest.mark.parametrize(
    "claim",
    [
        "The Pequod sailed from Nantucket in December 1841.",
        "The Pequod sailed from Nantucket with a crew of 30 men.",
        "Captain Ahab had lost a leg to the white whale.",
        "Ahab wouldn’t rest before it was dead.",
        "In New Bedford, 65 percent of the families had somebody at sea.",
        "Water boils at 100 degrees at sea level, and earlier on a high mountain.",
        "About 5,200,000 people live above 2500 metres.",
        "Houses in New Bedford were built with oil money.",
    ],
)
def test_shortened_and_reworded_claims_stay_supported(claim: str) -> None:
    assert check_exactly(claim).supported


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        ("The Pequod sailed from Nantucket in December 1851 with a crew of thirty men.", "1851"),
        ("The Pequod sailed from Nantucket in December 1841 with a crew of fifty men.", "fifty"),
        ("The Pequod sailed from Boston in December 1841 with a crew of thirty men.", "Boston"),
        ("Ishmael, the first mate, thought the hunt was madness.", "Ishmael"),
        ("Starbuck, the second mate, thought the hunt was madness.", "second"),
        ("Captain Ahab had lost a leg to the black whale.", "black"),
        ("Water does not boil at 100 degrees at sea level.", "negation"),
        ("Captain Ahab would rest before it was dead.", "negation"),
        ("Some of them cook beans without a pressure cooker.", "negation"),
        ("On a high mountain the pressure is higher, so it boils earlier.", "higher"),
        ("About 5.2 billion people live above 2,500 metres.", "5.2"),
    ],
)
def test_one_thing_changed_in_a_true_sentence_is_caught_and_told(claim: str, reason: str) -> None:
    found = check_exactly(claim)
    assert not found.supported
    assert any(reason in r for r in found.reasons), found.reasons


def test_a_number_that_stands_elsewhere_in_the_passage_does_not_excuse_a_wrong_one() -> None:
    passage = "The bridge was opened in 1894. It was widened in 1931 after the flood."
    assert not check_exactly("The bridge was opened in 1931.", [passage]).supported
    assert check_exactly("The bridge was widened in 1931.", [passage]).supported


def test_names_that_change_places_are_caught() -> None:
    passage = ["Queequeg saved Tashtego from drowning in the head of the whale."]
    assert not check_exactly(
        "Tashtego saved Queequeg from drowning in the head of the whale.", passage
    ).supported
    assert check_exactly(
        "In the head of the whale, Queequeg saved Tashtego from drowning.", passage
    ).supported


def test_names_in_a_list_may_change_places() -> None:
    passage = ["Stubb and Flask pulled hard, while Daggoo and Tashtego sang."]
    assert check_exactly("Flask and Stubb pulled hard, while Tashtego and Daggoo sang.", passage).supported


@pytest.mark.parametrize(
    "claim",
    [
        "I love whales, do you?",
        "The book was a great success with readers in London.",
        "Moby Dick swims in all the oceans of the world.",
        "Photosynthesis turns light into sugar.",
        "Captain Ahab had lost a leg to the white whale, and his daughter married a Quaker banker.",
    ],
)
def test_what_the_passages_do_not_say_is_not_supported(claim: str) -> None:
    assert not check_exactly(claim).supported


def test_a_wrong_claim_scores_below_the_right_one_and_a_foreign_one_lower_still() -> None:
    right = check("The owners had hoped for oil.", SHELF).score
    partly = check("The owners and the harbour master had hoped for gold and oil.", SHELF).score
    foreign = check("Elections are held every four years.", SHELF).score
    assert right > partly > foreign


def test_evidence_may_lie_in_neighbouring_sentences() -> None:
    found = check_exactly("Starbuck thought the hunt was madness and said so more than once.")
    assert found.supported
    assert found.passage == 1


def test_the_order_of_the_passages_changes_only_the_index() -> None:
    claim = "The Pequod sailed from Nantucket in December 1841."
    one, other = check(claim, SHELF), check(claim, SHELF[::-1])
    assert (one.score, one.snippet) == (other.score, other.snippet)
    assert (one.passage, other.passage) == (1, 1)
    assert check(claim, (WHALE, *SHELF)).passage == 0


@pytest.mark.parametrize("claim", ["", "   ", "🐋🐋", "…?!", "\u200b"])
def test_a_claim_without_words_is_not_supported(claim: str) -> None:
    found = check_exactly(claim)
    assert (found.supported, found.score, found.passage, found.snippet) == (False, 0.0, None, None)
    assert found.reasons == ("the claim has no words",)


@pytest.mark.parametrize("passages", [[], [""], ["", " \n "], ["🐋"]])
def test_nothing_is_supported_by_nothing(passages: list[str]) -> None:
    found = check_exactly("The whale was white.", passages)
    assert (found.supported, found.passage) == (False, None)
    assert found.reasons == ("no passage shares a word with the claim",)


@pytest.mark.parametrize("claim", ["Here is a summary of the passage:", "Key points include:", "2."])
def test_a_lead_in_claims_nothing_and_passes(claim: str) -> None:
    found = check_exactly(claim)
    assert found.supported
    assert found.passage is None
    assert not check_exactly(claim, []).supported


def test_a_denial_about_the_passage_is_no_lead_in() -> None:
    assert not check_exactly("There is no information in the passage.").supported


@pytest.mark.parametrize(
    ("claim", "passage", "wrong"),
    [
        ("鲸鱼是白色的。", "那条鲸鱼是白色的。船长失去了一条腿。", "大象住在非洲的草原上。"),
        ("船長は片足を失った。", "船長は片足を失った。鯨は白かった。", "大統領は選挙に勝った。"),
        ("Кит был белым.", "Капитан потерял ногу. Кит был белым.", "Выборы прошли весной."),
        ("व्हेल सफ़ेद थी।", "कप्तान ने पैर खो दिया। व्हेल सफ़ेद थी।", "चुनाव हुए।"),
    ],
)
def test_other_scripts_are_compared_too(claim: str, passage: str, wrong: str) -> None:
    assert check_exactly(claim, [wrong, passage]).supported
    assert check_exactly(claim, [wrong, passage]).passage == 1
    assert not check_exactly(wrong, [passage]).supported


def test_accents_and_typographic_quotes_do_not_matter() -> None:
    passage = ["There are over 750 episodes of Pokémon, and they don’t end."]
    assert check_exactly("There are over 750 episodes of Pokemon, and they do not end.", passage).supported


def test_only_the_beginning_of_an_enormous_passage_is_read() -> None:
    enormous = "The sea was calm. " * 60_000
    assert check_exactly("The whale was white.", [enormous + "The whale was white."]).score < 0.97
    early = "The whale was white. " + enormous
    found = check_exactly("The whale was white.", [early])
    assert found.snippet == "The whale was white."
    assert early.index(found.snippet) < MOST_PASSAGE


@pytest.mark.parametrize(
    "filler", ["\n", ". ", '."', "1.", "1,", "9", "not ", "Aa ", "鲸", "a'", "(", "— and "]
)
def test_hostile_repetition_is_harmless(filler: str) -> None:
    text = filler * (40_000 // len(filler))
    found = check_exactly(f"The whale {text}", [f"{text} whale", text])
    assert 0.0 <= found.score <= 1.0


def test_every_weight_has_the_sign_of_its_meaning() -> None:
    data = json.loads(files("octavo.verification").joinpath("verification.json").read_bytes())
    against = {"person", "number_absent", "name_absent", "swapped", "opposite", "negation"}
    weights = data["weights"]
    assert set(weights) - {"bias"} == set(measure("The ship left Boston.", SHELF).features)
    assert all(w <= 0 if n in against else w >= 0 for n, w in weights.items() if n != "bias")
    assert 0.5 <= data["threshold"] < 0.9


TEXT = st.text(st.sampled_from("ab AB19.,!?\n'’-%鲸は한é🐋\u0301\u0e01क") | st.characters(), max_size=60)


@given(claim=TEXT, passages=st.lists(TEXT, max_size=4))
@example(claim="twenty-one ² million", passages=["²", "21 million 9e9 ٣"])
@settings(max_examples=150, deadline=None)
def test_any_text_gives_a_score_between_0_and_1_and_an_exact_snippet(claim: str, passages: list[str]) -> None:
    found = check_exactly(claim, passages)
    assert 0.0 <= found.score <= 1.0
    assert (found.passage is None) == (found.snippet is None)
    assert found == check(claim, passages)
    assert all(0.0 <= value <= 1.0 for value in measure(claim, passages).features.values())


WORDS = st.lists(
    st.sampled_from(("whale", "ship", "captain", "leg", "sea", "white", "oil", "sailed", "lost")),
    min_size=3,
    max_size=9,
)


@given(before=WORDS, sentence=WORDS, after=WORDS)
@settings(max_examples=50, deadline=None)
def test_any_sentence_of_a_passage_is_supported_by_it(
    before: list[str], sentence: list[str], after: list[str]
) -> None:
    claim = " ".join(sentence).capitalize() + "."
    passage = f"{' '.join(before).capitalize()}. {claim} {' '.join(after).capitalize()}."
    assert check(claim, ["Nothing of the kind.", passage]).score > 0.97


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("twenty-one", "21"),
        ("5 million", "5,000,000"),
        ("1.5 thousand", "1500"),
        ("3rd", "3"),
        ("7.0", "7"),
        ("12 percent", "12%"),
        ("two hundred", "200"),
        ("1960s", "1960"),
    ],
)
def test_numbers_agree_however_they_are_written(said: str, written: str) -> None:
    for claim, passage in ((said, written), (written, said)):
        found = measure(
            f"The harbour counted {claim} that year.", [f"The harbour counted {passage} that year."]
        )
        assert not found.reasons
        assert found.features["number_absent"] == 0.0


@pytest.mark.parametrize(
    ("claim", "passage"), [("fourteen", "40"), ("1,5", "15.2"), ("3", "4"), ("0.5", "5")]
)
def test_different_numbers_do_not_agree(claim: str, passage: str) -> None:
    found = measure(f"The harbour counted {claim} ships.", [f"The harbour counted {passage} ships."])
    assert found.features["swapped"] > 0.0
    assert found.reasons


def test_reasons_name_what_is_missing_in_the_words_of_the_claim() -> None:
    found = check_exactly("The Pequod sailed from Hamburg in December 1799 with a crew of thirty men.")
    assert "number 1799 is not in the passage" in found.reasons
    assert "name Hamburg is not in the passage" in found.reasons
    assert "Hamburg stands where the passage has Nantucket" in found.reasons


def test_a_negation_in_another_clause_does_not_count_against_the_claim() -> None:
    passage = ["The cook did not wake, but the boy heard the bell and ran to the deck."]
    assert check_exactly("The boy heard the bell and ran to the deck.", passage).supported
    assert not check_exactly("The boy never heard the bell and ran to the deck.", passage).supported


def test_a_negation_said_otherwise_is_the_same_negation() -> None:
    passage = ["The captain never spoke to the crew about the storm."]
    assert check_exactly("The captain did not speak to the crew about the storm.", passage).supported
    assert check_exactly("The captain didn't speak to the crew about the storm.", passage).supported


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("Storey is noted as the most decorated swimmer.", "Storey is the most decorated swimmer of all."),
        ("The study notes that 88,600 people died.", "In all 88,600 people died, the researchers say."),
        ("The theme of the poem is the sea.", "The sea is what the poem has for a theme, not the land."),
    ],
)
def test_a_word_that_looks_like_a_negation_is_none(claim: str, passage: str) -> None:
    found = measure(claim, [passage])
    assert found.features["negation"] == 0.0
    assert not any("negation" in reason for reason in found.reasons)


def test_to_be_noted_is_not_what_not_to_be_is() -> None:
    denied = "Rollo was not a sailor in the fleet of the Norsemen."
    noted = "Rollo was a noted sailor in the fleet of the Norsemen."
    assert not check(noted, [denied]).supported
    assert not check(denied, [noted]).supported


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("The alloy is magnetic when warm.", "The alloy is non-magnetic when warm."),
        ("The alloy is non-magnetic when warm.", "The alloy is magnetic when warm."),
        ("The gate is open in the morning.", "The gate is closed in the morning."),
        ("No, the gate is not open in the morning.", "The gate is open in the morning."),
    ],
)
def test_what_is_denied_on_one_side_only_is_caught(claim: str, passage: str) -> None:
    assert not check(claim, [passage]).supported


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("The alloy is not magnetic when warm.", "The alloy is non-magnetic when warm."),
        (
            "Guests are not allowed to eat with the players.",
            "Guests are forbidden from eating with the players.",
        ),
        ("No, the pier was built in 1890.", "The pier was built in 1890."),
        ("No, the pier was lost in the storm.", "“No, the pier was lost in the storm,” he said."),
        ("No, the pier was lost in the storm.", "No, the pier was lost in the storm. He said so."),
        ("The pier was lost in the storm.", "No, the pier was lost in the storm."),
        ("No. 5 Quay Street was lost in the storm.", "In the storm No. 5 Quay Street was lost."),
        ("Not really, the pier was built in 1890.", "The pier was built in the year 1890."),
        ("The coal mine in Wales closed in 1984.", "The coal mines in Wales closed in 1984."),
        ("The ship was owned by the Danes.", "The Danes own the ship."),
        ("Note that the tax reduced smoking in 1990.", "The tax reduced smoking in 1990."),
    ],
)
def test_the_same_said_otherwise_stays_supported(claim: str, passage: str) -> None:
    found = check(claim, [passage])
    assert found.supported
    assert not found.reasons


@pytest.mark.parametrize(
    "question",
    [
        "Was the hunt madness?",
        "Had Captain Ahab lost a leg to the white whale?",
        "So, was the hunt madness?!",
        "**Was the hunt madness?**",
        "“Was the hunt madness?”",
        "Was the hunt madness？",
    ],
)
def test_a_question_claims_nothing(question: str) -> None:
    asked, told = check_exactly(question), check_exactly(question.replace("?", ".").replace("？", "."))
    assert asked.score < told.score
    assert not asked.supported
    assert "a question claims nothing" in asked.reasons
    assert "a question claims nothing" not in told.reasons


def test_a_question_that_tells_something_is_judged_by_what_it_tells() -> None:
    found = check_exactly("Did you know that Captain Ahab had lost a leg to the white whale?")
    assert found.supported
    assert not check_exactly("Did you know that Captain Ahab had lost an arm to the black bear?").supported
    assert not check_exactly(
        "How did you know that Captain Ahab had lost a leg to the white whale?"
    ).supported


def test_a_title_may_end_like_a_question() -> None:
    passage = "Kant wrote the essay What Is Enlightenment? in 1784, for a monthly paper."
    found = check("Kant wrote the essay What Is Enlightenment?", [passage])
    assert found.supported
    assert not found.reasons


def test_a_quoted_question_is_a_claim_about_who_asked() -> None:
    passage = 'Ahab hailed every ship. "Hast seen the white whale?" he asked the captain of the Rachel.'
    found = check('Ahab asked the captain of the Rachel, "Hast seen the white whale?"', [passage])
    assert found.supported
    assert not found.reasons


@pytest.mark.parametrize("said", ["I think that the hunt was madness.", "Yes I’d say the hunt was madness."])
def test_what_the_speaker_says_of_himself_is_not_in_a_book_that_does_not_speak_of_him(said: str) -> None:
    found = check_exactly(said)
    assert found.score < check_exactly("They think that the hunt was madness.").score
    assert "it is about the speaker, the passages are not" in found.reasons


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("I thought the hunt was madness.", "I thought that the hunt was madness, and I told them so."),
        ("The sailor struck me with a rope.", "I was struck by the sailor with a rope."),
        ("World War I ended in 1918.", "The war of 1914 ended in 1918."),
        ("Charles I was beheaded in 1649.", "King Charles was beheaded in 1649."),
        ("Fish, i.e. animals with gills, live in water.", "Fish are animals with gills that live in water."),
        ("I, Robot was written by Asimov in 1950.", "Asimov wrote the robot stories in 1950."),
        ("Der Wal wurde im Jahr 1851 gesehen.", "Der Wal wurde 1851 gesehen."),
    ],
)
def test_not_every_i_is_the_speaker(claim: str, passage: str) -> None:
    assert not any("speaker" in reason for reason in check(claim, [passage]).reasons)


def test_a_teller_in_another_passage_is_a_speaker_too() -> None:
    seen = "The white whale was seen off Java."
    assert "it is about the speaker, the passages are not" in check("I saw a whale off Java.", [seen]).reasons
    assert not check("I saw a whale off Java.", [seen, "Then I laughed."]).reasons


def test_an_abbreviation_does_not_end_a_sentence() -> None:
    found = check_exactly(
        "Dr. Bunger of the Samuel Enderby had a wooden mallet.", ["Dr. Bunger had a wooden mallet. So?"]
    )
    assert found.snippet == "Dr. Bunger had a wooden mallet."


def test_a_claim_that_is_half_true_scores_below_its_true_half() -> None:
    half = "Starbuck, the first mate, thought the hunt was madness"
    both = f"{half}, and the cook agreed with every word of the sermon."
    assert check(f"{half}.", SHELF).score > 0.97
    assert check(both, SHELF).score < check(f"He said so, and {half}.", SHELF).score
    assert measure(both, SHELF).features["weakest"] < 0.5


def test_passages_beyond_the_first_two_hundred_are_not_read() -> None:
    foreign = ["Elections are held every four years."] * 200
    assert check_exactly("The whale was white.", [*foreign[:-1], "The whale was white."]).passage == 199
    assert not check_exactly("The whale was white.", [*foreign, "The whale was white."]).supported


# With the opinion of a trained verifier


class Opinion:
    """Says what it is told to, and notes what it was asked."""

    def __init__(self, odds: float) -> None:
        self.odds, self.asked = odds, list[tuple[str, tuple[str, ...]]]()

    def __call__(self, claim: str, texts: Sequence[str]) -> list[float]:
        self.asked.append((claim, tuple(texts)))
        return [self.odds] * len(texts)


DOUBTED = "The Pequod sailed from Nantucket with a small crew of men."


def test_an_opinion_raises_or_lowers_the_score_and_is_bounded() -> None:
    plain, scores = check(DOUBTED, SHELF).score, {}
    for odds in (-400.0, -4.0, -1.0, 0.0, 1.0, 4.0, 400.0):
        scores[odds] = check(DOUBTED, SHELF, opinion=Opinion(odds)).score
    assert scores[-4.0] < scores[-1.0] < scores[0.0] == plain < scores[1.0] < scores[4.0]
    assert (scores[-400.0], scores[400.0]) == (scores[-4.0], scores[4.0])


def test_the_opinion_is_asked_once_about_the_best_window_with_what_stands_around_it() -> None:
    padding = "Nothing of the kind was ever said there. " * 40
    passage = f"{padding}The Pequod sailed from Nantucket in December. {padding}"
    opinion = Opinion(1.0)
    found = check(DOUBTED, ["Quite another thing.", passage], opinion=opinion)
    ((claim, (shown,)),) = opinion.asked
    assert claim == DOUBTED
    assert found.snippet is not None
    assert found.snippet in shown
    assert shown in passage
    assert len(shown) <= len(found.snippet) + 2 * 350


def test_reasons_and_snippet_are_the_same_with_an_opinion() -> None:
    plain, told = check(DOUBTED, SHELF), check(DOUBTED, SHELF, opinion=Opinion(-3.0))
    assert (plain.passage, plain.snippet, plain.reasons) == (told.passage, told.snippet, told.reasons)


@pytest.mark.parametrize("claim", ["", "...", "Here is a summary of the passage:", "xylophone quartz"])
def test_where_nothing_is_weighed_nobody_is_asked(claim: str) -> None:
    opinion = Opinion(4.0)
    assert check(claim, SHELF, opinion=opinion) == check(claim, SHELF)
    assert opinion.asked == []


def test_what_the_passage_says_word_for_word_needs_no_opinion() -> None:
    opinion = Opinion(-4.0)
    assert check("He said so more than once.", SHELF, opinion=opinion).supported
    assert opinion.asked == []


def test_the_shipped_verifier_lowers_a_changed_number_and_keeps_the_true_sentence() -> None:
    support = Verifier(threads=1).score_support
    true = check("Captain Ahab had lost a leg to the white whale.", SHELF, opinion=support)
    false = check("The Pequod sailed from Nantucket in December 1851.", SHELF, opinion=support)
    assert true.supported
    assert not false.supported
    assert false.score < check("The Pequod sailed from Nantucket in December 1851.", SHELF).score
