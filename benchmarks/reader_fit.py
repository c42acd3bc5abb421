"""Fits what is made of the reader's scores: is there an answer, is this it, is a passage to the point.

    python -m benchmarks.reader_fit SUITE [--reader large] [--limit 1200] [--data DIR] [--write]
    python -m benchmarks.reader_fit SUITE --reader large --written WRITTEN --training DATA --exam EXAM
        [--rows FILE]

The reader has learnt from the training data, so its scores there look better than they are: the few weights
are fitted on questions of the development suite, asked of the library as a reader would. What is reported is
measured on articles and books that were left out of the fit, five times a fifth. `--write` replaces
src/octavo/answers/confidence_reader.json, src/octavo/search/relevance_reader.json and docs/risk-coverage.svg,
or, with `--reader large`, confidence_large.json, relevance_large.json and the same picture.

`--keep` keeps the weights that ship and fits slope, offset and curve alone, which takes fewer questions.

With `--written`, questions about novels, textbooks, manuals and reports are asked as well: those of the part
`tune` of `written.jsonl.xz` (`training/written.py`), with the books of DATA. Each kind of book counts by the
square root of its questions, and each kind is judged by a fit without it too. So are readers' questions about
whole books: those of the part `tune` of DATA/novels.jsonl.xz (`training/novels.py`) and, with `--exam`, those
about the books that `benchmarks.fitting_exam` wrote. What was measured is kept in `--rows`, and read from
there the next time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import lzma
import re
import tempfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.answering import PICTURE
from benchmarks.answering_fit import Weighted, auroc, calibration_error, logistic, platt
from benchmarks.fitting_exam import has_all, read_exam
from benchmarks.novels import has_answer
from benchmarks.risk_coverage import draw_curve
from benchmarks.suite import bare, covers, rows
from octavo.answers.calibration import RISK, load_calibration
from octavo.answers.workspace import Workspace
from octavo.library import Library
from octavo.library.answerers import AnswererFactory
from octavo.models.cross_encoders import PassageScore
from octavo.search.cascade import LARGE, LOOKED_AT, SMALL, select_candidates
from octavo.search.ranking import ReaderSize, fuse
from octavo.settings import Settings
from octavo.types import Scope

PACKAGE = Path(__file__).parent.parent / "src" / "octavo"
ENDINGS: dict[ReaderSize, str] = {"small": "reader", "large": "large"}
VERSIONS: dict[ReaderSize, int] = {"small": 2, "large": 3}
Numbers = NDArray[np.float64]
ANSWERABLE = {"able": 1, "able_most": 1, "margin_read": 1, "stated": 1, "rank_read": 0, "rank_most": 0}
RIGHT = {"odds": 1, "odds_chunk": 1, "margin": 1, "margin_read": 1, "able": 0, "rank_read": 0}
RIGHT |= {"why": 0, "sequel": 0, "told": 0, "not_sure": -1, "not_even_loose": -1}
CONCISE = 80
BEYOND = 2 / 5  # of the questions that the risk is told for, how many are near misses


@dataclass(frozen=True, slots=True)
class Outcome:
    """A question, what was measured, how it went; `passages` are fit, first-stage score, to the point."""

    book: str
    answerable: bool
    correct: bool
    features: dict[str, float]
    passages: tuple[tuple[float, float, bool], ...]

    @property
    def kind(self) -> str:
        return self.book.split(" ")[0]


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


def weigh(given: Sequence[Outcome]) -> Numbers:
    """Each kind of book counts by the square root of its questions; on average an outcome counts one."""
    sizes = Counter(o.kind for o in given)
    weights = np.array([sizes[o.kind] ** -0.5 for o in given])
    return np.asarray(weights * len(given) / weights.sum())


def fit(given: Sequence[Outcome]) -> Fit:
    mixed = {o.kind for o in given if not o.answerable}  # the others have no unanswerable questions
    near = [o for o in given if o.kind in mixed]
    can = np.array([o.answerable for o in near], dtype=float)
    answerable = logistic([o.features for o in near], can, signs=ANSWERABLE, weight=weigh(near))
    told = [o for o in given if o.answerable]
    did = np.array([o.correct for o in told], dtype=float)
    right = logistic([o.features for o in told], did, signs=RIGHT, weight=weigh(told))
    both = answerable(o.features for o in given) * right(o.features for o in given)
    return Fit(answerable, right, *scale(both, given))


def scale(both: Numbers, given: Sequence[Outcome]) -> tuple[float, float]:
    """Slope and offset that make the product of both chances true."""
    every = np.array([o.correct for o in given], dtype=float)
    return platt(np.log(both / (1 - both)), every, weight=weigh(given))


def keep(given: Sequence[Outcome], reader: ReaderSize) -> Fit:
    """The weights that ship, with a scale of their own for what was measured with other models."""
    stored = load_calibration(reader=reader)
    answerable, right = (
        Weighted(tuple(one.weights), np.array(list(one.weights.values())), one.constant)
        for one in (stored.answerable, stored.right)
    )
    both = answerable(o.features for o in given) * right(o.features for o in given)
    return Fit(answerable, right, *scale(both, given))


def curve(fitted_: Fit, given: Sequence[Outcome]) -> list[tuple[float, float, float]]:
    """For each threshold the share of wrong answers and of answerable questions answered."""
    near = [o for o in given if o.kind == "squad2_book"]
    chance = fitted_.chance(near)
    can, did = (np.array([getattr(o, name) for o in near]) for name in ("answerable", "correct"))
    points = []
    for limit in np.arange(0.0, 1.0, 0.01):
        kept, slipped = (chance[can] >= limit).mean(), (chance[~can] >= limit).mean()
        right = (did[can] & (chance[can] >= limit)).mean()
        answers = BEYOND * slipped + (1 - BEYOND) * kept
        wrong = 1 - (1 - BEYOND) * right / answers if answers else 0.0
        points.append((round(float(limit), 2), round(float(wrong), 4), round(float(kept), 4)))
    return points


def read_questions(suite: Path, name: str, limit: int) -> tuple[list[tuple[str, Path]], list[dict[str, Any]]]:
    base = suite / name
    if name == "squad2_book":
        texts = {r["context_id"]: r["text"] for r in rows(base / "contexts.jsonl")}
        items = [
            {**r, "gold": [texts[r["context_id"]]] if r["answerable"] else []}
            for r in rows(base / "qa.jsonl")
        ]
        return [(name, base / "book")], _some(items, limit)
    texts = {r["section_id"]: r["text"] for r in rows(base / "sections.jsonl")}
    books = [(re.sub(r"_html$", "", p.name.split(".")[0]), p) for p in sorted((base / "books").iterdir())]
    kept = [r for r in rows(base / "qa.jsonl") if r["book"] in dict(books)]
    items = [
        {**r, "answerable": True, "gold": [texts[g] for g in r["gold_sections"] if g in texts]} for r in kept
    ]
    return books, _some(items, limit // 2)


def _some(items: list[dict[str, Any]], limit: int) -> list[dict[str, Any]]:
    return sorted(items, key=lambda r: zlib.crc32(r["question"].encode()))[:limit]


def read_written(
    suite: Path, written: Path, training: Path, data: Path
) -> tuple[list[tuple[str, Path]], list[dict[str, Any]]]:
    """The questions of the part `tune`, and the books that they are asked of."""
    with lzma.open(written, "rt", encoding="utf-8") as lines:
        given = [row for row in map(json.loads, lines) if row["part"] == "tune"]
    books = [(name, path) for name, path in list_suite_books(suite) if path.exists()]
    books += write_training_books(training, {row["book"] for row in given}, data)
    items = [
        {
            "question": asked["q"],
            "answers": [asked["a"]] if asked["a"] else [],
            "answerable": bool(asked["a"]),
            "book": row["book"],
            "kind": row["kind"],
            "gold": [" ".join(row["sentences"])] if asked["a"] else [],
        }
        for row in given
        if row["book"] in dict(books)
        for asked in row["questions"]
    ]
    return books, items


ASKED = {
    "bram-stoker_dracula": "asked_novel",
    "psychology": "asked_textbook",
    "scrapy-manual": "asked_manual",
}
TOLD = ("why", "how", "what", "yesno")


def read_asked(training: Path, data: Path) -> tuple[list[tuple[str, Path]], list[dict[str, Any]]]:
    """Readers' questions about three whole books that no model has learnt from."""
    with lzma.open(training / "novels.jsonl.xz", "rt", encoding="utf-8") as lines:
        given = [row for row in map(json.loads, lines) if row["book"] in ASKED]
    items = [
        {
            "question": row["q"],
            "told": row["kind"] in TOLD,
            "answers": [right["a"] for right in row["right"]],
            "answerable": bool(row["right"]),
            "book": row["book"],
            "kind": ASKED[row["book"]],
            "gold": [right["t"] for right in row["right"]],
        }
        for row in given
    ]
    return write_training_books(training, set(ASKED), data), items


def list_suite_books(suite: Path) -> list[tuple[str, Path]]:
    formats, reports = suite / "formats", suite / "financebench_pdf" / "pdfs"
    return [
        ("debian-handbook", formats / "debian_handbook_html"),
        ("ragflow-docs", formats / "docusaurus_ragflow_docs_Apache2"),
        ("report-adobe", reports / "ADOBE_2022_10K.pdf"),
        ("report-amcor", reports / "AMCOR_2023_10K.pdf"),
    ]


def write_training_books(training: Path, wanted: set[str], data: Path) -> list[tuple[str, Path]]:
    """Books of the training data as Markdown."""
    parts: dict[str, list[str]] = defaultdict(list)
    for name in ("books.jsonl.xz", "manuals.jsonl.xz"):
        with lzma.open(training / name, "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                if row["book"] in wanted:
                    parts[row["book"]].append(f"# {' '.join(row['title'].split())}")
                    parts[row["book"]] += (" ".join(_paragraph(p).split()) for p in row["paragraphs"])
    data.mkdir(parents=True, exist_ok=True)
    for book, texts in parts.items():
        (data / f"{book}.md").write_text("\n\n".join(texts) + "\n", encoding="utf-8")
    return [(book, data / f"{book}.md") for book in parts]


def _paragraph(given: str | dict[str, str]) -> str:
    return given if isinstance(given, str) else given["text"]


async def outcomes(
    name: str,
    questions: tuple[list[tuple[str, Path]], list[dict[str, Any]]],
    data: Path,
    reader: ReaderSize,
) -> list[Outcome]:
    books, items = questions
    found = []
    async with Library.open(settings=Settings(data=data / name, reader=reader)) as library:
        ids = {title: (await library.add(path, title=title)).id for title, path in books}
        context = await library._context()
        retriever = library._get_retriever(context)
        factory = AnswererFactory(library.settings, None)
        answerer = (await factory.choose(retriever, context.embedder)).answerer
        for item in items:
            bounds = await library._scope.resolve(Scope(), book_id=ids.get(item.get("book", "")))
            workspace = Workspace(item["question"], bounds, retriever, context.records)
            await workspace.search(item["question"], top_k=5, reader="large")
            reply = await answerer.reply(item["question"], workspace)
            if reply.features:
                said = " ".join(claim.text for claim in reply.claims)
                right = bool(item["answerable"] and is_right(said, item))
                title = item.get("book") or item["title"]
                seen = await _passages(item, workspace, retriever)
                found.append(
                    Outcome(
                        f"{item.get('kind', name)} {title}",
                        item["answerable"],
                        right,
                        dict(reply.features),
                        seen,
                    )
                )
    return found


async def _passages(
    item: dict[str, Any], workspace: Workspace, retriever: Any
) -> tuple[tuple[float, float, bool], ...]:
    """What was read for ranking, with whether it is a passage that the question was made from."""
    if not item["gold"]:
        return ()
    vector = await retriever.embed_query(item["question"])
    where = workspace.bounds.exclude(retriever._records.unpublished).where
    words = await retriever.weigh_words(item["question"])
    fused = fuse(await retriever._store.search(vector, words, where=where, limit=50))[:LOOKED_AT]
    chunks = await retriever._load_chunks([f.id for f in fused])
    large, reranker = retriever.reader_size == "large", retriever.reranker
    if large:
        kept = [f for f in fused if f.id in workspace.deep]
    else:
        kept = select_candidates(fused, {id_: chunk.section_id for id_, chunk in chunks.items()})
    read = reranker.score_deeply if large else reranker.score_passages
    given = [workspace.deep[f.id] if large else chunks[f.id] for f in kept]
    scores: list[PassageScore] = await read(item["question"], given)
    gold, weights = covers(*item["gold"]), LARGE if large else SMALL
    return tuple(
        (weights.fit(g.rank, g.answerable), f.score, gold(chunks[f.id]))
        for f, g in zip(kept, scores, strict=False)
    )


def is_right(said: str, item: dict[str, Any]) -> bool:
    """Whether an answer is right, by the rule of the set that the question is from."""
    if "must" in item:
        return has_all(said, item["must"], item.get("need"))
    if "told" in item:
        return has_answer(said, item["answers"], told=item["told"])
    return shares_answer(said, item["answers"])


def shares_answer(said: str, golds: Sequence[str]) -> bool:
    """The rule of the suite's scorer: concise and containing the answer, or half of its words shared."""
    mine = bare(said)
    for gold in golds:
        words = bare(gold)
        same = sum((Counter(mine) & Counter(words)).values())
        if len(said.split()) <= CONCISE and words and f" {' '.join(words)} " in f" {' '.join(mine)} ":
            return True
        if same and 2 * same / (len(mine) + len(words)) >= 0.5:
            return True
    return False


def judge(name: str, chance: Numbers, sure: Numbers, given: Sequence[Outcome], limit: float) -> None:
    can, did = (np.array([getattr(o, part) for o in given]) for part in ("answerable", "correct"))
    kept = chance >= limit
    mixed = bool(can.any() and not can.all())
    figures = {
        "n": len(given),
        "auroc": auroc(sure, can) if mixed else float("nan"),
        "answered": kept[can].mean(),
        "refused": (~kept[~can]).mean() if mixed else float("nan"),
        "correct": (did & kept)[can].mean(),
        "ece": calibration_error(sure[kept], did[kept]),
        "too_sure": float(sure[kept].mean() - did[kept].mean()) if kept.any() else float("nan"),
    }
    print(f"{name:40}" + "".join(f"{k} {v:.3f}  " for k, v in figures.items()), flush=True)


def report_left_out(given: Sequence[Outcome], limit: float) -> None:
    """Each fifth of the articles and books, judged by a fit without it, and each kind by a fit without it."""
    part = np.array([zlib.crc32(o.book.encode()) % 5 for o in given])
    chance, sure = np.zeros(len(given)), np.zeros(len(given))
    for n in sorted(set(part.tolist())):
        made = fit([o for o, p in zip(given, part, strict=True) if p != n])
        here = np.flatnonzero(part == n).tolist()
        chance[here], sure[here] = (f([given[k] for k in here]) for f in (made.chance, made.confidence))
    kinds = sorted({o.kind for o in given})
    for name in kinds:
        here = np.flatnonzero([o.kind == name for o in given]).tolist()
        judge(f"{name}, its books left out", chance[here], sure[here], [given[k] for k in here], limit)
    for name in kinds if len(kinds) > 1 else ():
        rest, own = ([o for o in given if (o.kind == name) is same] for same in (False, True))
        if any(not o.answerable for o in rest):
            made = fit(rest)
            judge(f"{name}, the whole kind left out", made.chance(own), made.confidence(own), own, limit)


def report_kept(made: Fit, given: Sequence[Outcome], limit: float) -> None:
    for name in sorted({o.kind for o in given}):
        own = [o for o in given if o.kind == name]
        judge(f"{name}, weights kept", made.chance(own), made.confidence(own), own, limit)


def relevance(given: Sequence[Outcome]) -> list[float]:
    """Constant and weights of fit and first-stage score, for the chance that a passage is to the point."""
    seen = [p for o in given for p in o.passages]
    truth = np.array([p[2] for p in seen], dtype=float)
    features = [{"fit": p[0], "found": p[1]} for p in seen]
    made = logistic(features, truth, signs={"fit": 1, "found": 1}, weight=np.ones(len(seen)))
    return [round(float(x), 4) for x in (made.constant, *made.weights)]


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("suite", type=Path)
    options.add_argument("--reader", choices=list(ENDINGS), default="small")
    options.add_argument("--limit", type=int, default=1200)
    options.add_argument("--data", type=Path)
    options.add_argument("--written", type=Path)
    options.add_argument("--training", type=Path)
    options.add_argument("--exam", type=Path)
    options.add_argument("--rows", type=Path)
    options.add_argument("--write", action="store_true")
    options.add_argument("--keep", action="store_true", help="keep the weights, fit scale and curve alone")
    said = options.parse_args()
    if said.rows and said.rows.exists():
        given = read_rows(said.rows)
    else:
        given = collect(said)
        if said.rows:
            said.rows.write_text("".join(json.dumps(asdict(o)) + "\n" for o in given), encoding="utf-8")
    made = keep(given, said.reader) if said.keep else fit(given)
    points = curve(made, given)
    limit = next((t for t, wrong, _ in points if wrong <= RISK), 1.0)
    print(f"{len(given)} questions; threshold at risk {RISK}: {limit}")
    if said.keep:
        report_kept(made, given, limit)
    else:
        report_left_out(given, limit)
    if said.write:
        write(made, given, points, said.reader, command=name_command(said))


def name_command(said: argparse.Namespace) -> str:
    """Name the command that was given, without the folders of this machine."""
    named = f"python -m benchmarks.reader_fit SUITE --reader {said.reader} --limit {said.limit}"
    named += " --written WRITTEN --training DATA" * bool(said.written) + " --exam EXAM" * bool(said.exam)
    return f"{named} --write{' --keep' * said.keep}"


def collect(said: argparse.Namespace) -> list[Outcome]:
    """Ask the questions of every set."""
    with tempfile.TemporaryDirectory(prefix="octavo-fit-") as temporary:
        data = said.data or Path(temporary)
        sets = {name: read_questions(said.suite, name, said.limit) for name in ("squad2_book", "fairytaleqa")}
        if said.written:
            sets["written"] = read_written(said.suite, said.written, said.training, data / "books")
            sets["asked"] = read_asked(said.training, data / "books")
        if said.exam:
            sets["exam"] = read_exam(said.exam)
        return [
            outcome
            for name, questions in sets.items()
            for outcome in asyncio.run(outcomes(name, questions, data, said.reader))
        ]


def read_rows(path: Path) -> list[Outcome]:
    found = []
    for row in rows(path):
        row["passages"] = tuple((p[0], p[1], bool(p[2])) for p in row["passages"])
        found.append(Outcome(**row))
    return found


def write(
    made: Fit,
    given: Sequence[Outcome],
    points: list[tuple[float, float, float]],
    reader: ReaderSize,
    *,
    command: str,
) -> None:
    """Replace the fitted weights of this reader, and the picture."""
    origin = {
        "made_by": command,
        "fitted_on": sorted({o.kind for o in given}),
    }
    ranking = {"version": 1, **origin, "weights": relevance(given)}
    target = PACKAGE / "search" / f"relevance_{ENDINGS[reader]}.json"
    target.write_text(json.dumps(ranking, indent=1) + "\n", encoding="utf-8")
    stored = {
        "version": VERSIONS[reader],
        **origin,
        "sentence": dict(load_calibration(reader=reader).sentence.weights),
        "answerable": made.answerable.stored(),
        "right": made.right.stored(),
        "calibration": {"slope": round(made.slope, 4), "offset": round(made.offset, 4)},
        "curve": points,
    }
    text = re.sub(
        r"\[\s+([\d.]+),\s+([\d.]+),\s+([\d.]+)\s+\]", r"[\1, \2, \3]", json.dumps(stored, indent=1)
    )
    target = PACKAGE / "answers" / f"confidence_{ENDINGS[reader]}.json"
    target.write_text(text + "\n", encoding="utf-8")
    picture = draw_curve(points, risk=RISK, bad="that is wrong", command=command)
    PICTURE.write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
