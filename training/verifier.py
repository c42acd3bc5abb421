"""Trains the verifier: is this sentence borne out by this passage?

    python training/verifier.py --base BASE --data DATA --out OUT [--labels LABELS [--reader READER]]

It learns from public inference data, and from passages of the question data: a sentence of the passage, whole
or shortened, is borne out; the same with another name, number or the opposite is not, nor is a sentence
that was taken out of the passage. With `--labels`, such sentences come from there, and what a large teacher
thinks counts: alone for these, half where people have judged too. With `--reader` as well, the questions that
it judged become statements, made as the product makes them.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import near_misses
import numpy as np
import reader
import torch
import torch.nn.functional as F  # noqa: N812
from data import LEFT_OUT, Corpus, crop, join_pieces, opinion, pad, read_judgements, rows, stands
from encoder import Encoder
from learning import batch_by_length, choose_device, learn, options, write
from measure import Reading, auroc_by_set
from safetensors.torch import load_file
from torch import Tensor
from torch.utils.data import IterableDataset, get_worker_info

from octavo.answers.features import state_answer

BATCH, CLAIM_MOST, PAIR_MOST = 160, 80, 320
LIKE = {"entail": 1.0, "supported": 1.0}
SENTENCE_ENDS = re.compile(
    r"(?<!\b[A-Z])(?<!\bMr)(?<!\bMrs)(?<!\bDr)(?<!\bSt)[.!?][\"”’')\]]*\s+(?=[\"“‘'(\[]?[A-Z0-9])|\n\s*\n"
)


@dataclass(frozen=True, slots=True)
class Claim:
    claim: np.ndarray
    passage: np.ndarray
    supported: float


def alter(sentence: str, passage: str, chance: random.Random, names: list[str]) -> str:
    """The sentence with one thing changed."""
    for rule in chance.sample([near_misses.other_name, near_misses.other_number, near_misses.opposite], 3):
        made = rule(sentence, passage, "\x00", chance, names)
        if made and made != sentence:
            return made
    return near_misses.deny(sentence, passage, "\x00", chance, names)


def shorten(sentence: str, chance: random.Random) -> str:
    """The sentence without what stands in brackets, or without its last clauses."""
    bare = re.sub(r"\s*\([^)]*\)", "", sentence)
    clauses = bare.rstrip(".").split(", ")
    if len(clauses) > 1 and len(clauses[0].split()) > 5 and chance.random() < 0.6:
        return clauses[0] + "."
    return bare


def make_claims(corpus: Corpus, most: int) -> list[tuple[str, str, float]]:
    chance = corpus.chance
    passages = [t for t in corpus.contexts.values() if 300 < len(t) < 1600]
    chance.shuffle(passages)
    names = [m.group() for t in passages[:4000] for m in near_misses.NAME.finditer(t)]
    found: list[tuple[str, str, float]] = []
    for passage in passages:
        parts = [m.group().strip() for m in near_misses.SENTENCE.finditer(passage)]
        whole = [s for s in parts if 6 <= len(s.split()) <= 45]
        if len(parts) < 3 or not whole:
            continue
        sentence = chance.choice(whole)
        kind = chance.random()
        if kind < 0.35:
            found.append((shorten(sentence, chance), passage, 1.0))
        elif kind < 0.75:
            other = alter(shorten(sentence, chance), passage, chance, names)
            if other:
                found.append((other, passage, 0.0))
        else:
            left = passage.replace(sentence, "")
            found.append((sentence, left, 0.0))
        if len(found) >= most:
            break
    return found


def claims(corpus: Corpus, said: argparse.Namespace) -> list[Claim]:
    """People's claims, and those that a large teacher judged or else that are made up here."""
    out = (*LEFT_OUT, *said.skip.split(","))
    given = list(rows(corpus.folder / "nli.jsonl.xz"))
    barred = {(r["h"], r["p"]) for r in given if r["set"] in out}
    people = [(r["h"], r["p"], LIKE.get(r["y"], 0.0)) for r in given if r["set"] not in out]
    if not said.labels:
        texts = people + make_claims(corpus, said.made)
    else:
        path = said.labels / "claims.jsonl.xz"
        thought = {(r["h"], r["p"]): float(opinion(r["z"])) for r in read_judgements(path)}
        people = [p for p in people if p[:2] in thought or corpus.chance.random() < said.own]
        texts = [(h, p, (y + thought.get((h, p), y)) / 2) for h, p, y in people]
        known = barred.union(p[:2] for p in people)
        texts += [(h, p, z) for (h, p), z in thought.items() if (h, p) not in known]
    mine, theirs = (corpus.texts(t[k] for t in texts) for k in (0, 1))
    return [Claim(a.pieces, b.pieces, t[2]) for a, b, t in zip(mine, theirs, texts, strict=True)]


def around(passage: str, start: int, end: int) -> str:
    """The sentence in which the words stand, with the one before it."""
    begins = [0, *(m.end() for m in SENTENCE_ENDS.finditer(passage))]
    here = max(n for n, begin in enumerate(begins) if begin <= start)
    stop = next((begin for begin in begins if begin >= end), len(passage))
    return passage[begins[max(0, here - 1)] : max(stop, end)].strip()


def statements(corpus: Corpus, labels: Path, reading: Reading) -> list[Claim]:
    """The judged questions as statements, half with the whole passage, half with what is around the words.

    The words are the known answer where the teacher thinks that there is one, else the reader's best.
    """
    given = [row for row in read_judgements(labels / "pairs.jsonl.xz") if row["t"].strip()]
    questions, passages = (corpus.texts(row[k] for row in given) for k in ("q", "t"))
    found: list[tuple[str, str | np.ndarray, float]] = []
    for row, passage, seen in zip(given, passages, reading.read(questions, passages), strict=True):
        text, (start, end) = row["t"], seen["chars"]
        if row["z"] > 0 and stands(row, text):
            start, end = row["s"], row["s"] + len(row["a"])
        if not text[start:end].strip():
            continue
        place = corpus.span(passage, {"s": start, "a": text[start:end]})
        part, _ = crop(passage.pieces, place, PAIR_MOST - CLAIM_MOST, corpus.chance, small=False)
        context = part if corpus.chance.random() < 0.5 else around(text, start, end)
        found.append((state_answer(row["q"], text[start:end]), context, float(opinion(row["z"]))))
    corpus.texts(context for _, context, _ in found if isinstance(context, str))
    mine = corpus.texts(claim for claim, _, _ in found)
    return [
        Claim(claim.pieces, corpus.texts([c])[0].pieces if isinstance(c, str) else c, supported)
        for claim, (_, c, supported) in zip(mine, found, strict=True)
    ]


class Batches(IterableDataset):
    def __init__(self, given: list[Claim], *, seed: int) -> None:
        self.given, self.seed = given, seed

    def __iter__(self) -> Iterator[tuple]:
        worker = get_worker_info()
        chance = random.Random(1000 * self.seed + (worker.id if worker else 0))
        for batch in batch_by_length(self.given, BATCH, chance, lambda claim: len(claim.passage)):
            made = [join_pieces(c.claim, c.passage[: PAIR_MOST - CLAIM_MOST], most=CLAIM_MOST) for c in batch]
            yield pad(made), np.array([c.supported for c in batch], np.float32)


def measure_model(model: Encoder, corpus: Corpus, dev: Path) -> dict:
    """AUROC on each set of `grounded.jsonl.xz` (set, c claim, p passage, y)."""
    model.eval()
    device = next(model.parameters()).device
    given = list(rows(dev / "grounded.jsonl.xz"))
    mine, theirs = (corpus.texts([g[k] for g in given]) for k in ("c", "p"))
    made = [
        join_pieces(a.pieces, b.pieces[: PAIR_MOST - CLAIM_MOST], most=CLAIM_MOST)
        for a, b in zip(mine, theirs, strict=True)
    ]
    scores: list[float] = []
    with torch.no_grad(), torch.autocast(device.type, torch.bfloat16):
        for first in range(0, len(made), 128):
            ids, kinds, mask = (torch.as_tensor(t, device=device) for t in pad(made[first : first + 128]))
            scores += model(ids, kinds, mask)["support"][:, 0, 0].float().tolist()
    return auroc_by_set(given, scores)


def list_claims(corpus: Corpus, said: argparse.Namespace, device: str) -> list[Claim]:
    given = claims(corpus, said)
    print(f"{len(given):,} claims", flush=True)
    if said.labels and said.reader:
        reading = Reading(reader.load_model(load_file(said.base), said.reader, device), said.tokenizer)
        given += statements(corpus, said.labels, reading)
        print(f"{len(given):,} claims with the statements", flush=True)
    return given


def main() -> None:
    known = options(__doc__, steps=9000)
    known.add_argument("--made", type=int, default=40_000, help="claims made up, without --labels")
    known.add_argument("--skip", default="", help="sets to leave out, with commas between")
    known.add_argument("--reader", type=Path, help="trained reader, for the words of the statements")
    said = known.parse_args()
    device = choose_device(said.seed)
    model = Encoder(load_file(said.base), {"support": 1}).to(device)
    if said.start:
        model.load_state_dict(
            {k: v.float() for k, v in load_file(said.start).items() if "head." not in k}, strict=False
        )
    corpus = Corpus(said.data, said.tokenizer, seed=said.seed)
    given = list_claims(corpus, said, device)

    def loss(batch: tuple) -> Tensor:
        texts, supported = batch
        with torch.autocast(device, torch.bfloat16):
            out = model(*texts)["support"][:, 0, 0]
        return F.binary_cross_entropy_with_logits(out.float(), supported)

    for step in learn(model, Batches(given, seed=said.seed), loss, said):
        if said.dev and step and step % 1000 == 0:
            print(json.dumps(measure_model(model, corpus, said.dev)), flush=True)
            model.train()
    write(model, said.out)
    if said.dev:
        print(json.dumps(measure_model(model, corpus, said.dev)), flush=True)


if __name__ == "__main__":
    main()
