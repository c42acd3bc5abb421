"""Finds the passages that Octavo itself takes for answers to a reader's question, and that do not answer it.

    PYTHONPATH=training python -m training.mined gather DATA NOVELS [NOVELS ...] TARGET
    python training/mined.py mine --library LIBRARY --small SMALL --packed FOLDER --out TARGET \\
        [--start CHANGES.npz] [--around 850] [--read 40]

`gather` cuts every book and manual that readers' questions are about into the passages that Octavo keeps of
it. TARGET has a line for each book: its passages with their headings, and its questions with the passages
that answer (and where), those that only seem to, and the fifty that share most words. `mine` does what a
question does in a library: it mixes words and meaning, and has the small reader and the large model read the
forty best, the large one each with so many characters `--around` it, as Octavo has it read them. What it
thinks of them, and what the teacher of `judged.py` thinks, is what is learnt.
"""

from __future__ import annotations

import argparse
import json
import lzma
import sys
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from measure import Reading

    from octavo.models.embedding import OnnxEmbedder
    from octavo.types import Chunk

TOKENIZER = Path("packages/octavo-models/octavo_models/tokenizer.json")
BEST, READ, KEPT = 50, 40, 12
MEANT = 2.0  # the log-odds that a passage which its writer named answers, at least
DENSE_WEIGHT = 0.45  # as in octavo.search.ranking
JUDGED = 6  # where the teacher's log-odds of a passage stand, behind what the readers say
BEFORE_SHARE = 0.6  # as in octavo.search.surroundings
MOST_READ = 1200  # characters of a passage, its heading and what is around it: about what the model reads
PAD = 12  # characters on each side by which a place is told from others with the same words
Row = dict[str, Any]


def gather(data: Path, *names: Path) -> None:
    from training.novels import has_words, read_texts
    from training.passages import find_part, read_rows

    from octavo.models.embedding import OnnxEmbedder
    from octavo.models.weights import find_weights

    embedder = OnnxEmbedder(find_weights("minilm-int8", cache=data))
    *novels, target = names
    books = read_texts(data)
    asked: dict[str, list[Row]] = defaultdict(list)
    for row in (row for path in novels for row in read_rows(path)):
        places = (*row["right"], *row["wrong"])
        if row["book"] in books and all(has_words(books[row["book"]], place) for place in places):
            asked[row["book"]].append(row)
    with lzma.open(target, "wt", encoding="utf-8") as file:
        for name, given in sorted(asked.items()):
            if (part := find_part(name)) != "test":
                made = gather_book(name, books[name], given, embedder)
                file.write(json.dumps({"book": name, "part": part} | made, ensure_ascii=False) + "\n")
                print(
                    f"{name}: {len(made['passages'])} passages, {len(made['asked'])} of {len(given)}",
                    flush=True,
                )


def gather_book(name: str, chapters: list[list[str]], given: Sequence[Row], embedder: OnnxEmbedder) -> Row:
    from benchmarks.answering_pools import _bm25 as score_words
    from octavo.ingest.chunking import make_embedded_text

    chunks = cut_book(name, chapters, embedder)
    texts = [" ".join(chunk.content.split()) for chunk in chunks]
    scores = score_words([make_embedded_text(chunk) for chunk in chunks], [row["q"] for row in given])
    places = Places(chapters, texts)
    asked = []
    for row, own in zip(given, scores, strict=True):
        right = [found for place in row["right"] for found in places.find(place)]
        wrong = [n for place in row["wrong"] for n, *_ in places.find(place)]
        if row["right"] and not right:
            continue
        best = np.argsort(-np.asarray(own), kind="stable")[:BEST]
        words = [[int(n), round(float(own[n]), 3)] for n in best if own[n] > 0]
        asked.append({"q": row["q"], "kind": row["kind"], "right": right, "wrong": wrong, "words": words})
    headings = [" › ".join(chunk.heading_path) for chunk in chunks]
    return {"passages": list(zip(headings, texts, strict=True)), "asked": asked}


def cut_book(name: str, chapters: list[list[str]], embedder: OnnxEmbedder) -> list[Chunk]:
    """The passages that a library keeps of a book with these chapters."""
    from octavo.ingest.chunking import chunk_book
    from octavo.settings import Settings
    from octavo.text.clean import clean
    from octavo.types import Section

    sections = [
        Section(
            id=str(number),
            book_id=name,
            title=title,
            heading_path=(title or f"Part {number + 1}",),
            level=1,
            position=number,
            url=f"book://{name}/{number}",
            text=clean("\n\n".join(paragraphs)),
            source_file=name,
        )
        for number, (title, *paragraphs) in enumerate(chapters)
    ]
    return chunk_book(
        name,
        sections,
        pieces=embedder.count_pieces,
        max_pieces=embedder.max_pieces,
        target=Settings().chunk_tokens,
        created_at=datetime.now(UTC),
    )


class Places:
    """Finds the passages that have the words of a place."""

    def __init__(self, chapters: list[list[str]], texts: Sequence[str]) -> None:
        self.chapters, self.texts = chapters, texts
        self.whole = "\0".join(texts)
        self.begins = np.cumsum([0, *(len(text) + 1 for text in texts)]).tolist()

    def find(self, place: Sequence[int]) -> list[tuple[int, int, int]]:
        """A passage, and where the words of the place are in it. Of long words the first passage counts."""
        chapter, paragraph, start, end, *_ = place
        whole = self.chapters[chapter][paragraph]
        size = end - start
        for before, length in ((PAD, size + PAD), (PAD, 40), (0, 40)):
            first = max(0, start - before)
            at = self.whole.find(whole[first : start + length])
            if at >= 0:
                n = bisect_right(self.begins, at) - 1
                begin = at - self.begins[n] + start - first
                return [(n, begin, min(len(self.texts[n]), begin + size))]
        return []


def mine(said: argparse.Namespace) -> None:
    import torch
    from learning import choose_device

    device = choose_device(1)
    models = Models(said, device)
    with lzma.open(said.library, "rt", encoding="utf-8") as lines, said.out.open("w") as out:
        for line in lines:
            book = json.loads(line)
            with torch.no_grad():
                found = models.find(book, said.around, said.read)
            out.write(json.dumps({"book": book["book"], "found": found}) + "\n")
            print(book["book"], describe(book, found, said.around), flush=True)
    said.out.with_suffix(".done").touch()


class Models:
    """The embedder, the small reader and the large model, as they are before they learn on."""

    def __init__(self, said: argparse.Namespace, device: str) -> None:
        import large
        import reader
        from english_embedder import load_embedder
        from large_reader import load_average
        from large_verifier import read_base
        from measure import Reading

        self.embedder = load_embedder(said.small, said.start, device).eval()
        small = large.load_small(said.small, "reader", reader.HEADS, device)
        self.small = Reading(small, said.tokenizer)
        self.large = Reading(load_average(read_base(said.packed)).to(device), said.tokenizer)

    def find(self, book: Row, around: int, most: int) -> list[list[list[float]]]:
        """For each question the passages that are read: number, score of the search, two of each reader."""
        from english_embedder import place_texts

        passages = place_texts(self.embedder, [f"{h}\n{t}" for h, t in book["passages"]], most=256)
        meaning = place_texts(self.embedder, [row["q"] for row in book["asked"]], most=48) @ passages.T
        mixed = [mix(row["words"], own)[:most] for row, own in zip(book["asked"], meaning, strict=True)]
        small, large = (
            [(row["q"], read[n]) for row, own in zip(book["asked"], mixed, strict=True) for n, _ in own]
            for read in (Headed(book["passages"]), Headed(book["passages"], around=around))
        )
        said = zip(self.small(small), self.large(large), strict=True)
        scores = iter([(s["rank"], s["able"], z["rank"], z["able"]) for s, z in said])
        return [
            [[n, round(score, 4), *(round(x, 3) for x in next(scores))] for n, score in own] for own in mixed
        ]


def mix(words: Sequence[Sequence[float]], meaning: np.ndarray) -> list[tuple[int, float]]:
    """The best passages by words and meaning, each scaled from its fiftieth to its best."""
    near = np.argsort(-meaning, kind="stable")[:BEST]
    total: dict[int, float] = defaultdict(float)
    for weight, given in (
        (DENSE_WEIGHT, [(int(n), float(meaning[n])) for n in near]),
        (1 - DENSE_WEIGHT, [(int(n), score) for n, score in words]),
    ):
        scores = [score for _, score in given] or [0.0]
        least, width = min(scores), max(scores) - min(scores)
        for n, score in given:
            total[n] += weight * ((score - least) / width if width else 1.0)
    return sorted(total.items(), key=lambda one: (-one[1], one[0]))[:READ]


def describe(book: Row, found: Sequence[Sequence[Sequence[float]]], around: int = 0) -> dict[str, float]:
    """How often a passage that answers is found, among the small reader's five, and first of all."""
    counts: dict[str, list[bool]] = defaultdict(list)
    read = Headed(book["passages"], around=around)
    for row, given in zip(book["asked"], found, strict=True):
        if not row["right"]:
            continue
        right = {int(n) for n, *_ in given if any(read.place(int(n), words) for words in row["right"])}
        small, large = order_by_small(given), order_by_large(given)
        few = order_by_large(small[:5])
        counts["found"].append(bool(right))
        counts["small five"].append(any(one[0] in right for one in small[:5]))
        counts["first of five"].append(few[0][0] in right)
        counts["small first"].append(small[0][0] in right)
        counts["first of all"].append(large[0][0] in right)
    return {name: round(float(np.mean(own)), 3) for name, own in counts.items()}


def order_by_small(given: Sequence[Sequence[float]]) -> list[Sequence[float]]:
    """Passages in the order of the small reader, best first."""
    return sorted(given, key=lambda one: -add_up(one[2], one[3], 12 * one[1], 2.0))


def order_by_large(given: Sequence[Sequence[float]]) -> list[Sequence[float]]:
    """Passages in the order of the large model, best first."""
    return sorted(given, key=lambda one: -add_up(one[4], one[5], 4 * one[1], 1.0))


def add_up(rank: float, able: float, found: float, weight: float) -> float:
    return rank + weight * float(np.logaddexp(0, able)) + found


def read_found(mined: Path) -> dict[str, list[list[list[float]]]]:
    """For each book, the passages of each of its questions with their scores, as `mine` wrote them."""
    return {row["book"]: row["found"] for row in map(json.loads, mined.read_text().splitlines())}


def read_mined(library: Path, mined: Path, part: str, *, between: str = ": ", around: int = 0) -> list[Row]:
    """Questions with Octavo's own passages: those that answer, and others with what is thought of them.

    `between` stands between a passage and its heading, and so many characters are read around it.
    """
    found = read_found(mined)
    made = []
    with lzma.open(library, "rt", encoding="utf-8") as lines:
        for book in map(json.loads, lines):
            if book["part"] == part:
                read = Headed(book["passages"], between, around)
                for row, given in zip(book["asked"], found[book["book"]], strict=True):
                    made.append(make_row(read, row, given))
    return made


class Headed:
    """Passages by their number, each behind its heading, with what stands around it in its section."""

    def __init__(self, passages: Sequence[Sequence[str]], between: str = ": ", around: int = 0) -> None:
        self.passages, self.between, self.around = passages, between, around

    def __getitem__(self, n: int) -> str:
        heading, text = self.passages[n]
        before, after = self._look_around(n)
        wide = f"{before}{text}{after}"
        return f"{heading}{self.between}{wide}" if heading else wide

    def place(self, n: int, words: Sequence[int]) -> tuple[int, int] | None:
        """Where words of a passage (its number, their begin and end) are in what is read with passage `n`."""
        other, start, end = words
        if self.passages[other][0] != self.passages[n][0] or abs(other - n) > self.around:
            return None
        first, last = min(n, other), max(n, other)
        between = sum(len(self.passages[k][1]) + 1 for k in range(first, last))
        before, after = self._look_around(n)
        shift = len(before) + (between if other > n else -between)
        begin, most = start + shift, len(before) + len(self.passages[n][1]) + len(after)
        if begin < 0 or end + shift > most:
            return None
        ahead = len(self[n]) - most
        return begin + ahead, end + shift + ahead

    def _look_around(self, n: int) -> tuple[str, str]:
        heading, text = self.passages[n]
        room = max(0, min(self.around, MOST_READ - len(text) - len(heading)))
        most_before = int(BEFORE_SHARE * room)
        before = _end_of(self._gather(n, -1, most_before), most_before)
        return before, _begin_of(self._gather(n, 1, room - most_before), room - most_before)

    def _gather(self, n: int, step: int, most: int) -> str:
        """The passages of a section before or after one, as far as `most` characters need them."""
        found, at = "", n + step
        while (
            len(found) < most and 0 <= at < len(self.passages) and self.passages[at][0] == self.passages[n][0]
        ):
            text = self.passages[at][1]
            found = f"{found} {text}" if step > 0 else f"{text} {found}"
            at += step
        return found


def _end_of(text: str, most: int) -> str:
    """At most so many characters of the end of a text, from a word's beginning on."""
    if len(text) <= most:
        return text
    return text[len(text) - most :].partition(" ")[2]


def _begin_of(text: str, most: int) -> str:
    """At most so many characters of the beginning of a text, up to a word's end."""
    return text if len(text) <= most else text[:most].rpartition(" ")[0]


def make_row(read: Headed, row: Row, given: Sequence[Sequence[float]]) -> Row:
    """A question with `right`, as `novels.jsonl.xz` has it, and `others`: passages with their log-odds.

    If the teacher judged some of the passages, the others are those, with the mean of both opinions. A
    passage with the words that answer around it is right as well.
    """
    odds = {int(one[0]): one[-1] for one in given}
    if any(len(one) > JUDGED for one in given):
        odds = {int(one[0]): (one[JUDGED - 1] + one[JUDGED]) / 2 for one in given if len(one) > JUDGED}
    right = {}
    for n in dict.fromkeys([*(n for n, *_ in row["right"]), *odds]):
        for words in row["right"]:
            if n not in right and (place := read.place(n, words)):
                start, end = place
                known = {"a": read[n][start:end], "s": start}
                right[n] = {"t": read[n], "z": max(MEANT, odds.get(n, MEANT)), **known}
    seeming = {n: min(0.0, odds.get(n, -MEANT)) for n in row["wrong"] if n not in right}
    large = sorted(odds, key=lambda n: -odds[n])[:KEPT]
    small = [int(one[0]) for one in order_by_small(given)[:KEPT]]
    chosen = dict.fromkeys([*large, *small])
    others = seeming | {n: odds[n] for n in chosen if n in odds and n not in right and n not in seeming}
    return {
        "q": row["q"],
        "right": list(right.values()),
        "others": [[read[n], z] for n, z in others.items()],
    }


def measure_order(run: Reading, said: argparse.Namespace) -> dict[str, dict[str, float]]:
    """What a model's order is worth on the books to choose with, in the place of the model before it."""
    found = read_found(said.mined)
    large = "support" in run.model.head
    made = {}
    with lzma.open(said.data / "library.jsonl.xz", "rt", encoding="utf-8") as lines:
        for book in map(json.loads, lines):
            if book["part"] != "tune":
                continue
            read, own = Headed(book["passages"], around=said.around), found[book["book"]]
            pairs = [(row["q"], read[n]) for row, g in zip(book["asked"], own, strict=True) for n, *_ in g]
            scores = iter([(one["rank"], one["able"]) for one in run(pairs)])
            now = [
                [[*one[:4], *next(scores)] if large else [*one[:2], *next(scores), *one[4:]] for one in given]
                for given in own
            ]
            made[book["book"]] = describe(book, now, said.around)
    return made


def add_around(known: argparse.ArgumentParser) -> None:
    known.add_argument("--around", type=int, default=0, help="characters read around a passage")


def main() -> None:
    if sys.argv[1] == "gather":
        gather(*(Path(name) for name in sys.argv[2:]))
        return
    known = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known.add_argument("task", choices=["mine"])
    for name in ("library", "small", "packed", "out"):
        known.add_argument(f"--{name}", type=Path, required=True)
    known.add_argument("--start", type=Path, help="what training changed of the embedder of SMALL")
    known.add_argument("--read", type=int, default=READ, help="passages that are read for each question")
    known.add_argument("--tokenizer", type=Path, default=TOKENIZER)
    add_around(known)
    mine(known.parse_args())


if __name__ == "__main__":
    main()
