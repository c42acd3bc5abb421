"""The gap report: which questions it lists, how it groups them, and when they leave it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest

from octavo.answers.gaps import Gap, choose_groups, group_questions
from octavo.answers.replies import Reply
from octavo.library import Library
from octavo.records.conversations import Rating
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from octavo.types import Scope, ScopeType
from octavo.verification.claims import Claim, Sentence
from tests.support import small_books
from tests.support.answerers import change_records
from tests.support.copies import copy_library

KNOWN = "How many boats were lost?"
HILLS = {"Summit": "Nine goats were lost on the summit in spring."}


class BoatsAnswerer:
    """Knows about boats, is unsure about nets, and about nothing else."""

    name = "boats"

    async def reply(self, question: str, given: Sequence[Sentence]) -> Reply:
        claims = tuple(Claim(s.text, (s.id,)) for s in given if "boats were lost" in s.text)
        if not any(word in question for word in ("boats", "nets")):
            return Reply((), 0.0, 0.0)
        return Reply(claims, float(bool(claims)), 0.3 if "nets" in question else 0.9)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gaps")
    tides = small_books.write_markdown(folder / "tides.md")
    hills = small_books.write_markdown(folder / "hills.md", HILLS, title="The Hills")

    async def fill() -> None:
        async with Library.open(folder / "library", embedder=TinyEmbedder()) as library:
            await library.add(tides, book_id="tides")
            await library.add(hills, book_id="hills")

    asyncio.run(fill())
    return folder / "library"


@pytest.fixture
def data(made: Path, tmp_path: Path) -> Path:
    return copy_library(made, tmp_path / "library")


@asynccontextmanager
async def opened(data: Path, **settings: object) -> AsyncIterator[Library]:
    chosen = Settings(data=data, local_models=False, **settings)
    async with Library.open(settings=chosen, embedder=TinyEmbedder(), answerer=BoatsAnswerer()) as library:
        yield library


async def list_gaps(library: Library, book: str = "tides") -> list[Gap]:
    return list((await library.gaps(book)).gaps)


async def test_questions_without_a_good_answer_are_listed_with_where_they_came_near(data: Path) -> None:
    async with opened(data) as library:
        for question in ("What did the keeper trim?", "What did the keeper trim at dusk?", KNOWN):
            await library.ask(question, book_id="tides")
        await library.ask("Who mended the nets of the boats?", book_id="tides")
        report = await library.gaps("tides", weeks=1)
        first, second = report.gaps
        assert (report.question_count, report.open_count, report.gap_count) == (4, 3, 2)
        assert (first.count, first.refused, first.unsure) == (2, 2, 0)
        assert "keeper" in first.topic
        assert first.sections[0].title == "Lighthouse"
        assert first.sections[0].heading_path == ("Lighthouse",)
        assert second.unsure == 1
        assert [week.count for week in first.weeks] == [2]
        assert KNOWN not in [q for gap in report.gaps for q in gap.questions]
        assert (await library.gaps("hills")).gaps == ()


async def test_a_question_to_all_books_is_for_the_book_that_came_nearest(data: Path) -> None:
    async with opened(data) as library:
        await library.ask("Who drove the goats to the summit in spring?")
        assert [gap.sections[0].title for gap in await list_gaps(library, "hills")] == ["Summit"]
        assert await list_gaps(library) == []


async def test_what_the_book_says_elsewhere_is_no_gap(data: Path) -> None:
    async with opened(data) as library:
        harbour = Scope(type=ScopeType.SECTION, identifier="Harbour")
        answer = await library.ask(KNOWN, book_id="tides", scope=harbour)
        assert answer.refusal is not None
        assert await list_gaps(library) == []


async def test_an_answer_that_is_rated_down_is_listed_until_it_is_not(data: Path) -> None:
    async with opened(data) as library:
        answer = await library.ask(KNOWN, book_id="tides")
        await library.conversations.rate(Rating(answer.id, "down"), owner="a")
        await library.conversations.rate(Rating(answer.id, "down"), owner="b")
        (gap,) = await list_gaps(library)
        assert (gap.question, gap.disliked) == (KNOWN, 1)
        await library.conversations.rate(Rating(answer.id, "up"), owner="a")
        assert len(await list_gaps(library)) == 1
        await library.conversations.rate(Rating(answer.id, "up"), owner="b")
        assert await list_gaps(library) == []


async def test_a_question_counts_once_however_often_its_answer_is_continued(data: Path) -> None:
    async with opened(data) as library:
        talks, answer = library.conversations, await library.ask(KNOWN, book_id="tides")
        (copy,) = (await talks.continue_answer(answer.id)).answers
        (of_copy,) = (await talks.continue_answer(copy.id)).answers
        await talks.rate(Rating(of_copy.id, "down"), owner="")
        for rated in (copy, answer):
            report = await library.gaps("tides")
            assert (report.question_count, report.open_count) == (1, 1)
            assert report.weeks[-1].count == 1
            await talks.rate(Rating(rated.id, "down"), owner="")
        (gap,) = await list_gaps(library)
        assert (gap.count, gap.disliked, gap.questions) == (1, 1, (KNOWN,))
        for rated in (of_copy, copy, answer):
            assert len(await list_gaps(library)) == 1
            await talks.rate(Rating(rated.id, "up"), owner="")
        assert await list_gaps(library) == []
        await library.ask(KNOWN, book_id="tides")
        assert (await library.gaps("tides")).question_count == 2


async def test_a_question_leaves_with_its_conversation_its_time_or_its_book(data: Path) -> None:
    async with opened(data) as library:
        await library.ask("Who is the keeper?", book_id="tides", session_id="talk")
        await library.ask("Where is the ledger?", book_id="tides")
        await library.ask("Where are the goats?", book_id="hills")
        await library.conversations.delete_session("talk")
        assert [gap.question for gap in await list_gaps(library)] == ["Where is the ledger?"]
        await library.remove("hills")
    change_records(data, "UPDATE gaps SET timestamp = timestamp - 30 * 24 * 3600 * 1000000")
    async with opened(data, gap_days=31) as library:
        await library.prune()
        assert len(await list_gaps(library)) == 1
        assert (await library.gaps("tides", weeks=1)).gaps == ()
    async with opened(data, gap_days=29) as library:
        assert await library.prune() == 0
        assert await list_gaps(library) == []
        assert len(await library.conversations.list_exchanges()) == 2


async def test_questions_can_be_left_out(data: Path) -> None:
    async with opened(data, log_questions=False) as library:
        answer = await library.ask("Who is the keeper?", book_id="tides")
        await library.conversations.rate(Rating(answer.id, "down"), owner="")
        report = await library.gaps("tides")
        assert (report.open_count, report.gaps) == (0, ())


def test_groups_are_alike_on_average_and_have_every_question_once() -> None:
    chance = np.random.default_rng(3)
    for size in (0, 1, 2, 40):
        points = chance.normal(size=(size, 6)).astype(np.float32)
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        likeness = np.clip(points @ points.T, 0, 1)
        groups = group_questions(likeness, alike=0.4)
        assert sorted(n for group in groups for n in group) == list(range(size))
        between = [likeness[np.ix_(a, b)].mean() for a in groups for b in groups if a is not b]
        assert all(mean < 0.4 + 1e-5 for mean in between)


def test_an_entry_that_is_like_one_before_it_comes_after_something_else() -> None:
    groups = [[0, 1, 2], [3, 4], [5], [6]]
    likeness = np.eye(7, dtype=np.float32)
    # The second group is about nearly the same as the first.
    likeness[np.ix_([0, 1, 2], [3, 4])] = likeness[np.ix_([3, 4], [0, 1, 2])] = 0.6
    weights = np.array([1, 1, 1, 1, 1, 0.9, 0.1], dtype=np.float32)
    assert choose_groups(groups, likeness, weights, limit=4) == [[0, 1, 2], [5], [3, 4], [6]]
    assert choose_groups(groups, likeness, weights, limit=2) == [[0, 1, 2], [5]]
    assert choose_groups([], likeness[:0, :0], weights[:0], limit=2) == []


def test_the_groups_are_those_that_add_most_when_each_is_counted_anew() -> None:
    chance = np.random.default_rng(5)
    points = np.abs(chance.normal(size=(60, 4)).astype(np.float32))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    likeness, weights = points @ points.T, chance.random(60, dtype=np.float32)
    groups = group_questions(likeness, alike=0.95)
    covers = np.stack([likeness[:, group].mean(axis=1) for group in groups])
    for n, group in enumerate(groups):
        covers[n, group] = 1
    covered = np.zeros(60, dtype=np.float32)
    for chosen in choose_groups(groups, likeness, weights, limit=len(groups)):
        adds = np.clip(covers - covered, 0, None) @ weights
        assert adds[groups.index(chosen)] >= adds.max() - 1e-4
        covered = np.maximum(covered, covers[groups.index(chosen)])
