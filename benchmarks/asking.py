"""What an answer costs on top of a search, stage by stage, and what a serving process weighs.

    python -m benchmarks.asking BOOK QUESTIONS [--limit 120]

QUESTIONS is a file of JSON lines with a `question` each. CPU times of the process, medians in milliseconds,
without the models that come with Octavo and with them, each in a process of its own. `rerank` is what the
reader takes before the evidence is chosen, `read` what choosing the sentences takes, the reader included.
`journal` is what the writes of the question and its answer take, from its receipt to its delivery. To measure
another version of the library, set PYTHONPATH=OTHER/src:. and run the same command.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import resource
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import octavo.answers.ask
import octavo.answers.steps
from benchmarks.suite import rows
from octavo.events import Answered, Retrieved
from octavo.library import Library
from octavo.models.cross_encoders import HeadedText, PassageScore, Reader
from octavo.records.conversations import Conversations
from octavo.settings import Settings

STAGES = ("retrieve", "rerank", "read", "verify", "record", "journal")
WRITES = ("receive", "begin", "save_draft", "mark_validated", "publish", "publish_draft", "deliver")


class TimedReader(Reader):
    """Notes the CPU time that it takes."""

    spent = 0.0

    def read(self, question: str, passages: Sequence[HeadedText]) -> list[PassageScore]:
        began = time.process_time()
        found = super().read(question, passages)
        self.spent += time.process_time() - began
        return found


class TimedJournal:
    """Notes the CPU time that each write of a question and its answer takes, and how many there are."""

    def __init__(self, conversations: Conversations) -> None:
        self.spent, self.writes = 0.0, 0
        for name in WRITES:
            # Another version may not have all of them.
            if hasattr(conversations, name):
                setattr(conversations, name, self._time(getattr(conversations, name)))

    def _time(self, write: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def timed(*args: Any, **named: Any) -> Any:
            began = time.process_time()
            try:
                return await write(*args, **named)
            finally:
                self.spent += time.process_time() - began
                self.writes += 1

        return timed


async def time_question(
    library: Library, reader: TimedReader, journal: TimedJournal, question: str
) -> dict[str, float]:
    """The CPU milliseconds of each stage of one question."""
    began, reader.spent, reranking = time.process_time(), 0.0, 0.0
    journal.spent, journal.writes = 0.0, 0
    async for event in library.stream(question):
        if isinstance(event, Retrieved):
            reranking = reader.spent * 1000
        elif isinstance(event, Answered):
            told = event.stages
            await library.conversations.deliver(event.answer)
    return {
        "retrieve": told["retrieve"] - reranking,
        "rerank": reranking,
        "read": told["answer"],
        "verify": told["verify"],
        "record": told["record"],
        "journal": journal.spent * 1000,
        "writes": journal.writes,
        "whole": (time.process_time() - began) * 1000,
    }


async def measure(book: Path, questions: list[str], settings: Settings) -> dict[str, float]:
    """Medians over the questions; no query is asked twice in the same words."""
    searches, answers = [], []
    async with Library.open(settings=settings) as library:
        library.models.reader = reader = TimedReader(threads=settings.threads)
        journal = TimedJournal(library.conversations)
        await library.add(book)
        await library.ask("Is everything warm?")
        for question in questions:
            began = time.process_time()
            await library.search(f"about this: {question}", top_k=5)
            searches.append((time.process_time() - began) * 1000)
            answers.append(await time_question(library, reader, journal, question))
    found = {stage: statistics.median(a[stage] for a in answers) for stage in (*STAGES, "writes", "whole")}
    return {"search": statistics.median(searches), **found}


def row(book: Path, questions: list[str], *, local: bool) -> str:
    clock = SimpleNamespace(monotonic=time.process_time)
    octavo.answers.ask.time = octavo.answers.steps.time = clock  # type: ignore[assignment,attr-defined]
    with tempfile.TemporaryDirectory(prefix="octavo-asking-") as data:
        settings = Settings(data=Path(data), local_models=local)
        took = asyncio.run(measure(book, questions, settings))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    parts = "".join(f" {took[stage]:.1f} |" for stage in ("search", *STAGES, "whole"))
    share, ratio = took["journal"] / took["whole"], took["whole"] / took["search"]
    parts = f"{'on' if local else 'off'} |{parts} {took['writes']:.0f}"
    return f"| {parts} | {share:.1%} | {ratio:.1f} | {peak} MB |"


def _print_row(book: Path, questions: list[str], local: bool) -> None:
    print(row(book, questions, local=local), flush=True)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("book", type=Path)
    options.add_argument("questions", type=Path)
    options.add_argument("--limit", type=int, default=120)
    said = options.parse_args()
    questions = [row["question"].strip()[:1000] for row in rows(said.questions)][: said.limit]
    shares = ("writes", "journal / answer", "answer / search", "peak memory")
    names = ("local models", "search", *STAGES, "answer, whole", *shares)
    print(f"| {' | '.join(names)} |\n|{'---|' * len(names)}", flush=True)
    fresh = multiprocessing.get_context("spawn")
    for local in (False, True):
        process = fresh.Process(target=_print_row, args=(said.book, questions, local))
        process.start()
        process.join()


if __name__ == "__main__":
    main()
