"""Turns claims that rest on sentences into an answer with footnotes, or into a refusal.

A claim names sentences. The quotation is copied from the chunk by the sentence's offsets, here and nowhere
else. Citations are numbered once, in the order in which the answer first needs them; a sentence that is used
twice keeps its number. A fact of the catalogue that no passage says has no citation.

A citation's link leads to the quoted words. For a page on the web it has the anchor of the heading and a text
fragment that names the quotation, lengthened until nothing else on the page matches it. For a PDF it has the
page. For everything else it is a stable `book://` address with the offsets, which Octavo itself can open.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import quote, urldefrag
from uuid import UUID, uuid4, uuid5

from octavo.events import Claimed
from octavo.types import (
    Book,
    BookFormat,
    CatalogueStatement,
    Chunk,
    Citation,
    ElementKind,
    Evidence,
    Refusal,
    RefusalReason,
    ShortAnswer,
)
from octavo.verification.claims import CatalogueClaim, GlossedClaim

if TYPE_CHECKING:
    from octavo.answers.workspace import Sources
    from octavo.search.ranking import ReaderKind
    from octavo.search.scope import Bounds
    from octavo.verification.claims import Claim, Phrase, Sentence

NAMESPACE = UUID("0c7a0b00-71c0-5a0e-9a57-6f1d6b1e2d5c")
_LINES = frozenset((ElementKind.ITEM, ElementKind.ROW, ElementKind.CODE))
_STOPS = (".", "!", "?", "…")
# A book's own "[3]" must not look like one of our marks.
_OWN_MARK, _PLAIN = re.compile(r"\[(\d+)\]"), r"(\1)"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedReply:
    """What an answerer said, after checking: the claims that hold, and the others with the reason.

    The evidence is what was found first, and what the claims rest on besides.
    """

    evidence: tuple[Evidence, ...]
    sentences: Mapping[str, Sentence]
    claims: tuple[Claim, ...]
    numbers: Mapping[str, int]
    """The number of the citation of each sentence that the claims rest on."""
    dropped: tuple[tuple[str, str], ...]
    answerable: float
    confidence: float
    answerer: str
    notes: Mapping[str, object]
    checking: float
    """Seconds that it took to check the claims."""
    local: tuple[str, ...] = ()
    """The models that come with Octavo and took part."""
    short: Phrase | None = None
    """The words that answer, in a sentence that the first claim rests on."""
    reader: ReaderKind | None = None
    """Whose calibration the probabilities are of, if it is not that of the settings."""

    def list_claimed(self) -> tuple[Claimed, ...]:
        """Return the claims as readers see them, with the numbers of their citations."""
        numbers = [tuple(sorted(self.numbers[id_] for id_ in claim.sentences)) for claim in self.claims]
        return tuple(
            Claimed(claim.text, cited, claim.marks, translated=isinstance(claim, GlossedClaim))
            for claim, cited in zip(self.claims, numbers, strict=True)
        )

    def find_outside(self, bounds: Bounds) -> tuple[Evidence, ...]:
        """Return the evidence of sentences that the claims rest on and that lie outside of the bounds."""
        used = [self.sentences[id_] for id_ in self.numbers]
        outside = {
            s.chunk.id
            for s in used
            if not (bounds.holds(s.chunk) and bounds.touches(s.chunk, s.start, s.end))
        }
        return tuple(item for item in self.evidence if item.chunk.id in outside)


@dataclass(frozen=True, slots=True)
class AnswerText:
    """The text of an answer with its marks and the citations that they point at, or of a refusal.

    `catalogue` are the sentences that have no mark, because the catalogue states them and no passage does.
    """

    answer_id: str
    content: str
    citations: tuple[Citation, ...] = ()
    refusal: Refusal | None = None
    short: ShortAnswer | None = None
    catalogue: tuple[CatalogueStatement, ...] = ()
    translated: tuple[str, ...] = ()


def number_citations(claims: Sequence[Claim], *, short: Phrase | None = None) -> dict[str, int]:
    """Number the sentences that an answer rests on, in the order in which they are first needed.

    The sentence of the short answer comes first, because the answer opens with it.
    """
    numbers: dict[str, int] = {short.sentence: 1} if short else {}
    for claim in claims:
        for id_ in claim.sentences:
            numbers.setdefault(id_, len(numbers) + 1)
    return numbers


def _quotes_line(claim: Claim, sentences: Mapping[str, Sentence]) -> bool:
    """Whether a claim is an item of a list, a row of a table or code, in the book's own words."""
    quoted = (sentences[id_] for id_ in claim.sentences)
    return any(sentence.kind in _LINES and sentence.text in claim.text for sentence in quoted)


async def cite(reply: CheckedReply, sources: Sources) -> AnswerText:
    """Write the answer with its footnotes, every quotation copied by offset."""
    links = {id_: await _find_link(reply.sentences[id_], sources) for id_ in reply.numbers}
    return write_footnotes(str(uuid4()), reply, links=links)


def write_footnotes(answer_id: str, reply: CheckedReply, *, links: Mapping[str, str]) -> AnswerText:
    """End every claim with the numbers of its citations. `links` has the address of each sentence."""
    found = {item.chunk.id: item for item in reply.evidence}
    citations = tuple(
        _make_citation(
            answer_id,
            number,
            reply.sentences[id_],
            item=found[reply.sentences[id_].chunk.id],
            confidence=reply.confidence,
            link=links[id_],
        )
        for id_, number in reply.numbers.items()
    )
    short = _make_short(reply)
    parts = [f"{short.text}{'' if short.text.endswith(_STOPS) else '.'} [{short.citation}]"] if short else []
    for claim in reply.claims:
        marks = "".join(f"[{number}]" for number in sorted({reply.numbers[id_] for id_ in claim.sentences}))
        parts.append(f"{_OWN_MARK.sub(_PLAIN, claim.text)} {marks}".rstrip())
    # Lists, rows and code keep their lines, and what has no citation or is from the catalogue has its own.
    own_line = any(
        not c.sentences or isinstance(c, CatalogueClaim) or _quotes_line(c, reply.sentences)
        for c in reply.claims
    )
    apart = "\n\n" if own_line or any("\n" in part for part in parts) else " "
    catalogue = tuple(
        CatalogueStatement(text=_OWN_MARK.sub(_PLAIN, claim.text), book_id=claim.book_id)
        for claim in reply.claims
        if isinstance(claim, CatalogueClaim) and not claim.sentences
    )
    translated = tuple(
        _OWN_MARK.sub(_PLAIN, claim.text) for claim in reply.claims if isinstance(claim, GlossedClaim)
    )
    return AnswerText(
        answer_id,
        apart.join(parts),
        citations,
        short=short,
        catalogue=catalogue,
        translated=translated,
    )


def _make_short(reply: CheckedReply) -> ShortAnswer | None:
    if reply.short is None:
        return None
    sentence = reply.sentences[reply.short.sentence]
    start, end = sentence.start + reply.short.start, sentence.start + reply.short.end
    text = sentence.chunk.content[start - sentence.chunk.start : end - sentence.chunk.start]
    return ShortAnswer(text=text, citation=reply.numbers[sentence.id], start=start, end=end)


def _make_citation(
    answer_id: str, number: int, sentence: Sentence, *, item: Evidence, confidence: float, link: str
) -> Citation:
    chunk = sentence.chunk
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
        link=link,
    )


async def _find_link(sentence: Sentence, sources: Sources) -> str:
    chunk = sentence.chunk
    book = await sources.book(chunk)
    if book is None:
        return chunk.url
    # A passage may begin on one page, and the sentence may stand on the next.
    if chunk.page_number != chunk.page_end:
        section = await sources.section(chunk)
        mark = section.page_at(sentence.start) if section else None
        chunk = replace(chunk, page_number=mark.number, page_end=mark.number) if mark else chunk
    page = "" if chunk.url.startswith("book:") else await sources.page(chunk)
    return build_link(book, chunk, sentence.start, sentence.end, page_text=page)


NEAREST = 2


def refuse_empty_library() -> Refusal:
    return Refusal(
        reason=RefusalReason.EMPTY_LIBRARY,
        message="There is no book in the library yet. Add one first.",
    )


def refuse_unanswered(where: str, evidence: Sequence[Evidence], *, unlikely: bool) -> Refusal:
    """Refuse because nothing answers, or because nothing answers surely enough."""
    near = pick_nearest(evidence)
    places = f" The nearest I found: {_name_sections(near)}." if near else ""
    if unlikely:
        said = f"I found no answer to this in {_end_sentence(where)}{places}"
        return Refusal(reason=RefusalReason.NOT_IN_BOOK, message=said, nearest=near)
    said = f"I am not sure enough to answer this from {_end_sentence(where)}{places}"
    return Refusal(reason=RefusalReason.BELOW_CONFIDENCE, message=said, nearest=near)


def refuse_incomplete(said: str) -> Refusal:
    """Refuse what asks nothing by itself, and say what is missing."""
    return Refusal(reason=RefusalReason.BELOW_CONFIDENCE, message=said)


def refuse_unexplained(where: str) -> Refusal:
    """Refuse to explain what nothing else in the book is about."""
    said = f"I found nothing that explains {where}: no definition, and no text around it that says more."
    return Refusal(reason=RefusalReason.NOT_IN_BOOK, message=said)


def refuse_without_model(done: str, where: str) -> Refusal:
    """Refuse to write something new: without a language model, there are only the book's own words."""
    said = (
        f"I cannot {done} without a language model that answers (OCTAVO_MODEL names one). "
        f"I can explain, sum up, or define a word of {_end_sentence(where)}"
    )
    return Refusal(reason=RefusalReason.BELOW_CONFIDENCE, message=said)


def refuse_out_of_scope(where: str, evidence: Sequence[Evidence], *, ahead: bool = False) -> Refusal:
    """Refuse because the answer is outside of the scope, in `evidence`. Hide its place if it is `ahead`."""
    near = () if ahead else pick_nearest(evidence)
    place = "further on" if ahead else f"in {_name_sections(near)}"
    said = f"I found no answer to this in {where.removesuffix('.')}, but the book has one {place}."
    return Refusal(
        reason=RefusalReason.NOT_IN_SCOPE, message=f"{said} Widen the search to see it.", nearest=near
    )


def pick_nearest(evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """Pick the best passage of each of the nearest sections; of one section alone, its best passages."""
    by_section = {(e.chunk.book_id, e.chunk.section_id): e for e in reversed(evidence)}
    best = sorted(by_section.values(), key=lambda e: e.rank)
    rest = sorted((e for e in evidence if e not in best), key=lambda e: e.rank)
    return tuple([*best, *rest][:NEAREST])


def _name_sections(near: Sequence[Evidence]) -> str:
    return " and ".join(dict.fromkeys(f"“{e.chunk.section.removesuffix('.')}”" for e in near))


def _end_sentence(text: str) -> str:
    """End a sentence that a title may have ended already: "Chapter 1. Loomings."."""
    return text if text.endswith(_STOPS) else f"{text}."


_WORD = re.compile(r"\S+")
_AT_EACH_END = 4
_LONGEST_WHOLE = 80


def build_link(book: Book, chunk: Chunk, start: int, end: int, *, page_text: str) -> str:
    """Build the address of the words from `start` to `end` of the chunk's section.

    `page_text` is everything on the same page as the chunk. It tells whether a fragment is unique there.
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
    """Build a `text=…` that matches `snippet` and, as far as possible, nothing else in `page_text`."""
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
    """Take as many of the words before as it takes to tell this place from the others."""
    for length in range(1, min(8, len(lead)) + 1):
        prefix = " ".join(lead[-length:])
        if page.count(f"{prefix} {first}") <= 1:
            break
    return prefix


def _encode(text: str) -> str:
    """Percent-encode for a text directive, where comma, dash and ampersand have a meaning."""
    return quote(text, safe="").replace("-", "%2D")
