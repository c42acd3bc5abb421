"""Writes a conversation as Markdown, for people. `octavo.schemas.SessionExport` is the same for programs.

Every question is a heading. Every citation is a footnote with its place, its links and its words as a
quotation, in which tables, code and lists are what they are in the book; footnotes are numbered through the
whole page. What a book or a reader wrote is escaped, so that nothing in it makes a heading, a link, HTML or
the end of a quotation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from urllib.parse import quote

from octavo.answers.export_blocks import Sections, write_passage
from octavo.text.clean import clean, collapse
from octavo.types import Answer, Citation, Message, Question, Refusal, Section, Session

NO_SECTIONS: Sections = MappingProxyType({})
_AS_ASKED: Mapping[str, str] = MappingProxyType({})
# A footnote mark after escaping.
_MARK = re.compile(r"\\\[(\d+(?:, ?\d+)*)\\\]([:(]?)")
_SPECIAL = re.compile(r"[\\`*_{}\[\]~|^$#@]")
_AT_LINE_START = re.compile(r"^(\d{0,9})([+=:.)-])")
_ADDRESS = re.compile(r"(?i)(?<=www)\.|:(?=//)|(?<=mailto):")


def write_markdown(
    session: Session,
    *,
    interpreted: Mapping[str, str] = _AS_ASKED,
    sections: Sections = NO_SECTIONS,
    base: str = "",
) -> str:
    """Write a conversation as a page. `interpreted` has the completed question by the id of a question.

    `sections` are those that are quoted, with their markup. `base` is where the app is, if there is one: then
    each footnote has a link that opens its exact words there.
    """
    page = [f"# Conversation {escape_line(session.session_id)}", _format_time(session.start_time)]
    notes = _Notes(sections, base)
    for entry in _sort_entries(session):
        if isinstance(entry, Message):
            page += _write_message(entry, notes)
        else:
            answers = [a for a in session.answers if a.question_id == entry.id]
            page += _write_question(entry, answers, interpreted.get(entry.id, entry.content), notes)
    return "\n\n".join([*page, *notes.written]) + "\n"


class _Notes:
    """The footnotes of a page while it is written."""

    def __init__(self, sections: Sections, base: str) -> None:
        self.written: list[str] = []
        self._sections, self._base = sections, base

    def add(self, citations: Sequence[Citation]) -> dict[int, str]:
        """Write a footnote for each citation, and return their labels by the numbers in the answer."""
        labels = {c.number: f"[^{len(self.written) + n}]" for n, c in enumerate(citations, start=1)}
        self.written.extend(self._write(labels[c.number], c) for c in citations)
        return labels

    def _write(self, label: str, citation: Citation) -> str:
        links = [f"[{escape_line(citation.source_file)}](<{citation.link}>)"]
        chunk = citation.chunk
        if self._base:
            address = make_address(
                chunk.book_id, chunk.section_id, citation.start, citation.end, base=self._base
            )
            links.append(f"[open these words](<{address}>)")
        place = [escape_line(citation.source_location), *links, f"confidence {citation.confidence:.0%}"]
        quotation = self._quote(citation).replace("\n", "\n    ")
        return f"{label}: {' · '.join(place)}\n\n    {quotation}"

    def _quote(self, citation: Citation) -> str:
        section = self._sections.get((citation.chunk.book_id, citation.chunk.section_id))
        return quote_passage(section, citation.start, citation.end, citation.content_snippet)


def make_address(book_id: str, section_id: str, start: int, end: int, *, base: str) -> str:
    """Return the address of some words of a book in the app at `base`."""
    book, section = quote(book_id, safe=""), quote(section_id, safe="")
    return f"{base.rstrip('/')}/#/books/{book}/sections/{section}?start={start}&end={end}"


def list_sections(session: Session) -> list[tuple[str, str]]:
    """List the sections that a conversation cites, each by the ids of its book and of itself."""
    cited = [citation for answer in session.answers for citation in answer.citations]
    cited += [citation for message in session.messages for citation in message.source_references]
    return [(citation.chunk.book_id, citation.chunk.section_id) for citation in cited]


def _sort_entries(session: Session) -> list[Question | Message]:
    """Sort the questions, and the messages that are neither a question nor an answer, by time."""
    asked = {q.id for q in session.questions}
    answered = {a.question_id for a in session.answers if a.question_id in asked}
    shown = {"user": asked, "assistant": answered}
    others = [m for m in session.messages if m.query_id not in shown[m.role]]
    entries: list[Question | Message] = [*session.questions, *others]
    return sorted(entries, key=lambda entry: entry.timestamp)


def _write_question(question: Question, answers: Sequence[Answer], meant: str, notes: _Notes) -> list[str]:
    made = [f"## {escape_line(question.content)}"]
    if collapse(meant) != collapse(question.content):
        made.append(f"*Interpreted as:* {escape_line(meant)}")
    if question.selected_text:
        made.append(f"*About the selection:*\n\n{write_quotation(question.selected_text)}")
    if not answers:
        made.append("*Not answered.*")
    for answer in answers:
        if answer.refusal is not None:
            made.append(f"**Not answered** ({answer.refusal.reason}): {_escape_lines(answer.content)}")
            made += _write_nearest(answer.refusal)
        else:
            made.append(_write_footnotes(answer.content, answer.citations, notes, answer.translated))
    return made


def _write_nearest(refusal: Refusal) -> list[str]:
    """Write the nearest passages as quotations with their places."""
    pairs = zip(refusal.nearest, refusal.excerpts, strict=True)
    return [
        f"{escape_line(item.chunk.source_location)}:\n\n{write_quotation(text)}"
        for item, text in pairs
        if text
    ]


def _write_message(message: Message, notes: _Notes) -> list[str]:
    if message.role == "user":
        return [f"## {escape_line(message.content)}"]
    return [_write_footnotes(message.content, message.source_references, notes)]


def _write_footnotes(
    content: str, citations: Sequence[Citation], notes: _Notes, translated: Sequence[str] = ()
) -> str:
    """Turn the marks of a text into footnotes. A citation that no mark names is added at the end.

    After a sentence that is translated a word says so; its footnotes have the words of the book.
    """
    labels = notes.add(citations)
    named: set[int] = set()

    def footnote(mark: re.Match[str]) -> str:
        numbers = [int(number) for number in mark[1].split(",")]
        if not all(number in labels for number in numbers):
            return mark[0]
        named.update(numbers)
        return "".join(labels[n] for n in numbers) + (f"\\{mark[2]}" if mark[2] else "")

    text = _escape_lines(content)
    for sentence in dict.fromkeys(map(_escape_lines, translated)):
        text = text.replace(sentence, f"{sentence} *(translated)*")
    text = _MARK.sub(footnote, text)
    return text + "".join(label for number, label in labels.items() if number not in named)


def quote_passage(section: Section | None, start: int, end: int, text: str) -> str:
    """Write words of a book as a quotation, by the markup of their section if they still stand there."""
    if section is not None and section.text[start:end] == text:
        drawn = write_passage(section, start, end, escape=escape_line)
        if drawn:
            return "\n".join(f"> {line}".rstrip() for line in drawn.split("\n"))
    return write_quotation(text)


def write_quotation(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in _escape_lines(text).split("\n"))


def escape_line(text: str) -> str:
    """Put a text on one line, and escape what Markdown or HTML would interpret."""
    return _escape(collapse(clean(text)))


def _escape_lines(text: str) -> str:
    """Keep lines and paragraphs, and escape each line. Indentation is shown, not read as code."""
    paragraphs = re.split(r"\n\s*\n", clean(text).strip("\n"))
    return "\n\n".join("\\\n".join(map(_escape_indented, p.split("\n"))) for p in paragraphs)


def _escape_indented(line: str) -> str:
    words = line.strip()
    indent = len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())
    return "\u00a0" * indent + _escape(words)


def _escape(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = _ADDRESS.sub(lambda found: f"\\{found[0]}", _SPECIAL.sub(lambda found: f"\\{found[0]}", text))
    return _AT_LINE_START.sub(r"\1\\\2", text)


def _format_time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M %Z").strip()
