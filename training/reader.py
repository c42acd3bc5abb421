"""Trains the reader: which passage comes first, which words answer, and whether the passage answers at all.

    python training/reader.py --base BASE --data DATA --out OUT [--seed 1] [--steps 7000] [--teachers A,B,C]

One encoder with three heads reads question and passage together. Pairs teach the span and the no-answer,
groups of passages teach the order of passages and spans that can be compared across passages. With
`--teachers`, the student also learns to say what the teachers say on average, doubts included. With
`--labels`, a large teacher's opinion of pairs and groups takes the place of made-up near misses, and of the
small teachers' in everything but the words that answer.
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
from data import PAIR_MOST, QUESTION_MOST, Corpus, Group, Pair, crop, drop_mark, join_pieces, opinion, pad
from encoder import Encoder
from learning import batch_by_length, choose_device, learn, options, write
from safetensors.torch import load_file
from torch import Tensor
from torch.utils.data import IterableDataset, get_worker_info

HEADS = {"span": 2, "rank": 1, "answerable": 1}
PAIRS, GROUPS, NEGATIVES = 160, 40, 4
FAR = -1e4
UNMARKED = 0.5  # how often a question is learnt without its question mark
CROPPED = 0.5  # share of the passages that are cut short, as those of a library are


class Batches(IterableDataset):
    """Shuffled batches of about the same length, without end. Each worker shuffles in its own way."""

    def __init__(self, pairs: list[Pair], groups: list[Group], *, seed: int, share: float) -> None:
        self.pairs, self.groups, self.seed, self.share = pairs, groups, seed, share
        self.cropped = CROPPED

    def __iter__(self) -> Iterator[dict]:
        worker = get_worker_info()
        self.chance = random.Random(1000 * self.seed + (worker.id if worker else 0))
        pairs = batch_by_length(self.pairs, PAIRS, self.chance, lambda pair: len(pair.passage))
        groups = batch_by_length(
            self.groups, GROUPS, self.chance, lambda group: max(map(len, group.passages))
        )
        while True:
            grouped = self.chance.random() < self.share
            yield self._of_groups(next(groups)) if grouped else self._of_pairs(next(pairs))

    def _of_pairs(self, rows: list[Pair]) -> dict:
        """`answerable` is what is known or thought; `known` says of which rows the span teaches."""
        made, first, last, known, answerable = [], [], [], [], []
        for row in rows:
            room = PAIR_MOST - min(QUESTION_MOST, len(row.question)) - 3
            somewhere = row.span is None and row.opinion is not None and row.opinion > 0.5
            small = self.chance.random() < self.cropped and not somewhere
            passage, span = crop(row.passage, row.span, room, self.chance, small=small)
            ids, begin = join_pieces(self._as_typed(row.question), passage)
            made.append((ids, begin))
            known.append(span is not None or not row.answerable)
            first.append(begin + span[0] if span else 0)
            last.append(begin + span[1] if span else 0)
            answerable.append(float(bool(row.answerable)) if row.opinion is None else row.opinion)
        return {
            "kind": "pairs",
            "texts": pad(made),
            "first": np.array(first),
            "last": np.array(last),
            "known": np.array(known),
            "answerable": np.array(answerable, np.float32),
        }

    def _of_groups(self, rows: list[Group]) -> dict:
        """`wanted` is what each passage weighs in the order, `answerable` what is known or thought."""
        made, first, last, known = [], [], [], []
        for row in rows:
            small = self.chance.random() < self.cropped and not _somewhere(row)
            question = self._as_typed(row.question)
            for n, passage in enumerate(row.passages):
                room = PAIR_MOST - min(QUESTION_MOST, len(row.question)) - 3
                part, span = crop(passage, row.span if n == 0 else None, room, self.chance, small=small)
                made.append(join_pieces(question, part))
                if n == 0:
                    known.append(span is not None)
                    first.append(made[-1][1] + span[0] if span else 0)
                    last.append(made[-1][1] + span[1] if span else 0)
        meant = [_meant(row) for row in rows]
        return {
            "kind": "groups",
            "texts": pad(made),
            "many": len(rows[0].passages),
            "first": np.array(first),
            "last": np.array(last),
            "known": np.array(known),
            "wanted": np.array([wanted for wanted, _ in meant], np.float32),
            "answerable": np.array([answerable for _, answerable in meant], np.float32),
        }

    def _as_typed(self, question: np.ndarray) -> np.ndarray:
        """Half of the time without its question mark: how a question is typed says nothing of its answer."""
        return drop_mark(question) if self.chance.random() < UNMARKED else question


def _somewhere(row: Group) -> bool:
    """Whether a passage answers at a place that nobody knows, so that a small crop might lose it."""
    if row.odds is None:
        return False
    return any(odds > 0 and (n > 0 or row.span is None) for n, odds in enumerate(row.odds))


def _meant(row: Group) -> tuple[np.ndarray, np.ndarray]:
    """What each passage of a group weighs in the order, and the chance that it answers."""
    first = np.eye(len(row.passages))[0]
    if row.odds is None:
        return first, np.where(first, 0.97, 0.03)
    odds = np.array(row.odds)
    shares = np.exp((odds - odds.max()) / 2)
    return 0.5 * first + shares / shares.sum(), opinion(odds)


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


def loss_of(out: dict[str, Tensor], batch: dict) -> Tensor:
    return loss_of_pairs(out, batch) if batch["kind"] == "pairs" else loss_of_groups(out, batch)


def loss_of_pairs(out: dict[str, Tensor], batch: dict) -> Tensor:
    """That there is an answer, by its chance; and where, as far as there is one and its place is known.

    For chances of 0 and 1 this is the cross-entropy among all places, "no answer" being one of them.
    """
    known, chance = batch["known"], batch["answerable"]
    null, places = out["span"][:, 0], out["span"][:, 1:]
    somewhere = places.logsumexp(1)
    right = torch.stack((batch["first"], batch["last"]), 1)
    there = places.gather(1, (right.clamp(min=1) - 1)[:, None])[:, 0]
    spans = F.binary_cross_entropy_with_logits(
        somewhere - null, chance[:, None].expand_as(null), reduction="none"
    ) + torch.where(right > 0, chance[:, None] * (somewhere - there), 0.0)
    spans = (spans.mean(1) * known).sum() / known.sum().clamp(min=1)
    return spans + F.binary_cross_entropy_with_logits(out["answerable"], chance)


def loss_of_groups(out: dict[str, Tensor], batch: dict) -> Tensor:
    first, last, known, wanted = (batch[name] for name in ("first", "last", "known", "wanted"))
    rank, answerable = (out[name].view(wanted.shape) for name in ("rank", "answerable"))
    total = -(wanted * rank.log_softmax(1)).sum(1).mean()
    # One passage of a group answers; it counts as much as all others, so that no prior is learnt from groups.
    even = torch.full_like(answerable, wanted.shape[1] - 1)
    total = total + 0.3 * F.binary_cross_entropy_with_logits(answerable, batch["answerable"], pos_weight=even)
    span = out["span"].clone()
    span[:, 0] = FAR
    flat = span.view(len(rank), -1, 2)  # the answer is sought in all passages of the group at once
    spans = F.cross_entropy(flat[..., 0], first, reduction="none") + F.cross_entropy(
        flat[..., 1], last, reduction="none"
    )
    return total + 0.5 * (spans * known).sum() / known.sum().clamp(min=1) / 2


def compare_scores(mine: Tensor, theirs: list[Tensor]) -> Tensor:
    """How far the student's span is from what the teachers say on average."""
    meant = torch.stack([one.softmax(1) for one in theirs]).mean(0)
    return -(meant * mine.log_softmax(1)).sum(1).mean()


def distil_loss(out: dict[str, Tensor], said: list[dict[str, Tensor]], batch: dict) -> Tensor:
    """How far the student is from what the teachers say on average."""
    total = compare_scores(out["span"], [s["span"] for s in said])
    meant = torch.stack([s["answerable"].sigmoid() for s in said]).mean(0)
    total = total + F.binary_cross_entropy_with_logits(out["answerable"], meant)
    if batch["kind"] == "groups":
        meant = torch.stack([s["rank"].view(-1, batch["many"]).softmax(-1) for s in said]).mean(0)
        total = total - (meant * out["rank"].view(-1, batch["many"]).log_softmax(-1)).sum(-1).mean()
        near = torch.stack([s["rank"] for s in said]).mean(0)
        total = total + 0.02 * F.smooth_l1_loss(out["rank"], near)
    return total


def distil_span_loss(out: dict[str, Tensor], said: list[dict[str, Tensor]]) -> Tensor:
    """How far the student is from the teachers in the words alone, whether or not they answer."""
    return compare_scores(out["span"][:, 1:], [s["span"][:, 1:] for s in said])


def load_model(base: dict[str, Tensor], path: Path | None, device: str) -> Encoder:
    model = Encoder(base, HEADS)
    if path is not None:
        model.load_state_dict({k: v.float() for k, v in load_file(path).items()}, strict=False)
    return model.to(device)


def examples(said: argparse.Namespace) -> Batches:
    corpus = Corpus(said.data, said.tokenizer, seed=said.seed)
    if said.labels:
        pairs = corpus.judged_pairs(said.labels, own=said.own)
        groups = corpus.judged_groups(said.labels, negatives=NEGATIVES, own=said.own)
    else:
        pairs, groups = corpus.pairs(near=said.near), corpus.groups(negatives=NEGATIVES)
    judged = sum(p.opinion is not None for p in pairs), sum(g.odds is not None for g in groups)
    print(f"{len(pairs):,} pairs ({judged[0]:,} judged), {len(groups):,} groups ({judged[1]:,})", flush=True)
    return Batches(pairs, groups, seed=said.seed, share=said.share)


def train(said: argparse.Namespace) -> Encoder:
    device = choose_device(said.seed)
    base = load_file(said.base)
    model = load_model(base, said.start, device)
    teachers = [load_model(base, Path(p), device).eval() for p in said.teachers.split(",") if p]

    def loss(batch: dict) -> Tensor:
        with torch.autocast(device, torch.bfloat16):
            out = outputs(model, *batch["texts"])
        own = loss_of(out, batch)
        if not teachers:
            return own
        with torch.no_grad(), torch.autocast(device, torch.bfloat16):
            meant = [outputs(t, *batch["texts"]) for t in teachers]
        if said.labels:
            return own + 0.5 * distil_span_loss(out, meant)
        return 0.3 * own + distil_loss(out, meant, batch)

    for _ in learn(model, examples(said), loss, said):
        pass
    return model


def main() -> None:
    known = options(__doc__, steps=7000)
    known.add_argument("--near", type=int, default=24_000, help="near misses made by rule, without --labels")
    known.add_argument("--share", type=float, default=0.5, help="of the steps that are groups")
    known.add_argument("--teachers", default="", help="trained readers to learn from, with commas between")
    said = known.parse_args()
    model = train(said)
    write(model, said.out)
    if said.dev:
        import measure

        print(json.dumps(measure.reader(model, said.dev, said.tokenizer)), flush=True)


if __name__ == "__main__":
    main()
