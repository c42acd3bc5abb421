"""What the large teacher learns from, writes about and judges: plain texts, chosen by a seed."""

from __future__ import annotations

import collections
import functools
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import near_misses
import numpy as np
import torch
from data import LEFT_OUT, rows

ANSWERS = "\n\nQuestion: {}\nDoes the text answer the question? Yes or No."
BEARS = "\n\nStatement: {}\nDoes the text bear the statement out? Yes or No."
MISS = "\n\nWrite a question that the text seems to answer but does not."
HIT = "\n\nWrite a question that the text answers."
STORY = "\n\nWrite a question about what happens in the text, which the text answers."
TRUE = "\n\nWrite in your own words a statement that the text bears out."
FALSE = "\n\nWrite a statement that sounds like the text but is wrong. What is wrong: {}."
WIKI = ("squad_train_subset", "squad_subset_flan_eval", "squadshifts_new_wiki")
TALK = ("squadshifts_reddit", "squadshifts_amazon_reviews")
HUMAN = ("squad2_unanswerable_aligned", "adversarialqa_answerability", "doqa_answerability")
TALES = "fairytaleqa_spare"
PLACES = 1 << 15
# Books whose claims and questions measure what was learnt: nothing is written about them.
HELD_OUT = frozenset(
    {
        "astronomy",
        "bram-stoker_dracula",
        "introduction-sociology",
        "john-stuart-mill_on-liberty",
        "psychology",
        "robert-louis-stevenson_treasure-island",
    }
)
LIES = (
    "number", "unit", "time", "name", "negation", "opposite", "cause", "order", "quantity", "attribution",
    "roles", "modality", "comparison", "condition", "place", "addition", "category",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Judged:
    passage: str
    asked: str
    target: float


@dataclass(frozen=True, slots=True)
class WrittenPassage:
    """A passage with claims (c, s, k, honest) and questions (q, a) that a stronger model wrote about it.

    `own_words` says that the claims, lies too, are made of words of the passage.
    """

    book: str
    kind: str
    heading: str
    sentences: tuple[str, ...]
    claims: tuple[dict[str, Any], ...]
    questions: tuple[dict[str, Any], ...]
    own_words: bool = False

    @property
    def passage(self) -> str:
        return " ".join(self.sentences)


def read_written(folder: Path, part: str) -> list[WrittenPassage]:
    """The passages of one part (fit, tune or test) of `written.jsonl.xz`."""
    path = folder / "written.jsonl.xz"
    return [
        WrittenPassage(
            row["book"],
            row["kind"],
            row["heading"],
            tuple(row["sentences"]),
            tuple(row["claims"]),
            tuple(row["questions"]),
            "/own" in row["id"],
        )
        for row in (rows(path) if path.exists() else ())
        if row["part"] == part
    ]


@dataclass(frozen=True, slots=True)
class Written:
    """A question that was written, or is to be written, for this passage of this book (or collection)."""

    passage: str
    asked: str
    kind: str
    book: str
    question: str = ""


class Material:
    """The training folder as texts. `part` takes less of everything, for a trial."""

    def __init__(self, folder: Path, *, seed: int, part: float = 1.0) -> None:
        self.folder, self.chance, self.part = folder, random.Random(seed), part
        self.contexts: dict[int, str] = {row["i"]: row["t"] for row in rows(folder / "contexts.jsonl.xz")}
        self.qa, self.rank, self.nli = (
            _by_set(folder / f"{name}.jsonl.xz") for name in ("qa", "rank", "nli")
        )
        self.rank = {
            name: kept
            for name, given in self.rank.items()
            if (kept := [r for r in given if len(r["n"]) >= 4])
        }
        self.written = read_written(folder, "fit")
        self.books = _books(folder / "books.jsonl.xz") | _books(folder / "manuals.jsonl.xz")
        self.books = {book: texts for book, texts in self.books.items() if book not in HELD_OUT}
        self.books[TALES] = list(dict.fromkeys(self.contexts[r["c"]] for r in self.qa[TALES]))

        self.tales = [Written(self.contexts[r["c"]], STORY, "tale", TALES, r["q"]) for r in self.qa[TALES]]

    def draw(self, given: Sequence[Any], most: int) -> list[Any]:
        return self.chance.sample(list(given), min(len(given), max(8, int(most * self.part))))

    def to_learn(self, device: str) -> tuple[list[Judged], list[Written]]:
        """People's judgements (twice where the passage has misleading questions) and people's questions."""
        hard = self.qa["squad2_unanswerable_aligned"]
        passages = {row["c"] for row in hard}
        twins = [row for name in WIKI for row in self.qa[name] if row["c"] in passages]
        asked = 2 * (self.draw(hard, 4000) + self.draw(twins, 4000))
        asked += self.draw(self.qa["adversarialqa_answerability"], 2700)
        asked += self.draw(self.qa["doqa_answerability"], 1500)
        found = [Judged(self.contexts[r["c"]], ANSWERS.format(r["q"]), float(bool(r["y"]))) for r in asked]
        for given in self.rank.values():
            for row in self.draw(given, 350):
                for n, c in enumerate((row["p"], *self.chance.sample(row["n"], 2))):
                    found.append(Judged(self.contexts[c], ANSWERS.format(row["q"]), float(n == 0)))
        for row in self.near(self.tales, 2, device):
            for n, passage in enumerate(row["t"]):
                found.append(Judged(passage, ANSWERS.format(row["q"]), float(n == 0)))
        for given in self.nli.values():
            for row in self.draw(given, 700):
                right = float(row["y"] in ("entail", "supported"))
                found.append(Judged(row["p"], BEARS.format(row["h"]), right))
        for row in 2 * self.written:
            text = row.passage
            found += [Judged(text, BEARS.format(c["c"]), float(c["honest"])) for c in row.claims]
            found += [Judged(text, ANSWERS.format(q["q"]), float(bool(q["a"]))) for q in row.questions]
        written = [Written(self.contexts[r["c"]], MISS, "miss", "", r["q"]) for r in hard]
        hits = self.draw([row for name in WIKI for row in self.qa[name]], 2500)
        written += [Written(self.contexts[r["c"]], HIT, "hit", "", r["q"]) for r in hits]
        return found, self.draw(written + self.tales, 6000) + self.draw(2 * self._statements(), 8000)

    def _statements(self) -> list[Written]:
        """Statements, true and false, and questions that a stronger model wrote about passages of books."""
        found = []
        for row in self.written:
            for c in row.claims:
                asked = TRUE if c["honest"] else FALSE.format(c["k"][0])
                found.append(Written(row.passage, asked, "claim", row.book, c["c"]))
            found += [
                Written(row.passage, HIT if q["a"] else MISS, "hit", row.book, q["q"]) for q in row.questions
            ]
        return found

    def to_write(self) -> list[Written]:
        """Questions that seem answered, for all kinds of passages, and questions about what books tell."""
        wiki, talk = (
            list(dict.fromkeys(self.contexts[r["c"]] for name in names for r in self.qa[name]))
            for names in (WIKI, TALK)
        )
        other = [self.contexts[r["p"]] for name in self.rank for r in self.rank[name] if "squad" not in name]
        told = [(book, text) for book, texts in self.books.items() for text in texts]
        found = [Written(text, MISS, "miss", "") for text in self.draw(4 * wiki, 14_000)]
        found += [Written(text, MISS, "miss", "") for text in self.draw(talk, 1500)]
        found += [Written(text, MISS, "miss", "") for text in self.draw(list(dict.fromkeys(other)), 2500)]
        found += [Written(text, MISS, "miss", book) for book, text in self.draw(told, 4000)]
        found += [Written(text, STORY, "story", book) for book, text in self.draw(told, 7000)]
        found += [Written(text, HIT, "story", book) for book, text in self.draw(told, 3000)]
        found += [Written(text, STORY, "story", TALES) for text in self.books[TALES]]
        return found

    def to_state(self) -> list[Written]:
        """Statements, true and false in every way, about passages of books, manuals and articles."""
        told = [(book, text) for book, texts in self.books.items() for text in texts]
        told = self.draw(told, 8000)
        told += [("", self.contexts[r["c"]]) for name in WIKI for r in self.draw(self.qa[name], 800)]
        found = [Written(text, TRUE, "true", book) for book, text in told]
        for book, text in told:
            kind = self.chance.choice(LIES)
            found.append(Written(text, FALSE.format(kind), f"false {kind}", book))
        return found

    def pairs(self, written: Sequence[tuple[Written, str]]) -> list[dict[str, Any]]:
        """Questions with one passage: people's, those made by rule, and those that the teacher wrote."""
        found = [_pair(q, w.passage, None, w.kind) for w, q in written if w.kind == "miss"]
        human = [row for name in HUMAN for row in self.draw(self.qa[name], 4000)]
        known = [row for name in (*WIKI, *TALK) for row in self.qa[name]]
        human += self.draw(known, 9000)
        found += [_pair(r["q"], self.contexts[r["c"]], r, "human") for r in human]
        names = [m.group() for row in known[:3000] for m in near_misses.NAME.finditer(row["q"])]
        for row in self.draw(known, 26_000):
            passage = self.contexts[row["c"]]
            made = near_misses.near_miss(row, passage, self.chance, names)
            if made:
                found.append(_pair(made, passage, None, "rule"))
        for row in self.draw(known, 7000):
            left = near_misses.without_answer(self.contexts[row["c"]], row["s"], row["a"])
            if left:
                found.append(_pair(row["q"], left, None, "cut"))
        return found

    def groups(self, written: Sequence[tuple[Written, str]], device: str) -> list[dict[str, Any]]:
        """Questions with their own passage and four that look alike, from the same book if there is one."""
        stories = [Written(w.passage, w.asked, w.kind, w.book, q) for w, q in written if w.kind == "story"]
        found = self.near(stories + self.tales, 4, device)
        spans = {(r["q"], r["c"]): r for given in self.qa.values() for r in given if r["s"] is not None}
        for name, given in self.rank.items():
            for row in self.draw(given, 650):
                texts = [self.contexts[c] for c in (row["p"], *self.chance.sample(row["n"], 4))]
                answer = spans.get((row["q"], row["p"]), {"a": None, "s": None})
                found.append({"q": row["q"], "t": texts, "a": answer["a"], "s": answer["s"], "kind": name})
        return found

    def claims(self) -> list[dict[str, Any]]:
        """Statements that people judged: the teacher's doubts about them are worth something too."""
        drawn = [row for given in self.nli.values() for row in self.draw(given, 2000)]
        return [{"h": r["h"], "p": r["p"], "kind": "human"} for r in drawn]

    def near(self, given: Sequence[Written], many: int, device: str) -> list[dict[str, Any]]:
        """Each question with its own passage and the `many` others of its book that share most words.

        A passage that its book does not have yet is added to it.
        """
        for book in {w.book for w in given}:
            own = (w.passage for w in given if w.book == book)
            self.books[book] = list(dict.fromkeys((*self.books.get(book, ()), *own)))
        found: list[dict[str, Any]] = []
        for book, texts in self.books.items():
            own = [w for w in given if w.book == book]
            if not own or len(texts) <= many:
                continue
            here = _places(texts, device)
            rare = torch.log(len(texts) / (1 + here.sum(0))).clamp(min=0)
            size = here.sum(1)
            weight = here * rare / (0.5 + 0.5 * size / size.mean())[:, None]
            score = _places([w.question for w in own], device) @ weight.T
            place = {text: n for n, text in enumerate(texts)}
            self_ = torch.tensor([place[w.passage] for w in own], device=score.device)
            score[torch.arange(len(own), device=score.device), self_] = -1.0
            best = score.topk(min(len(texts), 3 * many)).indices.tolist()
            for w, order in zip(own, best, strict=True):
                others = [texts[n] for n in order if not _shared(texts[n], w.passage)][:many]
                if len(others) < many:
                    continue
                found.append(
                    {"q": w.question, "t": [w.passage, *others], "a": None, "s": None, "kind": w.kind}
                )
        return found


def _shared(one: str, other: str) -> bool:
    """Whether one passage holds the beginning or the end of the other."""
    return any(b[:80] in a or b[-80:] in a for a, b in ((one, other), (other, one)))


def sound_statement(text: str) -> bool:
    """Whether this looks like a statement about what a text tells."""
    whole = text.endswith((".", ".”", '."')) and "\n" not in text
    return whole and 5 <= len(text.split()) <= 45 and "the text" not in text.lower()


def sound(question: str) -> bool:
    """Whether this looks like a question at all."""
    many = len(question.split())
    return 3 <= many <= 30 and question.endswith("?") and "\n" not in question and "the text" not in question


def _pair(question: str, passage: str, row: dict[str, Any] | None, kind: str) -> dict[str, Any]:
    placed = row is not None and row["s"] is not None and bool(row["a"])
    answer, start = (row["a"], row["s"]) if row is not None and placed else (None, None)
    return {"q": question, "t": passage, "a": answer, "s": start, "kind": kind}


def _places(texts: Sequence[str], device: str) -> torch.Tensor:
    """Which words a text has, as places in a row."""
    found = np.zeros((len(texts), PLACES), np.float32)
    for n, text in enumerate(texts):
        words = {w[:6] for w in re.findall(r"[a-z0-9]{3,}", text.lower())}
        found[n, [hash_of(w) for w in words]] = 1.0
    return torch.from_numpy(found).to(device)


@functools.cache
def hash_of(word: str) -> int:
    """The same place for a word in every run."""
    place = 0
    for letter in word:
        place = (place * 131 + ord(letter)) % 1_000_003
    return place % PLACES


def _by_set(path: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = collections.defaultdict(list)
    for row in rows(path):
        if row["set"] not in LEFT_OUT:
            found[row["set"]].append(row)
    return found


def _books(path: Path) -> dict[str, list[str]]:
    """Passages of up to 170 words of each book, paragraphs joined, chapters kept apart."""
    found: dict[str, list[str]] = collections.defaultdict(list)
    for chapter in rows(path) if path.exists() else ():
        held: list[str] = []
        for paragraph in [*chapter["paragraphs"], ""]:
            text = paragraph["text"] if isinstance(paragraph, dict) else paragraph
            if held and (not text or sum(len(p.split()) for p in held) + len(text.split()) > 170):
                passage = " ".join(held)
                if 50 <= len(passage.split()) <= 230:
                    found[chapter["book"]].append(passage)
                held = []
            held.append(text)
    return {book: list(dict.fromkeys(texts)) for book, texts in found.items()}
