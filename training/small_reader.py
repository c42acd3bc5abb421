"""Trains the small reader on: it learns what the large model says, of questions about narratives too.

    python training/small_reader.py --small SMALL --packed FOLDER --data DATA --labels LABELS --dev DEV \\
        --out RUN.safetensors --seconds 400 [--seed 1] [--teachers RUN1.safetensors,…]

SMALL is what `unpack_small.py` wrote, FOLDER what `unpack_large.py` wrote from the large model that ships.
The teachers are runs of `large_reader.py` that began with it; they may still be learning when this begins.
The small reader orders the passages that the large one reads, so an order that it gets wrong is lost.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import large
import reader
import torch
from data import Corpus
from large_reader import OFTEN, WARMING, add_mined, add_readers_questions, load_average, measure_both
from large_verifier import read_base
from learning import TOKENIZER, add_schedule, choose_device, learn, write
from lessons import Material
from mined import add_around
from torch import Tensor

OWN = 0.3  # weight of what people and books say beside what the large model says


def list_batches(said: argparse.Namespace, corpus: Corpus, device: str) -> reader.Batches:
    """What the small reader learnt before, what was written about books, and the narratives."""
    pairs = corpus.judged_pairs(said.labels, own=0.7)
    groups = corpus.judged_groups(said.labels, negatives=reader.NEGATIVES, own=0.7)
    material = Material(said.data, seed=said.seed)
    written = large.list_written_reading(corpus, material, material.written, device)
    batches = reader.Batches(
        pairs + OFTEN * written[0], groups + OFTEN * written[1], seed=said.seed, share=0.4
    )
    print(f"{len(batches.pairs):,} pairs, {len(batches.groups):,} groups", flush=True)
    add_readers_questions(batches, said, corpus, device)
    return batches


def train(said: argparse.Namespace) -> None:
    device = choose_device(said.seed)
    corpus = Corpus(said.data, said.tokenizer, seed=said.seed)
    model = large.load_small(said.small, "reader", reader.HEADS, device)
    batches = list_batches(said, corpus, device)
    for path in said.teachers.split(",") if said.teachers else ():
        large.wait_for(Path(path).with_suffix(".done"))
    teacher = load_average(read_base(said.packed), said.teachers).to(device).eval()

    def loss(batch: dict) -> Tensor:
        with torch.autocast(batch["texts"][0].device.type, torch.bfloat16):
            out = reader.outputs(model, *batch["texts"])
            with torch.no_grad():
                theirs = reader.outputs(teacher, *batch["texts"])
        return OWN * reader.loss_of(out, batch) + reader.distil_loss(out, [theirs], batch)

    for _ in learn(model, batches, loss, said, warming=WARMING):
        pass
    write(model, said.out)
    measure_both(model, said, corpus)
    said.out.with_suffix(".done").touch()


def main() -> None:
    known = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known.add_argument("--small", type=Path, required=True)
    known.add_argument("--packed", type=Path, required=True)
    known.add_argument("--data", type=Path, required=True)
    known.add_argument("--labels", type=Path, required=True)
    known.add_argument("--dev", type=Path, required=True)
    known.add_argument("--out", type=Path, required=True)
    known.add_argument("--tokenizer", type=Path, default=TOKENIZER)
    add_mined(known)
    add_around(known)
    known.add_argument("--teachers", default="", help="runs of the large model, with commas between")
    add_schedule(known, lr=2e-4, seconds=400.0, workers=8)
    train(known.parse_args())


if __name__ == "__main__":
    main()
