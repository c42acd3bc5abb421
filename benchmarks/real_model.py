"""Twenty questions to a real language model through the whole agent: what it got right, what was dropped.

    python -m benchmarks.real_model [--model qwen|smollm2] [--threads 1] [--seconds 180] [--first N]

Fetches the model and llama.cpp's server (`benchmarks.real_weights`), adds the bundled book, and asks. Fifteen
questions have their answer in the book, five do not. Most are asked in one go (`single`), the last of each
kind with the tools (`auto`). An answer counts as right when it has the words that the book has for it.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.real_server import run_server
from benchmarks.real_weights import MODELS, Weights, cache, fetch, server_code
from octavo.events import Answered, Claimed
from octavo.library import Library
from octavo.limits import AgentLimits
from octavo.settings import Settings
from octavo.types import Answer

BOOK = Path(__file__).parent.parent / "docs"
TOP_K = 2  # small prompts: reading them is what takes the time


@dataclass(frozen=True, slots=True)
class Asked:
    """A question. `gold` is what a right answer has, as a pattern; "" where the book does not answer."""

    words: str
    gold: str = ""
    mode: str = "single"


QUESTIONS = (
    Asked("How many word pieces does the embedding model read at a time?", r"\b256\b"),
    Asked("How many characters does a chunk have?", r"2,?000"),
    Asked("What is a chunk's id made from?", r"content"),
    Asked("What does the library have if the process dies before step 5?", r"old edition"),
    Asked("What gives the order of the sections in an EPUB?", r"spine"),
    Asked("Which program does the text of a PDF come from?", r"PDFium"),
    Asked("What is left out of Project Gutenberg books?", r"licen[cs]e"),
    Asked("How much decoding damage is refused?", r"\b20 ?(%|percent)|a fifth"),
    Asked("Which version of PostgreSQL is needed?", r"\b13\b"),
    Asked("What does the child process hand back?", r"JSON|text of the book"),
    Asked("When does a file count as a new edition?", r"file name|tenth"),
    Asked("What exit code does a search in an empty library give?", r"\b3\b|\bthree\b"),
    Asked("How many processes can have an embedded library at a time?", r"\b[Oo]ne\b|\b1\b"),
    Asked("What is removed when text is cleaned at the door?", r"[Cc]ontrol characters|invisible", "auto"),
    Asked("How can a section be named when a search is narrowed?", r"title|heading path|anchor", "auto"),
    Asked("Who won the football world cup in 1998?"),
    Asked("What does a licence for Octavo cost per month?"),
    Asked("Which voice reads the answers aloud?"),
    Asked("On which day was the first version of Octavo released?"),
    Asked("Which e-book readers can Octavo be installed on?", mode="auto"),
)


@dataclass(frozen=True, slots=True)
class Heard:
    """What came of a question: the answer, who gave it, what was dropped and why, and what it cost."""

    asked: Asked
    answer: Answer
    claims: tuple[Claimed, ...]
    dropped: tuple[tuple[str, str], ...]
    answerer: str
    model: Mapping[str, object]
    seconds: float

    @property
    def fell_back(self) -> bool:
        return self.answerer.startswith("offline, because ")

    @property
    def verdict(self) -> str:
        if self.answer.refusal is not None:
            return "refused" if self.asked.gold else "rightly refused"
        if not self.asked.gold:
            return "answered what the book does not say"
        said = " ".join(claim.text for claim in self.claims)
        return "right" if re.search(self.asked.gold, said) else "beside the point"

    def spent(self, name: str) -> int:
        value = self.model.get(name, 0)
        return value if isinstance(value, int) else 0


def settings(data: Path, weights: Weights, url: str, *, mode: str, seconds: float) -> Settings:
    """Like anybody's, but patient: this is a processor and not a data centre."""
    limits = AgentLimits(
        seconds=seconds, call_seconds=seconds, tool_seconds=60.0, turns=4, tool_calls=3, failures=1_000
    )
    return Settings(
        data=data, model=weights.name, model_url=url, model_key="none", model_mode=mode, agent=limits
    )


async def hear(library: Library, asked: Asked) -> Heard:
    """One question through the whole agent."""
    began = time.monotonic()
    events = [event async for event in library.stream(asked.words, top_k=TOP_K)]
    last = events[-1]
    assert isinstance(last, Answered)
    model = (await library.conversations.find_exchange(last.answer.id)).receipt.get("model", {})
    return Heard(
        asked,
        last.answer,
        tuple(event for event in events if isinstance(event, Claimed)),
        last.dropped,
        last.answerer,
        model if isinstance(model, dict) else {},
        time.monotonic() - began,
    )


async def hear_all(
    data: Path, weights: Weights, url: str, questions: Sequence[Asked], *, seconds: float
) -> list[Heard]:
    """Every question in turn, each told as soon as it is answered. The library has the bundled book."""
    async with Library.open(data) as library:
        await library.add(BOOK)
    heard = []
    for mode in dict.fromkeys(asked.mode for asked in questions):
        chosen = settings(data, weights, url, mode=mode, seconds=seconds)
        async with Library.open(settings=chosen) as library:
            for asked in (one for one in questions if one.mode == mode):
                heard.append(await hear(library, asked))
                print(summarise(heard[-1]), flush=True)
    return heard


def summarise(heard: Heard) -> str:
    """What a person wants to see of one question."""
    spent = f"{heard.spent('tokens_in')} + {heard.spent('tokens_out')} tokens, {heard.seconds:.0f} s"
    lines = [
        f"? {heard.asked.words}  [{heard.asked.mode}]",
        f"  {heard.answer.content}",
        *(f"  dropped: {text!r}: {why}" for text, why in heard.dropped),
        f"  {heard.verdict}; answered by {heard.answerer}; {spent}",
    ]
    return "\n".join(lines)


def table(name: str, heard: Sequence[Heard]) -> str:
    """The sums, as a row of a table."""
    verdicts = [one.verdict for one in heard]
    answerable = sum(bool(one.asked.gold) for one in heard)
    by_model = sum(not one.fell_back for one in heard)
    kept = sum(len(one.claims) for one in heard if not one.fell_back)
    dropped = sum(len(one.dropped) for one in heard)
    cells = (
        name,
        f"{verdicts.count('right')} of {answerable}",
        str(verdicts.count("refused")),
        str(verdicts.count("beside the point")),
        f"{verdicts.count('rightly refused')} of {len(heard) - answerable}",
        f"{kept} / {dropped}",
        f"{by_model} / {len(heard) - by_model}",
        " + ".join(str(_mean(one.spent(name) for one in heard)) for name in ("tokens_in", "tokens_out")),
        f"{_mean(round(one.seconds) for one in heard)} s",
    )
    head = (
        *("model", "right, whoever answered", "refused wrongly", "beside the point", "refused rightly"),
        *("claims published / dropped", "answered by the model / offline instead"),
        *("tokens a question", "time a question"),
    )
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), cells))


def _mean(numbers: Iterable[int]) -> int:
    listed = list(numbers)
    return round(sum(listed) / max(1, len(listed)))


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--model", choices=MODELS, default="qwen")
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--seconds", type=float, default=180.0, help="most that one question may take")
    options.add_argument("--first", type=int, default=len(QUESTIONS), help="ask only so many")
    said = options.parse_args()
    weights, folder = MODELS[said.model], cache()
    model, code = fetch(weights, folder), server_code(folder)
    with (
        tempfile.TemporaryDirectory(prefix="octavo-real-model-") as data,
        run_server(code, model, threads=said.threads) as url,
    ):
        questions = QUESTIONS[: said.first]
        heard = asyncio.run(hear_all(Path(data), weights, url, questions, seconds=said.seconds))
    print(f"\n{table(weights.name, heard)}")


if __name__ == "__main__":
    main()
