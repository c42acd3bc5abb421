"""The JSON shapes of searching and asking: passages, citations, answers, events, sessions.

An answer is the same object in a response, as the last event of a stream and on the command line.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from octavo.events import Answered, Asked, AskEvent, Claimed, Retrieved, Scoped, Working
from octavo.records.conversations import Exchange
from octavo.schemas.base import Schema, Time, omit_empty
from octavo.types import Answer, Citation, Evidence, Question, Refusal, RefusalReason, ScopeType, Session
from octavo.validation import Delivery, EvidenceState, QuestionStatus
from octavo.verification.check import Support

DIGITS = 4
"""Decimal places of scores and confidences."""


class EvidenceJson(Schema):
    """A passage of a book, with its exact place."""

    id: str
    chunk_id: int
    book_id: str
    content: str
    relevance_score: float
    source_file: str
    source_location: str
    source_title: str
    chapter: str
    section: str
    section_id: str
    page_number: int | None
    page_label: str | None
    url: str
    start: int
    end: int
    state: EvidenceState = Field(description="`validated` if the answer quotes it, else `retrieved`.")

    @classmethod
    def from_evidence(cls, evidence: Evidence) -> EvidenceJson:
        score = round(evidence.relevance_score, DIGITS)
        return cls.from_value(evidence.chunk, relevance_score=score, state=evidence.state)


class NearestJson(Schema):
    """The place of a passage, and its words.

    `excerpt` is the section's text from `start` to `end`. It is left out if it lies outside of what the
    reader asked to see.
    """

    id: str
    chunk_id: int
    book_id: str
    relevance_score: float
    source_file: str
    source_location: str
    source_title: str
    chapter: str
    section: str
    section_id: str
    page_number: int | None
    page_label: str | None
    url: str
    start: int
    end: int
    excerpt: str = omit_empty("")

    @classmethod
    def from_evidence(cls, evidence: Evidence, *, excerpt: str) -> NearestJson:
        score = round(evidence.relevance_score, DIGITS)
        return cls.from_value(evidence.chunk, relevance_score=score, excerpt=excerpt)


class SearchJson(Schema):
    """What a search found, best first."""

    results: list[EvidenceJson]
    processing_time_ms: int

    @classmethod
    def from_results(cls, found: Sequence[Evidence], *, seconds: float) -> SearchJson:
        results = [EvidenceJson.from_evidence(evidence) for evidence in found]
        return cls(results=results, processing_time_ms=max(1, round(seconds * 1000)))


class CitationJson(Schema):
    """A quotation: `content_snippet` is the section's text from `start` to `end`, to the letter."""

    id: str
    answer_id: str
    number: int
    chunk_id: str
    chunk_number: int
    book_id: str
    section_id: str
    content_snippet: str
    start: int
    end: int
    relevance_score: float
    confidence: float
    retrieved_content_id: str
    source_file: str
    source_location: str
    url: str
    section: str
    page: str | None
    title: str
    link: str

    @classmethod
    def from_citation(cls, citation: Citation) -> CitationJson:
        return cls.from_value(
            citation,
            book_id=citation.chunk.book_id,
            section_id=citation.chunk.section_id,
            relevance_score=round(citation.relevance_score, DIGITS),
            confidence=round(citation.confidence, DIGITS),
        )


class RefusalJson(Schema):
    """Why there is no answer, and the passages that come nearest."""

    reason: RefusalReason
    message: str
    nearest: list[NearestJson]

    @classmethod
    def from_refusal(cls, refusal: Refusal) -> RefusalJson:
        pairs = zip(refusal.nearest, refusal.excerpts, strict=True)
        nearest = [NearestJson.from_evidence(item, excerpt=excerpt) for item, excerpt in pairs]
        return cls.from_value(refusal, nearest=nearest)


class ShortJson(Schema):
    """The words that answer, cut from a citation. `start` and `end` point into its section's text."""

    text: str
    citation: int
    start: int
    end: int


class CatalogueJson(Schema):
    """A sentence of the answer that rests on the catalogue entry of a book, and not on its words."""

    text: str
    book_id: str


class ClaimJson(Schema):
    """A sentence of the answer, the numbers of its citations, and the stretches that are emphasised.

    `translated` is true where it is in another language than the words that it cites, and else left out.
    """

    text: str
    citations: list[int]
    marks: list[tuple[int, int]]
    translated: bool = omit_empty(False)


class DroppedClaimJson(Schema):
    """A sentence that the evidence did not support."""

    text: str
    reason: str


class StatesJson(Schema):
    """The states of a question and of its answer: `completed` is also `processed`."""

    question: list[str]
    answer: list[str]


class AnsweredJson(Schema):
    """The answer, or the refusal, to a question.

    `states` are those of the question and of the answer, in the words of all source documents.
    `short` are the words that answer, and `answer` opens with them; it is left out where no few words do.
    `catalogue` are the sentences that are from the catalogue; they have no citation.
    `translated` are the sentences that are in another language than the words that they cite.
    `interpreted` is left out when it is the question itself; `catalogue`, `translated`, `claims`, `dropped`
    and `session_id` when there are none.
    """

    question_id: str
    question: str
    status: QuestionStatus
    answer_id: str
    answer: str
    short: ShortJson | None = omit_empty(None)
    confidence: float = Field(ge=0, le=1)
    citations: list[CitationJson]
    catalogue: list[CatalogueJson] = omit_empty([])
    translated: list[str] = omit_empty([])
    evidence: list[EvidenceJson]
    refusal: RefusalJson | None
    interpreted: str = omit_empty("")
    claims: list[ClaimJson] = omit_empty([])
    dropped: list[DroppedClaimJson] = omit_empty([])
    answerer: str
    processing_time_ms: int
    session_id: str = omit_empty("")
    states: StatesJson

    @classmethod
    def from_event(cls, event: Answered) -> AnsweredJson:
        question, answer = event.question, event.answer
        return cls(
            question_id=question.id,
            question=question.content,
            status=question.status,
            answer_id=answer.id,
            answer=answer.content,
            short=ShortJson.from_value(answer.short) if answer.short else None,
            confidence=round(answer.confidence, DIGITS),
            citations=[CitationJson.from_citation(citation) for citation in answer.citations],
            catalogue=[CatalogueJson.from_value(stated) for stated in answer.catalogue],
            translated=list(answer.translated),
            evidence=[EvidenceJson.from_evidence(item) for item in answer.evidence],
            refusal=RefusalJson.from_refusal(answer.refusal) if answer.refusal else None,
            interpreted=event.interpreted if event.interpreted != question.content else "",
            claims=[ClaimJson.from_value(claim) for claim in event.claims],
            dropped=[DroppedClaimJson(text=text, reason=reason) for text, reason in event.dropped],
            answerer=event.answerer,
            processing_time_ms=answer.processing_time_ms,
            session_id=question.session_id or "",
            states=StatesJson(question=list(question.states), answer=list(answer.states)),
        )

    @classmethod
    def from_exchange(cls, exchange: Exchange) -> AnsweredJson:
        """Build the shape of a stored answer: the same as when it was given."""
        assert exchange.answer is not None
        dropped = tuple((text, reason) for text, reason in exchange.receipt.get("dropped", ()))  # type: ignore[attr-defined]
        translated = {text for text, _ in exchange.receipt.get("translated", ())}  # type: ignore[attr-defined]
        claims = tuple(
            Claimed(
                text,
                tuple(citations),
                tuple((start, end) for start, end in marks),
                translated=text in translated,
            )
            for text, citations, marks in exchange.receipt.get("told", ())  # type: ignore[attr-defined]
        )
        answerer = str(exchange.receipt.get("answerer", "offline"))
        asked, answer, meant = exchange.question, exchange.answer, exchange.interpreted
        return cls.from_event(Answered(asked, answer, meant, dropped, answerer=answerer, claims=claims))


class StepJson(Schema):
    """A step of an answer's delivery, and when it was reached."""

    step: Delivery
    at: Time


class TraceJson(Schema):
    """How an answer came to its reader. `delivered` is among the steps once it was sent."""

    answer_id: str
    question_id: str
    states: StatesJson
    processing_time_ms: int
    trace: list[StepJson]

    @classmethod
    def from_answer(cls, question: Question, answer: Answer) -> TraceJson:
        return cls(
            answer_id=answer.id,
            question_id=question.id,
            states=StatesJson(question=list(question.states), answer=list(answer.states)),
            processing_time_ms=answer.processing_time_ms,
            trace=[StepJson(step=step, at=at) for step, at in answer.trace.steps],
        )


class AskedJson(Schema):
    question_id: str
    interpreted: str


class ScopedJson(Schema):
    description: str


class RetrievedJson(Schema):
    evidence: list[EvidenceJson]


class WorkingJson(Schema):
    step: str
    detail: str


def describe_event(event: AskEvent) -> Schema:
    """Build the JSON shape of one event of a question."""
    match event:
        case Asked():
            return AskedJson(question_id=event.question.id, interpreted=event.interpreted)
        case Scoped():
            return ScopedJson.from_value(event)
        case Retrieved():
            return RetrievedJson(evidence=[EvidenceJson.from_evidence(item) for item in event.evidence])
        case Working():
            return WorkingJson.from_value(event)
        case Claimed():
            return ClaimJson.from_value(event)
        case Answered():
            return AnsweredJson.from_event(event)


class QueryCitationJson(Schema):
    text: str
    url: str
    similarity_score: float
    chunk_id: int
    source_title: str

    @classmethod
    def from_citation(cls, citation: Citation) -> QueryCitationJson:
        return cls(
            text=citation.content_snippet,
            url=citation.url,
            similarity_score=round(citation.relevance_score, DIGITS),
            chunk_id=citation.chunk.chunk_id,
            source_title=citation.title,
        )


class QueryJson(Schema):
    """The answer of `/query`: exactly the keys that the source documents name."""

    answer: str
    citations: list[QueryCitationJson]
    confidence: float
    processing_time_ms: int

    @classmethod
    def from_answer(cls, answer: Answer) -> QueryJson:
        return cls(
            answer=answer.content,
            citations=[QueryCitationJson.from_citation(citation) for citation in answer.citations],
            confidence=round(answer.confidence, DIGITS),
            processing_time_ms=answer.processing_time_ms,
        )


QueryResponse = QueryJson
"""The name of the source documents."""


class SupportJson(Schema):
    """Whether passages support a claim. `reasons` are left out when nothing speaks against it."""

    supported: bool
    score: float
    passage: int | None
    snippet: str | None
    reasons: list[str] = omit_empty([])

    @classmethod
    def from_support(cls, support: Support) -> SupportJson:
        return cls.from_value(support, score=round(support.score, 6))


class VerdictJson(Schema):
    """Whether one quotation is in the book. Number 0 is the stored answer as a whole."""

    answer_id: str
    number: int
    true: bool
    note: str
    snippet: str
    source_location: str
    checked: bool


class VerificationJson(Schema):
    """Whether every quotation of an answer is in the book at its place."""

    true: bool
    citations: list[VerdictJson]

    @classmethod
    def from_verdicts(cls, verdicts: Sequence[object], *, true: bool) -> VerificationJson:
        return cls(true=true, citations=[VerdictJson.from_value(verdict) for verdict in verdicts])


class SessionJson(Schema):
    session_id: str
    start_time: Time
    end_time: Time | None
    query_count: int
    title: str = omit_empty("")


class SessionListJson(Schema):
    sessions: list[SessionJson]

    @classmethod
    def from_sessions(cls, sessions: Sequence[Session]) -> SessionListJson:
        return cls(sessions=[SessionJson.from_value(session) for session in sessions])


class SessionPageJson(SessionListJson):
    """One page of the list of sessions; `next` is the `after` of the following page."""

    next: str | None


class AskedScopeJson(Schema):
    """Where the reader asked to look for the answer, and that in words."""

    type: ScopeType
    identifier: str | None
    description: str


class TurnJson(AnsweredJson):
    """An answer of a session, with what the reader asked about and how they rated it.

    `book_id`, `selected_text`, `scope` and `vote` are left out where there is none.
    """

    book_id: str = omit_empty("")
    selected_text: str = omit_empty("")
    scope: AskedScopeJson | None = omit_empty(None)
    vote: str = omit_empty("")

    @classmethod
    def from_turn(cls, exchange: Exchange, *, vote: str = "") -> TurnJson:
        asked = exchange.question
        scope = asked.scope
        where = str(exchange.receipt.get("scope", ""))
        is_narrow = scope.type is not ScopeType.FULL_BOOK
        return cls.from_value(
            AnsweredJson.from_exchange(exchange),
            book_id=asked.book_id or "",
            selected_text=asked.selected_text or "",
            scope=AskedScopeJson.from_value(scope, description=where) if is_narrow else None,
            vote=vote,
        )


class ConversationJson(SessionJson):
    """A session with its questions and answers."""

    turns: list[TurnJson]
