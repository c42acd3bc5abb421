"""Asks questions of a kind that nothing was fitted on: does Octavo still know what a text does not say?

    python -m benchmarks.elsewhere SUITE [--data DIR]

SUITE holds `quail`: 120 texts (fiction, news, blogs, stories of users) with questions that ask for a fact and
questions to which people found no answer in the text. Each text is a section of one book, and each question
is asked of its section. Answers there are sentences of the makers' own, so what is measured is whether an
answer is given.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.answering_fit import auroc
from benchmarks.suite import rows
from octavo.library import Library
from octavo.types import Scope, ScopeType

KINDS = ("Factual", "Unanswerable")


def write_books(suite: Path, folder: Path) -> Path:
    """The texts as a book of one file for each."""
    folder.mkdir(parents=True, exist_ok=True)
    for row in rows(suite / "quail" / "contexts.jsonl"):
        (folder / f"{row['context_id']}.md").write_text(
            f"# Text {row['context_id']}\n\n{row['text']}\n", "utf-8"
        )
    return folder


async def ask_all(suite: Path, data: Path) -> tuple[list[float], list[bool], list[bool]]:
    """For each question the confidence, whether it was answered, and whether the text answers it."""
    sure, answered, answerable = [], [], []
    async with Library.open(data / "library") as library:
        book = await library.add(write_books(suite, data / "quail"), title="Texts")
        sections = {s.title: s.id for s in reversed(await library.contents(book.id))}
        for row in rows(suite / "quail" / "qa.jsonl"):
            if row["type"] in KINDS:
                section = sections[f"Text {row['context_id']}"]
                scope = Scope(type=ScopeType.SECTION, identifier=section)
                said = await library.ask(row["question"], book_id=book.id, scope=scope)
                sure.append(said.confidence)
                answered.append(said.refusal is None)
                answerable.append(bool(row["answerable"]))
    return sure, answered, answerable


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("suite", type=Path)
    options.add_argument("--data", type=Path)
    said = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="octavo-elsewhere-") as temporary:
        sure, answered, answerable = asyncio.run(ask_all(said.suite, said.data or Path(temporary)))
    told, can = np.array(answered), np.array(answerable)
    print(
        f"{len(can)} questions; AUROC of confidence for answerable {auroc(np.array(sure), can):.3f}; ", end=""
    )
    print(f"answered {told[can].mean():.3f}, refused rightly {(~told[~can]).mean():.3f}")


if __name__ == "__main__":
    main()
