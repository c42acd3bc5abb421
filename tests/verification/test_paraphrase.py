"""What may be said of a book in other words: most of what is honest, and nothing that is a lie."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.answers.workspace import number_sentences
from octavo.search.scope import bound_by_books
from octavo.verification.claims import Claim, Sentence
from octavo.verification.context import CitedSentence
from octavo.verification.gate import verify_claim
from octavo.verification.paraphrase import judge
from tests.support.builders import make_chunk, make_evidence
from tests.support.paraphrases import FALSE, HONEST, KINDS, SHELF, make_lies

KEPT = 0.8  # of the honest ones; 84 of 102 when this was written
SEEDS, EACH = (101, 202, 303), 500


def make_sentences(shelf: Mapping[str, str]) -> dict[str, Sentence]:
    chunks = [replace(make_chunk(text), heading_path=(heading,)) for heading, text in shelf.items()]
    evidence = [make_evidence(chunk, rank=rank) for rank, chunk in enumerate(chunks, start=1)]
    return {sentence.id: sentence for sentence in number_sentences(evidence, bound_by_books())}


SENTENCES = make_sentences(SHELF)


def object_to(said: str, cited: Sequence[CitedSentence], *, given: str = "") -> tuple[str, ...]:
    return judge(said, cited, given=given).against


def is_supported(text: str, ids: Sequence[str]) -> bool:
    return verify_claim(Claim(text, tuple(ids)), SENTENCES).supported


def test_most_of_what_is_honestly_said_in_other_words_is_kept() -> None:
    lost = [text for ids, text in HONEST if not is_supported(text, ids.split())]
    assert len(HONEST) >= 100
    assert len(lost) <= (1 - KEPT) * len(HONEST), lost


def test_of_lies_that_keep_to_the_books_words_none_is_kept() -> None:
    assert [text for ids, text in FALSE if is_supported(text, ids.split())] == []


@pytest.mark.parametrize("seed", SEEDS)
def test_of_five_hundred_lies_of_every_kind_none_is_kept(seed: int) -> None:
    texts = {id_: sentence.text for id_, sentence in SENTENCES.items()}
    told = list(make_lies(seed, texts, EACH))
    kinds = Counter(kind for kind, _, _ in told)
    assert set(kinds) == set(KINDS)
    assert min(kinds.values()) > 10
    assert [(kind, text) for kind, text, ids in told if is_supported(text, ids)] == []


def test_a_question_and_what_the_speaker_says_of_himself_are_not_claims_of_an_answer() -> None:
    shelf = make_sentences({"Pier": "The pier was built in 1890 by the fishermen of the town."})
    (id_,) = shelf
    for text, kept in {
        "The pier was built in 1890.": True,
        "Was the pier built in 1890?": False,
        "I built the pier in 1890.": False,
    }.items():
        assert verify_claim(Claim(text, (id_,)), shelf).supported is kept, text


def test_every_sentence_may_be_quoted_and_several_in_one_claim() -> None:
    for id_, sentence in SENTENCES.items():
        assert is_supported(sentence.text, [id_])
        assert not is_supported(sentence.text, ["s1" if id_ != "s1" else "s2"])
    assert is_supported(f"{SENTENCES['s8'].text} {SENTENCES['s9'].text}", ["s8", "s9"])


@pytest.mark.parametrize(
    ("said", "cited", "against"),
    [
        ("The beam was seen in Zanzibar.", "The beam was seen.", "Zanzibar: not in the sentences"),
        ("The lamp was lit before dusk.", "The lamp was lit after dusk.", "before: not in the sentences"),
        ("The lamp may be lit.", "The lamp is lit.", "the sentences do not say 'may'"),
        ("The lamp is lit.", "The lamp is rarely lit.", "the sentences say 'rarely'"),
        ("Nobody lit no lamp.", "Nobody lit the lamp.", "negation differs"),
        ("A dog bit the man.", "The man bit a dog.", "who does it, and to whom, is turned around"),
        ("The road has 9 miles.", "The road has 9 turns and some miles.", "the sentences say 'some'"),
        ("Mix 9 cups of milk.", "Mix 9 cups of flour and milk.", "9 counts something else"),
        ("He earned 9 pounds.", "He earned 9 pounds a week.", "a week is left out"),
        ("The town bans cars.", "The town bans old cars.", "old is left out"),
        ("One may enter.", "With a key, one may enter.", "With a key is left out"),
        ("The mayor sleeps.", "The mayor, who has a dog, barks when it sleeps.", "the sentences say 'when'"),
        ("The man came to the ship.", "The man of the ship came.", "ship is said otherwise"),
    ],
)
def test_an_objection_says_what_it_is_about(said: str, cited: str, against: str) -> None:
    assert object_to(said, [CitedSentence(cited)]) == (against,)


def test_who_he_is_may_be_told_by_the_sentence_before_and_by_the_heading_only() -> None:
    he = CitedSentence("He kept the key.", before="The miller locked the door.")
    assert object_to("The miller kept the key.", [he]) == ()
    assert object_to("The miller kept the key.", [replace(he, before="")])
    assert object_to("The miller kept the key.", [replace(he, before="", headings="The Miller")]) == ()
    assert object_to("The baker kept the key.", [he])


def test_a_name_from_a_sentence_far_away_is_not_who_he_is() -> None:
    assert is_supported("The vault was opened three times.", ["s12", "s13"])
    assert not is_supported("The northern pier was opened three times.", ["s8", "s13"])


def test_in_other_languages_what_keeps_to_the_words_is_kept() -> None:
    german = [CitedSentence("Im großen Sturm gingen sieben Boote verloren, und der Hafen war leer.")]
    assert object_to("Im großen Sturm gingen die sieben Boote verloren.", german) == ()
    assert object_to("Im großen Sturm gingen neun Boote verloren.", german)
    assert object_to("Im großen Sturm gingen nicht sieben Boote verloren.", german)
    assert object_to("七艘船失踪了。", [CitedSentence("七艘船失踪了。")]) == ()
    assert object_to("九艘船失踪了。", [CitedSentence("七艘船失踪了。")])


@given(st.text(max_size=200), st.lists(st.text(max_size=200), max_size=3))
def test_any_text_is_judged_and_every_quotation_holds(said: str, texts: list[str]) -> None:
    cited = [CitedSentence(text) for text in texts]
    assert isinstance(object_to(said, cited), tuple)
    assert all(object_to(text, cited) == () for text in texts)


def test_a_comma_inside_a_number_parts_no_statements() -> None:
    text = "A chunk has 10 to 2,000 characters, and never crosses a heading."
    assert object_to("A chunk has 10 to 2,000 characters.", [CitedSentence(text)]) == ()
    assert object_to("A chunk has 10 to 3,000 characters.", [CitedSentence(text)])
    assert object_to("A chunk has 10 to 2 characters.", [CitedSentence(text)])
