"""Trains the large verifier: whether sentences of a book bear out what a language model says of them.

    python training/large_verifier.py --packed FOLDER --data DATA --labels LABELS --dev DEV --out OUT \\
        --seconds 1200 [--seed 1]
    python training/large_verifier.py --packed FOLDER --join OUT1/verifier.safetensors,OUT2/… --out OUT

FOLDER is what `unpack_large.py` wrote: the run goes on from the large model that ships. DATA has the claims
with the books' words in them (`written.py expand`), LABELS the teacher's opinions (`labels.py expand`).
Without LABELS no judged questions are learnt.
`--join` averages runs that began alike and writes the differences from FOLDER for `export.py`.

It learns the written claims, evenly weighed as `gate_verifier.py` has it, each several times with other
sentences around; two claims of a passage as one, which is honest if both are; people's inference data; rules'
changes of sentences; and judged questions with their answers as statements.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import mpnet
import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
import verifier
from data import LEFT_OUT, Corpus, join_pieces, pad, rows
from gate_verifier import BORNE_OUT, Lesson, cut_window, list_written, weigh
from large import Contrast, list_contrasts, loader, measure_claims
from learning import TOKENIZER, add_schedule, batch_by_length, choose_device, move
from lessons import read_written
from measure import Reading, auroc_by_set
from safetensors.torch import load_file, save_file
from torch.utils.data import IterableDataset, get_worker_info
from verifier import Claim

HEADS = {"span": 2, "rank": 1, "answerable": 1, "support": 1}
BATCH, CLAIM_MOST, PAIR_MOST = 96, 80, 384
DRAWS, MADE, STATED, WARMING = 4, 16_000, 20_000, 300
WHOLE = 0.4
# How many claims of each of people's sets are learnt; the others are learnt whole.
BOUNDED = {"mnli_part": 14_000, "snli": 4_000}
STRIDE = 160


@dataclass(frozen=True, slots=True)
class Weighed:
    claim: np.ndarray
    passage: np.ndarray
    supported: float
    weight: float


class Batches(IterableDataset):
    """Batches of about the same length, without end: claims, and every other one of contrasts."""

    def __init__(self, given: list[Weighed], contrasts: list[Contrast], *, seed: int) -> None:
        self.given, self.contrasts, self.seed = given, contrasts, seed

    def __iter__(self) -> Iterator[dict]:
        worker = get_worker_info()
        chance = random.Random(1000 * self.seed + (worker.id if worker else 0))
        claims = batch_by_length(self.given, BATCH, chance, lambda c: len(c.passage))
        both = batch_by_length(self.contrasts, BATCH // 2, chance, lambda c: len(c[0].passage))
        while True:
            yield self._join([(c, c.weight) for c in next(claims)], contrasts=False)
            if self.contrasts:
                yield self._join([(c, 1.0) for contrast in next(both) for c in contrast], contrasts=True)

    def _join(self, given: Sequence[tuple[Weighed | Claim, float]], *, contrasts: bool) -> dict:
        room = PAIR_MOST - CLAIM_MOST
        return {
            "texts": pad([join_pieces(c.claim, c.passage[:room], most=CLAIM_MOST) for c, _ in given]),
            "supported": np.array([c.supported for c, _ in given], np.float32),
            "weight": np.array([weight for _, weight in given], np.float32),
            "contrasts": contrasts,
        }


def list_joined(data: Path, chance: random.Random) -> list[Lesson]:
    """Two claims of one passage as one: it is borne out only where both are."""
    found = []
    for row in rows(data / "written.jsonl.xz"):
        if row["part"] != "fit" or len(row["claims"]) < 2:
            continue
        for _ in range(3):
            both = chance.sample(row["claims"], 2)
            cited = [n - 1 for claim in both for n in claim["s"]] or [0]
            window = cut_window(row["heading"], row["sentences"], cited, chance, whole=WHOLE)
            honest = all(claim["honest"] for claim in both)
            found.append(Lesson(" ".join(claim["c"] for claim in both), window, float(honest)))
    return weigh(found)


def list_made(data: Path, chance: random.Random) -> list[Lesson]:
    """Claims in the passages' own words, made by rule."""
    found = []
    for row in rows(data / "made.jsonl.xz"):
        window = cut_window(row["heading"], row["sentences"], [row["at"]], chance, whole=WHOLE)
        found.append(Lesson(row["c"], window, float(row["honest"]), 0.4))
    return found


def list_people(data: Path, chance: random.Random) -> list[Lesson]:
    by_set: dict[str, list[Lesson]] = {}
    for row in rows(data / "nli.jsonl.xz"):
        if row["set"] not in LEFT_OUT:
            lesson = Lesson(row["h"], row["p"], float(row["y"] in BORNE_OUT), 0.7)
            by_set.setdefault(row["set"], []).append(lesson)
    return [
        lesson
        for name, given in sorted(by_set.items())
        for lesson in chance.sample(given, min(BOUNDED.get(name, len(given)), len(given)))
    ]


def list_lessons(said: argparse.Namespace, corpus: Corpus, model: mpnet.LargeEncoder) -> list[Weighed]:
    chance = random.Random(said.seed)
    lessons = [lesson for _ in range(DRAWS) for lesson in list_written(said.data, chance, whole=WHOLE)]
    lessons += list_joined(said.data, chance) + list_people(said.data, chance)
    if said.made:
        lessons += list_made(said.data, chance)
    lessons += [Lesson(c, p, y, 0.7) for c, p, y in verifier.make_claims(corpus, MADE)]
    mine, theirs = (corpus.texts(getattr(lesson, k) for lesson in lessons) for k in ("claim", "passage"))
    found = [
        Weighed(a.pieces, b.pieces, lesson.supported * 0.95 + 0.025, lesson.weight)
        for a, b, lesson in zip(mine, theirs, lessons, strict=True)
    ]
    if said.labels:
        stated = verifier.statements(corpus, said.labels, Reading(model, said.tokenizer))
        chosen = chance.sample(stated, min(STATED, len(stated)))
        found += [Weighed(c.claim, c.passage, c.supported, 0.5) for c in chosen]
    print(f"{len(found):,} claims", flush=True)
    return found


@torch.no_grad()
def measure_grounded(model: torch.nn.Module, corpus: Corpus, dev: Path) -> dict[str, float]:
    """AUROC on each set of `grounded.jsonl.xz`: a claim is as good as the best part of its passage says."""
    model.eval()
    device = next(model.parameters()).device
    given = list(rows(dev / "grounded.jsonl.xz"))
    mine, theirs = (corpus.texts([g[k] for g in given]) for k in ("c", "p"))
    room = PAIR_MOST - CLAIM_MOST
    made, owner = [], []
    for n, (a, b) in enumerate(zip(mine, theirs, strict=True)):
        for start in range(0, max(1, len(b.pieces) - room + STRIDE), STRIDE):
            made.append(join_pieces(a.pieces, b.pieces[start : start + room], most=CLAIM_MOST))
            owner.append(n)
    best = np.full(len(given), -99.0)
    order = sorted(range(len(made)), key=lambda k: len(made[k][0]))
    for first in range(0, len(order), 128):
        part = order[first : first + 128]
        texts = [torch.as_tensor(t, device=device) for t in pad([made[k] for k in part])]
        with torch.autocast(device.type, torch.bfloat16):
            scores = model(*texts)["support"][:, 0, 0].float().tolist()
        for k, score in zip(part, scores, strict=True):
            best[owner[k]] = max(best[owner[k]], score)
    model.train()
    return auroc_by_set(given, best.tolist())


def read_base(folder: Path) -> dict[str, np.ndarray]:
    return mpnet.unpack(*sorted(folder.glob("part-*.npz")))


def write_model(model: torch.nn.Module, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    held = {n: t.detach().float().cpu().contiguous() for n, t in model.state_dict().items()}
    save_file({n: t for n, t in held.items() if n not in (mpnet.WORDS, mpnet.DISTANCES)}, out / "tmp")
    (out / "tmp").replace(out / "verifier.safetensors")


def train(said: argparse.Namespace) -> None:
    device = choose_device(said.seed)
    model = mpnet.LargeEncoder(read_base(said.packed), HEADS).to(device)
    corpus = Corpus(said.data, said.tokenizer, seed=said.seed)
    contrasts = list_contrasts(corpus, read_written(said.data, "fit"))
    batches = Batches(list_lessons(said, corpus, model), contrasts, seed=said.seed)
    given = loader(batches, said.workers, on_gpu=device == "cuda")
    model.train()
    learning = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(
        learning, lr=said.lr, weight_decay=0.01, betas=(0.9, 0.98), fused=device == "cuda"
    )
    began, mean, step, measured = time.monotonic(), 0.7, 0, 0
    while (done := max((time.monotonic() - began) / said.seconds, step / said.steps)) < 1:
        batch = move(next(given), device)
        for group in optimizer.param_groups:
            group["lr"] = said.lr * min(1.0, (step + 1) / WARMING) * max(0.02, 1 - done)
        with torch.autocast(device, torch.bfloat16):
            out = model(*batch["texts"])["support"][:, 0, 0]
        losses = F.binary_cross_entropy_with_logits(out.float(), batch["supported"], reduction="none")
        loss = (losses * batch["weight"]).mean()
        if batch["contrasts"]:
            loss = loss + F.softplus(out[1::2].float() - out[::2].float()).mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learning, 1.0)
        optimizer.step()
        step += 1
        if step % 50 == 0:
            mean = 0.8 * mean + 0.2 * loss.item()
        if step % 500 == 0:
            print(f"step {step} loss {mean:.3f} {time.monotonic() - began:.0f} s", flush=True)
        if int(done * 4) > measured:
            measured = int(done * 4)
            print(json.dumps(measure_grounded(model, corpus, said.dev)), flush=True)
            print(json.dumps(measure_claims(model, said, corpus)), flush=True)
            model.train()
            write_model(model, said.out)
    print(f"{step} steps", flush=True)
    write_model(model, said.out)
    print(json.dumps(measure_claims(model, said, corpus)), flush=True)
    print(json.dumps(measure_grounded(model, corpus, said.dev)), flush=True)
    (said.out / "done").touch()


def join(said: argparse.Namespace) -> None:
    """Average runs, measure the average, and write its differences from where they began."""
    base = read_base(said.packed)
    runs = [load_file(path) for path in said.join.split(",")]
    model = mpnet.LargeEncoder(base, HEADS)
    mean = {name: torch.stack([run[name] for run in runs]).mean(0) for name in runs[0]}
    model.load_state_dict(mean, strict=False)
    for name in ("span", "rank", "answerable"):
        del model.head[name]
    mpnet.write_changes(model, base, said.out)
    if said.dev:
        device = choose_device(said.seed)
        corpus = Corpus(said.data, said.tokenizer, seed=said.seed)
        model = model.to(device)
        print(json.dumps(measure_claims(model, said, corpus)), flush=True)
        print(json.dumps(measure_grounded(model, corpus, said.dev)), flush=True)


def main(given: Sequence[str] | None = None) -> None:
    known = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known.add_argument("--packed", type=Path, required=True, help="folder that unpack_large.py wrote")
    known.add_argument("--data", type=Path)
    known.add_argument("--labels", type=Path)
    known.add_argument("--dev", type=Path)
    known.add_argument("--out", type=Path, required=True)
    known.add_argument("--join", default="", help="runs to average, with commas between")
    known.add_argument("--tokenizer", type=Path, default=TOKENIZER)
    known.add_argument("--made", action="store_true", help="learn DATA/made.jsonl.xz too (`own_words.py`)")
    add_schedule(known, lr=3e-5, seconds=1200.0, workers=4)
    said = known.parse_args(given)
    if said.join:
        join(said)
    else:
        train(said)


if __name__ == "__main__":
    main()
