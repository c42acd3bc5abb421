"""Fits what is made of the multilingual reader's scores, and tells how it answers other manuals.

    python -m benchmarks.languages MANUALS --rows ROWS --part tune
    python -m benchmarks.multilingual_fit ROWS [--write]

The weights are fitted on the tuning part of `benchmarks/languages.py`: natural questions, answerable or not,
with correct answers. How sure the library must be is found with each answer judged by weights that have seen
neither its language nor its section. `--write` replaces src/octavo/answers/confidence_multilingual.json.

    python -m benchmarks.multilingual_fit ROWS --manuals MANUALS --others OTHERS --limit 12 [--only faq:ko]

reports manuals that no weight has seen (`benchmarks/parallel.py` says which). The title of a section is the
question, and the section answers it. Each question is asked

- bare: of the book in its own language, in which numbers stand in the place of the titles;
- titled: of the book as it is;
- from English: in English, of the book as it is. Title and question are translations of each other.

Each is asked twice: with all passages, and without those of the section that answers. An answer is right if
it cites that section; whatever is answered without it is wrong. What was asked is kept in OTHERS.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.answering_fit import Weighted, auroc, calibration_error, logistic, platt, squash
from benchmarks.languages import Row, read_items
from benchmarks.parallel import Entry, read_entries
from benchmarks.suite import rows
from octavo.answers.calibration import LEAST_CONFIDENCE, RISK, load_calibration
from octavo.answers.offline import OfflineAnswerer
from octavo.answers.replies import Reply
from octavo.answers.workspace import number_sentences
from octavo.library import Library
from octavo.search.retrieval import Retriever
from octavo.search.scope import Bounds
from octavo.settings import Settings
from octavo.types import Evidence, Scope
from octavo.verification.gate import verify_claims

REPORTED = (
    *(f"faq:{code}" for code in ("de", "fr", "it", "nl", "pt", "ru", "ja", "ko", "zh-cn")),
    *(f"handbook:{code}" for code in ("ar-MA", "fa-IR", "es-ES")),
)
ENGLISH = {"securing": "en-US", "handbook": "en-US", "installation": "en", "faq": "en"}
SECTIONS = 40
"""How many sections a book has here, asked or not."""
FOUND, USED = 12, 5
LEAST_QUESTION = 12
PACKAGE = Path(__file__).parent.parent / "src" / "octavo"
COMMAND = "python -m benchmarks.multilingual_fit ROWS --write"
SIGNS = {"margin_read": 1, "rank_read": 1, "stated": 1, "covered": 1, "across": 0}
FOLDS = 4
ABSENT = 1 / 2
"""The share of questions that the book does not answer, for which the risk is told."""
CERTAIN = 9.0
Numbers = NDArray[np.float64]


class Answered(Protocol):
    """What an answer was measured by, and what came of it."""

    @property
    def features(self) -> dict[str, float]: ...
    @property
    def answerable(self) -> bool: ...
    @property
    def correct(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """A question, what was measured of its answer, and whether that cites the section that answers.

    `place` is where that section was found (0 for nowhere), `false` how many claims are not in the book.
    """

    book: str
    way: str
    question: str
    answerable: bool
    correct: bool
    features: dict[str, float]
    place: int
    false: int


def write_book(entries: Mapping[str, Entry], path: Path, *, bare: bool) -> None:
    """Write sections as one book, each with a number and its title, or with the number alone."""
    sections = [
        f"## {number:03} {'' if bare else entry.question}\n\n{entry.text}"
        for number, entry in enumerate(entries.values(), start=1)
    ]
    path.write_text("# 000\n\n" + "\n\n".join(sections) + "\n", encoding="utf-8")


def choose(entries: Mapping[str, Entry], others: Mapping[str, Entry]) -> dict[str, Entry]:
    """Choose the sections of a book: those that the English manual has too, questions first."""
    known = [entry for place, entry in entries.items() if place in others and _asks(entry)]
    known.sort(key=lambda e: (not re.search("[?？؟]", e.question), zlib.crc32(e.place.encode())))
    return {entry.place: entry for entry in known[:SECTIONS]}


def _asks(entry: Entry) -> bool:
    wide = sum(ord(c) > 0x2E80 for c in entry.question)
    return len(entry.question) + wide >= LEAST_QUESTION


async def collect(root: Path, book: str, limit: int, known: set[tuple[str, str, str]]) -> list[Outcome]:
    """Ask the questions of one manual in one language that were not asked yet."""
    document, language = book.split(":")
    english = read_entries(root, document, ENGLISH[document])
    entries = choose(read_entries(root, document, language), english)
    numbers = {place: f"{number:03}" for number, place in enumerate(entries, start=1)}
    ways = [("bare", True, entries, limit), ("from English", False, english, (limit + 1) // 2)]
    ways.append(("titled", False, entries, limit))
    found: list[Outcome] = []
    with tempfile.TemporaryDirectory() as data:
        async with Library.open(settings=Settings(data=Path(data))) as library:
            for bare in (True, False):
                path = Path(data) / f"{'bare' if bare else 'titled'}.md"
                write_book(entries, path, bare=bare)
                await library.add(path, book_id=path.stem)
            context = await library._context()
            retriever = library._get_retriever(context)
            answerer = OfflineAnswerer(context.embedder, reranker=retriever.reranker)
            for way, bare, asked, most in ways:
                bounds = await library._scope.resolve(Scope(), book_id="bare" if bare else "titled")
                for place in list(entries)[:most]:
                    question = asked[place].question
                    if (book, way, question) not in known:
                        made = await _ask(question, numbers[place], bounds, retriever, answerer)
                        found += [Outcome(book, way, question, *one) for one in made]
    return found


async def _ask(
    question: str, number: str, bounds: Bounds, retriever: Retriever, answerer: OfflineAnswerer
) -> list[tuple[bool, bool, dict[str, float], int, int]]:
    """Ask with all passages, and without those of the section that answers."""
    evidence = await retriever.search(question, bounds=bounds, top_k=FOUND, reader="large")
    there = [item.chunk.section.split()[0] == number for item in evidence]
    without = [item for item, own in zip(evidence, there, strict=True) if not own]
    place = next((n for n, own in enumerate(there, start=1) if own), 0)
    made = []
    for answerable, given in ((True, evidence), (False, without)):
        reply, right, false = await _reply(question, number, given[:USED], bounds, answerer)
        if reply.features:
            made.append((answerable, answerable and right, dict(reply.features), place, false))
    return made


async def _reply(
    question: str, number: str, evidence: Sequence[Evidence], bounds: Bounds, answerer: OfflineAnswerer
) -> tuple[Reply, bool, int]:
    sentences = number_sentences(evidence, bounds)
    reply = await answerer.reply(question, sentences)
    by_id = {sentence.id: sentence for sentence in sentences}
    kept, _ = verify_claims(reply.claims, by_id)
    cited = [by_id[id_] for claim in kept for id_ in claim.sentences]
    right = any(s.chunk.section.split()[0] == number for s in cited)
    false = sum(claim.text not in by_id[claim.sentences[0]].chunk.content for claim in kept)
    return reply, right, false


@dataclass(frozen=True, slots=True)
class Fit:
    """The chance that the answer is correct, and the slope and offset that make a confidence of it."""

    chance: Weighted
    slope: float = 1.0
    offset: float = 0.0

    def estimate(self, given: Sequence[Answered]) -> Numbers:
        return self.chance(one.features for one in given)

    def confidence(self, given: Sequence[Answered]) -> Numbers:
        return squash(self.offset + self.slope * _find_odds(self.estimate(given)))


def _find_odds(chance: Numbers) -> Numbers:
    return np.log(chance / (1 - chance))


def _balance(given: Sequence[Answered]) -> Numbers:
    """Weigh questions so that `ABSENT` of them have no answer."""
    can = np.array([one.answerable for one in given])
    return np.asarray(np.where(can, (1 - ABSENT) / can.sum(), ABSENT / (~can).sum()) * len(given))


def fit(given: Sequence[Answered]) -> Weighted:
    did = np.array([one.correct for one in given], dtype=float)
    return logistic([one.features for one in given], did, signs=SIGNS, weight=_balance(given))


def estimate_unseen(given: Sequence[Row]) -> Numbers:
    """Estimate the chance of each answer by weights that saw neither its language nor its section."""
    folds = {
        (book, item.id): zlib.crc32((item.place or str(item.id)).encode()) // 2 % FOLDS
        for book in {row.book for row in given}
        for item in read_items(book)
    }
    pairs = [(row, folds[row.book, row.id]) for row in given]
    chance = np.zeros(len(given))
    for language, fold in {(row.language, at) for row, at in pairs}:
        made = fit([row for row, at in pairs if row.language != language and at != fold])
        own = [n for n, (row, at) in enumerate(pairs) if (row.language, at) == (language, fold)]
        chance[own] = made(given[n].features for n in own)
    return chance


def draw_points(chance: Numbers, given: Sequence[Answered]) -> list[tuple[float, float, float]]:
    """Return for each threshold the share of wrong answers, and of questions that were answered."""
    can, did = (np.array([getattr(o, name) for o in given]) for name in ("answerable", "correct"))
    points = []
    for limit in np.arange(0.0, 1.0, 0.01):
        kept, slipped = (chance[can] >= limit).mean(), (chance[~can] >= limit).mean()
        right = (did[can] & (chance[can] >= limit)).mean()
        answers = ABSENT * slipped + (1 - ABSENT) * kept
        wrong = 1 - (1 - ABSENT) * right / answers if answers else 0.0
        points.append((round(float(limit), 2), round(float(wrong), 4), round(float(kept), 4)))
    return points


def report(made: Fit, given: Sequence[Outcome], limit: float) -> None:
    """Print a line for each manual, language and way of asking."""
    print("| book | way | asked | hit@1 | hit@5 | answered | right of these | absent refused | false |")
    print("|---|---|---|---|---|---|---|---|---|")
    for book in dict.fromkeys(o.book for o in given):
        for way in dict.fromkeys(o.way for o in given if o.book == book):
            print(_describe(book, way, made, [o for o in given if (o.book, o.way) == (book, way)], limit))
    for way in dict.fromkeys(o.way for o in given):
        own = [o for o in given if o.way == way]
        print(_describe("all", way, made, own, limit))
    chance, sure = made.estimate(given), made.confidence(given)
    did = np.array([o.correct for o in given])
    kept = (chance >= limit) & (sure >= LEAST_CONFIDENCE)
    error = calibration_error(sure[kept], did[kept])
    print(f"AUROC of right {auroc(chance, did):.3f}, ECE of answers {error:.3f}")


def _describe(book: str, way: str, made: Fit, given: Sequence[Outcome], limit: float) -> str:
    kept = (made.estimate(given) >= limit) & (made.confidence(given) >= LEAST_CONFIDENCE)
    can, did = (np.array([getattr(o, name) for o in given]) for name in ("answerable", "correct"))
    places = np.array([o.place for o in given if o.answerable])
    shares = [
        (places == 1).mean(),
        ((places > 0) & (places <= USED)).mean(),
        kept[can].mean(),
        did[can & kept].mean() if (can & kept).any() else float("nan"),
        (~kept[~can]).mean(),
    ]
    cells = " | ".join(f"{share:.2f}" for share in shares)
    return f"| {book} | {way} | {int(can.sum())} | {cells} | {sum(o.false for o in given)} |"


def write(made: Fit, given: Sequence[Row], points: list[tuple[float, float, float]]) -> None:
    stored = {
        "version": 2,
        "made_by": COMMAND,
        "fitted_on": sorted({f"{row.book}:{row.language}, {row.way}" for row in given}),
        "sentence": dict(load_calibration(reader="multilingual").sentence.weights),
        "answerable": made.chance.stored(),
        # Whether there is an answer and whether this is it are one question here.
        "right": {"constant": CERTAIN},
        "calibration": {"slope": round(made.slope, 4), "offset": round(made.offset, 4)},
        "curve": points,
    }
    text = re.sub(
        r"\[\s+([\d.]+),\s+([\d.]+),\s+([\d.]+)\s+\]", r"[\1, \2, \3]", json.dumps(stored, indent=1)
    )
    (PACKAGE / "answers" / "confidence_multilingual.json").write_text(text + "\n", encoding="utf-8")


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("rows", type=Path, help="what benchmarks.languages asked")
    options.add_argument("--write", action="store_true")
    options.add_argument("--manuals", type=Path, help="other manuals to report")
    options.add_argument("--others", type=Path, help="where what was asked of them is kept")
    options.add_argument("--limit", type=int, default=0, help="ask so many of each manual, if not yet")
    options.add_argument("--only", default=",".join(REPORTED), help="the manuals, between commas")
    said = options.parse_args()
    learnt = [row for row in map(_read_row, rows(said.rows)) if row.part == "tune" and row.features]
    learnt = [row for row in learnt if row.reader == "multilingual"]
    unseen = estimate_unseen(learnt)
    did = np.array([row.correct for row in learnt])
    points = draw_points(unseen, learnt)
    limit = next((t for t, wrong, _ in points if wrong <= RISK), 1.0)
    made = Fit(fit(learnt), *platt(_find_odds(unseen), did.astype(float), weight=_balance(learnt)))
    print(f"{len(learnt)} rows; threshold at risk {RISK}: {limit}; {made}")
    answered = next(kept for at, _, kept in points if at == limit)
    print(f"unseen languages and sections: AUROC {auroc(unseen, did):.3f}, answered {answered}")
    if said.write:
        write(made, learnt, points)
    if said.manuals:
        report_others(made, limit, said)


def _read_row(stored: Mapping[str, Any]) -> Row:
    return Row(**stored)


def report_others(made: Fit, limit: float, said: argparse.Namespace) -> None:
    """Ask other manuals what was not asked yet, and report them."""
    given = [Outcome(**row) for row in rows(said.others)] if said.others.exists() else []
    known = {(o.book, o.way, o.question) for o in given}
    for book in said.only.split(",") if said.limit else ():
        asked = asyncio.run(collect(said.manuals, book, said.limit, known))
        with said.others.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(asdict(o), ensure_ascii=False) + "\n" for o in asked)
        given += asked
        print(f"{book}: {len(asked)} rows", flush=True)
    report(made, given, limit)


if __name__ == "__main__":
    main()
