"""Fits how sure an answer is that a language model wrote, from answers whose truth is known.

    python -m benchmarks.model_confidence collect SUITE EXAM WORK
    python -m benchmarks.model_confidence score SUITE EXAM WORK ANSWERS
    python -m benchmarks.model_confidence fit WORK [--write]

`collect` asks questions of five kinds of books and keeps what a model would be shown. Language models other
than the code under test then wrote answers, once carefully and once hastily, as small models answer: they
guess, and take what stands nearby. `score` lets a scripted model give these answers, and keeps what the gate
and the reader made of each and whether it was right; where the true answer can be told in many ways, readers
judged (`judged.json` in WORK: the number of a scored answer, and whether it is right). `fit` fits the weights
and reports the calibration error of each kind of book by weights that have not seen it. EXAM is the exam's
file of questions, WORK a folder.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import lzma
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.answering_fit import auroc, calibration_error, squash
from benchmarks.suite import bare, rows
from octavo.answers import calibration
from octavo.library import Library
from octavo.llm import confidence
from octavo.settings import Settings
from octavo.testing import Claims, ModelRequest, ScriptedModel

DATA = Path(confidence.__file__).parent / "confidence.json"
EACH, MOST_WORDS = 25, 80
MEASURES = ("support", "answerable_there", "same_sentence", "same_sentence_there", "same_words_there")
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a kind of book. `gold` has answers, `must` patterns; neither: it is not in the book."""

    id: str
    kind: str
    question: str
    path: str
    gold: tuple[str, ...] = ()
    must: tuple[tuple[str, ...], ...] = ()
    need: int = 0

    def is_right(self, text: str) -> bool:
        """Judge an answer as the suite's own scorers do."""
        if self.must:
            hits = sum(any(re.search(one, text, re.IGNORECASE) for one in group) for group in self.must)
            return hits >= (self.need or len(self.must))
        said = bare(text)
        return len(said) <= MOST_WORDS and any(_agrees(bare(gold), said) for gold in self.gold)


def _agrees(gold: Sequence[str], said: Sequence[str]) -> bool:
    if f" {' '.join(gold)} " in f" {' '.join(said)} ":
        return bool(gold)
    shared = len(set(gold) & set(said))
    precise, whole = shared / max(1, len(set(said))), shared / max(1, len(set(gold)))
    return 2 * precise * whole >= 0.5 * (precise + whole) > 0


def list_questions(suite: Path, exam: Path) -> list[Asked]:
    """List the questions, the same ones each time."""
    chance, found = random.Random(19), list[Asked]()
    squad = list(rows(suite / "squad2_book" / "qa.jsonl"))
    for answerable in (True, False):
        chosen = chance.sample([row for row in squad if row["answerable"] is answerable], EACH)
        found += [
            Asked(f"squad-{n}-{answerable:d}", "encyclopaedia", row["question"], "squad2_book/book",
                  tuple(row["answers"]) if answerable else ())
            for n, row in enumerate(chosen)
        ]  # fmt: skip
    tales = list(rows(suite / "fairytaleqa" / "qa.jsonl"))
    books = {re.sub(r"_html$", "", p.name.split(".")[0]): p for p in (suite / "fairytaleqa/books").iterdir()}
    for n, row in enumerate(chance.sample([row for row in tales if row["book"] in books], EACH + EACH // 2)):
        path = books[row["book"]].relative_to(suite).as_posix()
        found.append(Asked(f"tale-{n}", "tales", row["question"], path, tuple(row["answers"])))
    for n, row in enumerate(chance.sample([row for row in tales if row["book"] in books], EACH // 2)):
        other = next(path for name, path in sorted(books.items()) if name != row["book"])
        found.append(Asked(f"strange-{n}", "tales", row["question"], other.relative_to(suite).as_posix()))
    medical = [
        row for row in rows(suite / "graphrag_medical" / "qa.jsonl") if row["type"] == "Fact Retrieval"
    ]
    for n, row in enumerate(chance.sample(medical, EACH + EACH // 2)):
        path = "graphrag_medical/medical_corpus.txt"
        found.append(Asked(f"medical-{n}", "medicine", row["question"], path, tuple(row["answers"])))
    for row in rows(exam):
        kind = "novel" if "moby" in row["id"] else "exam"
        must = tuple(map(tuple, row["must"]))
        found.append(Asked(row["id"], kind, row["question"], row["book"], (), must, row.get("need", 0)))
    return found


async def collect(questions: Sequence[Asked], suite: Path, work: Path) -> None:
    """Ask every question with a model that says nothing, and write down what it is shown."""
    books = await _add_books(questions, suite, work)
    with (
        ScriptedModel(lambda _: Claims(())) as model,
        (work / "asked.jsonl").open("w", encoding="utf-8") as out,
    ):
        async with Library.open(settings=_settings(work, model)) as library:
            for asked in questions:
                seen = len(model.requests)
                await library.ask(asked.question, book_id=books[asked.path])
                shown = model.requests[seen].question if len(model.requests) > seen else ""
                line = {"id": asked.id, "question": asked.question, "shown": shown}
                out.write(json.dumps(line, ensure_ascii=False) + "\n")


async def score(questions: Sequence[Asked], suite: Path, work: Path, answers: Path) -> None:
    """Let a model give the answers that were written, and write down what came of each."""
    books, current = await _add_books(questions, suite, work), list[Mapping[str, Any]]()
    # Every answer that passed the gate is wanted, however unlikely it is.
    calibration.LEAST_CONFIDENCE = 0.0
    with lzma.open(answers, "rt", encoding="utf-8") as lines:
        written = [json.loads(line) for line in lines]
    known = {asked.id: asked for asked in questions}

    def say(request: ModelRequest) -> Claims:
        shown = request.sentences
        return Claims(
            [(text, ids) for text, ids in current[-1]["claims"] if all(one in shown for one in ids)]
        )

    with ScriptedModel(say) as model, (work / "scored.jsonl").open("w", encoding="utf-8") as out:
        async with Library.open(settings=_settings(work, model)) as library:
            for answer in written:
                asked = known[answer["id"]]
                current.append(answer)
                heard = await library.ask(asked.question, book_id=books[asked.path])
                receipt = (await library.conversations.find_exchange(heard.id)).receipt
                noted = receipt.get("model", {})
                line = {
                    "id": asked.id,
                    "kind": asked.kind,
                    "style": answer["style"],
                    "claims": len(answer["claims"]),
                    "measures": noted.get("measures") if isinstance(noted, dict) else None,
                    "refused": heard.refusal is not None,
                    "confidence": heard.confidence,
                    "text": heard.content,
                    "right": asked.is_right(strip_marks(heard.content)),
                }
                out.write(json.dumps(line, ensure_ascii=False) + "\n")


def strip_marks(text: str) -> str:
    return re.sub(r"\s*\[\d+\]", "", text)


def _settings(work: Path, model: ScriptedModel) -> Settings:
    return Settings(
        data=work / "library",
        model="scripted-1",
        model_url=model.url,
        model_key="none",
        model_mode="single",
        risk=0.99,
    )


async def _add_books(questions: Sequence[Asked], suite: Path, work: Path) -> dict[str, str]:
    """Add each book once, and return their ids by their paths."""
    kept, found = work / "books.json", dict[str, str]()
    if kept.exists():
        return dict(json.loads(kept.read_text("utf-8")))
    async with Library.open(work / "library") as library:
        for path in dict.fromkeys(asked.path for asked in questions):
            found[path] = (await library.add(suite / path)).id
            print(path, flush=True)
    kept.write_text(json.dumps(found), "utf-8")
    return found


def fit(work: Path, *, write: bool) -> None:
    """Fit the weights, and report how true they are to kinds of books that they have not seen."""
    scored = list(rows(work / "scored.jsonl"))
    judged = json.loads((work / "judged.json").read_text("utf-8"))
    for number, is_right in judged.items():
        scored[int(number)]["right"] = is_right
    seen = [row for row in scored if row["measures"] and row["claims"] and not row["refused"]]
    names = MEASURES
    table = np.array([[1.0, *(row["measures"][name] for name in names)] for row in seen])
    right = np.array([float(row["right"]) for row in seen])
    kinds = np.array([row["kind"] for row in seen])
    unseen = np.zeros(len(seen))
    for kind in dict.fromkeys(kinds):
        unseen[kinds == kind] = squash(
            table[kinds == kind] @ _fit(table[kinds != kind], right[kinds != kind])
        )
    print(f"{'kind':14} {'answers':>8} {'right':>6} {'mean':>6} {'error':>6} {'before':>7}")
    before = np.array([row["confidence"] for row in seen])
    for kind in (*dict.fromkeys(kinds), ""):
        chosen = kinds == kind if kind else kinds != ""
        errors = [calibration_error(one[chosen], right[chosen] > 0) for one in (unseen, before)]
        means = (right[chosen].mean(), unseen[chosen].mean(), *errors)
        print(f"{kind or 'all':14} {chosen.sum():8} " + " ".join(f"{value:6.3f}" for value in means))
    print(f"AUROC {auroc(unseen, right > 0):.3f}, before {auroc(before, right > 0):.3f}")
    weights = _fit(table, right)
    for name, weight in zip(("bias", *names), weights, strict=True):
        print(f"{name:22} {weight:7.3f}")
    if write:
        stored = dict(zip(("bias", *names), weights.round(4).tolist(), strict=True))
        DATA.write_text(json.dumps({"weights": stored}, indent=1) + "\n", "utf-8")


def _fit(table: Floats, right: Floats, *, ridge: float = 2.0) -> Floats:
    """Logistic regression by Newton's method. The constant is not held small."""
    weights = np.zeros(table.shape[1])
    held = np.full(table.shape[1], ridge)
    held[0] = 1e-6
    for _ in range(60):
        likely = squash(table @ weights)
        slope = table.T @ (right - likely) - held * weights
        bend = (table * (likely * (1 - likely))[:, None]).T @ table + np.diag(held)
        weights = weights + np.linalg.solve(bend, slope)
    return weights


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("step", choices=("collect", "score", "fit"))
    options.add_argument("paths", nargs="+", type=Path)
    options.add_argument("--write", action="store_true", help="store the weights in the package")
    said = options.parse_args()
    if said.step == "fit":
        fit(said.paths[0], write=said.write)
        return
    suite, exam, work, *answers = said.paths
    work.mkdir(parents=True, exist_ok=True)
    questions = list_questions(suite, exam)
    step = (
        collect(questions, suite, work) if said.step == "collect" else score(questions, suite, work, *answers)
    )
    asyncio.run(step)


if __name__ == "__main__":
    main()
