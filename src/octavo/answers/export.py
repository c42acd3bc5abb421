"""Writes a conversation as Markdown, for people. `octavo.schemas.SessionExport` is the same for programs.

Every question is a heading. Every citation is a footnote with its place, its link and its words as a
quotation; footnotes are numbered through the whole page. What a book or a reader wrote is escaped, so that
nothing in it makes a heading, a link, HTML or the end of a quotation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType

from octavo.text.clean import clean, collapse
from octavo.types import Answer, Citation, Message, Question, Refusal, Session

_AS_ASKED: Mapping[str, str] = MappingProxyType({})
# A footnote mark after escaping.
_MARK = re.compile(r"\\\[(\d+(?:, ?\d+)*)\\\]([:(]?)")
_SPECIAL = re.compile(r"[\\`*_{}\[\]~|^$#@]")
_AT_LINE_START = re.compile(r"^(\d{0,9})([+=:.)-])")
_ADDRESS = re.compile(r"(?i)(?<=www)\.|:(?=//)|(?<=mailto):")


def write_markdown(session: Session, *, interpreted: Mapping[str, str] = _AS_ASKED) -> str:
    """Write a conversation as a page. `interpreted` has the completed question by the id of a question."""
    page = [f"# Conversation {escape_line(session.session_id)}", _format_time(session.start_time)]
    notes: list[str] = []
    for entry in _sort_entries(session):
        if isinstance(entry, Message):
            page += _write_message(entry, notes)
        else:
            answers = [a for a in session.answers if a.question_id == entry.id]
            page += _write_question(entry, answers, interpreted.get(entry.id, entry.content), notes)
    return "\n\n".join([*page, *notes]) + "\n"


def _sort_entries(session: Session) -> list[Question | Message]:
    """Sort the questions, and the messages that are neither a question nor an answer, by time."""
    asked = {q.id for q in session.questions}
    answered = {a.question_id for a in session.answers if a.question_id in asked}
    shown = {"user": asked, "assistant": answered}
    others = [m for m in session.messages if m.query_id not in shown[m.role]]
    entries: list[Question | Message] = [*session.questions, *others]
    return sorted(entries, key=lambda entry: entry.timestamp)


def _write_question(question: Question, answers: Sequence[Answer], meant: str, notes: list[str]) -> list[str]:
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
            made.append(_write_footnotes(answer.content, answer.citations, notes))
    return made


def _write_nearest(refusal: Refusal) -> list[str]:
    """Write the nearest passages as quotations with their places."""
    pairs = zip(refusal.nearest, refusal.excerpts, strict=True)
    return [
        f"{escape_line(item.chunk.source_location)}:\n\n{write_quotation(text)}"
        for item, text in pairs
        if text
    ]


def _write_message(message: Message, notes: list[str]) -> list[str]:
    if message.role == "user":
        return [f"## {escape_line(message.content)}"]
    return [_write_footnotes(message.content, message.source_references, notes)]


def _write_footnotes(content: str, citations: Sequence[Citation], notes: list[str]) -> str:
    """Turn the marks of a text into footnotes. A citation that no mark names is added at the end."""
    labels = {c.number: f"[^{len(notes) + place}]" for place, c in enumerate(citations, start=1)}
    notes.extend(_write_note(labels[c.number], c) for c in citations)
    named: set[int] = set()

    def footnote(mark: re.Match[str]) -> str:
        numbers = [int(number) for number in mark[1].split(",")]
        if not all(number in labels for number in numbers):
            return mark[0]
        named.update(numbers)
        return "".join(labels[n] for n in numbers) + (f"\\{mark[2]}" if mark[2] else "")

    text = _MARK.sub(footnote, _escape_lines(content))
    return text + "".join(label for number, label in labels.items() if number not in named)


def _write_note(label: str, citation: Citation) -> str:
    link = f"[{escape_line(citation.source_file)}](<{citation.link}>)"
    place = f"{escape_line(citation.source_location)} · {link} · confidence {citation.confidence:.0%}"
    quotation = write_quotation(citation.content_snippet).replace("\n", "\n    ")
    return f"{label}: {place}\n\n    {quotation}"


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
