"""The gap report: what readers asked a book and did not get, grouped, the most wanted first.

Questions are grouped by what they say: by the meaning of their words, by the names and rare words they share,
and by the sections that came nearest to answering them. Two groups are joined while their questions are alike
on average, so that a group is about one thing. A group is named by the words that its questions share, and
says in which sections the author would look for the answer. No model is asked and nothing is made up.

The questions about one missing section often make several groups, which are near to each other. So the next
entry of the report is the group that stands for most of what the entries before it do not stand for.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from octavo.concurrency import run_blocking
from octavo.records.gaps import OpenQuestion, count_questions, list_gaps
from octavo.text.english import measure_rarity, tokenize

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from octavo.protocols import Embedder
    from octavo.records.catalogue import Records
    from octavo.types import Book, Section

    Grid = NDArray[np.float32]

WEEKS_DEFAULT, WEEKS_MOST = 12, 520
GAPS_DEFAULT, GAPS_MOST = 25, 500
SHOWN_QUESTIONS, SHOWN_SECTIONS, SHOWN_WORDS = 10, 3, 5
# How alike the questions of a group are on average, and what likeness is made of.
ALIKE = 0.45
MEANING, WORDS, PLACES = 0.6, 0.25, 0.15
# A word that is less rare than this does not name what a question is about.
NAMING = 0.35
# Less confidence than this says no more: it is not measured that finely.
LEAST_CONFIDENCE = 0.02
# How many questions are embedded at once.
BATCH = 32


@dataclass(frozen=True, slots=True)
class NearSection:
    """A section that came near to answering, and for how many of the questions."""

    section_id: str
    title: str
    heading_path: tuple[str, ...]
    url: str
    count: int


@dataclass(frozen=True, slots=True)
class WeekCount:
    """How many questions were asked in the week that begins on this Monday."""

    week: date
    count: int


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that readers asked for. `question` says it best; `questions` are the first few, each once."""

    topic: tuple[str, ...]
    question: str
    questions: tuple[str, ...]
    count: int
    refused: int
    unsure: int
    disliked: int
    weeks: tuple[WeekCount, ...]
    last_asked: datetime
    sections: tuple[NearSection, ...]


@dataclass(frozen=True, slots=True)
class GapReport:
    """The gaps of one book since a day, the most wanted first. `question_count` is all that was asked."""

    book_id: str
    title: str
    since: date
    question_count: int
    open_count: int
    gap_count: int
    weeks: tuple[WeekCount, ...]
    gaps: tuple[Gap, ...]


def find_monday(moment: datetime) -> date:
    day = moment.date()
    return day - timedelta(days=day.weekday())


async def report_gaps(
    book: Book, records: Records, embedder: Embedder, *, weeks: int, limit: int
) -> GapReport:
    """Report on the questions of this week and of the weeks before it, `weeks` in all."""
    now = datetime.now(UTC)
    first = find_monday(now) - timedelta(weeks=weeks - 1)
    since = datetime(first.year, first.month, first.day, tzinfo=UTC)
    asked = await list_gaps(records.database, book.id, since=since)
    count = await count_questions(records.database, book.id, since=since)
    sections = await records.list_sections(book.id)

    vectors: list[Sequence[float]] = []
    for at in range(0, len(asked), BATCH):
        # A few at a time, so that readers do not wait for the whole report.
        texts = [each.content for each in asked[at : at + BATCH]]
        vectors += await run_blocking(embedder.embed, texts)
    return await run_blocking(
        partial(write_report, book, sections, asked, vectors, since=first, question_count=count, limit=limit)
    )


def write_report(
    book: Book,
    sections: Sequence[Section],
    asked: Sequence[OpenQuestion],
    vectors: Sequence[Sequence[float]],
    *,
    since: date,
    question_count: int,
    limit: int,
) -> GapReport:
    """Group the questions, and order the groups by how much is missing."""
    known = {section.id: section for section in sections}
    likeness = compare_questions(asked, vectors)
    groups = group_questions(likeness)
    weights = np.array([_weigh_question(each) for each in asked], dtype=np.float32)
    return GapReport(
        book_id=book.id,
        title=book.title,
        since=since,
        question_count=max(question_count, len(asked)),
        open_count=len(asked),
        gap_count=len(groups),
        weeks=_count_weeks(asked),
        gaps=tuple(
            _describe_group(group, asked, likeness, known)
            for group in choose_groups(groups, likeness, weights, limit=limit)
        ),
    )


def _weigh_question(question: OpenQuestion) -> float:
    """Return how much a question says that something is missing.

    It is the logarithm of the confidence, without its sign. The sum over a group then tells how unlikely it
    is that the book answered all of its questions.
    """
    confidence = 0.0 if question.kind == "disliked" else question.confidence
    return -math.log(max(confidence, LEAST_CONFIDENCE))


def choose_groups(
    groups: Sequence[list[int]], likeness: Grid, weights: NDArray[np.float32], *, limit: int
) -> list[list[int]]:
    """Choose the groups that stand for most of what is missing, each next to those chosen before.

    A group stands for its own questions, and for others as far as they are like its own on average.
    """
    if not groups:
        return []
    covers = np.stack([likeness[:, group].mean(axis=1) for group in groups])
    for n, group in enumerate(groups):
        covers[n, group] = 1
    covered = np.zeros(len(weights), dtype=np.float32)
    # What a group adds only gets less, so one that still adds most when it is counted anew is the best.
    waiting = [(-float(covers[n] @ weights), min(group), n) for n, group in enumerate(groups)]
    heapq.heapify(waiting)
    chosen: list[list[int]] = []
    while waiting and len(chosen) < limit:
        _, first, n = heapq.heappop(waiting)
        adds = float(np.clip(covers[n] - covered, 0, None) @ weights)
        if waiting and (-adds, first, n) > waiting[0]:
            heapq.heappush(waiting, (-adds, first, n))
        else:
            chosen.append(groups[n])
            covered = np.maximum(covered, covers[n])
    return chosen


def compare_questions(asked: Sequence[OpenQuestion], vectors: Sequence[Sequence[float]]) -> Grid:
    """Return how alike each two questions are, from 0 to 1."""
    if not asked:
        return np.zeros((0, 0), dtype=np.float32)
    meaning = np.asarray(vectors, dtype=np.float32)
    words = _compare_weights([_list_naming_words(each.content) for each in asked])
    # The section that came nearest says most about where the answer would be.
    places = _compare_weights([{id_: 1 / (1 + n) for n, id_ in enumerate(each.sections)} for each in asked])
    alike: Grid = MEANING * np.clip(meaning @ meaning.T, 0, 1) + WORDS * words + PLACES * places
    return alike


def _compare_weights(items: Sequence[Mapping[str, float]]) -> Grid:
    """Return the cosines of sparse vectors, given as weights by name."""
    names = {name: n for n, name in enumerate(sorted({name for item in items for name in item}))}
    grid = np.zeros((len(items), len(names) or 1), dtype=np.float32)
    for n, item in enumerate(items):
        for name, weight in item.items():
            grid[n, names[name]] = weight
    length = np.linalg.norm(grid, axis=1, keepdims=True)
    grid /= np.where(length == 0, 1, length)
    cosines: Grid = grid @ grid.T
    return cosines


def _list_naming_words(question: str) -> dict[str, float]:
    rarity = {token.stem: measure_rarity(token.text) for token in tokenize(question) if not token.stop}
    return {stem: weight for stem, weight in rarity.items() if weight >= NAMING}


def group_questions(likeness: Grid, *, alike: float = ALIKE) -> list[list[int]]:
    """Join the groups that are nearest to each other, while they are alike on average.

    It follows a chain from a group to the one that is nearest to it, until two are nearest to each other. A
    group whose nearest is not alike is done: joining others can only make their average smaller.
    """
    near = likeness.astype(np.float32, copy=True)
    np.fill_diagonal(near, -1)
    groups = {n: [n] for n in range(len(near))}
    done: list[list[int]] = []
    chain: list[int] = []
    while groups:
        here = chain[-1] if chain else next(iter(groups))
        chain = chain or [here]
        best = int(near[here].argmax())
        if near[here, best] < alike:
            chain.pop()
            done.append(sorted(groups.pop(here)))
            near[here, :] = near[:, here] = -1
        elif len(chain) > 1 and near[here, chain[-2]] >= near[here, best]:
            other = chain[-2]
            del chain[-2:]
            _join(near, groups, here, other)
        else:
            chain.append(best)
    return sorted(done)


def _join(near: Grid, groups: dict[int, list[int]], kept: int, gone: int) -> None:
    """Put one group into another. How near it is to a third is the average over all questions."""
    first, second = len(groups[kept]), len(groups[gone])
    row = (near[kept] * first + near[gone] * second) / (first + second)
    row[(near[kept] < 0) | (near[gone] < 0)] = -1
    row[[kept, gone]] = -1
    near[kept, :] = near[:, kept] = row
    near[gone, :] = near[:, gone] = -1
    groups[kept] += groups.pop(gone)


def _describe_group(
    group: Sequence[int], asked: Sequence[OpenQuestion], likeness: Grid, known: Mapping[str, Section]
) -> Gap:
    members = [asked[n] for n in group]
    kinds = Counter(each.kind for each in members)
    central = max(group, key=lambda n: (float(likeness[n, list(group)].sum()), -n))
    others = dict.fromkeys(each.content for each in members)
    return Gap(
        topic=_name_topic(members),
        question=asked[central].content,
        questions=tuple(others)[:SHOWN_QUESTIONS],
        count=len(members),
        refused=kinds["refused"],
        unsure=kinds["unsure"],
        disliked=kinds["disliked"],
        weeks=_count_weeks(members),
        last_asked=max(each.asked_at for each in members),
        sections=_find_sections(members, known),
    )


def _name_topic(members: Sequence[OpenQuestion]) -> tuple[str, ...]:
    """Find the words that the questions share, as they are spelled most often, the most telling first."""
    weights: Counter[str] = Counter()
    spellings: dict[str, Counter[str]] = {}
    for each in members:
        naming = _list_naming_words(each.content)
        weights.update(naming)
        for token in tokenize(each.content):
            if token.stem in naming:
                spellings.setdefault(token.stem, Counter())[token.text] += 1
    ordered = sorted(weights, key=lambda stem: (-weights[stem], stem))
    return tuple(spellings[stem].most_common(1)[0][0] for stem in ordered[:SHOWN_WORDS])


def _find_sections(members: Sequence[OpenQuestion], known: Mapping[str, Section]) -> tuple[NearSection, ...]:
    counts: Counter[str] = Counter()
    ranks: dict[str, float] = {}
    for each in members:
        for rank, id_ in enumerate(each.sections):
            # An earlier edition may have had other sections.
            if id_ in known:
                counts[id_] += 1
                ranks[id_] = ranks.get(id_, 0.0) + 1 / (1 + rank)
    best = sorted(ranks, key=lambda id_: (-ranks[id_], known[id_].position))
    return tuple(
        NearSection(id_, known[id_].title, known[id_].heading_path, known[id_].url, counts[id_])
        for id_ in best[:SHOWN_SECTIONS]
    )


def _count_weeks(asked: Sequence[OpenQuestion]) -> tuple[WeekCount, ...]:
    counts = Counter(find_monday(each.asked_at) for each in asked)
    return tuple(WeekCount(week, counts[week]) for week in sorted(counts))
