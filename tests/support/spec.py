"""Every field, rule and state of the five source documents (S0-S4) and of the one model made of them (DM).

A row gives the document's own word and what carries it here. S0 is the Book Agent SDK, S1 the RAG-Enabled
Agent, S2 the RAG Chatbot Agent, S3 the RAG Retrieval Function, S4 the RAG Agent Construction.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tests.support.builders import NOON, URL, WHALE, make_citation, make_evidence, make_vector

# document, its entity, ours: its fields, each followed by ours where the name differs.
FIELDS = """
S0 Question Question: id content book_id timestamp selected_text
S0 BookContentChunk Chunk: id content book_id chapter page_number document_position embedding metadata
S0 Answer Answer: id question_id content timestamp confidence_score=confidence
S0 SourceReference Citation: id answer_id chunk_id relevance_score content_snippet source_location
S1 AgentResponse Answer: content sources=citations confidence timestamp
S1 RetrievedContentChunk Evidence: id=chunk.id content=chunk.content similarity_score=relevance_score
S1 RetrievedContentChunk Evidence: source_metadata=chunk embedding=chunk.embedding
S1 SourceReference Citation: url section page title
S1 QueryScope Scope: type identifier description
S2 UserQuery Question: query_text=content timestamp request_id=id user_context
S2 AgentResponse Answer: response_text=content confidence_level=confidence source_citations=citations
S2 AgentResponse Answer: processing_time_ms request_id=question_id timestamp
S2 Citation Citation: text=content_snippet url similarity_score=relevance_score
S2 Citation Citation: chunk_id=chunk_number source_title=title
S2 AgentSession Session: session_id start_time end_time query_count UserQuery=questions AgentResponse=answers
S3 Query Question: id text=content timestamp session_id context
S3 QueryContext Question: selected_text=context.selected_text filters=context.filters
S3 QueryContext Question: conversation_history=context.conversation_history
S3 QueryContext Question: user_preferences=context.user_preferences
S3 RetrievedContent Evidence: id chunk_id=chunk.id content=chunk.content source_file=chunk.source_file
S3 RetrievedContent Evidence: source_location=chunk.source_location relevance_score
S3 RetrievedContent Evidence: embedding_vector=chunk.embedding metadata=chunk.metadata
S3 RetrievedContent Evidence: created_at=chunk.created_at
S3 ChatMessage Message: id role content timestamp source_references query_id
S3 SourceReference Citation: source_file source_location content_snippet confidence retrieved_content_id
S4 UserQuery Question: query_text=content timestamp session_id user_id
S4 RetrievedContentChunk Evidence: id=chunk.id content=chunk.content similarity_score=relevance_score
S4 RetrievedContentChunk Evidence: metadata=chunk.metadata source_url=chunk.url
S4 RetrievedContentChunk Evidence: section_heading=chunk.section chunk_index=chunk.chunk_index
S4 AgentResponse Answer: response_text=content retrieved_chunks=evidence citations timestamp
S4 AgentResponse Answer: query_id=question_id
S4 SourceCitation Citation: url section content_preview=content_snippet relevance_score
DM Book Book: id title authors language format source_file base_url content_hash index_fingerprint
DM Book Book: section_count chunk_count page_count added_at updated_at
DM Section Section: id book_id title heading_path level position url anchor page_start page_end text
DM Chunk Chunk: id chunk_id content book_id chapter section page_number page_label document_position
DM Chunk Chunk: chunk_index url source_file source_location source_title start end embedding metadata
DM Chunk Chunk: created_at
DM Scope Scope: type identifier description
DM Question Question: id content book_id selected_text scope top_k session_id user_id user_context
DM Question Question: conversation_history user_preferences filters timestamp status
DM Evidence Evidence: chunk relevance_score rank state
DM Answer Answer: id question_id content confidence citations evidence processing_time_ms timestamp
DM Answer Answer: state refusal delivery=trace
DM Refusal Refusal: reason nearest_sections=nearest
DM Citation Citation: id answer_id number chunk_id content_snippet start end relevance_score confidence
DM Citation Citation: retrieved_content_id source_file source_location url section page title link
DM Message Message: id role content timestamp source_references query_id
DM Session Session: session_id start_time end_time query_count messages questions answers
"""


# document, ours: the fields that a value must have.
REQUIRED = """
S0 Question: id content timestamp
S0 Chunk: id content book_id document_position
S0 Answer: id question_id content timestamp
S0 Citation: id answer_id relevance_score content_snippet
S0 Chunk: source_location
S1 Scope: type
S2 Question: content timestamp id
S2 Answer: content confidence processing_time_ms question_id timestamp
S2 Session: session_id start_time query_count
S3 Question: id content timestamp
S3 Message: id role content timestamp
S3 Citation: content_snippet confidence retrieved_content_id
S4 Question: content timestamp
S4 Answer: content timestamp question_id
DM Book: id title format source_file content_hash index_fingerprint added_at updated_at
DM Section: id book_id title level position url text
DM Chunk: chunk_id chunk_index url source_file source_title start end created_at
DM Evidence: chunk relevance_score rank state
DM Citation: number link
"""

# document, ours: the fields that a value can do without, each followed by what stands for nothing.
OPTIONAL = """
S0 Question: book_id selected_text
S0 Chunk: chapter="" page_number metadata={}
S1 Scope: identifier
S2 Question: user_context={}
S2 Session: end_time
S3 Question: session_id selected_text conversation_history=() user_preferences={} filters={}
S3 Message: source_references=() query_id
S4 Question: session_id user_id
DM Book: base_url authors=() language=""
DM Section: anchor=""
DM Chunk: page_number page_label embedding
DM Answer: refusal
DM Session: end_time messages=() questions=() answers=()
"""


class Rule(NamedTuple):
    seed: str
    words: str
    field: str
    good: tuple[object, ...]
    bad: tuple[object, ...]


SCORES = (0, 0.0, 0.5, 1.0), (-0.01, 1.01, math.nan, math.inf, "0.5", None, True)
URLS = (URL, "https://a.org:80/b?c=d#e"), ("", "nowhere", "javascript:alert(1)", "https://", "http://a b")
NOT_BLANK = ("x", " x "), ("", " \n\t", None)
COUNTS = (1, 2**53 - 1), (0, -1, 2**53, 1.5, "1", True)
POSITIONS = (0, 7), (-1, 0.5, None)
TIMES = (NOON,), (NOON.replace(tzinfo=None), "2025-03-01", None)
VECTORS = (make_vector(), make_vector(3, 4)), ((), (1.0, 1.0), (math.nan, 1.0), ("a", "b"), (1e200, 1e200))
OBJECTS: tuple[tuple[object, ...], tuple[object, ...]] = (
    ({}, {"a": [1, None]}),
    ({"a": {1}}, {"a": math.nan}, {1: 2}, [], None),
)
PATHS = (("The Whiteness",), ("42", "The Whiteness")), ((), ("Chapter 42",), ("", "The Whiteness"))

RULES = [
    Rule("S0", "question content 1-1000", "Question.content", ("?", "x" * 1000), ("", "x" * 1001)),
    Rule("S0", "question not only whitespace", "Question.content", *NOT_BLANK),
    Rule("S0", "selected_text 1-500", "Question.selected_text", (None, "x" * 500), ("", "x" * 501)),
    Rule("S0", "chunk content 10-2000", "Chunk.content", ("x" * 10, "x" * 2000), ("x" * 9, "x" * 2001)),
    Rule("S0", "chunk book_id given", "Chunk.book_id", *NOT_BLANK),
    Rule("S0", "embedding a valid vector", "Chunk.embedding", *VECTORS),
    Rule("S0", "document_position non-negative", "Chunk.document_position", *POSITIONS),
    Rule("S0", "answer not only whitespace", "Answer.content", *NOT_BLANK),
    Rule("S0", "answer confidence_score 0-1", "Answer.confidence", *SCORES),
    Rule("S0", "answer question_id given", "Answer.question_id", *NOT_BLANK),
    Rule("S0", "reference relevance_score 0-1", "Citation.relevance_score", *SCORES),
    Rule("S0", "snippet a substring", "Citation.content_snippet", (WHALE[7:33],), ("the white whale",)),
    Rule("S0", "source_location not empty", "Chunk.source_location", *NOT_BLANK),
    Rule("S1", "a source for any factual claim", "Answer.citations", ((make_citation(),),), ((),)),
    Rule("S1", "chunk content not empty", "Chunk.content", (WHALE,), ("", " " * 20)),
    Rule("S1", "chunk has valid source metadata", "Chunk.source_title", *NOT_BLANK),
    Rule("S1", "reference has a URL", "Chunk.url", *URLS),
    Rule("S1", "scope full-book", "Scope.type", ("full-book",), ("whole-book", "", None)),
    Rule("S1", "scope types", "Scope.type", ("section-specific", "page-specific"), (1,)),
    Rule("S2", "query_text 1-1000", "Question.content", ("x", "x" * 1000), ("", "x" * 1001)),
    Rule("S2", "citation similarity_score 0-1", "Citation.relevance_score", *SCORES),
    Rule("S2", "citation chunk_id positive", "Chunk.chunk_id", *COUNTS),
    Rule("S2", "processing_time_ms positive", "Answer.processing_time_ms", *COUNTS),
    Rule("S2", "confidence_level 0-1", "Answer.confidence", *SCORES),
    Rule("S2", "top_k 1-20", "Question.top_k", (1, 5, 20), (0, 21, -1, 2.5)),
    Rule("S3", "query text not empty or null", "Question.content", *NOT_BLANK),
    Rule("S3", "retrieved relevance_score 0-1", "Evidence.relevance_score", *SCORES),
    Rule("S3", "retrieved source_file given", "Chunk.source_file", *NOT_BLANK),
    Rule("S3", "reference confidence 0-1", "Citation.confidence", *SCORES),
    Rule("S3", "role user or assistant", "Message.role", ("user", "assistant"), ("system", "", None)),
    Rule("S4", "query_text not empty", "Question.content", *NOT_BLANK),
    Rule("S4", "chunk similarity_score 0-1", "Evidence.relevance_score", *SCORES),
    Rule("S4", "retrieved_chunks not empty", "Answer.evidence", ((make_evidence(),),), ((),)),
    Rule("S4", "citation url valid", "Chunk.url", *URLS),
    Rule("S4", "chunk content not empty", "Chunk.content", (WHALE,), ("",)),
    Rule("DM", "page_number from 1", "Chunk.page_number", (None, 1), (0, -3, "iv")),
    Rule("DM", "chunk_index from 0", "Chunk.chunk_index", *POSITIONS),
    Rule("DM", "content is text[start:end]", "Chunk.end", (len(WHALE),), (len(WHALE) - 1, 0)),
    Rule("DM", "metadata JSON only", "Chunk.metadata", *OBJECTS),
    Rule("DM", "created_at a time", "Chunk.created_at", *TIMES),
    Rule("DM", "scope types of ours", "Scope.type", ("selection", "up-to-position"), ("chapter",)),
    Rule("DM", "scope identifier", "Scope.identifier", ("s42",), ("", None)),
    Rule("DM", "filters JSON", "Question.filters", *OBJECTS),
    Rule("DM", "rank from 1", "Evidence.rank", *COUNTS),
    Rule("DM", "citation numbered from 1", "Citation.number", *COUNTS),
    Rule("DM", "link valid", "Citation.link", *URLS),
    Rule("DM", "question timestamp a time", "Question.timestamp", *TIMES),
    Rule("DM", "answer timestamp a time", "Answer.timestamp", *TIMES),
    Rule("DM", "query_count from 0", "Session.query_count", *POSITIONS),
    Rule("DM", "session ends after it began", "Session.end_time", (None, NOON), (NOON.replace(year=2024),)),
    Rule("DM", "book id given", "Book.id", ("moby-dick",), ("", " ", None, "x" * 201)),
    Rule("DM", "book format known", "Book.format", ("epub", "pdf"), ("djvu", None)),
    Rule("DM", "base_url valid", "Book.base_url", (None, "https://example.org/"), ("example.org", "")),
    Rule("DM", "heading_path ends in the title", "Section.heading_path", *PATHS),
    Rule("DM", "section url valid", "Section.url", *URLS),
    Rule("DM", "section text storable", "Section.text", ("", WHALE), ("a\0b", "\ud800", None)),
]


# document, rule in its words :: the function of `tests.test_spec_proofs` that proves it, or a test elsewhere.
ELSEWHERE = """
S0 chunk book_id exists in the catalogue :: prove_chunks_belong_to_books
S0 answer question_id references an existing question :: prove_answers_belong_to_questions
S0 one question has many references, one chunk many :: prove_references_point_to_chunks
S0 a question has many references, and many point to one chunk :: prove_many_references
S0 every chunk has its embedding :: prove_retrieve
S0 one answer has exactly one question :: prove_one_answer_for_a_question
S0 answer validated as based only on retrieved content :: prove_answers_are_grounded
S0 snippet is a substring of its chunk, in the book :: prove_quotations_are_in_the_book
S1 query received, then parsed for scope, retrieved, drafted, returned :: prove_the_flow_in_order
S1 every factual sentence has a citation :: prove_sentences_are_cited
S1 responses grounded in retrieved content only :: prove_answers_are_grounded
S1 scope identified and validated before retrieval :: prove_scope_comes_before_retrieval
S1 chunk belongs to a response, source metadata is valid :: prove_answers_are_grounded
S1 chunks validated for relevance before the response is drafted :: prove_only_used_evidence_is_validated
S1 a response is connected to many chunks :: prove_many_references
S1 the scope decides what is retrieved :: prove_filters_apply
S2 one query generates one response, linked by request_id :: prove_answers_belong_to_questions
S2 one response contains many citations :: prove_many_references
S2 citations reference the collection :: prove_citations_are_in_the_store
S2 QueryRequest question non-empty, top_k 1-20, default 5 :: prove_query_requests_are_checked
S2 QueryResponse answer citations confidence processing_time_ms, and no other key :: prove_query_response
S2 QueryResponse citation text url similarity_score chunk_id:int source_title :: prove_query_response
S2 received, processing, validated, formatted, delivered, each with its time :: prove_delivery_is_traced
S2 a session has many queries and responses, and counts them :: prove_sessions_are_in_order
S2 collection distance cosine, size 384 :: \
tests/store/test_qdrant.py::test_a_collection_is_made_as_the_settings_say
S2 collection payload url text chunk_id source_title :: prove_payload_has_the_four_keys
S3 retrieve(query, context) gives content, vector, source, score, state :: prove_retrieve
S3 selected_text limits the search :: prove_selected_text_limits_the_search
S3 conversation_history completes the query :: prove_history_completes_the_query
S3 filters apply to the search :: prove_filters_apply
S3 user_preferences shape the retrieval :: prove_preferences_shape_the_order
S3 source_file is a valid book content file :: prove_source_files_are_of_the_book
S3 a query results in many retrieved contents :: prove_retrieve
S3 query pending, then processed :: prove_a_query_is_processed
S3 retrieved content validated after checks :: prove_only_used_evidence_is_validated
S3 a query exists within its context :: prove_a_query_has_its_context
S3 a message references its sources, and its query :: prove_messages_have_sources
S3 a reference points to retrieved content :: prove_references_point_to_chunks
S4 query received, then processed :: prove_a_query_is_processed
S4 response generating, then completed :: prove_answers_are_published
S4 one query one response :: prove_one_answer_for_a_question
S4 each citation corresponds to a retrieved chunk :: prove_answers_are_grounded
S4 one response references many chunks, one chunk many responses :: prove_many_references
S4 one response contains many citations :: prove_many_references
DM book id the same for a new edition :: \
tests/server/routes/test_books.py::test_a_new_edition_replaces_the_old_one
DM a book without a web address has stable book:// addresses, and readable locations :: prove_addresses
DM content is text[start:end] of its section, and so is a snippet :: prove_offsets
DM citations numbered in the order of their first appearance :: prove_many_references
DM a scope that names nothing is refused before retrieval :: prove_scope_comes_before_retrieval
DM any other transition raises, none is skipped :: \
tests/test_spec.py::test_every_step_of_a_machine_passes_and_every_other_pair_raises
DM bad values are refused with field, rule and value :: \
tests/test_spec.py::test_every_rule_takes_good_values_and_refuses_bad_ones_by_name
DM a bm25 sparse vector, and payload keys of ours :: \
tests/store/test_qdrant.py::test_a_collection_is_made_as_the_settings_say
DM ids are the same for the same bytes; chunk_id derived from id :: prove_ids_are_stable
DM embedding has as many numbers as the collection, 384 :: prove_retrieve
DM no citation lies outside the scope :: prove_filters_apply
DM a question without evidence ends as insufficient_data :: prove_refusals_are_insufficient_data
DM each state change durable :: \
tests/answers/test_ask.py::test_every_state_is_on_the_disk_before_the_next_step_begins
DM session's messages, questions and answers are in order :: prove_sessions_are_in_order
DM POST /query takes extra optional fields; a refusal is a 200, a bad request a 422 :: \
prove_query_requests_are_checked
DM four payload keys attach :: \
tests/ingest/test_attach.py::test_a_collection_is_searched_asked_and_cited_without_a_write_to_it
"""

# names of the documents that nothing here can have, because another document uses the name otherwise.
TAKEN = {
    "S2 Citation.chunk_id": "a string in S0; the integer is `chunk_number`, and `chunk_id` on the wire",
    "S2 AgentSession.UserQuery": "a relation, which is `questions`",
    "S2 AgentSession.AgentResponse": "a relation, which is `answers`",
}

# document, machine: every step there is. A state that leads nowhere is final.
STATES = """
S0 QuestionStatus: pending>processing processing>completed processing>insufficient_data processing>error
S0 AnswerState: draft>validated validated>published
S2 Delivery: received>processing processing>validated validated>formatted formatted>delivered
S3 EvidenceState: retrieved>validated
DM BookState: pending>ready ready>superseded
"""

# document, its state: ours that are seen as it.
VIEWS = """
S3 pending: QuestionStatus.pending
S3 processed: QuestionStatus.completed QuestionStatus.insufficient_data
S3 retrieved: EvidenceState.retrieved
S4 received: QuestionStatus.pending QuestionStatus.processing
S4 processed: QuestionStatus.completed QuestionStatus.insufficient_data
S4 generating: AnswerState.draft AnswerState.validated
S4 completed: AnswerState.published
S4 retrieved: EvidenceState.retrieved EvidenceState.validated
"""
