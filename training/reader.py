"""Trains the reader: which passage comes first, which words answer, and whether the passage answers at all.

    python training/reader.py --base BASE --data DATA --out OUT [--seed 1] [--steps 7000] [--teachers A,B,C]

One encoder with three heads reads question and passage together. Pairs teach the span and the no-answer,
groups of passages teach the order of passages and spans that can be compared across passages. With
`--teachers`, the student also learns to say what the teachers say on average, doubts included.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from data import PAIR_MOST, Corpus, Group, Pair, crop, joined, padded
from encoder import Encoder
from learning import device_for, learn, options
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.utils.data import IterableDataset, get_worker_info

HEADS = {"span": 2, "rank": 1, "answerable": 1}
PAIRS, GROUPS = 64, 20
FAR = -1e4


class Batches(IterableDataset):
    """Shuffled batches of about the same length, without end. Each worker shuffles in its own way."""

    def __init__(self, pairs: list[Pair], groups: list[Group], *, seed: int, share: float) -> None:
        self.pairs, self.groups, self.seed, self.share = pairs, groups, seed, share

    def __iter__(self) -> Iterator[dict]:
        worker = get_worker_info()
        self.chance = random.Random(1000 * self.seed + (worker.id if worker else 0))
        pairs, groups = self._forever(self.pairs, PAIRS), self._forever(self.groups, GROUPS)
        while True:
            grouped = self.chance.random() < self.share
            yield self._of_groups(next(groups)) if grouped else self._of_pairs(next(pairs))

    def _forever(self, rows: list, size: int) -> Iterator[list]:
        def length(row: Pair | Group) -> int:
            return len(row.passage) if isinstance(row, Pair) else max(map(len, row.passages))

        while True:
            order = list(rows)
            self.chance.shuffle(order)
            big = size * 50
            batches = []
            for first in range(0, len(order), big):
                part = sorted(order[first : first + big], key=length)
                batches += [part[k : k + size] for k in range(0, len(part), size)]
            self.chance.shuffle(batches)
            yield from batches

    def _of_pairs(self, rows: list[Pair]) -> dict:
        made, first, last, known, answerable = [], [], [], [], []
        for row in rows:
            room = PAIR_MOST - min(48, len(row.question)) - 3
            passage, span = crop(row.passage, row.span, room, self.chance, small=self.chance.random() < 0.5)
            ids, begin = joined(row.question, passage)
            made.append((ids, begin))
            known.append(span is not None or not row.answerable)
            first.append(begin + span[0] if span else 0)
            last.append(begin + span[1] if span else 0)
            answerable.append(float(bool(row.answerable)))
        return {
            "kind": "pairs",
            "texts": padded(made),
            "first": np.array(first),
            "last": np.array(last),
            "known": np.array(known),
            "answerable": np.array(answerable, np.float32),
        }

    def _of_groups(self, rows: list[Group]) -> dict:
        made, first, last, known = [], [], [], []
        many = len(rows[0].passages)
        for row in rows:
            small = self.chance.random() < 0.6
            for n, passage in enumerate(row.passages):
                room = PAIR_MOST - min(48, len(row.question)) - 3
                part, span = crop(passage, row.span if n == 0 else None, room, self.chance, small=small)
                made.append(joined(row.question, part))
                if n == 0:
                    known.append(span is not None)
                    first.append(made[-1][1] + span[0] if span else 0)
                    last.append(made[-1][1] + span[1] if span else 0)
        return {
            "kind": "groups",
            "texts": padded(made),
            "many": many,
            "first": np.array(first),
            "last": np.array(last),
            "known": np.array(known),
        }


def outputs(model: Encoder, ids: Tensor, kinds: Tensor, mask: Tensor) -> dict[str, Tensor]:
    """Span scores (the passage and the first piece only, which stands for "no answer"), rank, answerable."""
    out = model(ids, kinds, mask)
    allowed = kinds.bool() & mask
    allowed[:, 0] = True
    last = mask.sum(1) - 1
    allowed[torch.arange(len(ids), device=ids.device), last] = False
    span = out["span"].float().masked_fill(~allowed[..., None], FAR)
    rank, answerable = (out[name][:, 0, 0].float() for name in ("rank", "answerable"))
    return {"span": span, "rank": rank, "answerable": answerable}


def loss_of(out: dict[str, Tensor], batch: dict, device: str) -> Tensor:
    first, last, known = (torch.as_tensor(batch[name], device=device) for name in ("first", "last", "known"))
    if batch["kind"] == "pairs":
        answerable = torch.as_tensor(batch["answerable"], device=device)
        spans = F.cross_entropy(out["span"][..., 0], first, reduction="none") + F.cross_entropy(
            out["span"][..., 1], last, reduction="none"
        )
        spans = (spans * known).sum() / known.sum().clamp(min=1) / 2
        return spans + F.binary_cross_entropy_with_logits(out["answerable"], answerable)
    many = batch["many"]
    rank = out["rank"].view(-1, many)
    target = torch.zeros(len(rank), dtype=torch.long, device=device)
    total = F.cross_entropy(rank, target)
    right = torch.zeros_like(rank)
    right[:, 0] = 0.97
    right[:, 1:] = 0.03
    total = total + 0.3 * F.binary_cross_entropy_with_logits(out["answerable"].view(-1, many), right)
    span = out["span"].clone()
    span[:, 0] = FAR
    flat = span.view(len(rank), -1, 2)  # the answer is sought in all passages of the group at once
    spans = F.cross_entropy(flat[..., 0], first, reduction="none") + F.cross_entropy(
        flat[..., 1], last, reduction="none"
    )
    return total + 0.5 * (spans * known).sum() / known.sum().clamp(min=1) / 2


def taught(out: dict[str, Tensor], said: list[dict[str, Tensor]], batch: dict) -> Tensor:
    """How far the student is from what the teachers say on average."""
    total = out["rank"].new_zeros(())
    for k in (0, 1):
        meant = torch.stack([s["span"][..., k].softmax(-1) for s in said]).mean(0)
        total = total - (meant * out["span"][..., k].log_softmax(-1)).sum(-1).mean() / 2
    meant = torch.stack([s["answerable"].sigmoid() for s in said]).mean(0)
    total = total + F.binary_cross_entropy_with_logits(out["answerable"], meant)
    if batch["kind"] == "groups":
        meant = torch.stack([s["rank"].view(-1, batch["many"]).softmax(-1) for s in said]).mean(0)
        total = total - (meant * out["rank"].view(-1, batch["many"]).log_softmax(-1)).sum(-1).mean()
        near = torch.stack([s["rank"] for s in said]).mean(0)
        total = total + 0.02 * F.smooth_l1_loss(out["rank"], near)
    return total


def loaded(base: dict[str, Tensor], path: Path | None, device: str) -> Encoder:
    model = Encoder(base, HEADS)
    if path is not None:
        model.load_state_dict({k: v.float() for k, v in load_file(path).items()}, strict=False)
    return model.to(device)


def train(said: argparse.Namespace) -> Encoder:
    device = device_for(said.seed)
    base = load_file(said.base)
    corpus = Corpus(said.data, said.tokenizer, seed=said.seed)
    pairs, groups = corpus.pairs(near=said.near), corpus.groups(negatives=4)
    print(f"{len(pairs):,} pairs, {len(groups):,} groups", flush=True)
    model = loaded(base, said.start, device)
    teachers = [loaded(base, Path(p), device).eval() for p in said.teachers.split(",") if p]

    def loss(batch: dict) -> Tensor:
        ids, kinds, mask = (torch.as_tensor(t, device=device) for t in batch["texts"])
        with torch.autocast(device, torch.bfloat16):
            out = outputs(model, ids, kinds, mask)
        own = loss_of(out, batch, device)
        if not teachers:
            return own
        with torch.no_grad(), torch.autocast(device, torch.bfloat16):
            meant = [outputs(t, ids, kinds, mask) for t in teachers]
        return 0.3 * own + taught(out, meant, batch)

    for _ in learn(model, Batches(pairs, groups, seed=said.seed, share=said.share), loss, said):
        pass
    return model


def main() -> None:
    known = options(__doc__, steps=7000, workers=4)
    known.add_argument("--near", type=int, default=24_000)
    known.add_argument("--share", type=float, default=0.5, help="of the steps that are groups")
    known.add_argument("--teachers", default="")
    said = known.parse_args()
    model = train(said)
    save_file(model.learned(), said.out)
    if said.dev:
        import measure

        print(json.dumps(measure.reader(model, said.dev, said.tokenizer)), flush=True)


if __name__ == "__main__":
    main()
