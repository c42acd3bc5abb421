"""Measures an embedder: the share of questions that have a right passage among the first.

    python training/recall.py DEV/retrieval.json.xz [EARLIER.onnx]

measures the embedder that ships, at 8 bits, on what `retrieval_dev.py` made. With EARLIER, the file of one
with the same shape, that one is measured too, and so are its passages with the questions of the one that
ships, as in a library from before.
"""

from __future__ import annotations

import json
import lzma
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

FIRST = (1, 5, 20, 40)
Embed = Callable[[Sequence[str]], np.ndarray]


def measure(path: Path, *, passages: Embed, questions: Embed) -> dict[str, list[str]]:
    """The share of questions with a right passage among the first 1, 5, 20 and 40: alone, and with words."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        held = json.load(file)
    result = {}
    for given in held:
        asked = given["questions"]
        scores = questions([q["q"] for q in asked]) @ passages(given["passages"]).T
        places = [[], []]
        for own, question in zip(scores, asked, strict=True):
            words = np.zeros(len(own))
            for n, score in question["words"]:
                words[n] = score
            for ways, total in zip(places, (own, 0.45 * scale(own) + 0.55 * scale(words)), strict=True):
                order = np.argsort(-total, kind="stable")
                ways.append(int(np.flatnonzero(np.isin(order, question["right"]))[0]) + 1)
        result[given["name"]] = [
            "/".join(f"{np.mean([r <= k for r in ways]):.3f}" for k in FIRST) for ways in places
        ]
    return result


def scale(scores: np.ndarray, *, best: int = 50) -> np.ndarray:
    """The fifty best from 0 to 1, as the library scales them."""
    top = np.argsort(-scores, kind="stable")[:best]
    low, high = scores[top].min(), scores[top].max()
    found = np.zeros_like(scores, dtype=float)
    found[top] = (scores[top] - low) / max(high - low, 1e-9)
    return found


def main(path: Path, *earlier: Path) -> None:
    from dataclasses import replace

    from octavo.models.embedding import OnnxEmbedder
    from octavo.models.weights import find_weights

    weights = find_weights("minilm-int8", cache=path.parent)
    made = {"ships": OnnxEmbedder(weights)} | {
        file.name: OnnxEmbedder(replace(weights, onnx=file)) for file in earlier
    }
    embed = {name: (lambda texts, one=one: np.array(one.embed(texts))) for name, one in made.items()}
    for name in made:
        for asked in dict.fromkeys((name, "ships")):
            found = measure(path, passages=embed[name], questions=embed[asked])
            for book, (alone, with_words) in found.items():
                print(
                    f"passages {name}, questions {asked}: {book} {alone}, with words {with_words}", flush=True
                )


if __name__ == "__main__":
    main(*(Path(name) for name in sys.argv[1:]))
