"""Trains the large model, which reads and verifies, and beside it the small reader and the small verifier.

    python training/large.py --packed PACKED --small SMALL --data DATA --labels LABELS --out OUT \\
        --seconds 1400

One encoder of 109 million parameters has four heads: the words that answer, the order of passages, whether a
passage answers, and whether it bears a claim out. It begins with people's data while the teacher
(`teacher.py`) loads, waits while the teacher works, and goes on with the teacher's opinions as soon as
LABELS/done is there. From then on two small models learn, on the same batches, to say what it says.
`--seconds` counts from the start of the second part; the learning rate falls to nothing with it. A number in
LABELS/seconds takes its place at any time.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mpnet
import numpy as np
import reader
import torch
import torch.nn.functional as F  # noqa: N812
import verifier
from data import Corpus, Group, Pair, join_pieces, opinion, pad, read_judgements
from encoder import Encoder
from learning import TOKENIZER, batch_by_length, choose_device, move
from lessons import Material, Written, WrittenPassage, read_written
from measure import Reading, auroc
from safetensors.torch import save_file
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset, get_worker_info
from verifier import CLAIM_MOST, Claim

HEADS = {"span": 2, "rank": 1, "answerable": 1, "support": 1}
PAIRS, GROUPS, CLAIMS = 128, 32, 160
CONTRASTS = 64
SHARES = (0.32, 0.32, 0.2, 0.16)
READ_MOST = 320
WARMING = 300
OFTEN = 4  # times that what a strong model wrote is repeated


Contrast = tuple[Claim, Claim]


class Batches(IterableDataset):
    """Pairs, groups, claims and contrasts by turns, in batches of about the same length, without end.

    A contrast is an honest claim and a lie about the same passage.
    """

    def __init__(
        self,
        pairs: list[Pair],
        groups: list[Group],
        claims: list[Claim],
        contrasts: Sequence[Contrast] = (),
        *,
        seed: int,
    ) -> None:
        self.reading = reader.Batches(pairs, groups, seed=seed, share=0.5)
        self.claims, self.contrasts, self.seed = claims, contrasts, seed

    def __iter__(self) -> Iterator[dict]:
        worker = get_worker_info()
        chance = random.Random(77 * self.seed + (worker.id if worker else 0))
        self.reading.chance = chance
        pairs = batch_by_length(self.reading.pairs, PAIRS, chance, lambda pair: len(pair.passage))
        groups = batch_by_length(self.reading.groups, GROUPS, chance, lambda g: max(map(len, g.passages)))
        claims = batch_by_length(self.claims, CLAIMS, chance, lambda claim: len(claim.passage))
        shares = SHARES if self.contrasts else (*SHARES[:2], sum(SHARES[2:]), 0.0)
        both = batch_by_length(self.contrasts, CONTRASTS, chance, lambda contrast: len(contrast[0].passage))
        while True:
            kind = chance.choices(range(4), shares)[0]
            if kind == 0:
                yield self.reading._of_pairs(next(pairs))
            elif kind == 1:
                yield self.reading._of_groups(next(groups))
            elif kind == 2:
                yield join_claims(next(claims))
            else:
                given = [claim for contrast in next(both) for claim in contrast]
                yield join_claims(given) | {"kind": "contrasts"}


def join_claims(given: Sequence[Claim]) -> dict:
    made = [join_pieces(c.claim, c.passage[: READ_MOST - CLAIM_MOST], most=CLAIM_MOST) for c in given]
    supported = np.array([c.supported for c in given], np.float32)
    return {"kind": "claims", "texts": pad(made), "supported": supported}


def list_written_claims(corpus: Corpus, given: Sequence[WrittenPassage]) -> list[Claim]:
    """What a strong model wrote: with the whole passage, and with what is around the cited sentences.

    An honest claim without the sentences that it cites is hardly borne out.
    """
    texts: list[tuple[str, str, float]] = []
    for row in given:
        whole = f"{row.heading}: {row.passage}" if corpus.chance.random() < 0.5 else row.passage
        for claim in row.claims:
            cited = [n - 1 for n in claim["s"]]
            near = range(max(0, min(cited) - 1), min(len(row.sentences), max(cited) + 2))
            window = " ".join(row.sentences[n] for n in near)
            target = 0.97 if claim["honest"] else 0.02
            texts += [(claim["c"], whole, target), (claim["c"], window, target)]
            left = [s for n, s in enumerate(row.sentences) if n not in cited]
            if claim["honest"] and len(left) > 1 and corpus.chance.random() < 0.3:
                texts.append((claim["c"], " ".join(left), 0.1))
    return make_claims(corpus, texts)


def list_contrasts(corpus: Corpus, given: Sequence[WrittenPassage]) -> list[Contrast]:
    """Each lie beside an honest claim about the same passage, one with the same sentences if there is one."""
    texts: list[tuple[str, str, float]] = []
    for row in given:
        honest = [claim for claim in row.claims if claim["honest"]]
        for lie in (claim for claim in row.claims if not claim["honest"]):
            alike = [claim for claim in honest if claim["s"] == lie["s"]] or honest
            if alike:
                true = corpus.chance.choice(alike)
                cited = [n - 1 for n in (*true["s"], *lie["s"])] or [0]
                near = range(max(0, min(cited) - 1), min(len(row.sentences), max(cited) + 2))
                window = " ".join(row.sentences[n] for n in near)
                for text in (row.passage, window):
                    texts += [(true["c"], text, 0.97), (lie["c"], text, 0.02)]
    made = make_claims(corpus, texts)
    return list(zip(made[::2], made[1::2], strict=True))


def make_claims(corpus: Corpus, texts: Sequence[tuple[str, str, float]]) -> list[Claim]:
    mine, theirs = (corpus.texts(t[k] for t in texts) for k in (0, 1))
    return [Claim(a.pieces, b.pieces, t[2]) for a, b, t in zip(mine, theirs, texts, strict=True)]


def list_written_reading(
    corpus: Corpus, material: Material, given: Sequence[WrittenPassage], device: str
) -> tuple[list[Pair], list[Group]]:
    """Questions that a strong model wrote: with their passage, and beside others of the same book."""
    pairs, groups = [], []
    asked = [(row, q) for row in given for q in row.questions]
    questions = corpus.texts(q["q"] for _, q in asked)
    passages = corpus.texts(row.passage for row, _ in asked)
    spans = {}
    for (row, q), question, passage in zip(asked, questions, passages, strict=True):
        start = row.passage.find(q["a"]) if q["a"] else -1
        span = corpus.span(passage, {"s": start, "a": q["a"]}) if start >= 0 else None
        if q["a"] and span is None:
            continue
        pairs.append(Pair(question.pieces, passage.pieces, span, bool(q["a"])))
        spans[q["q"], row.passage] = span
    wanted = [Written(row.passage, "", "written", row.book, q["q"]) for row, q in asked if q["a"]]
    found = material.near(wanted, reader.NEGATIVES, device)
    corpus.texts(text for row in found for text in row["t"])
    for row in found:
        texts = corpus.texts(row["t"])
        question = corpus.texts([row["q"]])[0]
        span = spans.get((row["q"], row["t"][0]))
        groups.append(Group(question.pieces, tuple(t.pieces for t in texts), span))
    return pairs, groups


def list_taught_claims(corpus: Corpus, labels: Path) -> list[Claim]:
    """Statements that the teacher wrote: what it meant counts beside what it thinks of them afterwards."""
    texts = []
    for row in read_judgements(labels / "claims.jsonl.xz"):
        if row["kind"].startswith(("true", "false")):
            meant = 2.0 if row["kind"] == "true" else -2.0
            texts.append((row["h"], row["p"], float(opinion(row["z"] + meant))))
    return make_claims(corpus, texts)


def examples(
    said: argparse.Namespace, corpus: Corpus, model: mpnet.LargeEncoder | None, device: str
) -> Batches:
    """What is learnt: without a model, people's data; with one, the teacher's opinions as well."""
    written = read_written(said.data, "fit")
    material = Material(said.data, seed=said.seed)
    own_pairs, own_groups = list_written_reading(corpus, material, written, device)
    claims = OFTEN * list_written_claims(corpus, written)
    options = {"skip": "", "made": 40_000, "own": 1.0}
    if model is None:
        pairs, groups = corpus.pairs(near=16_000), corpus.groups(negatives=reader.NEGATIVES)
        claims += verifier.claims(corpus, SimpleNamespace(labels=None, **options))
    else:
        pairs = corpus.judged_pairs(said.labels, own=0.7)
        groups = corpus.judged_groups(said.labels, negatives=reader.NEGATIVES, own=0.7)
        reading = Reading(model, said.tokenizer)
        claims += verifier.statements(corpus, said.labels, reading)
        claims += list_taught_claims(corpus, said.labels)
        claims += verifier.claims(corpus, SimpleNamespace(labels=said.labels, **options))
        model.train()
    pairs += OFTEN * own_pairs
    groups += OFTEN * own_groups
    contrasts = list_contrasts(corpus, written)
    many = f"{len(claims):,} claims, {len(contrasts):,} contrasts"
    print(f"{len(pairs):,} pairs, {len(groups):,} groups, {many}", flush=True)
    return Batches(pairs, groups, claims, contrasts, seed=said.seed + (model is not None))


def loss_of(model: torch.nn.Module, batch: dict) -> tuple[Tensor, dict[str, Tensor]]:
    with torch.autocast(batch["texts"][0].device.type, torch.bfloat16):
        if "supported" in batch:
            out = {"support": model(*batch["texts"])["support"][:, 0, 0].float()}
        else:
            out = reader.outputs(model, *batch["texts"])
    if "supported" in batch:
        loss = F.binary_cross_entropy_with_logits(out["support"], batch["supported"])
        if batch["kind"] == "contrasts":
            loss = loss + F.softplus(out["support"][1::2] - out["support"][::2]).mean()
        return loss, out
    return reader.loss_of(out, batch), out


def load_small(folder: Path, name: str, heads: dict[str, int], device: str) -> Encoder:
    """The small model of this name that `unpack_small.py` wrote, with its heads."""
    found = mpnet.unpack(folder / "words.npz", folder / f"{name}.npz")
    tensors = {n: torch.from_numpy(np.asarray(t, np.float32)) for n, t in found.items()}
    model = Encoder(tensors, heads)
    model.load_state_dict({n: t for n, t in tensors.items() if n.startswith("head.")}, strict=False)
    return model.to(device)


class Students:
    """The small reader and the small verifier, which learn from the large model's outputs."""

    def __init__(self, folder: Path, device: str, *, rate: float) -> None:
        self.models = {
            name: load_small(folder, name, heads, device).train()
            for name, heads in (("reader", reader.HEADS), ("verifier", {"support": 1}))
        }
        self.rate = rate
        learning = [p for m in self.models.values() for p in m.parameters() if p.requires_grad]
        self.learning = learning
        self.optimizer = torch.optim.AdamW(
            learning, lr=rate, weight_decay=0.01, betas=(0.9, 0.98), fused=device == "cuda"
        )

    def step(self, batch: dict, theirs: dict[str, Tensor], share: float) -> None:
        name = "verifier" if "supported" in batch else "reader"
        own, out = loss_of(self.models[name], batch)
        theirs = {k: t.detach() for k, t in theirs.items()}
        if name == "verifier":
            loss = 0.3 * own + F.binary_cross_entropy_with_logits(out["support"], theirs["support"].sigmoid())
        else:
            loss = 0.3 * own + reader.distil_loss(out, [theirs], batch)
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate * share
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.learning, 1.0)
        self.optimizer.step()


def loader(batches: Batches, workers: int, *, on_gpu: bool) -> Any:
    ahead = 4 if workers else None
    return iter(
        DataLoader(batches, batch_size=None, num_workers=workers, pin_memory=on_gpu, prefetch_factor=ahead)
    )


class Learner:
    def __init__(self, said: argparse.Namespace, device: str) -> None:
        self.said, self.device = said, device
        self.base = mpnet.unpack(said.packed)
        self.model = mpnet.LargeEncoder(self.base, HEADS).to(device)
        self.learning = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(
            self.learning, lr=said.lr, weight_decay=0.01, betas=(0.9, 0.98), fused=device == "cuda"
        )
        self.steps = 0
        self.losses: dict[str, list[float]] = {}

    def step(self, batch: dict, share: float) -> dict[str, Tensor]:
        self.steps += 1
        for group in self.optimizer.param_groups:
            group["lr"] = self.said.lr * share * min(1.0, self.steps / WARMING)
        loss, out = loss_of(self.model, batch)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.learning, 1.0)
        self.optimizer.step()
        if self.steps % 20 == 0:
            self.losses.setdefault(batch["kind"], []).append(loss.item())
        if self.steps % 400 == 0:
            mean = {kind: round(float(np.mean(seen[-20:])), 3) for kind, seen in self.losses.items()}
            print(f"step {self.steps} {mean} {time.strftime('%X')}", flush=True)
        return out


def measure_all(model: torch.nn.Module, said: argparse.Namespace, corpus: Corpus) -> dict[str, Any]:
    """Reading, groundedness, and the claims of the books of the tune part."""
    found: dict[str, Any] = {}
    if not isinstance(model, Encoder) or "span" in model.head:
        found |= measure_reading(model, said)
    if "support" in model.head:
        found |= verifier.measure_model(model, corpus, said.dev)
        found |= measure_claims(model, said, corpus)
    model.train()
    return found


def measure_reading(model: torch.nn.Module, said: argparse.Namespace) -> dict[str, Any]:
    import measure

    return measure.reader(model, said.dev, said.tokenizer)


@torch.no_grad()
def measure_claims(model: torch.nn.Module, said: argparse.Namespace, corpus: Corpus) -> dict[str, float]:
    model.eval()
    device = next(model.parameters()).device
    texts, honest, kinds = [], [], []
    for row in read_written(said.data, "tune"):
        for claim in row.claims:
            texts.append((claim["c"], row.passage, 0.0))
            honest.append(bool(claim["honest"]))
            kinds.append("own words" if row.own_words else "tune claims")
    given = make_claims(corpus, texts)
    scores: list[float] = []
    for first in range(0, len(given), 128):
        batch = move(join_claims_tensor(given[first : first + 128]), str(device))
        with torch.autocast(device.type, torch.bfloat16):
            scores += model(*batch)["support"][:, 0, 0].float().tolist()
    found = {}
    for kind in sorted(set(kinds)):
        mine = [(s, h) for s, h, k in zip(scores, honest, kinds, strict=True) if k == kind]
        lies = sorted(s for s, h in mine if not h)
        found[kind] = round(auroc(*zip(*mine, strict=True)), 4)
        for share in (0.01, 0.02, 0.05):
            limit = lies[int(len(lies) * (1 - share))]
            found[f"{kind} kept at {share}"] = round(float(np.mean([s > limit for s, h in mine if h])), 3)
    return found


def join_claims_tensor(given: Sequence[Claim]) -> list[Tensor]:
    return [torch.as_tensor(t) for t in join_claims(given)["texts"]]


def wait_for(path: Path) -> None:
    while not path.exists():
        time.sleep(0.5)


def train(said: argparse.Namespace) -> None:
    device = choose_device(said.seed)
    learner = Learner(said, device)
    corpus = Corpus(said.data, said.tokenizer, seed=said.seed)
    given = loader(examples(said, corpus, None, device), said.workers, on_gpu=device == "cuda")
    print(f"first part begins {time.strftime('%X')}", flush=True)
    while not (said.labels / "begun").exists() and learner.steps < said.first:
        learner.step(move(next(given), device), 1.0)
    del given
    print(f"first part ends after {learner.steps} steps {time.strftime('%X')}", flush=True)
    print(json.dumps(measure_all(learner.model, said, corpus)), flush=True)
    wait_for(said.labels / "done")
    began = time.monotonic()
    students = Students(said.small, device, rate=said.student_lr)
    given = loader(examples(said, corpus, learner.model, device), said.workers, on_gpu=device == "cuda")
    print(f"second part begins {time.strftime('%X')}, ready in {time.monotonic() - began:.0f} s", flush=True)
    first, saved = learner.steps, time.monotonic()
    seconds = said.seconds
    while (done := (time.monotonic() - began) / seconds) < 1 and learner.steps - first < said.second:
        if learner.steps % 20 == 0 and (said.labels / "seconds").exists():
            seconds = float((said.labels / "seconds").read_text())
        share = max(0.02, 1 - done)
        batch = move(next(given), device)
        students.step(batch, learner.step(batch, share), share)
        if time.monotonic() - saved > 120:
            keep(learner, students, said)
            saved = time.monotonic()
    print(f"second part ends after {learner.steps} steps {time.strftime('%X')}", flush=True)
    keep(learner, students, said)
    (said.out / "kept").touch()
    for name, model in (("large", learner.model), *students.models.items()):
        print(name, json.dumps(measure_all(model, said, corpus)), flush=True)
    (said.out / "done").touch()


def keep(learner: Learner, students: Students, said: argparse.Namespace) -> None:
    mpnet.write_changes(learner.model, learner.base, said.out / "large")
    for name, model in students.models.items():
        save_file(model.list_learned(), said.out / f"{name}.safetensors")


def main() -> None:
    known = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known.add_argument("--packed", type=Path, required=True, help="what mpnet.py wrote")
    known.add_argument("--small", type=Path, required=True, help="folder with the small models to go on from")
    known.add_argument("--data", type=Path, required=True)
    known.add_argument("--labels", type=Path, required=True, help="folder that the teacher writes to")
    known.add_argument("--dev", type=Path, required=True)
    known.add_argument("--out", type=Path, required=True)
    known.add_argument("--tokenizer", type=Path, default=TOKENIZER)
    known.add_argument("--seed", type=int, default=1)
    known.add_argument("--lr", type=float, default=6e-5)
    known.add_argument("--student-lr", type=float, default=1.5e-4)
    known.add_argument("--seconds", type=float, default=600, help="of the second part")
    known.add_argument("--first", type=int, default=100_000, help="most steps of the first part")
    known.add_argument("--second", type=int, default=100_000, help="most steps of the second part")
    known.add_argument("--workers", type=int, default=6)
    said = known.parse_args()
    said.out.mkdir(parents=True, exist_ok=True)
    train(said)


if __name__ == "__main__":
    main()
