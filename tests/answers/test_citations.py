"""Claims become an answer with footnotes; every quotation is copied by offset."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from octavo.answers.citations import AnswerText, CheckedReply, number_citations, write_footnotes
from octavo.answers.workspace import number_sentences
from octavo.search.scope import bound_by_books
from octavo.types import Evidence
from octavo.verification.claims import Claim, GlossedClaim, Sentence
from tests.support.builders import make_chunk, make_evidence

TEXT = "The harbour was full. Ships lay there. The lamp burned. Nobody came. It rained all night."
EVIDENCE = [make_evidence(make_chunk(TEXT, start=70))]
SENTENCES = {s.id: s for s in number_sentences(EVIDENCE, bound_by_books())}


def link(sentence: Sentence) -> str:
    return f"{sentence.chunk.url}#char={sentence.start},{sentence.end}"


def made(*claims: tuple[str, tuple[str, ...]]) -> AnswerText:
    return write(tuple(Claim(text, ids) for text, ids in claims))


def write(
    said: tuple[Claim, ...],
    sentences: Mapping[str, Sentence] = SENTENCES,
    evidence: Sequence[Evidence] = EVIDENCE,
) -> AnswerText:
    reply = CheckedReply(
        evidence=tuple(evidence),
        sentences=sentences,
        claims=said,
        numbers=number_citations(said),
        dropped=(),
        answerable=0.5,
        confidence=0.5,
        answerer="offline",
        notes={},
        checking=0.0,
    )
    return write_footnotes("a1", reply, links={id_: link(s) for id_, s in sentences.items()})


def test_a_claim_ends_with_its_marks_and_a_sentence_used_twice_keeps_its_number() -> None:
    done = made(("It rained.", ("s5",)), ("Ships and rain.", ("s2", "s5")), ("Full.", ("s1",)))
    assert done.content == "It rained. [1] Ships and rain. [1][2] Full. [3]"
    assert [c.content_snippet for c in done.citations] == [
        "It rained all night.",
        "Ships lay there.",
        "The harbour was full.",
    ]
    assert done.citations[0].link == "book://moby-dick/chapter-42#char=139,159"


def test_a_books_own_marks_do_not_pass_for_ours() -> None:
    assert made(("It rained [12] all night.", ("s5",))).content == "It rained (12) all night. [1]"


def test_a_translated_claim_is_named() -> None:
    said = (GlossedClaim("Es regnete [12].", ("s5",), gloss="It rained."), Claim("Full.", ("s1",)))
    done = write(said)
    assert done.content == "Es regnete (12). [1] Full. [2]"
    assert done.translated == ("Es regnete (12).",)


def test_a_claim_of_several_lines_stands_by_itself() -> None:
    done = made(("There are:\n- ships\n- a lamp", ("s2", "s3")), ("Full.", ("s1",)))
    assert done.content == "There are:\n- ships\n- a lamp [1][2]\n\nFull. [3]"


def test_items_and_rows_have_lines_of_their_own_but_not_what_is_said_of_them() -> None:
    evidence = [make_evidence(make_chunk("There are these:\n\n- ships\n- a lamp\n\na | b"))]
    sentences = {s.id: s for s in number_sentences(evidence, bound_by_books())}
    listed = tuple(Claim(s.text, (s.id,)) for s in list(sentences.values())[1:])
    assert write(listed, sentences, evidence).content == "- ships [1]\n\n- a lamp [2]\n\na | b [3]"
    told = (Claim("It has ships.", ("s2",)), Claim("It has a lamp.", ("s3",)))
    assert write(told, sentences, evidence).content == "It has ships. [1] It has a lamp. [2]"


def test_ids_of_citations_come_from_the_answer_and_the_number() -> None:
    first, again = made(("Full.", ("s1",))), made(("Rain.", ("s5",)))
    assert first.citations[0].id == again.citations[0].id
    assert len({c.id for c in made(("Both.", ("s1", "s2"))).citations}) == 2


@given(st.lists(st.lists(st.sampled_from(sorted(SENTENCES)), min_size=1, max_size=4), min_size=1, max_size=6))
def test_numbers_count_up_in_order_of_appearance_and_every_claim_is_marked(ids: list[list[str]]) -> None:
    done = made(*((f"Claim {'abcdef'[n]}.", tuple(some)) for n, some in enumerate(ids)))
    marks = list(dict.fromkeys(re.findall(r"\[(\d+)\]", done.content)))
    assert [int(m) for m in marks] == [c.number for c in done.citations] == [*range(1, len(marks) + 1)]
    assert len(re.findall(r"Claim \w\. \[", done.content)) == len(ids)
    for citation in done.citations:
        assert TEXT[citation.start - 70 : citation.end - 70] == citation.content_snippet
