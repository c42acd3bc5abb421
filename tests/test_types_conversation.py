from __future__ import annotations

from dataclasses import replace

import pytest

from octavo.errors import InvalidTransition, InvalidValue
from octavo.types import CatalogueStatement, ShortAnswer, Trace
from octavo.validation import AnswerState, Delivery, QuestionStatus
from tests.support.builders import (
    NOON,
    WHALE,
    make_answer,
    make_chunk,
    make_citation,
    make_evidence,
    make_message,
    make_question,
    make_refusal,
    make_session,
)


def test_a_citation_quotes_its_chunk_by_offset_and_knows_its_way_back() -> None:
    chunk = make_chunk(start=100, page_number=3)
    cited = make_citation("whale", chunk=chunk)
    assert chunk.content[cited.start - 100 : cited.end - 100] == "whale"
    assert (cited.chunk_id, cited.chunk_number) == (chunk.id, chunk.chunk_id)
    assert (cited.section, cited.page, cited.title) == ("The Whiteness", "3", "Moby Dick")


@pytest.mark.parametrize(("start", "end"), [(0, 26), (8, 34), (7, 34), (60, 10_000)])
def test_a_snippet_that_is_not_what_stands_at_its_offsets_is_refused(start: int, end: int) -> None:
    snippet = WHALE[60:] if start == 60 else WHALE[7:33]
    with pytest.raises(InvalidValue, match=r"Citation\.content_snippet must be the chunk's own text"):
        replace(make_citation(), start=start, end=end, content_snippet=snippet)


def test_an_answer_numbers_its_citations_and_quotes_only_its_own_evidence() -> None:
    first, second = make_citation(), make_citation("whale", number=2)
    assert len(make_answer(citations=[first, second]).citations) == 2
    elsewhere = make_citation("another", chunk=make_chunk("It is another chunk."))
    for wrong in ([second, first], [second], [replace(first, answer_id="a2")], [elsewhere]):
        with pytest.raises(InvalidValue, match=r"Answer\.citations"):
            make_answer(citations=wrong)


def test_only_what_the_catalogue_states_needs_no_citation() -> None:
    stated = CatalogueStatement(text="“Winds” is by Nils Holm (from the catalogue).", book_id="winds")
    answer = replace(make_answer(), content=stated.text, citations=(), catalogue=(stated,))
    assert answer.book_ids == ("winds",)
    with pytest.raises(InvalidValue, match=r"Answer\.catalogue must be sentences of the answer"):
        replace(answer, content="Something else.")
    with pytest.raises(InvalidValue, match=r"Answer\.citations must not be empty where"):
        replace(answer, content=f"{stated.text}\n\nHe was a whaler.")
    with pytest.raises(InvalidValue, match=r"Answer\.catalogue must be empty on a refused question"):
        replace(answer, refusal=make_refusal())


def test_what_is_translated_is_a_sentence_of_the_answer() -> None:
    answer = replace(make_answer(content="Ein Wal. [1]"), translated=("Ein Wal.",))
    for wrong in ({"content": "A whale. [1]"}, {"translated": ("",)}, {"translated": (3,)}):
        with pytest.raises(InvalidValue, match=r"Answer\.translated"):
            replace(answer, **wrong)
    with pytest.raises(InvalidValue, match=r"Answer\.translated must be empty on a refused question"):
        replace(answer, refusal=make_refusal(), citations=())


def test_a_short_answer_opens_the_answer_with_words_of_the_citation_that_it_names() -> None:
    cited = make_citation("whale", number=1)
    short = ShortAnswer(text="whale", citation=1, start=cited.start, end=cited.end)
    answer = replace(make_answer("whale. [1] So it was. [1]", citations=[cited]), short=short)
    assert answer.short == short
    wrong = (
        replace(short, citation=2),
        replace(short, text="squid"),
        replace(short, start=short.start - 1, text=" whale"),
    )
    for other in wrong:
        with pytest.raises(InvalidValue, match=r"Answer\.short"):
            replace(answer, short=other)
    with pytest.raises(InvalidValue, match=r"Answer\.short must open the text"):
        replace(answer, content="So it was. [1]")


def test_a_refusal_needs_no_evidence_and_has_no_citations() -> None:
    refused = replace(make_answer(), refusal=make_refusal(), citations=(), evidence=())
    assert refused.refusal is not None
    with pytest.raises(InvalidValue, match=r"Answer\.citations must be empty on a refused question"):
        replace(make_answer(), refusal=make_refusal())


def test_questions_and_answers_go_step_by_step() -> None:
    asked = make_question().to(QuestionStatus.PROCESSING).to(QuestionStatus.COMPLETED)
    assert asked.status is QuestionStatus.COMPLETED
    assert make_answer().to(AnswerState.VALIDATED).to(AnswerState.PUBLISHED).state is AnswerState.PUBLISHED
    with pytest.raises(InvalidTransition, match="may go to validated"):
        make_answer().to(AnswerState.PUBLISHED)


def test_a_trace_keeps_every_step_with_its_time_and_skips_none() -> None:
    trace = Trace()
    for step in Delivery:
        trace = trace.reach(step, NOON)
    assert [step for step, _ in trace.steps] == list(Delivery)
    with pytest.raises(InvalidTransition, match="starts with received"):
        Trace().reach(Delivery.PROCESSING, NOON)
    with pytest.raises(InvalidTransition, match="from received to validated"):
        Trace(((Delivery.RECEIVED, NOON), (Delivery.VALIDATED, NOON)))


def test_a_question_has_its_context_in_one_piece() -> None:
    asked = replace(make_question(), selected_text="the whale", conversation_history=(make_message(),))
    assert asked.context.selected_text == "the whale"
    assert asked.context.conversation_history == (make_message(),)


def test_a_session_counts_at_least_the_questions_it_holds() -> None:
    session = replace(make_session(), questions=(make_question(),), answers=(make_answer(),))
    assert session.query_count == 1
    with pytest.raises(InvalidValue, match=r"Session\.query_count"):
        replace(session, query_count=0)


def test_evidence_named_for_a_question_can_be_cited_by_that_name() -> None:
    found = replace(make_evidence(), id="q1:1")
    cited = replace(make_citation(), retrieved_content_id="q1:1")
    assert make_answer(citations=[cited], evidence=[found]).evidence == (found,)
