"""Tests how well a book is answered, with questions made from the book itself or brought along.

Questions are made from definitions ("What is X?"), from what the map says about people and things, from
headings, and by the language model if there is one; each knows the sections that answer it. Some more ask for
what the book never mentions: those must be refused. A question is right if it was answered from such a
section (or with one of the answers that came with it), and, where the book has no answer, if it was refused.
Without a language model, the same book gives the same questions, so two evaluations can be compared, question
by question: of two settings, two models or two editions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from octavo.concurrency import run_blocking
from octavo.errors import InvalidValue
from octavo.text.english import collect_stems, list_words, tokenize
from octavo.validation import check_integer

if TYPE_CHECKING:
    from octavo.settings import Settings
    from octavo.text.bookmap.describe import MapDescriber
    from octavo.text.bookmap.model import EntitySummary
    from octavo.types import Answer, Book, Section

QUESTIONS_DEFAULT, QUESTIONS_MOST = 40, 2_000
HITS = (1, 3, 5)
BINS = 5
# A section with less text than this does not answer a question about its heading.
LEAST_TEXT = 200
# One question in so many asks for what the book does not mention.
BEYOND = 8
# One question in so many is written by the language model, if there is one.
WRITTEN = 4
ENTITIES = 200
# What few books mention. A question is asked if none of its telling words is in the book.
_ELSEWHERE = (
    "What is the boiling point of tungsten?",
    "Who won the badminton championship in Jakarta?",
    "How many moons does Neptune have?",
    "What does a saxophone reed cost?",
    "Which vaccine prevents shingles?",
    "Who composed the anthem of Uruguay?",
    "How is sourdough rye fermented?",
    "What is the tax on imported bicycles in Denmark?",
    "When was the Trans-Siberian railway electrified?",
    "Which enzyme digests lactose?",
    "How deep is the Mariana trench?",
    "Who invented the zipper?",
)
_NUMBERING = re.compile(
    r"^(?:(?:chapter|section|part|appendix)\s+[\divxlc]+|[\d.]+|[ivxlc]+)[.:)\s—–-]+", re.I
)
Source = Literal["definition", "map", "heading", "model", "beyond", "yours"]
Write = Callable[[str], Awaitable[str | None]]
"""Writes a question that a text answers, or None."""
T = TypeVar("T")
Ask = Callable[[str], Awaitable["Answer"]]
OnAnswer = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class TestQuestion:
    """A question and what answers it: sections by id, or accepted answers. Neither means: must be refused."""

    # pytest would take it for a test.
    __test__ = False

    question: str
    source: Source = "yours"
    sections: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    answerable: bool = True


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a question. `rank` is the place of the first passage from its sections, or None."""

    question: str
    source: Source
    answerable: bool
    sections: tuple[str, ...]
    accepted: tuple[str, ...]
    right: bool
    answered: bool
    rank: int | None
    confidence: float
    answer: str
    cited: tuple[str, ...]
    nearest: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ConfidenceBin:
    """Answers with about the same confidence: how many, what they claimed on average, how many were right."""

    low: float
    high: float
    count: int
    confidence: float
    right: float


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How well a book is answered. Shares are of the questions they are about, and None if there is none."""

    book_id: str
    title: str
    content_hash: str
    settings: Mapping[str, str]
    results: tuple[Result, ...]
    hits: Mapping[str, float | None] = field(default_factory=dict)
    answered: float | None = None
    right: float | None = None
    right_of_answered: float | None = None
    refused: float | None = None
    calibration: tuple[ConfidenceBin, ...] = ()
    calibration_error: float | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """What changed between two evaluations, for the questions that both have."""

    shared: int
    gained: tuple[str, ...]
    lost: tuple[str, ...]


async def choose_questions(
    path: str | Path | None, sections: Sequence[Section], mapped: MapDescriber, write: Write, *, limit: int
) -> list[TestQuestion]:
    """Read the questions in a file, or make some from the book."""
    check_integer("limit", limit, least=1, most=QUESTIONS_MOST)
    if path is not None:
        return await run_blocking(read_questions, Path(path), sections)
    written = await _have_written(sections, write, most=limit // WRITTEN)
    made = await run_blocking(make_questions, sections, mapped, limit=limit - len(written))
    return list({each.question: each for each in [*written, *made]}.values())


async def _have_written(sections: Sequence[Section], write: Write, *, most: int) -> list[TestQuestion]:
    """Have a question written for each of up to `most` sections, spread over the whole book."""
    told = [section for section in sections if len(section.text) >= LEAST_TEXT]
    written = []
    for section in _spread(told, most):
        question = await write(section.text)
        if question is not None:
            written.append(TestQuestion(question, "model", (section.id,)))
    return written


def make_questions(sections: Sequence[Section], mapped: MapDescriber, *, limit: int) -> list[TestQuestion]:
    """Make up to `limit` questions, of each kind about as many, spread over the whole book."""
    known = collect_stems(" ".join(section.text for section in sections))
    beyond = [TestQuestion(q, "beyond", answerable=False) for q in _ELSEWHERE if not _telling(q) & known]
    beyond = beyond[: limit // BEYOND]
    left = limit - len(beyond)
    defined, described = _ask_map(mapped)
    kinds = [defined, described, _ask_headings(sections)]
    chosen: list[TestQuestion] = []
    # The kinds with few questions first: the others take what is left.
    for done, kind in enumerate(sorted(kinds, key=len)):
        chosen += _spread(kind, (left - len(chosen)) // (len(kinds) - done))
    return list({each.question: each for each in [*chosen, *beyond]}.values())


def _telling(question: str) -> set[str]:
    common = list_words("stop", "stop_in_questions")
    return {t.stem for t in tokenize(question)[1:] if t.text.lower() not in common and len(t.text) > 6}


def _spread(items: Sequence[T], most: int) -> list[T]:
    if len(items) <= most:
        return list(items)
    return [items[n * len(items) // most] for n in range(most)]


def _ask_map(mapped: MapDescriber) -> tuple[list[TestQuestion], list[TestQuestion]]:
    defined, described = [], []
    for summary in mapped.list_entities(ENTITIES):
        entity = mapped.find(summary.name)
        if entity is None:
            continue
        definition = mapped.define(entity)
        said = [quote.section_id for quote in mapped.list_statements(entity)]
        gold = tuple(dict.fromkeys([*([definition.section_id] if definition else []), *said]))
        if definition is not None:
            defined.append(TestQuestion(_ask_about(summary), "definition", gold))
        elif said:
            described.append(TestQuestion(_ask_about(summary), "map", gold))
    return defined, described


def _ask_about(summary: EntitySummary) -> str:
    return f"{'Who' if summary.kind == 'person' else 'What'} is {summary.name}?"


def _ask_headings(sections: Sequence[Section]) -> list[TestQuestion]:
    """Ask about each heading that only one section has."""
    titles = [_NUMBERING.sub("", section.title).strip(" .") for section in sections]
    lengths = _measure_branches(sections)
    made = []
    for section, title in zip(sections, titles, strict=True):
        telling = [token for token in tokenize(title) if not token.stop]
        if not telling or titles.count(title) > 1 or lengths[section.id] < LEAST_TEXT:
            continue
        asked = title if title.endswith("?") else f"What does the book say about {title}?"
        made.append(TestQuestion(asked[:1000], "heading", (section.id,)))
    return made


def _measure_branches(sections: Sequence[Section]) -> dict[str, int]:
    """Count the characters of each section with everything under it."""
    lengths = {section.id: 0 for section in sections}
    for section in sections:
        for id_ in {section.id, *section.ancestors}:
            if id_ in lengths:
                lengths[id_] += len(section.text)
    return lengths


def read_questions(path: Path, sections: Sequence[Section]) -> list[TestQuestion]:
    """Read questions from a file: a line each, JSON objects in lines, or a report that `--json` wrote.

    An object has `question`, and may have `section` (an id or a title), `answers` and `answerable`.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as wrong:
        raise InvalidValue("questions", "must be a file of text that can be read", str(wrong)) from None
    found = [_parse_question(row, sections) for row in _read_rows(text, path)]
    if not 1 <= len(found) <= QUESTIONS_MOST:
        raise InvalidValue("questions", f"must be 1 to {QUESTIONS_MOST:,}", len(found))
    return found


def _read_rows(text: str, path: Path) -> Iterator[dict[str, Any]]:
    try:
        whole = json.loads(text)
    except ValueError:
        whole = None
    if isinstance(whole, dict) and isinstance(whole.get("results"), list):
        yield from (row for row in whole["results"] if isinstance(row, dict))
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        row: Any = {"question": line.strip()}
        if line.lstrip().startswith("{"):
            try:
                row = json.loads(line)
            except ValueError as wrong:
                raise InvalidValue(f"{path.name}, line {number}", "must be JSON", str(wrong)) from None
        yield row


def _parse_question(row: Mapping[str, Any], sections: Sequence[Section]) -> TestQuestion:
    question = row.get("question")
    if not isinstance(question, str) or not question.strip():
        raise InvalidValue("question", "must be a text in each line", row)
    wanted = row.get("section") or row.get("sections") or ()
    answers = row.get("accepted") or row.get("answers") or ()
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    accepted = (answers,) if isinstance(answers, str) else tuple(map(str, answers))
    source = row.get("source", "yours")
    return TestQuestion(
        question.strip(),
        source if source in get_args(Source) else "yours",
        tuple(id_ for name in names for id_ in _find_sections(str(name), sections)),
        accepted,
        bool(row.get("answerable", True)),
    )


def _find_sections(name: str, sections: Sequence[Section]) -> list[str]:
    found = [s.id for s in sections if s.id == name] or [
        s.id for s in sections if s.title.casefold() == name.casefold()
    ]
    if not found:
        raise InvalidValue("section", "must be one of the book's: `octavo contents BOOK` lists them", name)
    return found


def _describe_settings(settings: Settings) -> dict[str, str]:
    """Name what decides how a book is answered, for comparisons."""
    names = ("embedder", "chunk_tokens", "risk", "local_models", "reader", "model", "model_mode")
    return {name: str(getattr(settings, name)) for name in names}


async def evaluate(
    book: Book,
    asked: Sequence[TestQuestion],
    ask: Ask,
    *,
    settings: Settings,
    on_answer: OnAnswer | None = None,
) -> Evaluation:
    """Ask every question, and judge what came of it."""
    results = []
    for number, each in enumerate(asked, start=1):
        results.append(judge(each, await ask(each.question)))
        if on_answer:
            on_answer(number, len(asked))
    return summarise(book, results, settings=_describe_settings(settings))


def judge(asked: TestQuestion, answer: Answer) -> Result:
    gold = set(asked.sections)
    found = [{item.chunk.section_id, *item.chunk.ancestors} for item in answer.evidence]
    rank = next((n for n, ids in enumerate(found, start=1) if ids & gold), None)
    used = {citation.retrieved_content_id for citation in answer.citations}
    sources = [item.chunk for item in answer.evidence if item.id in used]
    answered = answer.refusal is None
    return Result(
        question=asked.question,
        source=asked.source,
        answerable=asked.answerable,
        sections=asked.sections,
        accepted=asked.answers,
        right=_is_right(asked, answer, {id_ for c in sources for id_ in (c.section_id, *c.ancestors)}),
        answered=answered,
        rank=rank,
        confidence=answer.confidence,
        answer=answer.content,
        cited=tuple(dict.fromkeys(chunk.source_location for chunk in sources)),
        nearest=tuple(dict.fromkeys(item.chunk.source_location for item in answer.evidence))[:3],
    )


def _is_right(asked: TestQuestion, answer: Answer, cited: set[str]) -> bool:
    answered = answer.refusal is None
    if not asked.answerable or not answered:
        return answered == asked.answerable
    if asked.answers:
        said = " ".join(_list_words(answer.content))
        return any(f" {' '.join(_list_words(each))} " in f" {said} " for each in asked.answers)
    # Without sections or answers, nobody knows more than that it was answered.
    return not asked.sections or bool(cited & set(asked.sections))


def _list_words(text: str) -> list[str]:
    return [token.text.lower() for token in tokenize(text)]


def summarise(book: Book, results: Sequence[Result], *, settings: Mapping[str, str]) -> Evaluation:
    can = [r for r in results if r.answerable]
    placed = [r for r in can if r.sections]
    given = [r for r in results if r.answered]
    bins = tuple(_make_bins(given))
    return Evaluation(
        book_id=book.id,
        title=book.title,
        content_hash=book.content_hash,
        settings=dict(settings),
        results=tuple(results),
        hits={str(k): _share(r.rank is not None and r.rank <= k for r in placed) for k in HITS},
        answered=_share(r.answered for r in can),
        right=_share(r.right for r in can),
        right_of_answered=_share(r.right for r in given),
        refused=_share(not r.answered for r in results if not r.answerable),
        calibration=bins,
        calibration_error=sum(b.count * abs(b.confidence - b.right) for b in bins) / len(given)
        if given
        else None,
    )


def _share(holds: Iterator[bool]) -> float | None:
    counted = list(holds)
    return sum(counted) / len(counted) if counted else None


def _make_bins(given: Sequence[Result]) -> Iterator[ConfidenceBin]:
    for n in range(BINS):
        held = [r for r in given if min(int(r.confidence * BINS), BINS - 1) == n]
        if held:
            mean, right = sum(r.confidence for r in held) / len(held), sum(r.right for r in held) / len(held)
            yield ConfidenceBin(n / BINS, (n + 1) / BINS, len(held), mean, right)


def compare(now: Sequence[Result], before: Mapping[str, bool]) -> Comparison:
    """Compare with an earlier evaluation, given as which of its questions were right."""
    shared = [result for result in now if result.question in before]
    return Comparison(
        len(shared),
        tuple(r.question for r in shared if r.right and not before[r.question]),
        tuple(r.question for r in shared if not r.right and before[r.question]),
    )
