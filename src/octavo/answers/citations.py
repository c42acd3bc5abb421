"""Turns claims that rest on sentences into an answer with footnotes.

A claim names sentences; the quotation is copied from the chunk by the sentence's offsets, here and nowhere
else. Citations are numbered in the order in which the answer first needs them, and a sentence that is used
twice keeps its number.

Refusals, in the words a librarian would use.

Addresses that lead to the very words: what a citation's link is made of.

A page on the web gets its heading's anchor and a text fragment that names the quotation, lengthened until
nothing else on the page fits it. A PDF gets the page. Everything else gets a stable `book://` address with
the offsets, which Octavo itself can open.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote, urldefrag
from uuid import UUID, uuid5

from octavo.types import Book, BookFormat, Chunk, Citation, Evidence, Refusal, RefusalReason
from octavo.verification.claims import Sentence

NAMESPACE = UUID("0c7a0b00-71c0-5a0e-9a57-6f1d6b1e2d5c")
_OWN_MARK, _PLAIN = re.compile(r"\[(\d+)\]"), r"(\1)"  # a book's own "[3]" must not pass for one of ours
Link = Callable[[Sentence], str]


@dataclass(frozen=True, slots=True)
class AnswerText:
    """The text of an answer with its marks, and what the marks point at."""

    content: str
    citations: tuple[Citation, ...]


def write_footnotes(
    answer_id: str,
    claims: Sequence[tuple[str, Sequence[str], float]],
    *,
    sentences: Mapping[str, Sentence],
    evidence: Sequence[Evidence],
    link: Link,
) -> AnswerText:
    """Claims are (text, ids of sentences, confidence). Every claim ends with the numbers of its citations."""
    found = {item.chunk.id: item for item in evidence}
    numbers: dict[str, int] = {}
    citations: list[Citation] = []
    parts: list[str] = []
    for text, ids, confidence in claims:
        for id_ in ids:
            if id_ not in numbers:
                numbers[id_] = len(numbers) + 1
                sentence = sentences[id_]
                citations.append(_make_citation(answer_id, numbers[id_], sentence, found, confidence, link))
        marks = "".join(f"[{number}]" for number in sorted({numbers[id_] for id_ in ids}))
        parts.append(f"{_OWN_MARK.sub(_PLAIN, text)} {marks}")
    apart = "\n\n" if any("\n" in part for part in parts) else " "  # lists and code keep their lines
    return AnswerText(apart.join(parts), tuple(citations))


def _make_citation(
    answer_id: str,
    number: int,
    sentence: Sentence,
    found: Mapping[str, Evidence],
    confidence: float,
    link: Link,
) -> Citation:
    chunk = sentence.chunk
    item = found[chunk.id]
    return Citation(
        id=str(uuid5(NAMESPACE, f"{answer_id}\x1f{number}")),
        answer_id=answer_id,
        number=number,
        chunk=chunk,
        start=sentence.start,
        end=sentence.end,
        content_snippet=chunk.content[sentence.start - chunk.start : sentence.end - chunk.start],
        relevance_score=item.relevance_score,
        confidence=confidence,
        retrieved_content_id=item.id or chunk.id,
        link=link(sentence),
    )


NEAREST = 3


def refuse_empty_library() -> Refusal:
    return Refusal(
        reason=RefusalReason.EMPTY_LIBRARY,
        message="There is no book in the library yet. Add one first.",
    )


def refuse_unanswered(where: str, evidence: Sequence[Evidence], *, unlikely: bool) -> Refusal:
    """Nothing that answers, or nothing that answers surely enough."""
    near = pick_nearest(evidence)
    places = f" The nearest I found: {_name_sections(near)}." if near else ""
    if unlikely:
        said = f"I found no answer to this in {where}.{places}"
        return Refusal(reason=RefusalReason.NOT_IN_BOOK, message=said, nearest=near)
    said = f"I am not sure enough to answer this from {where}.{places}"
    return Refusal(reason=RefusalReason.BELOW_CONFIDENCE, message=said, nearest=near)


def refuse_out_of_scope(where: str, evidence: Sequence[Evidence], *, ahead: bool = False) -> Refusal:
    """Not within the scope; `evidence` is where the book does answer it. `ahead`, the place is not told."""
    near = () if ahead else pick_nearest(evidence)
    place = "further on" if ahead else f"in {_name_sections(near)}"
    said = f"I found no answer to this in {where}, but the book has one {place}."
    return Refusal(
        reason=RefusalReason.NOT_IN_SCOPE, message=f"{said} Widen the search to see it.", nearest=near
    )


def pick_nearest(evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """The best passage of each of the nearest sections."""
    by_section = {(e.chunk.book_id, e.chunk.section_id): e for e in reversed(evidence)}
    best = sorted(by_section.values(), key=lambda e: e.rank)
    return tuple(best[:NEAREST])


def _name_sections(near: Sequence[Evidence]) -> str:
    names = [f"“{e.chunk.section}”" for e in near[:2]]
    return " and ".join(names)


_WORD = re.compile(r"\S+")
_AT_EACH_END = 4
_LONGEST_WHOLE = 80


def build_link(book: Book, chunk: Chunk, start: int, end: int, *, page_text: str) -> str:
    """The address of `page_text`'s words from `start` to `end` of the chunk's section.

    `page_text` is everything on the same page as the chunk, to tell whether a fragment is unique there.
    """
    snippet = chunk.content[start - chunk.start : end - chunk.start]
    if chunk.url.startswith("book:"):
        if book.format is BookFormat.PDF and chunk.page_number:
            return f"{chunk.url}#page={chunk.page_number}"
        return f"{chunk.url}#char={start},{end}"
    if book.format is BookFormat.PDF and chunk.page_number:
        return f"{urldefrag(chunk.url).url}#page={chunk.page_number}"
    before = chunk.content[: start - chunk.start]
    address, anchor = urldefrag(chunk.url)
    return f"{address}#{anchor}:~:{build_text_fragment(snippet, before=before, page_text=page_text)}"


def build_text_fragment(snippet: str, *, before: str, page_text: str) -> str:
    """`text=…` that names `snippet` and, as far as its surroundings allow, nothing else in `page_text`."""
    words = _WORD.findall(snippet)
    whole = " ".join(words)
    page = " ".join(page_text.split())
    if len(whole) <= _LONGEST_WHOLE or len(words) <= 2 * _AT_EACH_END:
        named, first = _encode(whole), whole
    else:
        first = " ".join(words[:_AT_EACH_END])
        named = f"{_encode(first)},{_encode(' '.join(words[-_AT_EACH_END:]))}"
    lead = _WORD.findall(before)
    if page.count(first) > 1 and lead:
        return f"text={_encode(_find_prefix(lead, first, page))}-,{named}"
    return f"text={named}"


def _find_prefix(lead: Sequence[str], first: str, page: str) -> str:
    """As many of the words before as it takes to tell this place from the others."""
    for length in range(1, min(8, len(lead)) + 1):
        prefix = " ".join(lead[-length:])
        if page.count(f"{prefix} {first}") <= 1:
            break
    return prefix


def _encode(text: str) -> str:
    """Percent-encoded for a text directive, where comma, dash and ampersand mean something."""
    return quote(text, safe="").replace("-", "%2D")
