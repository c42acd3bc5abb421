"""What the models learn from, as word pieces. Every random choice hangs on the seed.

A Pair is a question and a passage with what is known about them: where the answer stands, that there is none,
or only that there is one. A Group is one question with a passage that answers and several that do not.
Both may carry what a large teacher thinks of them; then that counts, and nothing is made up here.
"""

from __future__ import annotations

import json
import lzma
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import near_misses
import numpy as np
from tokenizers import Tokenizer

CLS, SEP, STOP, ASKS = 101, 102, 1012, 1029
QUESTION_MOST, PAIR_MOST = 48, 320
SURELY = 0.98  # the most an opinion says
AT_ONCE = 8192  # texts to tokenize
LEFT_OUT = ("fib", "fool_me_twice", "breaking_nli", "conjnli", "mediqa_qa")  # licence not settled
NEAR = ("squad_train_subset", "squad_subset_flan_eval", "squadshifts_new_wiki", "squadshifts_reddit")


def choose_marks(tokenizer: Path) -> None:
    """Take the marks of the tokenizer's vocabulary, for models that do not have BERT's."""
    global CLS, SEP, STOP, ASKS
    made = Tokenizer.from_file(str(tokenizer))
    if made.token_to_id("[CLS]") is None:
        CLS, SEP, STOP, ASKS = (made.token_to_id(mark) for mark in ("<s>", "</s>", ".", "?"))


def drop_mark(question: np.ndarray) -> np.ndarray:
    """The pieces of a question without the question mark at its end."""
    return question[:-1] if len(question) > 1 and question[-1] == ASKS else question


@dataclass(frozen=True, slots=True)
class Text:
    pieces: np.ndarray
    offsets: np.ndarray  # first and last character of each piece


@dataclass(frozen=True, slots=True)
class Pair:
    """`span` counts pieces of the passage. `answerable` is None where nobody said.

    `opinion` is the chance that the passage answers, by a large teacher.
    """

    question: np.ndarray
    passage: np.ndarray
    span: tuple[int, int] | None
    answerable: bool | None
    opinion: float | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """The first passage answers; `span` says where, where that is known.

    `odds` are a large teacher's log-odds that each of the passages answers.
    """

    question: np.ndarray
    passages: tuple[np.ndarray, ...]
    span: tuple[int, int] | None
    odds: tuple[float, ...] | None = None


def opinion(odds: Any) -> Any:
    """Log-odds as a chance that is never quite sure; one number, or an array of them."""
    return np.clip(1 / (1 + np.exp(-np.clip(odds, -15, 15))), 1 - SURELY, SURELY)


def rows(path: Path) -> Iterator[dict[str, Any]]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def read_judgements(path: Path) -> list[dict[str, Any]]:
    """What the teacher wrote, as far as it came, without rows that it has no number for."""
    found = []
    try:
        for row in rows(path):
            odds = np.atleast_1d(np.asarray(row.get("z"), float))
            many = len(row["t"]) if isinstance(row.get("t"), list) else 1
            if len(odds) == many and np.isfinite(odds).all():
                found.append(row)
    except (EOFError, ValueError, lzma.LZMAError) as failed:
        print(f"{path} ends early: {failed}", flush=True)
    print(f"{len(found):,} opinions in {path.name}", flush=True)
    return found


def tokenize(tokenizer: Tokenizer, texts: Sequence[str]) -> list[Text]:
    found = []
    for first in range(0, len(texts), AT_ONCE):
        for e in tokenizer.encode_batch(list(texts[first : first + AT_ONCE]), add_special_tokens=False):
            offsets = np.fromiter(chain.from_iterable(e.offsets), np.int32, 2 * len(e)).reshape(-1, 2)
            found.append(Text(np.array(e.ids, np.int32), offsets))
    return found


def load_tokenizer(path: Path) -> Tokenizer:
    made = Tokenizer.from_file(str(path))
    made.no_padding()
    made.no_truncation()
    return made


class Corpus:
    """The training folder. Each text is tokenized once, when it is first needed."""

    def __init__(self, folder: Path, tokenizer: Path, *, seed: int) -> None:
        self.folder, self.chance = folder, random.Random(seed)
        self.tokenizer = load_tokenizer(tokenizer)
        self.seen: dict[str, Text] = {}

    @cached_property
    def contexts(self) -> dict[int, str]:
        return {row["i"]: row["t"] for row in rows(self.folder / "contexts.jsonl.xz")}

    def texts(self, texts: Iterable[str]) -> list[Text]:
        given = list(texts)
        new = [text for text in dict.fromkeys(given) if text not in self.seen]
        self.seen.update(zip(new, tokenize(self.tokenizer, new), strict=True))
        return [self.seen[text] for text in given]

    def qa(self) -> list[dict[str, Any]]:
        return [row for row in rows(self.folder / "qa.jsonl.xz") if row["set"] not in LEFT_OUT]

    def pairs(self, *, near: int) -> list[Pair]:
        """All questions with their passages, and up to `near` near misses made from them."""
        kept = self.qa()
        return self._asked(kept) + self.near_misses(kept, most=near)

    def judged_pairs(self, labels: Path, *, own: float) -> list[Pair]:
        """What the teacher judged, and of the other questions a share of `own`."""
        given = read_judgements(labels / "pairs.jsonl.xz")
        theirs = {(row["q"], row["t"]) for row in given}
        kept = [row for row in self.qa() if (row["q"], self.contexts[row["c"]]) not in theirs]
        found = self._asked([row for row in kept if self.chance.random() < own])
        questions, passages = (self.texts(row[k] for row in given) for k in ("q", "t"))
        for row, question, passage in zip(given, questions, passages, strict=True):
            if len(passage.pieces):
                span = self.span(passage, row) if stands(row, row["t"]) else None
                said = float(opinion(row["z"]))
                found.append(Pair(question.pieces, passage.pieces, span, None, said))
        return found

    def _asked(self, kept: list[dict[str, Any]]) -> list[Pair]:
        questions = self.texts(row["q"] for row in kept)
        passages = self.texts(self.contexts[row["c"]] for row in kept)
        found = []
        for row, question, passage in zip(kept, questions, passages, strict=True):
            span = self.span(passage, row) if row["y"] else None
            found.append(Pair(question.pieces, passage.pieces, span, bool(row["y"])))
        return found

    def near_misses(self, kept: list[dict[str, Any]], *, most: int) -> list[Pair]:
        answered = [row for row in kept if row["s"] is not None and row["set"] in NEAR]
        self.chance.shuffle(answered)
        names = [m.group() for row in answered[:3000] for m in near_misses.NAME.finditer(row["q"])]
        asked: list[tuple[str, str]] = []
        cut: list[tuple[str, str]] = []
        for row in answered:
            passage = self.contexts[row["c"]]
            made = near_misses.near_miss(row, passage, self.chance, names)
            if made and len(asked) < most:
                asked.append((made, passage))
            left = near_misses.without_answer(passage, row["s"], row["a"])
            if left and len(cut) < most // 2:
                cut.append((row["q"], left))
        questions, passages = (self.texts(made[k] for made in asked + cut) for k in (0, 1))
        both = zip(questions, passages, strict=True)
        return [Pair(q.pieces, p.pieces, None, False) for q, p in both]

    def span(self, text: Text, row: dict[str, Any]) -> tuple[int, int] | None:
        if row["s"] is None or not row["a"]:
            return None
        first, last = row["s"], row["s"] + len(row["a"])
        inside = np.flatnonzero((text.offsets[:, 1] > first) & (text.offsets[:, 0] < last))
        return (int(inside[0]), int(inside[-1])) if len(inside) else None

    def groups(self, *, negatives: int) -> list[Group]:
        kept = [row for row in rows(self.folder / "rank.jsonl.xz") if row["set"] not in LEFT_OUT]
        return self._ranked(kept, negatives)

    def judged_groups(self, labels: Path, *, negatives: int, own: float) -> list[Group]:
        """What the teacher judged, its own passage first, and of the other groups a share of `own`."""
        ranked = {(row["q"], self.contexts[row["p"]]): row for row in rows(self.folder / "rank.jsonl.xz")}
        barred = {key for key, row in ranked.items() if row["set"] in LEFT_OUT}
        said = [row for row in read_judgements(labels / "groups.jsonl.xz") if len(row["t"]) == negatives + 1]
        given = [row for row in said if (row["q"], row["t"][0]) not in barred]
        theirs = {(row["q"], row["t"][0]) for row in said}
        kept = [row for key, row in ranked.items() if key not in theirs and key not in barred]
        found = self._ranked([row for row in kept if self.chance.random() < own], negatives)
        self.texts(text for row in given for text in row["t"])
        for row, question in zip(given, self.texts(row["q"] for row in given), strict=True):
            passages = self.texts(row["t"])
            span = self.span(passages[0], row) if stands(row, row["t"][0]) else None
            pieces = tuple(passage.pieces for passage in passages)
            found.append(Group(question.pieces, pieces, span, tuple(row["z"])))
        return found

    def _ranked(self, kept: list[dict[str, Any]], negatives: int) -> list[Group]:
        answers = {(row["q"], row["c"]): row for row in self.qa() if row["s"] is not None}
        self.texts(self.contexts[c] for row in kept for c in (row["p"], *row["n"]))
        by_set: dict[str, list[int]] = {}
        for row in kept:
            by_set.setdefault(row["set"], []).append(row["p"])
        found = []
        for row, question in zip(kept, self.texts(row["q"] for row in kept), strict=True):
            others = list(row["n"])
            self.chance.shuffle(others)
            while len(others) < negatives:
                others.append(self.chance.choice(by_set[row["set"]]))
            others = [c for c in others if c != row["p"]][:negatives]
            if len(others) < negatives:
                continue
            passages = self.texts(self.contexts[c] for c in (row["p"], *others))
            known = answers.get((row["q"], row["p"]))
            span = self.span(passages[0], known) if known else None
            found.append(Group(question.pieces, tuple(p.pieces for p in passages), span))
        return found


def stands(row: dict[str, Any], text: str) -> bool:
    """Whether the answer is at the place that is said."""
    return bool(row["a"]) and row["s"] is not None and text.startswith(row["a"], row["s"])


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


def join_pieces(
    question: np.ndarray, passage: np.ndarray, *, most: int = QUESTION_MOST
) -> tuple[np.ndarray, int]:
    """[CLS] question [SEP] passage [SEP], and where the passage begins."""
    asked = question[:most]
    ids = np.concatenate([[CLS], asked, [SEP], passage, [SEP]]).astype(np.int64)
    return ids, len(asked) + 2


def pad(rows_: Sequence[tuple[np.ndarray, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ids, kinds (0 question, 1 passage) and mask of a batch."""
    longest = -(-max(len(ids) for ids, _ in rows_) // 32) * 32
    ids = np.zeros((len(rows_), longest), np.int64)
    kinds, mask = np.zeros_like(ids), np.zeros(ids.shape, bool)
    for n, (row, begin) in enumerate(rows_):
        ids[n, : len(row)] = row
        kinds[n, begin : len(row)] = 1
        mask[n, : len(row)] = True
    return ids, kinds, mask
