"""A conversation to keep, as Markdown for people. `octavo.schemas.SessionExport` is the same for programs.

In Markdown every question is a heading, every answer keeps its footnotes, counted through the whole page, and
every citation is a footnote: where it stands, the link, and its words as a quotation. What a book or a reader
wrote is text there and nothing else: no mark in it makes a heading, a link, HTML or the end of a quotation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType

from octavo.text.clean import clean, collapse
from octavo.types import Answer, Citation, Message, Question, Session

_AS_ASKED: Mapping[str, str] = MappingProxyType({})
_MARK = re.compile(r"\\\[(\d+(?:, ?\d+)*)\\\]([:(]?)")  # a footnote mark, once it is escaped
_SPECIAL = re.compile(r"[\\`*_{}\[\]~|^$#@]")
_AT_LINE_START = re.compile(r"^(\d{0,9})([+=:.)-])")
_ADDRESS = re.compile(r"(?i)(?<=www)\.|:(?=//)|(?<=mailto):")


def session_markdown(session: Session, *, interpreted: Mapping[str, str] = _AS_ASKED) -> str:
    """The conversation as a page. `interpreted` has, by question id, the words a question was read as."""
    page = [f"# Conversation {_plain(session.session_id)}", _when(session.start_time)]
    notes: list[str] = []
    for entry in _entries(session):
        if isinstance(entry, Message):
            page += _message(entry, notes)
        else:
            answers = [a for a in session.answers if a.question_id == entry.id]
            page += _question(entry, answers, interpreted.get(entry.id, entry.content), notes)
    return "\n\n".join([*page, *notes]) + "\n"


def _entries(session: Session) -> list[Question | Message]:
    """The questions, and the messages that are neither one of them nor its answer, in the order of time."""
    asked = {q.id for q in session.questions}
    answered = {a.question_id for a in session.answers if a.question_id in asked}
    told = {"user": asked, "assistant": answered}
    others = [m for m in session.messages if m.query_id not in told[m.role]]
    entries: list[Question | Message] = [*session.questions, *others]
    return sorted(entries, key=lambda entry: entry.timestamp)


def _question(question: Question, answers: Sequence[Answer], meant: str, notes: list[str]) -> list[str]:
    made = [f"## {_plain(question.content)}"]
    if collapse(meant) != collapse(question.content):
        made.append(f"*Interpreted as:* {_plain(meant)}")
    if question.selected_text:
        made.append(f"*About the selection:*\n\n{_quotation(question.selected_text)}")
    if not answers:
        made.append("*Not answered.*")
    for answer in answers:
        if answer.refusal is not None:
            made.append(f"**Not answered** ({answer.refusal.reason}): {_lines(answer.content)}")
        else:
            made.append(_cited(answer.content, answer.citations, notes))
    return made


def _message(message: Message, notes: list[str]) -> list[str]:
    if message.role == "user":
        return [f"## {_plain(message.content)}"]
    return [_cited(message.content, message.source_references, notes)]


def _cited(content: str, citations: Sequence[Citation], notes: list[str]) -> str:
    """The text with its marks turned into footnotes; a citation that no mark names is added at the end."""
    labels = {c.number: f"[^{len(notes) + place}]" for place, c in enumerate(citations, start=1)}
    notes.extend(_note(labels[c.number], c) for c in citations)
    named: set[int] = set()

    def footnote(mark: re.Match[str]) -> str:
        numbers = [int(number) for number in mark[1].split(",")]
        if not all(number in labels for number in numbers):
            return mark[0]
        named.update(numbers)
        return "".join(labels[n] for n in numbers) + (f"\\{mark[2]}" if mark[2] else "")

    text = _MARK.sub(footnote, _lines(content))
    return text + "".join(label for number, label in labels.items() if number not in named)


def _note(label: str, citation: Citation) -> str:
    score = f"confidence {citation.confidence:.0%}"
    place = (
        f"{_plain(citation.source_location)} · [{_plain(citation.source_file)}](<{citation.link}>) · {score}"
    )
    quotation = _quotation(citation.content_snippet).replace("\n", "\n    ")
    return f"{label}: {place}\n\n    {quotation}"


def _quotation(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in _lines(text).split("\n"))


def _plain(text: str) -> str:
    """On one line, with nothing in it that Markdown or HTML would read."""
    return _escaped(collapse(clean(text)))


def _lines(text: str) -> str:
    """In its own lines and paragraphs, each of them text: indentation is shown, not read as code."""
    paragraphs = re.split(r"\n\s*\n", clean(text).strip("\n"))
    return "\n\n".join("\\\n".join(map(_line, p.split("\n"))) for p in paragraphs)


def _line(line: str) -> str:
    words = line.strip()
    indent = len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())
    return "\u00a0" * indent + _escaped(words)


def _escaped(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = _ADDRESS.sub(lambda found: f"\\{found[0]}", _SPECIAL.sub(lambda found: f"\\{found[0]}", text))
    return _AT_LINE_START.sub(r"\1\\\2", text)


def _when(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M %Z").strip()
