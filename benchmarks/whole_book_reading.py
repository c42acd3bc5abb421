"""How well the readers tell the passage that answers from those that only seem to, in books nobody fitted.

    python -m benchmarks.whole_book_reading NOVELS [--part tune]

NOVELS is what `training/novels.py expand` writes: readers' questions about whole books with passages that
answer and passages that do not. For each book the share of questions whose first right passage has the best
rank, and the AUROC of `answerable` over all passages.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from training.passages import read_rows

from benchmarks.groundedness import measure_auroc
from octavo.models.cross_encoders import HeadedText, LargeModel, Reader

Row = dict[str, Any]


def measure(reader: Reader, rows: Sequence[Row]) -> tuple[float, float]:
    first, scores, right = [], [], []
    for row in rows:
        texts = [*(place["t"] for place in row["right"][:1]), *row["wrong"]]
        read = reader.read(row["q"], [HeadedText(text, "") for text in texts])
        scores += [score.answerable for score in read]
        right += [bool(row["right"]) and n == 0 for n in range(len(read))]
        if row["right"]:
            first.append(read[0].rank == max(score.rank for score in read))
    return float(np.mean(first)), measure_auroc(np.array(scores), np.array(right))


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("novels", type=Path)
    options.add_argument("--part", default="tune")
    said = options.parse_args()
    books: dict[str, list[Row]] = defaultdict(list)
    for row in read_rows(said.novels):
        if row["part"] == said.part:
            books[row["book"]].append(row)
    for name, reader in (("small", Reader()), ("large", LargeModel())):
        for book, rows in books.items():
            first, auroc = measure(reader, rows)
            print(f"{name} {book} ({len(rows)}): first {first:.3f}, AUROC {auroc:.3f}", flush=True)


if __name__ == "__main__":
    main()
