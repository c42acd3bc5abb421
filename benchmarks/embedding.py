"""What int8 costs and what it saves: direction, retrieval, speed, against fp32 on real books.

    python benchmarks/embedding.py MODEL_FOLDER BOOK… [--contexts contexts.jsonl --questions qa.jsonl]
        [--against EARLIER.onnx]

The model folder is that of `training/embedder.py`; the books are cut into passages by Octavo's own chunker.
Speed is counted in CPU time on one thread, so that it holds on a machine that others use as well.
`company` is the lowest cosine between a passage's vector alone and in a padded batch of 24: the reason
why each text is a batch of its own. EARLIER.onnx is what an earlier version made of the same weights.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from octavo.ingest.chunking import chunk_book
from octavo.models import graph
from octavo.models import weights as models
from octavo.models.embedding import OnnxEmbedder
from octavo.text.clean import clean
from octavo.text.sentences import split_sentences
from octavo.types import Section

PASSAGES, QUERIES = 400, 200
Vectors = NDArray[np.float64]


def passages(paths: list[Path], embedder: OnnxEmbedder) -> tuple[list[str], list[str]]:
    """Passages evenly from all books, and single sentences to stand for questions."""
    chosen: list[str] = []
    for path in paths:
        text = clean(path.read_text(encoding="utf-8", errors="replace"))
        section = Section(
            id=path.name,
            book_id="bench",
            title=path.stem,
            heading_path=(path.stem,),
            level=1,
            position=0,
            url=f"book://bench/{path.name}",
            text=text,
            source_file=path.name,
        )
        made = chunk_book(
            path.stem,
            [section],
            pieces=embedder.count_pieces,
            max_pieces=embedder.max_pieces,
            target=160,
            created_at=datetime.now(UTC),
        )
        chosen += [c.content for c in made[:: max(1, len(made) * len(paths) // PASSAGES)]]
    lines = [p[s.start : s.end] for p in chosen for s in split_sentences(p)]
    return chosen[:PASSAGES], [line for line in lines if 30 < len(line) < 120][:QUERIES]


def measure(embedder: OnnxEmbedder, texts: list[str]) -> tuple[Vectors, float]:
    embedder.embed(texts[:2])
    begun = time.process_time()
    vectors = embedder.embed(texts)
    return np.array(vectors), time.process_time() - begun


def company(path: Path, tokenizer: Path, texts: list[str], alone: Vectors) -> float:
    """How far a batch can turn a vector: the lowest cosine to the one that the text has alone."""
    encoder = Tokenizer.from_file(str(tokenizer))
    encoder.enable_truncation(256)
    encoder.enable_padding()
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    lowest = 1.0
    for first in range(0, len(texts), 24):
        encoded = encoder.encode_batch(texts[first : first + 24])
        feeds = {
            "input_ids": np.array([e.ids for e in encoded]),
            "attention_mask": np.array([e.attention_mask for e in encoded]),
        }
        made = np.asarray(session.run(None, feeds)[0], np.float64)
        lowest = min(lowest, float((made * alone[first : first + 24]).sum(1).min()))
    return lowest


def retrieval(embedder: OnnxEmbedder, contexts: Path, questions: Path) -> dict[str, float]:
    """How often the passage that a question was asked about is first, and among the first five."""
    passages = [json.loads(line) for line in contexts.read_text().splitlines()]
    asked = [row for row in map(json.loads, questions.read_text().splitlines()) if row["answerable"]]
    place = {row["context_id"]: n for n, row in enumerate(passages)}
    gold = np.array([place[row["context_id"]] for row in asked])
    scores = np.array(embedder.embed([row["question"] for row in asked])) @ (
        np.array(embedder.embed([row["text"] for row in passages])).T
    )
    better = (scores > scores[np.arange(len(gold)), gold][:, None]).sum(1)
    first, five = float((better == 0).mean()), float((better < 5).mean())
    return {"questions": len(gold), "hit_1": round(first, 4), "hit_5": round(five, 4)}


def main(
    folder: Path, books: list[Path], contexts: Path | None, questions: Path | None, against: Path | None
) -> None:
    weights = graph.read_tensors(folder / "model.safetensors")
    shipped = models.find_weights("minilm-int8", cache=Path("no-such-cache"))
    builds = {
        "fp32": graph.build_graph(weights, models.RECIPE, precision="fp32"),
        "int8, 8 bits": graph.build_graph(weights, replace(models.RECIPE, steps=127), precision="int8"),
        "int8, 7 bits (as shipped)": graph.build_graph(weights, models.RECIPE, precision="int8"),
    }
    if against:
        builds["earlier"] = against.read_bytes()
    long, short = passages(books, OnnxEmbedder(shipped, threads=1))
    exact: tuple[Vectors, Vectors] | None = None
    with tempfile.TemporaryDirectory() as place:
        for name, data in builds.items():
            path = Path(place) / "model.onnx"
            path.write_bytes(data)
            begun = time.process_time()
            embedder = OnnxEmbedder(replace(shipped, onnx=path), threads=1)
            load = time.process_time() - begun
            vectors, seconds = measure(embedder, long)
            asked, query_seconds = measure(embedder, short)
            exact = exact or (vectors, asked)
            cosines, near = (vectors * exact[0]).sum(1), (asked * exact[1]).sum(1)
            result: dict[str, object] = {
                "build": name,
                "megabytes": round(len(data) / 1e6, 1),
                "passages": len(long),
                "cosine_min": round(float(cosines.min()), 4),
                "cosine_mean": round(float(cosines.mean()), 4),
                "sentence_cosine_mean": round(float(near.mean()), 4),
                "company": round(company(path, shipped.tokenizer, long, vectors), 4),
                "pieces_per_cpu_s": round(sum(embedder.count_pieces(long)) / seconds),
                "sentence_cpu_ms": round(1000 * query_seconds / len(short), 2),
                "load_cpu_s": round(load, 3),
            }
            if contexts and questions:
                result |= retrieval(embedder, contexts, questions)
            print(json.dumps(result), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("books", type=Path, nargs="+")
    parser.add_argument("--contexts", type=Path)
    parser.add_argument("--questions", type=Path)
    parser.add_argument("--against", type=Path)
    given = parser.parse_args()
    main(given.folder, given.books, given.contexts, given.questions, given.against)
