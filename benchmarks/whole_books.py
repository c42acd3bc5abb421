"""Asks a language model about whole books, and tells how many of the tokens it may cost each question needed.

    python -m benchmarks.whole_books SUITE EXAM [--data DIR]

SUITE holds the books that EXAM (the exam's file of questions) names. The model is scripted: it reads the gist
of the part that the question names, the contents and a section, as a good one would, and then quotes some of
what it has read. `--data` keeps the library between runs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

from octavo.library import Library
from octavo.limits import AgentLimits
from octavo.settings import Settings
from octavo.testing import Call, Claims, ModelRequest, Reply, ScriptedModel

QUESTIONS = {
    "What is this book about?": "the book",
    "Summarise the book.": "the book",
    "What happens at the end?": "the end",
    "What is chapter 3 about?": "chapter 3",
}
MOST = 12  # claims of an answer


def script(request: ModelRequest) -> Reply:
    """Reads the gist, the contents and the first section of the gist, and quotes what it was shown."""
    part = next((part for asked, part in QUESTIONS.items() if asked in request.question), "the book")
    calls = (
        Call("read_gist", {"part": part}),
        Call("list_contents", {}),
        Call("read_section", {"section": "", "around": "s1"}),
    )
    if len(request.tool_results) < len(calls):
        return calls[len(request.tool_results)]
    told = list(request.sentences.items())
    step = max(1, len(told) // MOST)
    return Claims([(text, [id_]) for id_, text in told[::step][:MOST]])


async def ask_books(suite: Path, exam: Path, data: Path) -> None:
    lines = exam.read_text(encoding="utf-8").splitlines()
    books = list(dict.fromkeys(json.loads(line)["book"] for line in lines))
    async with ScriptedModel(script) as model:
        settings = Settings(data=data, model="scripted", model_url=model.url, model_key="none")
        most = AgentLimits().tokens
        async with Library.open(settings=settings) as library:
            for name in books:
                book = await library.add(suite / name)
                for question in QUESTIONS:
                    answer = await library.ask(question, book_id=book.id)
                    spent: Any = (await library.conversations.find_exchange(answer.id)).receipt["model"]
                    sections = {citation.chunk.section_id for citation in answer.citations}
                    tokens = spent.get("tokens_in", 0) + spent.get("tokens_out", 0)
                    said = (
                        spent.get("failed")
                        or (answer.refusal and "refused")
                        or f"{len(sections)} sections cited"
                    )
                    print(
                        f"{book.title[:30]:30} {question:26} {tokens:6,} of {most:,} tokens, {said}",
                        flush=True,
                    )


def main() -> None:
    known = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known.add_argument("suite", type=Path)
    known.add_argument("exam", type=Path)
    known.add_argument("--data", type=Path)
    said = known.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(ask_books(said.suite, said.exam, said.data or Path(folder)))


if __name__ == "__main__":
    main()
