"""The JSON shapes of asking: answers, citations, events, verdicts, and the contract of `/query`.

The JSON shapes that leave Octavo: the same for the command line's `--json` and for HTTP.

The JSON shapes of the service's own things: jobs, books on the shelf, sections for the reading pane.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from octavo.errors import OctavoError
from octavo.events import Answered, Asked, AskEvent, Claimed, Compared, Retrieved, Scoped, Working
from octavo.types import Answer, Book, Citation, Evidence, Refusal, Section, Session

if TYPE_CHECKING:
    from octavo.answers.audit import Verdict
    from octavo.records.jobs import Job
    from octavo.verification.check import Support

Json = dict[str, Any]


def book_json(book: Book) -> Json:
    return {
        **asdict(book),
        "authors": list(book.authors),
        "format": str(book.format),
        "added_at": book.added_at.isoformat(),
        "updated_at": book.updated_at.isoformat(),
    }


def section_json(section: Section) -> Json:
    """A node of the contents, without its text."""
    return {
        "id": section.id,
        "title": section.title,
        "heading_path": list(section.heading_path),
        "level": section.level,
        "position": section.position,
        "url": section.url,
        "anchor": section.anchor,
        "page_start": section.page_start,
        "page_end": section.page_end,
        "source_file": section.source_file,
        "characters": len(section.text),
    }


def evidence_json(evidence: Evidence) -> Json:
    chunk = evidence.chunk
    return {
        "id": chunk.id,
        "chunk_id": chunk.chunk_id,
        "book_id": chunk.book_id,
        "content": chunk.content,
        "relevance_score": round(evidence.relevance_score, 4),
        "source_file": chunk.source_file,
        "source_location": chunk.source_location,
        "source_title": chunk.source_title,
        "chapter": chunk.chapter,
        "section": chunk.section,
        "section_id": chunk.section_id,
        "page_number": chunk.page_number,
        "page_label": chunk.page_label,
        "url": chunk.url,
        "start": chunk.start,
        "end": chunk.end,
    }


def change_json(change: Compared) -> Json:
    """What an edition changes; "changed" and the like count sections, the last two passages."""
    names = ("added", "changed", "removed", "kept", "chunks_new", "chunks_gone")
    return {name: getattr(change, name) for name in names}


def error_json(error: OctavoError) -> Json:
    return {"error": {"code": error.code, "message": error.message, "hint": error.hint}}


def citation_json(citation: Citation) -> Json:
    chunk = citation.chunk
    return {
        "id": citation.id,
        "answer_id": citation.answer_id,
        "number": citation.number,
        "chunk_id": chunk.id,
        "chunk_number": chunk.chunk_id,
        "book_id": chunk.book_id,
        "section_id": chunk.section_id,
        "content_snippet": citation.content_snippet,
        "start": citation.start,
        "end": citation.end,
        "relevance_score": round(citation.relevance_score, 4),
        "confidence": round(citation.confidence, 4),
        "retrieved_content_id": citation.retrieved_content_id,
        "source_file": chunk.source_file,
        "source_location": chunk.source_location,
        "url": chunk.url,
        "section": chunk.section,
        "page": citation.page,
        "title": chunk.source_title,
        "link": citation.link,
    }


def refusal_json(refusal: Refusal) -> Json:
    """The nearest sections are named and not quoted: they may lie outside of what the reader asked to see."""
    nearest = [evidence_json(item) for item in refusal.nearest]
    named = [{name: value for name, value in item.items() if name != "content"} for item in nearest]
    return {"reason": str(refusal.reason), "message": refusal.message, "nearest": named}


def claim_json(claim: Claimed) -> Json:
    """A sentence of an answer, the numbers of its citations, and what is emphasised in it."""
    marks = [list(mark) for mark in claim.marks]
    return {"text": claim.text, "citations": list(claim.citations), "marks": marks}


def answered_json(event: Answered) -> Json:
    """The final object of an ask, the same in a response, in a stream and on the command line.

    `interpreted` is there when it differs from the question, `dropped` when claims were dropped, `claims`
    when there is an answer whose sentences are known one by one.
    """
    question, answer = event.question, event.answer
    dropped = [{"text": text, "reason": reason} for text, reason in event.dropped]
    return {
        "question_id": question.id,
        "question": question.content,
        "status": str(question.status),
        "answer_id": answer.id,
        "answer": answer.content,
        "confidence": round(answer.confidence, 4),
        "citations": [citation_json(citation) for citation in answer.citations],
        "evidence": [evidence_json(item) for item in answer.evidence],
        "refusal": refusal_json(answer.refusal) if answer.refusal else None,
        **({"interpreted": event.interpreted} if event.interpreted != question.content else {}),
        **({"claims": [claim_json(claim) for claim in event.claims]} if event.claims else {}),
        **({"dropped": dropped} if dropped else {}),
        "answerer": event.answerer,
        "processing_time_ms": answer.processing_time_ms,
        **({"session_id": question.session_id} if question.session_id else {}),
    }


def query_json(answer: Answer) -> Json:
    """Exactly the keys that the source documents name."""
    return {
        "answer": answer.content,
        "citations": [
            {
                "text": citation.content_snippet,
                "url": citation.url,
                "similarity_score": round(citation.relevance_score, 4),
                "chunk_id": citation.chunk.chunk_id,
                "source_title": citation.title,
            }
            for citation in answer.citations
        ],
        "confidence": round(answer.confidence, 4),
        "processing_time_ms": answer.processing_time_ms,
    }


def event_json(event: AskEvent) -> Json:
    match event:
        case Asked():
            return {"question_id": event.question.id, "interpreted": event.interpreted}
        case Scoped():
            return {"description": event.description}
        case Retrieved():
            return {"evidence": [evidence_json(item) for item in event.evidence]}
        case Working():
            return {"step": event.step, "detail": event.detail}
        case Claimed():
            return claim_json(event)
        case Answered():
            return answered_json(event)


def support_json(support: Support) -> Json:
    """`reasons` is there when something speaks against the claim."""
    return {
        "supported": support.supported,
        "score": round(support.score, 6),
        "passage": support.passage,
        "snippet": support.snippet,
        **({"reasons": list(support.reasons)} if support.reasons else {}),
    }


def verdict_json(verdict: Verdict) -> Json:
    return asdict(verdict)


def session_json(session: Session) -> Json:
    return {
        "session_id": session.session_id,
        "start_time": session.start_time.isoformat(),
        "end_time": session.end_time.isoformat() if session.end_time else None,
        "query_count": session.query_count,
    }


def job_json(job: Job) -> Json:
    return {
        "job_id": job.id,
        "state": str(job.state),
        "name": job.name,
        "progress": asdict(job.progress),
        "book_id": job.book_id,
        "error": dict(job.error) if job.error else None,
        "created_at": job.created_at.isoformat(),
    }


def shelved_json(book: Book, *, cover: bool) -> Json:
    """A book, and whether there is a picture to show for it."""
    return {**book_json(book), "cover": cover}


def reading_json(section: Section) -> Json:
    """A section with its text, and where in it pages begin and blocks of code or tables stand."""
    return {
        **section_json(section),
        "text": section.text,
        "blocks": [{"start": span.start, "end": span.end} for span in section.blocks],
        "pages": [asdict(mark) for mark in section.pages],
    }
