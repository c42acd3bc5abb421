"""Answers made of the book's own sentences."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.answers.calibration import answerable, confidence
from octavo.answers.extract import Extraction, extract_answer, is_apparatus, is_reference, shortlist
from octavo.answers.features import SentenceScore
from octavo.text.blocks import find_block, list_blocks
from octavo.verification.claims import Claim, Sentence
from tests.support.builders import make_chunk

NORMANS = (
    "The Normans were the people who gave their name to Normandy. They were descended from Norse raiders "
    "from Denmark. Under their leader Rollo they swore fealty to King Charles in 911. The duchy grew rich "
    "from trade because its ports were free of ice. William the Conqueror had three sons."
)
WEATHER = "It rained for most of the spring. The fields were wet and the farmers stayed at home."
POINTERS = (
    "A reference is a pointer to data that something else owns. A smart pointer owns the data that it "
    "points to. Both can be passed to functions."
)


def passage(text: str, *, rank: int = 1, title: str = "Normans", start: int = 0) -> list[Sentence]:
    """A passage parted after full stops and at line ends, as the evidence of one rank."""
    chunk = make_chunk(text, section_id=f"section-{title}", heading_path=(title,), start=start)
    spans = [m.span() for m in re.finditer(r"[^\s.][^.\n]*(?:\.|(?=\n|$))", text)]
    blocks = [block.shift(start) for block in list_blocks(text)]
    return [
        Sentence(
            f"r{rank}s{n}",
            chunk,
            a + start,
            b + start,
            text[a:b],
            0.5,
            rank,
            0.8,
            find_block(blocks, a + start),
        )
        for n, (a, b) in enumerate(spans, start=1)
    ]


def asked(question: str, *passages: list[Sentence]) -> Extraction:
    return extract_answer(question, [s for p in passages for s in p])


def said(draft: Extraction) -> str:
    return " ".join(claim.text for claim in draft.claims)


def marked(draft: Extraction) -> list[str]:
    return [claim.text[a:b] for claim in draft.claims for a, b in claim.marks]


@pytest.mark.parametrize(
    ("question", "words", "mark"),
    [
        ("When did Rollo swear fealty to King Charles?", "in 911", "911"),
        ("How many sons did William the Conqueror have?", "three sons", "three"),
        ("Why did the duchy grow rich?", "because its ports", "because its ports were free of ice"),
        ("Who was the leader that swore fealty to King Charles?", "leader Rollo", "Rollo"),
    ],
)
def test_the_answering_sentence_is_given_and_its_answer_marked(question: str, words: str, mark: str) -> None:
    draft = asked(question, passage(NORMANS), passage(WEATHER, rank=2, title="Weather"))
    assert words in said(draft)
    assert mark in marked(draft)


def test_a_question_without_evidence_gets_an_empty_draft() -> None:
    draft = extract_answer("Who led the Normans?", [])
    assert draft == Extraction((), {})
    assert confidence(draft.features) == 0.0


def test_a_leaning_sentence_brings_the_one_it_leans_on() -> None:
    text = "The Huguenots settled at the Cape. They were descended from farmers in Provence. Rain fell."
    draft = asked("From whom were the Huguenots descended?", passage(text, title="Cape"))
    claim = next(c for c in draft.claims if "farmers" in c.text)
    assert claim.text.startswith("The Huguenots settled at the Cape. They were")
    assert claim.sentences == ("r1s1", "r1s2")


def test_a_lead_in_brings_its_items() -> None:
    items = "- igneous rock\n- sedimentary rock\n- metamorphic rock"
    text = f"There are three kinds of rock:\n{items}\nRocks are old."
    draft = asked("What are the kinds of rock?", passage(text, title="Geology"))
    assert any("igneous" in c.text and "metamorphic" in c.text for c in draft.claims)
    assert draft.claims[0].text.startswith("There are three kinds of rock:\n- igneous rock")


@pytest.mark.parametrize("marks", ["- - -", "— — —", "1) 2) 3)", "(i) (ii) (iii)", "| | |"])
def test_a_lead_in_brings_its_items_however_they_are_marked(marks: str) -> None:
    one, two, three = marks.split()
    items = f"{one} igneous rock\n{two} sedimentary rock\n{three} metamorphic rock"
    text = f"There are three kinds of rock:\n{items}\nIt rained."
    draft = asked("What are the kinds of rock?", passage(text))
    assert draft.claims[0].text == text.removesuffix("\nIt rained.")


@pytest.mark.parametrize("line", ["112", "[D]"])
def test_a_line_without_words_is_no_item(line: str) -> None:
    text = f"Building an image has few requirements:\n{line}\nRain fell on the pier."
    draft = asked("What are the requirements for building an image?", passage(text, title="Building"))
    assert draft.claims[0].text == "Building an image has few requirements:"


def test_an_introduced_line_of_code_comes_along() -> None:
    text = "Books need a shelf. To add one, run this command:\noctavo add moby-dick\nIt prints the title."
    draft = asked("How do I add a book?", passage(text, title="Adding"))
    assert any("run this command:\noctavo add moby-dick" in c.text for c in draft.claims)


def test_a_definition_is_the_sentence_that_defines() -> None:
    text = (
        "Many programs use a borrow checker. We saw ownership in use before. Ownership is a set of rules "
        "that govern memory. Later chapters return to ownership."
    )
    draft = asked("What is ownership?", passage(text, title="Understanding Ownership"))
    assert "Ownership is a set of rules that govern memory." in said(draft)


def test_a_comparison_has_a_sentence_for_each_side() -> None:
    draft = asked("What is the difference between a reference and a smart pointer?", passage(POINTERS))
    assert "A reference is a pointer" in said(draft)
    assert "A smart pointer owns" in said(draft)


@pytest.mark.parametrize(
    ("question", "after", "turned"),
    [
        ("what is a skiff?", "However, it has no sail of its own.", True),
        ("is a skiff a small boat?", "But it is larger than a dinghy.", True),
        ("what is a skiff?", "Many of them lie in the harbour.", False),
        ("which boat is called a skiff?", "But the fog came that night.", False),
    ],
)
def test_a_sentence_that_turns_the_one_before_comes_with_it(question: str, after: str, turned: bool) -> None:
    draft = asked(question, passage(f"A skiff is a small boat. {after} The pier was broken.", title="Boats"))
    assert (after in draft.claims[0].text) is turned


def test_a_yes_or_no_question_gets_the_sentence_that_states_it() -> None:
    draft = asked("Were the Normans descended from Norse raiders?", passage(NORMANS))
    assert "descended from Norse raiders" in said(draft)
    assert not said(draft).lower().startswith(("yes", "no "))
    assert marked(draft) == []


def test_claims_of_one_section_stand_in_the_order_of_the_book() -> None:
    early = passage("Rollo ruled Normandy well.", rank=2, start=0)
    late = passage("Rollo ruled Normandy for long.", rank=1, start=500)
    draft = asked("How did Rollo rule Normandy?", late, early)
    assert [c.text for c in draft.claims] == ["Rollo ruled Normandy well.", "Rollo ruled Normandy for long."]


def test_the_same_words_are_said_once() -> None:
    one, other = (
        passage("Rollo ruled Normandy.", title="One"),
        passage("Rollo ruled Normandy.", rank=2, title="Two"),
    )
    assert len(asked("Who ruled Normandy?", one, other).claims) == 1


def test_the_words_that_answer_are_told_once() -> None:
    one = passage("The chief mate was Starbuck of Nantucket.", title="Mates")
    two = passage("Starbuck stood there, and the mate was Starbuck.", title="Deck", rank=2)
    draft = extract_answer(
        "Who was the chief mate?", [*one, *two], seen=read_by(one, "Starbuck") | read_by(two, "Starbuck")
    )
    assert said(draft) == "The chief mate was Starbuck of Nantucket."


@pytest.mark.parametrize(
    ("question", "title", "refused"),
    [
        ("Who is Rollo?", "Talk", "“Who is Rollo?” asked the king of the Franks."),
        ("What does Rollo lead?", "Review Questions", "What does Rollo lead?"),
        ("What is a reference?", "Code", '{"reference": {"is": "reference", "a": <reference>}};'),
        ("What is a reference?", "Prose", "A reference is described in References and how to lead them."),
        ("What is the name of Rollo's reference?", "Tale", "ROLLO THE NORMAN REFERENCE"),
        ("Where did Rollo lead men?", "4.2 Where Rollo lead men", "4.2 Where Rollo lead men"),
    ],
)
def test_what_is_no_statement_is_no_answer(question: str, title: str, refused: str) -> None:
    plain = "Under their leader Rollo, a reference says, they lead men."
    sentences = [*passage(refused, title=title), *passage(plain, title="Prose", rank=2)]
    assert extract_answer(question, sentences).claims[0].text == plain


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("Breaks is described in Packages which break others, and Conflicts is described elsewhere.", True),
        ("The format is documented in section 5.", True),
        ("Details are explained below.", True),
        ("See the chapter on tides.", True),
        ("A circle is defined by its centre and its radius.", False),
        ("The seasons are explained by the tilt of the axis.", False),
        ("The island is covered in ice.", False),
    ],
)
def test_a_sentence_that_only_points_elsewhere_is_told_from_one_that_tells(
    text: str, reference: bool
) -> None:
    assert is_reference(text) is reference


@pytest.mark.parametrize(
    ("title", "apparatus"),
    [
        *((title, True) for title in ("References", "4.9 Exercises", "Index", "Also by Jo March")),
        *((title, False) for title in ("4.2 References and Borrowing", "Index Funds", "Exercise and Health")),
    ],
)
def test_only_a_whole_title_makes_a_section_apparatus(title: str, apparatus: bool) -> None:
    assert is_apparatus(title) is apparatus


def test_what_a_leaning_sentence_leans_on_is_not_told_twice() -> None:
    text = (
        "He looked around before leaving the house. He pushed open the door before it was light. Rain fell."
    )
    draft = asked("What did he do before leaving the house, looking around?", passage(text, title="House"))
    assert [len(claim.sentences) for claim in draft.claims] == [1, 1]
    assert said(draft).count("looked around") == 1


def test_a_long_sentence_is_quoted_whole_if_no_shorter_one_is_nearly_as_good() -> None:
    long = "Rollo ruled Normandy, " + "which is a land of orchards and of rain, " * 10 + "until 927."
    other = "Orchards want rain."
    draft = asked("Until when did Rollo rule Normandy?", passage(long, title="Long"), passage(other, rank=2))
    assert [c.text for c in draft.claims] == [long]


def test_an_endless_sentence_gives_way_to_any() -> None:
    endless = "Rollo ruled Normandy, " + "which is a land of orchards and of rain, " * 25 + "until 927."
    other = "Orchards want rain."
    draft = asked(
        "Until when did Rollo rule Normandy?", passage(endless, title="Long"), passage(other, rank=2)
    )
    assert [c.text for c in draft.claims] == [other]


def test_a_sentence_beyond_eighty_words_gives_way_to_one_that_says_the_same() -> None:
    endless = "Rollo ruled Normandy " + "and ruled it well " * 30 + "until 927."
    short = "Rollo ruled Normandy until 927."
    draft = asked(
        "Until when did Rollo rule Normandy?", passage(endless, title="Long"), passage(short, rank=2)
    )
    assert [c.text for c in draft.claims] == [short]
    assert asked("Until when did Rollo rule Normandy?", passage(endless)).claims[0].text == endless


@pytest.mark.parametrize(
    ("question", "near_miss"),
    [
        ("When did Rollo swear fealty to King Charles?", "When did Rollo swear fealty to King Ferdinand?"),
        ("How many sons did William have?", "How many sons did William not have?"),
        ("Who gave their name to Normandy?", "Who gave their name to Lombardy?"),
    ],
)
def test_a_near_miss_is_less_likely_answered(question: str, near_miss: str) -> None:
    good, bad = asked(question, passage(NORMANS)), asked(near_miss, passage(NORMANS))
    assert answerable(bad.features) < answerable(good.features)
    assert confidence(bad.features) < confidence(good.features)


prose = st.lists(
    st.sampled_from(
        NORMANS.split(". ") + WEATHER.split(". ") + ["Who knows?", "- one item", "Three things:", "x" * 30]
    ),
    min_size=1,
    max_size=8,
).map(lambda parts: ". ".join(parts) + ".")
questions = st.sampled_from(
    [
        "Who led the Normans?",
        "Why?",
        "",
        "what are the kinds of rain",
        "Is it wet?",
        "difference between a and b",
    ]
)


def held(claim: Claim, sentences: list[Sentence]) -> list[Sentence]:
    by_id = {s.id: s for s in sentences}
    return [by_id[id_] for id_ in claim.sentences]


@given(questions | st.text(max_size=80), st.lists(prose, min_size=1, max_size=3))
def test_claims_are_verbatim_few_and_short(question: str, texts: list[str]) -> None:
    sentences = [s for n, t in enumerate(texts, 1) for s in passage(t, rank=n, title=f"T{n}")]
    draft = extract_answer(question, sentences)
    assert 1 <= len(draft.claims) <= 3
    assert len(said(draft).split()) <= 80
    for claim in draft.claims:
        first, *_, last = [*held(claim, sentences)[:1], *held(claim, sentences)]
        assert claim.text == first.chunk.content[first.start : last.end]
        assert all(0 <= a < b <= len(claim.text) for a, b in claim.marks)
    told = [id_ for claim in draft.claims for id_ in claim.sentences]
    assert len(told) == len(set(told))
    assert extract_answer(question, sentences) == draft
    assert 0.0 <= confidence(draft.features) <= 1.0


def test_the_shortlist_has_the_sentences_with_the_words() -> None:
    sentences = [*passage(NORMANS), *passage(WEATHER, rank=2, title="Weather")]
    listed = shortlist("When did Rollo swear fealty to King Charles?", sentences, most=2)
    assert listed[0] == "r1s3"
    assert len(listed) == 2


def test_the_shortlist_needs_no_similarity() -> None:
    known = passage(NORMANS)
    unknown = [replace(s, similarity=0.0) for s in known]
    assert shortlist("Who led the Normans?", known) == shortlist("Who led the Normans?", unknown)
    assert shortlist("Who led the Normans?", []) == ()


def test_the_order_of_the_arguments_does_not_matter() -> None:
    sentences = [*passage(NORMANS), *passage(WEATHER, rank=2, title="Weather")]
    question = "Who gave their name to Normandy?"
    assert extract_answer(question, sentences) == extract_answer(question, list(reversed(sentences)))


def test_offsets_within_a_section_are_kept() -> None:
    far = passage(NORMANS, start=1_000)
    draft = asked("When did Rollo swear fealty?", far)
    assert "911" in said(draft)
    assert marked(draft) == ["911"]


# With what a trained reader made of the sentences

UNMOVED = SentenceScore(rank=0.0, answerable=0.0, margin=-9.0, start=0, end=0)
FEALTY = "When did Rollo swear fealty to King Charles?"


def read_by(sentences: list[Sentence], words: str, *, margin: float = 9.0) -> dict[str, SentenceScore]:
    """As if the reader had found `words`, and nothing elsewhere."""
    seen = {s.id: UNMOVED for s in sentences}
    for s in sentences:
        at = s.text.find(words)
        if at >= 0:
            seen[s.id] = SentenceScore(rank=8.0, answerable=5.0, margin=margin, start=at, end=at + len(words))
    return seen


@pytest.mark.parametrize("start", [0, 1_000])
def test_the_words_that_the_reader_found_are_given_and_marked(start: int) -> None:
    sentences = [*passage(NORMANS, start=start), *passage(WEATHER, rank=2, title="Weather")]
    draft = extract_answer("What happened?", sentences, seen=read_by(sentences, "free of ice"))
    assert "free of ice" in said(draft)
    assert marked(draft) == ["free of ice"]


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("“I widowed that girl when I married her, Rollo; and then I sailed.”", False),
        ("“Come, Rollo, tell us what her name is.”", False),
        ("He married his neighbour, Rollo, and then he sailed.", True),
        ("The girl that he married was Rollo.", True),
    ],
)
def test_who_is_spoken_to_is_not_what_is_told(text: str, given: bool) -> None:
    sentences = passage(text)
    draft = extract_answer("What is her name?", sentences, seen=read_by(sentences, "Rollo"))
    assert (marked(draft) == ["Rollo"]) is given
    assert (draft.features["margin_read"] > 0) is given
    assert (draft.features["able"] > 0) is given


def test_a_headline_is_not_added_to_an_answer() -> None:
    text = "ROLLO THE NORMAN\n\nRollo ruled the Normans. Rollo ruled Normandy."
    assert "ROLLO" not in said(asked("Who ruled Normandy?", passage(text)))


def test_the_reader_and_the_words_decide_together() -> None:
    sentences = passage(NORMANS)
    with_words = extract_answer(FEALTY, sentences, seen=read_by(sentences, "three sons", margin=-8.0))
    assert "911" in said(with_words)
    against = extract_answer(FEALTY, sentences, seen=read_by(sentences, "three sons", margin=60.0))
    assert "three sons" in against.claims[-1].text
    assert marked(against) == ["three sons"]


def test_words_that_the_reader_is_not_sure_of_are_not_marked() -> None:
    sentences = passage(NORMANS)
    for seen in (read_by(sentences, "911", margin=-0.5), {s.id: UNMOVED for s in sentences}):
        draft = extract_answer(FEALTY, sentences, seen=seen)
        assert "911" in said(draft)
        assert marked(draft) == []


def test_marks_move_with_the_sentence_that_a_leaning_one_brings() -> None:
    text = "The Huguenots settled at the Cape. They were descended from farmers in Provence. Rain fell."
    sentences = passage(text, title="Cape")
    draft = extract_answer(
        "From whom were the Huguenots descended?", sentences, seen=read_by(sentences, "farmers in Provence")
    )
    claim = next(c for c in draft.claims if "farmers" in c.text)
    assert claim.text.startswith("The Huguenots settled")
    assert marked(draft) == ["farmers in Provence"]


def test_what_the_reader_thinks_is_among_the_features_and_only_then() -> None:
    sentences = passage(NORMANS)
    read = extract_answer(FEALTY, sentences, seen=read_by(sentences, "911"))
    assert (read.features["able"], read.features["able_most"], read.features["rank_read"]) == (5.0, 5.0, 8.0)
    assert "able" not in extract_answer(FEALTY, sentences).features
    doubtful = extract_answer(FEALTY, sentences, seen={s.id: UNMOVED for s in sentences})
    assert answerable(doubtful.features, reader="small") < answerable(read.features, reader="small")
    assert confidence(doubtful.features) < confidence(read.features)


@pytest.mark.parametrize("start", [0, 1_000])
@pytest.mark.parametrize("margin", [9.0, -0.5])
def test_a_draft_tells_the_words_of_the_reader_and_where_they_stand(start: int, margin: float) -> None:
    text = "Rollo came from Norway. He swore fealty in 911. Rain fell."
    sentences = passage(text, title="Normans", start=start)
    draft = extract_answer(FEALTY, sentences, seen=read_by(sentences, "911", margin=margin))
    assert draft.words == "911"
    assert draft.around == "Normans: Rollo came from Norway. He swore fealty in 911."
    first = extract_answer("Who came from Norway?", sentences, seen=read_by(sentences, "Rollo", margin=60.0))
    assert (first.words, first.around) == ("Rollo", "Normans: Rollo came from Norway.")


def test_without_a_reader_no_words_are_told() -> None:
    draft = extract_answer(FEALTY, passage(NORMANS))
    assert (draft.words, draft.around) == ("", "")


def test_no_evidence_is_no_draft_with_a_reader_either() -> None:
    assert extract_answer(FEALTY, [], seen={}) == Extraction((), {})


@given(
    questions,
    st.lists(prose, min_size=1, max_size=3),
    st.lists(st.tuples(st.floats(-20, 20), st.floats(-20, 20), st.integers(0, 9)), min_size=1, max_size=5),
)
def test_whatever_the_reader_thinks_claims_are_verbatim_few_and_short(
    question: str, texts: list[str], thought: list[tuple[float, float, int]]
) -> None:
    sentences = [s for n, t in enumerate(texts, 1) for s in passage(t, rank=n, title=f"T{n}")]
    seen = {}
    for n, s in enumerate(sentences):
        rank, margin, at = thought[n % len(thought)]
        start = min(at, len(s.text))
        seen[s.id] = SentenceScore(rank, rank, margin, start, min(start + at, len(s.text)))
    draft = extract_answer(question, sentences, seen=seen)
    assert 1 <= len(draft.claims) <= 3
    assert len(said(draft).split()) <= 80
    for claim in draft.claims:
        first, *_, last = [*held(claim, sentences)[:1], *held(claim, sentences)]
        assert claim.text == first.chunk.content[first.start : last.end]
        assert all(0 <= a < b <= len(claim.text) for a, b in claim.marks)
    told = [id_ for claim in draft.claims for id_ in claim.sentences]
    assert len(told) == len(set(told))
    assert extract_answer(question, list(reversed(sentences)), seen=seen) == draft


def test_sentences_are_not_joined_over_one_that_was_not_read() -> None:
    text = (
        "Rollo was the leader of the Normans. The winter of that year was long and cold in all of Francia. "
        "He swore fealty to King Charles in 911."
    )
    first, unread, last = passage(text)
    draft = extract_answer("When did Rollo swear fealty to King Charles?", [first, last])
    assert any(last.id in claim.sentences for claim in draft.claims)
    assert unread.text not in said(draft)
    joined = asked(
        "When did Rollo swear fealty to King Charles?", passage(text.replace(unread.text + " ", ""))
    )
    assert any(len(claim.sentences) == 2 for claim in joined.claims), "neighbours are joined"
