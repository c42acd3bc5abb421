"""Trains the small verifier on: the claims written about books, so that its word counts in the gate.

    python training/gate_verifier.py --small SMALL --data DATA --out OUT.npz --seconds 2850

SMALL is what `unpack_small.py` wrote, DATA the training folder with `written.jsonl.xz` (`written.py
expand`). It needs no GPU: bfloat16, one thread, the word embeddings and the first three layers left as they
are.

The written claims count so that the share of a claim's words that the passage has does not tell the label:
in each band of that share honest claims and lies weigh the same. Beside them there are sentences of the
passages themselves (borne out), honest claims without the sentences that they cite (not borne out), and
people's inference data, so that what was learnt before is not lost. OUT.npz has the tensors as `export.py`
reads them.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import encoder
import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from data import LEFT_OUT, join_pieces, load_tokenizer, pad, rows, tokenize
from encoder import Encoder, Layer
from learning import TOKENIZER, batch_by_length
from mpnet import unpack
from torch import Tensor

from octavo.verification.words import read_words

BATCH, CLAIM_MOST, PAIR_MOST, BANDS = 24, 64, 192, 8
WARMING, SAVING, FROZEN_LAYERS = 60, 240.0, 3
# How many claims of people's sets are learnt beside the written ones.
REHEARSED = {
    "summedits": 1500, "fever_athnlp": 900, "paws": 600, "scitail": 500, "faithdial_audit": 347,
    "cad_nli": 400, "mnli_part": 800, "snli": 200, "fever_symmetric": 250,
}  # fmt: skip
BORNE_OUT = ("entail", "supported")


@dataclass(frozen=True, slots=True)
class Lesson:
    claim: str
    passage: str
    supported: float
    weight: float = 1.0


def attend(layer: Layer, x: Tensor, mask: Tensor, *, most: int) -> Tensor:
    """What a `Layer` makes of the first `most` pieces, as plain products: a CPU learns faster so."""
    attention, here = layer.attention, x[:, :most]
    batch, length, size = here.shape
    q, k, v = (
        attention.self[name](given).view(batch, given.shape[1], encoder.HEADS, -1).transpose(1, 2)
        for name, given in (("query", here), ("key", x), ("value", x))
    )
    scores = (q @ k.transpose(-1, -2)).float() * (q.shape[-1] ** -0.5)
    likely = scores.masked_fill(~mask[:, None, None, :], -1e4).softmax(-1).to(v.dtype)
    mixed = attention.output["dense"]((likely @ v).transpose(1, 2).reshape(batch, length, size))
    here = attention.output["LayerNorm"](here + mixed)
    wide = layer.output["dense"](F.gelu(layer.intermediate["dense"](here)))
    return layer.output["LayerNorm"](here + wide)


def judge(model: Encoder, ids: Tensor, kinds: Tensor, mask: Tensor) -> Tensor:
    """The log odds that each passage bears its claim out. The last layer sees to the first piece only."""
    table, layers = model.embeddings, model.encoder["layer"]
    places = torch.arange(ids.shape[1])
    x = table["word_embeddings"](ids) + table["position_embeddings"](places)
    x = table["LayerNorm"](x + table["token_type_embeddings"](kinds))
    for layer in layers[:-1]:
        x = attend(layer, x, mask, most=ids.shape[1])
    return model.head["support"](attend(layers[-1], x, mask, most=1))[:, 0, 0].float()


def measure_share(claim: str, passage: str) -> float:
    """The share of a claim's words that a passage has."""
    there = {word.stem for word in read_words(passage)}
    mine = {word.stem for word in read_words(claim) if word.content}
    return len(mine & there) / max(1, len(mine))


def cut_window(
    heading: str,
    sentences: Sequence[str],
    cited: Sequence[int],
    chance: random.Random,
    *,
    whole: float = 0.15,
) -> str:
    """The cited sentences as the gate shows them: mostly with neighbours, or alone, or in the passage."""
    draw = chance.random()
    around = 0 if draw < 0.2 else 1 if draw < 1 - whole else 99
    near = range(max(0, min(cited) - around), min(len(sentences), max(cited) + 1 + around))
    text = " ".join(sentences[n] for n in near)
    return f"{heading}: {text}" if chance.random() < 0.5 else text


def list_written(data: Path, chance: random.Random, *, whole: float = 0.15) -> list[Lesson]:
    """The written claims, each with a window around what it cites; `whole` is the share of whole passages."""
    found, without = [], []
    for row in rows(data / "written.jsonl.xz"):
        if row["part"] != "fit":
            continue
        sentences, heading = row["sentences"], row["heading"]
        for claim in row["claims"]:
            cited = [n - 1 for n in claim["s"]] or [0]
            window = cut_window(heading, sentences, cited, chance, whole=whole)
            found.append(Lesson(claim["c"], window, float(claim["honest"])))
            left = [s for n, s in enumerate(sentences) if n not in cited]
            if claim["honest"] and len(left) > 1 and chance.random() < 0.08:
                without.append(Lesson(claim["c"], " ".join(left[:4]), 0.0, 0.7))
        at = chance.randrange(len(sentences))
        if len(sentences[at].split()) > 5 and chance.random() < 0.4:
            without.append(Lesson(sentences[at], cut_window(heading, sentences, [at], chance), 1.0, 0.7))
    return weigh(found) + without


def weigh(given: Sequence[Lesson]) -> list[Lesson]:
    """Weights that leave the share of words without a say: in each band both labels count the same."""
    shares = np.array([measure_share(g.claim, g.passage) for g in given])
    edges = np.quantile(shares, np.linspace(0, 1, BANDS + 1)[1:-1])
    bands = np.digitize(shares, edges)
    many: dict[tuple[int, bool], int] = defaultdict(int)
    for band, lesson in zip(bands, given, strict=True):
        many[band, lesson.supported > 0.5] += 1
    made = []
    for band, lesson in zip(bands, given, strict=True):
        mine, other = many[band, lesson.supported > 0.5], many[band, lesson.supported <= 0.5]
        weight = min(3.0, max(0.3, (mine + other) / (2 * mine)))
        made.append(Lesson(lesson.claim, lesson.passage, lesson.supported, weight))
    return made


def list_rehearsed(data: Path, chance: random.Random) -> list[Lesson]:
    by_set: dict[str, list[Lesson]] = defaultdict(list)
    for row in rows(data / "nli.jsonl.xz"):
        if row["set"] in REHEARSED and row["set"] not in LEFT_OUT:
            by_set[row["set"]].append(Lesson(row["h"], row["p"], float(row["y"] in BORNE_OUT)))
    return [
        lesson
        for name, given in sorted(by_set.items())
        for lesson in chance.sample(given, min(REHEARSED[name], len(given)))
    ]


def read_batches(given: Sequence[Lesson], tokenizer_file: Path, seed: int) -> Iterator[tuple]:
    tokenizer = load_tokenizer(tokenizer_file)
    mine, theirs = (tokenize(tokenizer, [getattr(g, k) for g in given]) for k in ("claim", "passage"))
    pairs = [
        (join_pieces(a.pieces, b.pieces[: PAIR_MOST - CLAIM_MOST], most=CLAIM_MOST), g)
        for a, b, g in zip(mine, theirs, given, strict=True)
    ]
    for batch in batch_by_length(pairs, BATCH, random.Random(seed), lambda pair: len(pair[0][0])):
        texts = [torch.as_tensor(t) for t in pad([pair for pair, _ in batch])]
        label = torch.tensor([g.supported for _, g in batch])
        yield texts, label * 0.95 + 0.025, torch.tensor([g.weight for _, g in batch])


def write_tensors(model: Encoder, path: Path) -> None:
    beside = path.with_name(path.stem + ".tmp.npz")
    np.savez(beside, **{name: t.float().numpy() for name, t in model.list_learned().items()})
    beside.replace(path)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--small", type=Path, required=True)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--tokenizer", type=Path, default=TOKENIZER)
    options.add_argument("--seconds", type=float, default=3300.0)
    options.add_argument("--epochs", type=float, default=3.0, help="may end it sooner")
    options.add_argument("--lr", type=float, default=1e-4)
    options.add_argument("--seed", type=int, default=1)
    said = options.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(said.seed)
    base = unpack(said.small / "words.npz", said.small / "verifier.npz")
    model = Encoder(
        {k: torch.from_numpy(v.astype(np.float32)) for k, v in base.items()}, {"support": 1}, dropout=0.0
    )
    model.embeddings.requires_grad_(False)
    for layer in model.encoder["layer"][:FROZEN_LAYERS]:
        layer.requires_grad_(False)
    learning = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(learning, lr=said.lr, weight_decay=0.01, betas=(0.9, 0.98))
    chance = random.Random(said.seed)
    given = list_written(said.data, chance)
    print(f"{len(given):,} written", flush=True)
    given += list_rehearsed(said.data, chance)
    print(f"{len(given):,} with the rehearsed", flush=True)
    steps = said.epochs * len(given) / BATCH
    began = saved = time.monotonic()
    mean = 0.7
    for step, (texts, label, weight) in enumerate(read_batches(given, said.tokenizer, said.seed)):
        now = time.monotonic()
        done = max(step / steps, (now - began) / said.seconds)
        if done >= 1:
            break
        for group in optimizer.param_groups:
            group["lr"] = said.lr * min(1.0, (step + 1) / WARMING) * max(0.02, 1 - done)
        with torch.autocast("cpu", torch.bfloat16):
            out = judge(model, *texts)
        loss = (F.binary_cross_entropy_with_logits(out, label, reduction="none") * weight).mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learning, 1.0)
        optimizer.step()
        mean = 0.98 * mean + 0.02 * loss.item()
        if step % 50 == 0:
            print(f"step {step} of {steps:.0f} loss {mean:.3f} {now - began:.0f} s", flush=True)
        if now - saved > SAVING:
            write_tensors(model, said.out)
            saved = now
    write_tensors(model, said.out)


if __name__ == "__main__":
    main()
