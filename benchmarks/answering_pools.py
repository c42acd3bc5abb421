"""Books of passages with questions, each question with the sentences that a search would bring it.

A pool is some hundreds of passages of one set, standing in for a book. Every question is asked of its pool:
the eight best passages by BM25 and cosine (scaled and mixed half and half, as the library does) are parted
into sentences, each with its cosine to the question. Pools are kept as files: the cosines take minutes.
"""

from __future__ import annotations

import gzip
import json
import lzma
import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from octavo.protocols import Embedder
from octavo.text.blocks import find_block, list_blocks
from octavo.text.english import tokenize
from octavo.text.sentences import split_sentences
from octavo.types import CHUNK_LEAST, CHUNK_MOST, Chunk
from octavo.verification.claims import Sentence

SHOWN, CANDIDATES = 8, 50
NEAR_MISS = "squad2"
TRAINING = (  # group, set, passages in a pool, pools, questions of a pool
    ("stories", "fairytaleqa_spare", 320, 2, 700),
    ("squad", "squad_train_subset", 300, 1, 600),
    ("wiki", "squadshifts_new_wiki", 300, 1, 600),
    ("natural", "qed_nq_dev", 400, 1, 600),
    ("reddit", "squadshifts_reddit", 250, 1, 400),
    ("reviews", "squadshifts_amazon_reviews", 250, 1, 400),
)
Row = dict[str, Any]
Grid = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with what it found. `gold` is the passage that answers, None when none does."""

    question: str
    golds: tuple[str, ...]
    answerable: bool
    gold: str | None
    found: tuple[Sentence, ...]


@dataclass(frozen=True, slots=True)
class Passage:
    id: str
    title: str
    text: str


def build(name: str, passages: Sequence[Passage], asked: Sequence[Row], *, embedder: Embedder) -> Row:
    """A pool as it is kept: passages with the spans of their sentences, questions with what they found."""
    spans = [[(s.start, s.end) for s in split_sentences(p.text)] for p in passages]
    whole = [f"{p.title}: {p.text}" if p.title else p.text for p in passages]
    texts = [p.text[a:b] for p, parts in zip(passages, spans, strict=True) for a, b in parts]
    offsets = np.cumsum([0, *map(len, spans)])
    questions = _vectors(embedder, [q["question"] for q in asked])
    to_passage = questions @ _vectors(embedder, whole).T
    to_sentence = questions @ _vectors(embedder, texts).T
    words = _bm25(whole, [q["question"] for q in asked])
    for n, row in enumerate(asked):
        mixed = _scale(words[n]) + _scale(to_passage[n])
        best = np.argsort(-mixed, kind="stable")[:SHOWN]
        row["found"] = [[int(p), to_sentence[n, offsets[p] : offsets[p + 1]].round(4).tolist()] for p in best]
    kept = [[p.id, p.title, p.text, s] for p, s in zip(passages, spans, strict=True)]
    return {"name": name, "passages": kept, "questions": list(asked)}


def _vectors(embedder: Embedder, texts: Sequence[str]) -> Grid:
    return np.array(embedder.embed(texts), dtype=np.float32)


def _scale(scores: Grid) -> Grid:
    best = np.argsort(-scores, kind="stable")[:CANDIDATES]
    low, high = scores[best].min(), scores[best].max()
    scaled = np.zeros_like(scores)
    scaled[best] = (scores[best] - low) / max(float(high - low), 1e-9)
    return scaled


def _bm25(passages: Sequence[str], questions: Sequence[str], *, k: float = 1.2, b: float = 0.75) -> Grid:
    counts = [Counter(t.stem for t in tokenize(p) if not t.stop) for p in passages]
    mean = sum(c.total() for c in counts) / len(counts)
    where: dict[str, list[int]] = defaultdict(list)
    for n, count in enumerate(counts):
        for word in count:
            where[word].append(n)
    scores = np.zeros((len(questions), len(passages)), dtype=np.float32)
    for q, question in enumerate(questions):
        for word in {t.stem for t in tokenize(question) if not t.stop} & where.keys():
            idf = math.log(1 + (len(counts) - len(where[word]) + 0.5) / (len(where[word]) + 0.5))
            for n in where[word]:
                seen = counts[n][word]
                scores[q, n] += idf * seen * (k + 1) / (seen + k * (1 - b + b * counts[n].total() / mean))
    return scores


def training(train: Path) -> Iterator[tuple[str, list[Passage], list[Row]]]:
    """The pools to fit on: near misses with their answerable neighbours, and six sets of other kinds."""
    texts = {r["i"]: r["t"] for r in _rows(train / "contexts.jsonl.xz")}
    sets: dict[str, list[Row]] = defaultdict(list)
    for row in _rows(train / "qa.jsonl.xz"):
        sets[row["set"]].append(row)
    missed = sets["squad2_unanswerable_aligned"]
    contexts = sorted({r["c"] for r in missed})
    both = [*sets["squad_train_subset"], *sets["squad_subset_flan_eval"]]
    third = len(contexts) // 3 + 1
    for n in range(3):
        part = set(contexts[n * third : (n + 1) * third])
        asked = [*_answerable(both, part), *(_beyond(r["q"]) for r in missed if r["c"] in part)]
        random.Random(n).shuffle(asked)
        yield f"{NEAR_MISS}-{n}", [Passage(str(c), "", texts[c]) for c in sorted(part)], asked[:1300]
    for group, name, size, pools, most in TRAINING:
        spare = [r for r in sets[name] if r["c"] not in set(contexts)]
        ids = sorted({r["c"] for r in spare})
        for n in range(pools):
            part = set(ids[n * size : (n + 1) * size])
            asked = _answerable(spare, part)
            others = [_beyond(r["q"]) for r in spare if r["c"] not in part]
            random.Random(n).shuffle(asked)
            random.Random(n).shuffle(others)
            kept = [Passage(str(c), "", texts[c]) for c in sorted(part)]
            yield f"{group}-{n}", kept, [*asked[:most], *others[: most // 5]]


def _answerable(rows: Sequence[Row], part: set[int]) -> list[Row]:
    golds: dict[tuple[str, int], list[str]] = defaultdict(list)
    for row in rows:
        if row["c"] in part and row["a"]:
            golds[row["q"], row["c"]].append(row["a"])
    return [
        {"question": q, "golds": found, "answerable": True, "gold": str(c)} for (q, c), found in golds.items()
    ]


def _beyond(question: str) -> Row:
    return {"question": question, "golds": [], "answerable": False, "gold": None}


def development(suite: Path) -> Iterator[tuple[str, list[Passage], list[Row]]]:
    """The pools to judge by. Nothing is ever fitted on them."""
    contexts = _lines(suite / "squad2_book" / "contexts.jsonl")
    kept = [Passage(r["context_id"], r["title"].replace("_", " "), r["text"]) for r in contexts]
    yield (
        "dev-squad2",
        kept,
        [_judge_row(r, r["context_id"]) for r in _lines(suite / "squad2_book" / "qa.jsonl")],
    )
    sections = _lines(suite / "fairytaleqa" / "sections.jsonl")
    asked = _lines(suite / "fairytaleqa" / "qa.jsonl")
    for book in sorted({r["book"] for r in sections}):
        mine = [r for r in sections if r["book"] == book]
        kept = [Passage(r["section_id"], r["story"].replace("-", " "), r["text"]) for r in mine]
        rows = [_judge_row(r, r["gold_sections"][0]) for r in asked if r["book"] == book]
        yield f"dev-stories-{book}", kept, rows[:500]


def _judge_row(row: Row, gold: str) -> Row:
    return {
        "question": row["question"],
        "golds": row["answers"],
        "answerable": row["answerable"],
        "gold": gold,
    }


def save(pool: Row, folder: Path) -> None:
    with gzip.open(folder / f"{pool['name']}.json.gz", "wt", encoding="utf-8") as out:
        json.dump(pool, out)


def load(path: Path) -> list[Asked]:
    with gzip.open(path, "rt", encoding="utf-8") as text:
        pool = json.load(text)
    chunks = [_chunk(n, *row[:3]) for n, row in enumerate(pool["passages"])]
    spans = [row[3] for row in pool["passages"]]
    return [_read_question(row, chunks, spans) for row in pool["questions"]]


def _read_question(
    row: Row, chunks: Sequence[Chunk | None], spans: Sequence[Sequence[Sequence[int]]]
) -> Asked:
    found: list[Sentence] = []
    for rank, (n, cosines) in enumerate(row["found"], start=1):
        chunk = chunks[n]
        blocks = list_blocks(chunk.content) if chunk else ()
        for (a, b), cosine in zip(spans[n], cosines, strict=True):
            if chunk is not None and b <= chunk.end:
                text = chunk.content[a:b]
                block = find_block(blocks, a)
                found.append(Sentence(f"s{len(found) + 1}", chunk, a, b, text, cosine, rank, 0.0, block))
    return Asked(row["question"], tuple(row["golds"]), row["answerable"], row["gold"], tuple(found))


def _chunk(number: int, id_: str, title: str, text: str) -> Chunk | None:
    content = text[:CHUNK_MOST]
    if len(content) < CHUNK_LEAST:
        return None
    return Chunk(
        id=id_,
        chunk_id=number + 1,
        content=content,
        book_id="pool",
        section_id=id_,
        chapter=title,
        section=title,
        document_position=number,
        chunk_index=number,
        url="book://pool",
        source_file="pool.md",
        source_location="pool",
        source_title="pool",
        start=0,
        end=len(content),
        created_at=datetime(2025, 1, 1, tzinfo=UTC),
        heading_path=(title,) if title else (),
    )


def _rows(path: Path) -> Iterator[Row]:
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _lines(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
