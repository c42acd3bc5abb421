"""Has a large teacher judge the passages that Octavo finds for readers' questions.

    python training/judged.py --qwen QWEN --data DATA --mined MINED --dev DEV --out JUDGED \\
        [--teach 300] [--judge 240] [--around 850]

QWEN is what `qwen.py` wrote, MINED what `mined.py` wrote. The teacher learns from people's judgements, and
from readers' questions with the passages that their writers named: those that answer, and those that only
seem to. Then it reads the best of the forty passages of each question. JUDGED is MINED with its log-odds
behind each passage that it read, so that what answers, but was not named, is not learnt as wrong.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Sequence
from pathlib import Path

import lessons
import qwen
import torch
from data import rows
from large import wait_for
from lessons import Judged, Material
from mined import Headed, Row, add_around, describe, order_by_large, order_by_small, read_found
from teacher import Teacher, measure_model

BEST = 4  # passages that each of the two readers puts first are judged
WRONG = 2  # seeming passages of a question that are learnt, at most


def list_readers_questions(library: Path, chance: random.Random, around: int) -> list[Judged]:
    """Readers' questions with passages that answer and passages that seem to."""
    found = []
    for book in rows(library):
        if book["part"] != "fit":
            continue
        read = Headed(book["passages"], around=around)
        for row in book["asked"]:
            asked = lessons.ANSWERS.format(row["q"])
            right = list(dict.fromkeys(n for n, *_ in row["right"]))
            wrong = [
                n for n in dict.fromkeys(row["wrong"]) if not any(read.place(n, w) for w in row["right"])
            ]
            wrong = chance.sample(wrong, min(len(wrong), max(WRONG, len(right))))
            found += [Judged(read[n], asked, 1.0) for n in right]
            found += [Judged(read[n], asked, 0.0) for n in wrong]
    return found


def choose_passages(row: Row, given: Sequence[Sequence[float]]) -> list[int]:
    """The passages of a question that one of the two readers puts first, and those that were named."""
    chosen = [n for n, *_ in row["right"]] + list(row["wrong"])
    for order in (order_by_large(given), order_by_small(given)):
        chosen += [int(one[0]) for one in order[:BEST]]
    known = {int(one[0]) for one in given}
    return [n for n in dict.fromkeys(chosen) if n in known]


def measure_order(teacher: Teacher, library: Path, found: dict[str, list[Row]], around: int) -> None:
    """Tell what the order of the teacher is worth beside that of the large model, on books to choose with."""
    for book in rows(library):
        if book["part"] != "tune":
            continue
        given, read = found[book["book"]], Headed(book["passages"], around=around)
        asks = [
            (read[int(one[0])], lessons.ANSWERS.format(row["q"]))
            for row, own in zip(book["asked"], given, strict=True)
            for one in own
        ]
        odds = iter(teacher.judge(asks))
        judged = [[[*one[:4], next(odds), -99.0] for one in own] for own in given]
        print(book["book"], "before", json.dumps(describe(book, given, around)), flush=True)
        print(book["book"], "teacher", json.dumps(describe(book, judged, around)), flush=True)


def judge_all(teacher: Teacher, library: Path, found: dict[str, list[Row]], said: argparse.Namespace) -> None:
    """Add the teacher's log-odds to the passages that it has time for, those of all books mixed."""
    asks, places = [], []
    for book in rows(library):
        if book["part"] != "fit":
            continue
        read = Headed(book["passages"], around=said.around)
        for row, given in zip(book["asked"], found[book["book"]], strict=True):
            by_number = {int(one[0]): one for one in given}
            for n in choose_passages(row, given):
                asks.append((read[n], lessons.ANSWERS.format(row["q"])))
                places.append(by_number[n])
    mixed = list(range(len(asks)))
    random.Random(said.seed).shuffle(mixed)
    began = time.monotonic()
    judged = teacher.judge([asks[n] for n in mixed], until=began + said.judge)
    for n, odds in zip(mixed, judged, strict=True):
        if odds is not None:
            places[n].append(odds)
    done = sum(odds is not None for odds in judged)
    print(f"judged {done:,} of {len(asks):,} in {time.monotonic() - began:.0f} s", flush=True)


def main() -> None:
    known = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("qwen", "data", "mined", "dev", "out"):
        known.add_argument(f"--{name}", type=Path, required=True)
    known.add_argument("--seed", type=int, default=1)
    known.add_argument("--teach", type=float, default=300, help="seconds of learning")
    known.add_argument("--judge", type=float, default=240, help="seconds of judging")
    add_around(known)
    said = known.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cuda.enable_cudnn_sdp(False)
    library = said.data / "library.jsonl.xz"
    people, _ = Material(said.data, seed=said.seed).to_learn(device)
    people = [one for one in people if "\n\nQuestion: " in one.asked]
    readers = list_readers_questions(library, random.Random(said.seed), said.around)
    teacher = Teacher(*qwen.load(said.qwen, device), device)
    print(f"{len(people):,} judgements of people, {len(readers):,} of readers' questions", flush=True)
    teacher.learn(teacher.lessons([*people, *readers], []), said.teach, seed=said.seed)
    wait_for(said.mined.with_suffix(".done"))
    found = read_found(said.mined)
    print(json.dumps(measure_model(teacher, said.dev)), flush=True)
    measure_order(teacher, library, found, said.around)
    judge_all(teacher, library, found, said)
    made = "".join(json.dumps({"book": book, "found": given}) + "\n" for book, given in found.items())
    said.out.write_text(made)
    said.out.with_suffix(".done").touch()


if __name__ == "__main__":
    main()
