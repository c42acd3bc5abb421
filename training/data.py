"""What the models learn from, as word pieces. Every random choice hangs on the seed.

A Pair is a question and a passage with what is known about them: where the answer stands, that there is none,
or only that there is one. A Group is one question with a passage that answers and several that do not.
"""

from __future__ import annotations

import json
import lzma
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import near_misses
import numpy as np
from tokenizers import Tokenizer

CLS, SEP, STOP = 101, 102, 1012
QUESTION_MOST, PAIR_MOST = 48, 288
LEFT_OUT = ("fib", "fool_me_twice", "breaking_nli", "conjnli", "mediqa_qa")  # licence not settled
NEAR = ("squad_train_subset", "squad_subset_flan_eval", "squadshifts_new_wiki", "squadshifts_reddit")
PARENT = {f"rerank_{name}": name for name in (*NEAR, "squadshifts_amazon_reviews")}


@dataclass(frozen=True, slots=True)
class Text:
    pieces: np.ndarray
    offsets: np.ndarray  # first and last character of each piece


@dataclass(frozen=True, slots=True)
class Pair:
    """`span` counts pieces of the passage. `answerable` is None where nobody said."""

    question: np.ndarray
    passage: np.ndarray
    span: tuple[int, int] | None
    answerable: bool | None


@dataclass(frozen=True, slots=True)
class Group:
    """The first passage answers; `span` says where, where that is known."""

    question: np.ndarray
    passages: tuple[np.ndarray, ...]
    span: tuple[int, int] | None


def rows(path: Path) -> Iterator[dict[str, Any]]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


class Corpus:
    """The training folder, tokenized once."""

    def __init__(self, folder: Path, tokenizer: Path, *, seed: int) -> None:
        self.folder, self.chance = folder, random.Random(seed)
        self.tokenizer = Tokenizer.from_file(str(tokenizer))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        self.contexts = {row["i"]: row["t"] for row in rows(folder / "contexts.jsonl.xz")}
        self.known: dict[int, Text] = dict(
            zip(self.contexts, self.texts(list(self.contexts.values())), strict=True)
        )

    def texts(self, texts: Sequence[str]) -> list[Text]:
        made = self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [Text(np.array(e.ids, np.int32), np.array(e.offsets, np.int32).reshape(-1, 2)) for e in made]

    def qa(self) -> list[dict[str, Any]]:
        return [row for row in rows(self.folder / "qa.jsonl.xz") if row["set"] not in LEFT_OUT]

    def pairs(self, *, near: int) -> list[Pair]:
        """All questions with their passages, and up to `near` near misses made from them."""
        kept = self.qa()
        questions = self.texts([row["q"] for row in kept])
        found = []
        for row, question in zip(kept, questions, strict=True):
            span = self.span(self.known[row["c"]], row) if row["y"] else None
            found.append(Pair(question.pieces, self.known[row["c"]].pieces, span, bool(row["y"])))
        return found + self.near_misses(kept, most=near)

    def near_misses(self, kept: list[dict[str, Any]], *, most: int) -> list[Pair]:
        answered = [row for row in kept if row["s"] is not None and row["set"] in NEAR]
        self.chance.shuffle(answered)
        names = [m.group() for row in answered[:3000] for m in near_misses.NAME.finditer(row["q"])]
        asked: list[tuple[str, np.ndarray]] = []
        cut: list[tuple[str, str]] = []
        for row in answered:
            passage = self.contexts[row["c"]]
            made = near_misses.near_miss(row, passage, self.chance, names)
            if made and len(asked) < most:
                asked.append((made, self.known[row["c"]].pieces))
            left = near_misses.without_answer(passage, row["s"], row["a"])
            if left and len(cut) < most // 2:
                cut.append((row["q"], left))
        changed = zip(self.texts([q for q, _ in asked]), asked, strict=True)
        made_up = [Pair(text.pieces, passage, None, False) for text, (_, passage) in changed]
        shorter = zip(self.texts([q for q, _ in cut]), self.texts([p for _, p in cut]), strict=True)
        return made_up + [Pair(q.pieces, p.pieces, None, False) for q, p in shorter]

    def span(self, text: Text, row: dict[str, Any]) -> tuple[int, int] | None:
        if row["s"] is None or not row["a"]:
            return None
        first, last = row["s"], row["s"] + len(row["a"])
        inside = np.flatnonzero((text.offsets[:, 1] > first) & (text.offsets[:, 0] < last))
        return (int(inside[0]), int(inside[-1])) if len(inside) else None

    def groups(self, *, negatives: int) -> list[Group]:
        answers = {(row["q"], row["c"]): row for row in self.qa() if row["s"] is not None}
        kept = [row for row in rows(self.folder / "rank.jsonl.xz") if row["set"] not in LEFT_OUT]
        by_set: dict[str, list[int]] = {}
        for row in kept:
            by_set.setdefault(row["set"], []).append(row["p"])
        found = []
        for row, question in zip(kept, self.texts([row["q"] for row in kept]), strict=True):
            others = list(row["n"])
            self.chance.shuffle(others)
            while len(others) < negatives:
                others.append(self.chance.choice(by_set[row["set"]]))
            others = [c for c in others if c != row["p"]][:negatives]
            if len(others) < negatives:
                continue
            known = answers.get((row["q"], row["p"]))
            span = self.span(self.known[row["p"]], known) if known else None
            passages = (row["p"], *others)
            found.append(Group(question.pieces, tuple(self.known[c].pieces for c in passages), span))
        return found


def crop(
    pieces: np.ndarray, span: tuple[int, int] | None, room: int, chance: random.Random, *, small: bool
) -> tuple[np.ndarray, tuple[int, int] | None]:
    """A stretch of the passage that begins at a sentence and holds the answer; like a chunk when `small`."""
    size = min(room, chance.randint(80, 200)) if small else room
    if len(pieces) <= size:
        return pieces, span
    begins = [0, *(np.flatnonzero(pieces[:-1] == STOP) + 1).tolist()]
    if span is not None:
        span = (span[0], min(span[1], span[0] + size - 1))
        fit = [b for b in begins if b <= span[0] and span[1] < b + size] or [max(0, span[1] - size + 1)]
    else:
        fit = [b for b in begins if b + size // 2 < len(pieces)]
    begin = chance.choice(fit)
    moved = (span[0] - begin, span[1] - begin) if span is not None else None
    return pieces[begin : begin + size], moved


def joined(question: np.ndarray, passage: np.ndarray, *, most: int = QUESTION_MOST) -> tuple[np.ndarray, int]:
    """[CLS] question [SEP] passage [SEP], and where the passage begins."""
    asked = question[:most]
    ids = np.concatenate([[CLS], asked, [SEP], passage, [SEP]]).astype(np.int64)
    return ids, len(asked) + 2


def padded(rows_: Sequence[tuple[np.ndarray, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ids, kinds (0 question, 1 passage) and mask of a batch."""
    longest = -(-max(len(ids) for ids, _ in rows_) // 32) * 32
    ids = np.zeros((len(rows_), longest), np.int64)
    kinds, mask = np.zeros_like(ids), np.zeros(ids.shape, bool)
    for n, (row, begin) in enumerate(rows_):
        ids[n, : len(row)] = row
        kinds[n, begin : len(row)] = 1
        mask[n, : len(row)] = True
    return ids, kinds, mask
