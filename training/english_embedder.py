"""Trains the embedder of English books on: a question is near the passage that answers it.

    python training/english_embedder.py --small SMALL --data DATA --labels LABELS --dev DEV \\
        --out OUT.safetensors --seconds 300 [--packed FOLDER] [--mined MINED] [--start CHANGES.npz]

SMALL is what `unpack_small.py` wrote. The embedder that ships learns from people's questions with right
and wrong passages, from questions that a teacher wrote and judged, from those that were written about books
(`written.jsonl.xz`, `novels.jsonl.xz`), and from sentences of books with the passage that they were taken
from. Every other passage of a batch is a wrong one. The word vectors stay as they are, and what it says of
passages stays near what the published model says. DEV/retrieval.json.xz is made by `retrieval_dev.py`. With
FOLDER (`unpack_large.py`), the large reader says which of a question's two passages is the better one: some
that are taken for wrong, because they only share words with the question, answer it. With MINED
(`mined.py`), questions of readers are learnt with Octavo's own passages too. CHANGES, what an earlier run
changed of SMALL (`kept/embedder-2.npz`), is gone on from.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import data
import mpnet
import numpy as np
import recall
import torch
from data import read_judgements, rows
from encoder import Encoder
from export import apply_changes
from large_reader import find_near, load_average, read_novels
from large_verifier import read_base
from learning import TOKENIZER, add_schedule, choose_device, learn, write
from lessons import Material, Written
from mined import read_mined
from multilingual_embedder import compare, embed, encode, load_model
from tokenizers import Tokenizer
from torch import Tensor
from torch.utils.data import IterableDataset, get_worker_info

BATCH, MOST_ASKED, MOST_READ = 384, 48, 224
TEMPERATURE, KEPT, WARMING = 0.03, 0.1, 200
NEAR = 8  # passages of its book that share most words with a question
MEASURED = 1000  # steps between two measurements
# How often each kind is drawn.
SHARES = {"people": 0.32, "taught": 0.14, "written": 0.12, "novels": 0.3, "mined": 0.3, "sentences": 0.12}
SURE = 1.0  # log-odds above which the teacher takes a passage for right, and below which, negative, for wrong


@dataclass(frozen=True, slots=True)
class Lesson:
    """A question with passages that answer it and passages that do not."""

    asked: str
    right: tuple[str, ...]
    wrong: tuple[str, ...]


def list_people(folder: Path) -> list[Lesson]:
    contexts = {row["i"]: row["t"] for row in rows(folder / "contexts.jsonl.xz")}
    return [
        Lesson(row["q"], (contexts[row["p"]],), tuple(contexts[n] for n in row["n"]))
        for row in rows(folder / "rank.jsonl.xz")
        if row["n"] and row["set"] not in data.LEFT_OUT
    ]


def list_taught(labels: Path) -> list[Lesson]:
    found = []
    for row in read_judgements(labels / "groups.jsonl.xz"):
        right = tuple(t for t, z in zip(row["t"], row["z"], strict=True) if z > SURE)
        wrong = tuple(t for t, z in zip(row["t"], row["z"], strict=True) if z < -SURE)
        if right and wrong:
            found.append(Lesson(row["q"], right, wrong))
    return found


def list_written(material: Material, device: str) -> list[Lesson]:
    asked = [(row, q["q"]) for row in material.written for q in row.questions if q["a"]]
    headings = {row.passage: row.heading for row, _ in asked}
    wanted = [Written(row.passage, "", "written", row.book, question) for row, question in asked]
    return [
        Lesson(row["q"], (row["t"][0], f"{headings[row['t'][0]]}\n{row['t'][0]}"), tuple(row["t"][1:]))
        for row in material.near(wanted, NEAR, device)
    ]


def list_mined(said: argparse.Namespace) -> list[Lesson]:
    """Passages that Octavo finds: right if they were named, wrong if they are surely no answers."""
    found = []
    for row in read_mined(said.data / "library.jsonl.xz", said.mined, "fit", between="\n"):
        right = dict.fromkeys(one["t"] for one in row["right"])
        wrong = tuple(text for text, odds in row["others"] if odds < -SURE)
        if right and wrong:
            found.append(Lesson(row["q"], tuple(right), wrong))
    return found


def list_novels(material: Material, device: str) -> list[Lesson]:
    asked = [row for row in read_novels(material.folder, "fit") if row["right"]]
    near = find_near(material, asked, device)
    return [
        Lesson(
            row["q"],
            tuple(dict.fromkeys(right["t"] for right in row["right"])),
            (*row["wrong"], *near.get(row["q"], ())),
        )
        for row in asked
    ]


class Drawer:
    """Draws lessons of all kinds, each with one passage that answers and one that does not."""

    def __init__(self, said: argparse.Namespace, device: str) -> None:
        material = Material(said.data, seed=said.seed)
        self.kinds = {
            "people": list_people(said.data),
            "taught": list_taught(said.labels) if said.labels else [],
            "written": list_written(material, device),
            "novels": list_novels(material, device),
            "mined": list_mined(said) if said.mined else [],
        }
        self.books = [texts for texts in material.books.values() if len(texts) > 20]
        self.chance = random.Random(said.seed)
        print({kind: len(given) for kind, given in self.kinds.items()}, flush=True)

    def draw(self) -> tuple[str, str, str]:
        names = [name for name in SHARES if name == "sentences" or self.kinds[name]]
        kind = self.chance.choices(names, [SHARES[name] for name in names])[0]
        if kind == "sentences":
            return self._draw_sentence()
        lesson = self.chance.choice(self.kinds[kind])
        return lesson.asked, self.chance.choice(lesson.right), self.chance.choice(lesson.wrong)

    def _draw_sentence(self) -> tuple[str, str, str]:
        """A sentence of a book, the passage without it, and another passage of the book."""
        while True:
            right, wrong = self.chance.sample(self.chance.choice(self.books), 2)
            parts = right.split(". ")
            long = [n for n, part in enumerate(parts) if 6 <= len(part.split()) <= 40]
            if len(parts) > 3 and long:
                taken = self.chance.choice(long)
                left = ". ".join(part for n, part in enumerate(parts) if n != taken)
                return parts[taken], left, wrong


class Batches(IterableDataset):
    def __init__(self, drawer: Drawer, tokenizer: Path, *, seed: int, paired: bool) -> None:
        self.drawer, self.tokenizer, self.seed, self.paired = drawer, tokenizer, seed, paired

    def __iter__(self) -> Iterator[dict]:
        worker = get_worker_info()
        self.drawer.chance = random.Random(1000 * self.seed + (worker.id if worker else 0))
        made = data.load_tokenizer(self.tokenizer)
        while True:
            drawn = [self.drawer.draw() for _ in range(BATCH)]
            passages = [text for _, right, wrong in drawn for text in (right, wrong)]
            # A passage that answers the same question is not wrong; the right one itself counts.
            same = np.array([[text == right for text in passages] for _, right, _ in drawn])
            same[np.arange(BATCH), 2 * np.arange(BATCH)] = False
            yield {
                "asked": encode(made, [asked for asked, _, _ in drawn], MOST_ASKED),
                "read": encode(made, passages, MOST_READ),
                "same": same,
                "pairs": pair_up(made, drawn) if self.paired else [],
            }


def pair_up(tokenizer: Tokenizer, drawn: Sequence[tuple[str, str, str]]) -> tuple[np.ndarray, ...]:
    """Each question with its two passages, as the readers read them."""
    asked = data.tokenize(tokenizer, [one for one, _, _ in drawn])
    read = data.tokenize(tokenizer, [text for _, *both in drawn for text in both])
    return data.pad(
        [data.join_pieces(asked[n // 2].pieces, text.pieces[:MOST_READ]) for n, text in enumerate(read)]
    )


def load_embedder(small: Path, start: Path | None, device: str) -> Encoder:
    """The embedder of SMALL, with what an earlier run changed of it."""
    base = mpnet.unpack(small / "words.npz", small / "embedder.npz")
    given = {name: np.asarray(tensor, np.float32) for name, tensor in base.items()}
    made = apply_changes(given, [start]) if start else given
    return load_model({name: torch.from_numpy(tensor) for name, tensor in made.items()}, device)


def train(said: argparse.Namespace) -> None:
    device = choose_device(said.seed)
    model = load_embedder(said.small, said.start, device)
    first = load_embedder(said.small, None, device).eval()
    print("before", json.dumps(measure(model.eval(), said)), flush=True)
    batches = Batches(Drawer(said, device), said.tokenizer, seed=said.seed, paired=bool(said.packed))
    teacher = load_average(read_base(said.packed)).to(device).eval() if said.packed else None
    model.train()

    def loss(batch: dict) -> Tensor:
        better = judge(teacher, batch["pairs"]) if teacher else None
        return compare(model, first, batch, temperature=TEMPERATURE, kept=said.kept, better=better)[0]

    for step in learn(model, batches, loss, said, warming=WARMING):
        if step and step % MEASURED == 0:
            print(step, json.dumps(measure(model.eval(), said)), flush=True)
            model.train()
    print("after", json.dumps(measure(model.eval(), said)), flush=True)
    write(model, said.out)
    said.out.with_suffix(".done").touch()


@torch.no_grad()
def judge(teacher: mpnet.LargeEncoder, pairs: Sequence[Tensor]) -> Tensor:
    """The log odds that the first of a question's two passages is the better one."""
    with torch.autocast(pairs[0].device.type, torch.bfloat16):
        ranks = teacher(*pairs)["rank"][:, 0, 0].float()
    return ranks[::2] - ranks[1::2]


@torch.no_grad()
def place_texts(
    model: Encoder, texts: Sequence[str], *, most: int, tokenizer: Path = TOKENIZER
) -> np.ndarray:
    """The vectors of texts, of each at most so many pieces."""
    made, device = data.load_tokenizer(tokenizer), next(model.parameters()).device
    order = sorted(range(len(texts)), key=lambda n: len(texts[n]))
    found = torch.zeros(len(texts), 384, device=device)
    for at in range(0, len(order), 256):
        part = order[at : at + 256]
        given = encode(made, [texts[n] for n in part], most)
        found[part] = embed(model, *(torch.as_tensor(t, device=device) for t in given))
    return found.float().cpu().numpy()


@torch.no_grad()
def measure(model: Encoder, said: argparse.Namespace) -> dict[str, list[str]]:
    def place(texts: Sequence[str], most: int) -> np.ndarray:
        return place_texts(model, texts, most=most, tokenizer=said.tokenizer)

    return recall.measure(
        said.dev / "retrieval.json.xz",
        passages=partial(place, most=256),
        questions=partial(place, most=MOST_ASKED),
    )


def main() -> None:
    known = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known.add_argument("--small", type=Path, required=True, help="folder that unpack_small.py wrote")
    known.add_argument("--tokenizer", type=Path, default=TOKENIZER)
    known.add_argument("--packed", type=Path, help="the large reader, as unpack_large.py wrote it")
    known.add_argument("--data", type=Path, required=True)
    known.add_argument("--labels", type=Path)
    known.add_argument("--dev", type=Path, required=True)
    known.add_argument("--out", type=Path, required=True)
    known.add_argument("--mined", type=Path, help="what mined.py wrote")
    known.add_argument("--start", type=Path, help="changes of an earlier run, to go on from")
    known.add_argument("--kept", type=float, default=KEPT, help="weight of staying near the published model")
    add_schedule(known, lr=6e-5, seconds=300.0, workers=6)
    train(known.parse_args())


if __name__ == "__main__":
    main()
