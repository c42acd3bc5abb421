"""Fits what is made of the multilingual reader's scores, and tells how it answers in each language.

    python -m benchmarks.multilingual_fit MANUALS --rows ROWS [--limit 20] [--only faq:de] [--write]

MANUALS holds manuals of Debian in many languages (`benchmarks/parallel.py` says which). The title of a
section is the question, and the section answers it. Each question is asked

- same: of the book in its own language, in which numbers stand in the place of the titles (`bare`), and for
  the manuals that are only reported also of the book as it is (`titled`);
- from English: in English, of the book as it is. Title and question are translations of each other.

Each is asked twice: with all passages, and without those of the section that answers. An answer is right if
it cites that section; whatever is answered without it is wrong.

The weights are fitted on the manuals of FITTED, and reported for those of REPORTED, which no weight has seen.
What was measured is kept in ROWS, one line for each question, and read from there the next time. `--write`
replaces src/octavo/answers/confidence_multilingual.json.
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

import numpy as np
from numpy.typing import NDArray

from benchmarks.answering_fit import Weighted, auroc, calibration_error, logistic, platt
from benchmarks.parallel import Entry, read_entries
from benchmarks.suite import rows
from octavo.answers.ask import LEAST_CONFIDENCE
from octavo.answers.calibration import RISK, load_calibration
from octavo.answers.offline import OfflineAnswerer, Reply
from octavo.answers.workspace import number_sentences
from octavo.library import Library
from octavo.search.retrieval import Retriever
from octavo.search.scope import Bounds
from octavo.settings import Settings
from octavo.types import Evidence, Scope
from octavo.verification.gate import verify_claims

FITTED = (
    *(f"securing:{code}" for code in ("de-DE", "fr-FR", "it-IT", "pt-BR", "es-ES", "ja-JP", "zh-CN")),
    *(f"installation:{code}" for code in ("ru", "ko", "el", "zh_CN")),
)
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
COMMAND = "python -m benchmarks.multilingual_fit MANUALS --rows ROWS --write"
SIGNS = {"able": 1, "able_most": 1, "margin_read": 1, "rank_read": 1, "stated": 1, "covered": 1, "across": 0}
RIGHT = {"odds": 1, "margin": 1, "margin_read": 1, "rank_read": 1, "covered": 1, "across": 0}
ABSENT = 1 / 2
"""The share of questions that the book does not answer, for which the risk is told."""
Numbers = NDArray[np.float64]


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
    if book in REPORTED:
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
    answerable: Weighted
    right: Weighted
    slope: float
    offset: float

    def chance(self, given: Sequence[Outcome]) -> Numbers:
        return self.answerable(o.features for o in given)

    def confidence(self, given: Sequence[Outcome]) -> Numbers:
        both = self.chance(given) * self.right(o.features for o in given)
        return np.asarray(1 / (1 + np.exp(-(self.offset + self.slope * np.log(both / (1 - both))))))


def fit(given: Sequence[Outcome]) -> Fit:
    """Fit the chance that the right section is cited, of all questions and of those that have one."""
    can = np.array([o.correct for o in given], dtype=float)
    answerable = logistic([o.features for o in given], can, signs=SIGNS, weight=np.ones(len(given)))
    told = [o for o in given if o.answerable]
    did = np.array([o.correct for o in told], dtype=float)
    right = logistic([o.features for o in told], did, signs=RIGHT, weight=np.ones(len(told)))
    both = answerable(o.features for o in given) * right(o.features for o in given)
    return Fit(answerable, right, *platt(np.log(both / (1 - both)), can, weight=np.ones(len(given))))


def draw_points(made: Fit, given: Sequence[Outcome]) -> list[tuple[float, float, float]]:
    """Return for each threshold the share of wrong answers, and of questions that were answered."""
    chance = made.chance(given)
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
    chance, sure = made.chance(given), made.confidence(given)
    did = np.array([o.correct for o in given])
    kept = (chance >= limit) & (sure >= LEAST_CONFIDENCE)
    error = calibration_error(sure[kept], did[kept])
    print(f"AUROC of right {auroc(chance, did):.3f}, ECE of answers {error:.3f}")


def _describe(book: str, way: str, made: Fit, given: Sequence[Outcome], limit: float) -> str:
    kept = (made.chance(given) >= limit) & (made.confidence(given) >= LEAST_CONFIDENCE)
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


def write(made: Fit, given: Sequence[Outcome], points: list[tuple[float, float, float]]) -> None:
    origin = {"made_by": COMMAND, "fitted_on": sorted({o.book for o in given})}
    stored = {
        "version": 1,
        **origin,
        "sentence": dict(load_calibration(reader="multilingual").sentence.weights),
        "answerable": made.answerable.stored(),
        "right": made.right.stored(),
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
    options.add_argument("manuals", type=Path)
    options.add_argument("--rows", type=Path, required=True)
    options.add_argument("--limit", type=int, default=0, help="ask so many of each book and way, if not yet")
    options.add_argument("--only", default="", help="the books that are asked, between commas")
    options.add_argument("--write", action="store_true")
    said = options.parse_args()
    given = [Outcome(**row) for row in rows(said.rows)] if said.rows.exists() else []
    known = {(o.book, o.way, o.question) for o in given}
    wanted = said.only.split(",") if said.only else [*FITTED, *REPORTED]
    for book in wanted if said.limit else ():
        made = asyncio.run(collect(said.manuals, book, said.limit, known))
        with said.rows.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(asdict(o), ensure_ascii=False) + "\n" for o in made)
        given += made
        print(f"{book}: {len(made)} rows", flush=True)
    learnt = [o for o in given if o.book in FITTED]
    if not learnt:
        return
    fitted = fit(learnt)
    points = draw_points(fitted, learnt)
    limit = next((t for t, wrong, _ in points if wrong <= RISK), 1.0)
    print(f"{len(learnt)} rows; threshold at risk {RISK}: {limit}; {fitted.answerable.stored()}")
    report(fitted, learnt, limit)
    reported = [o for o in given if o.book in REPORTED]
    if reported:
        report(fitted, reported, limit)
    if said.write:
        write(fitted, learnt, points)


if __name__ == "__main__":
    main()
