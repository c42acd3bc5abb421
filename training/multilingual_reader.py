"""Trains the reader for books in any language, from multilingual-e5-small (MIT, 12 layers).

    python training/multilingual_reader.py --base E5 --tokenizer E5/tokenizer.json --data DATA \\
        --labels LABELS --dev DEV --out OUT.safetensors --seconds 1200

E5 holds `words.npz` (ids, and the vectors of those pieces that the training texts have) and `layers.npz`. It
has the four heads of the large model, and learns from English, and from what `other_languages.py` has. The
words of all languages lie in one space, their vectors stay as they are, and so what was learnt carries over.
How far is measured, language by language, by `benchmarks/languages.py`. `--start` goes on from an earlier
reader (`kept/multilingual-reader.npz`).

    python training/multilingual_reader.py --pack E5-MODEL --tokenizer … --data DATA --labels LABELS \\
        --dev DEV --out E5

writes E5 from the whole model (an .npz with the names of BERT).
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path

import data
import large
import numpy as np
import reader
import torch
import verifier
from data import Corpus, Group, Pair, read_judgements, rows
from encoder import FROZEN, Encoder
from large import Batches, list_written_claims, list_written_reading, loader, loss_of, measure_claims
from large_verifier import list_joined, list_people, measure_grounded
from learning import TOKENIZER, add_schedule, choose_device, move
from lessons import Material, read_written
from other_languages import Neighbours, Question, read_parallel, write_passage
from safetensors.torch import save_file

TABLE, WARMING, MADE = 250_037, 300, 16_000
SHARES = (0.42, 0.42, 0.16)
# How often what was written in other languages is repeated, and in how many more languages a passage is read.
OFTEN, READ_IN = 2, 3


def read_base(folder: Path) -> dict[str, torch.Tensor]:
    """The published weights; pieces that the training texts lack have no vector here."""
    with np.load(folder / "layers.npz") as held:
        found = {name: torch.from_numpy(held[name].astype(np.float32)) for name in held.files}
    with np.load(folder / "words.npz") as held:
        table = np.zeros((TABLE, held["vectors"].shape[1]), np.float32)
        table[held["ids"]] = held["vectors"]
    return found | {FROZEN: torch.from_numpy(table)}


def list_texts(said: argparse.Namespace) -> Iterator[str]:
    """All texts that the run may meet."""
    for name in ("contexts", "qa", "rank", "nli", "written"):
        for row in rows(said.data / f"{name}.jsonl.xz"):
            yield from (row[k] for k in ("t", "q", "a", "h", "p", "heading") if isinstance(row.get(k), str))
            yield from row.get("sentences", ())
            yield from (c["c"] for c in row.get("claims", ()))
            yield from (q["q"] for q in row.get("questions", ()))
    for passage in read_parallel(said.data):
        yield from (*passage.texts.values(), *passage.headings.values())
        yield from (text for question in passage.questions for text in question.asked.values())
    for path in sorted(said.labels.glob("*.jsonl.xz")):
        for row in read_judgements(path):
            yield from (row[k] for k in ("q", "h", "t", "p") if isinstance(row.get(k), str))
            yield from row["t"] if isinstance(row.get("t"), list) else ()
    for path in sorted(said.dev.glob("*.jsonl.xz")):
        for row in rows(path):
            yield from (row[k] for k in ("q", "t", "c", "p") if isinstance(row.get(k), str))
    if (held := said.dev / "handbook.json").exists():
        handbook = json.loads(held.read_text(encoding="utf-8"))
        yield from (chunk[k] for chunk in handbook["chunks"] for k in ("h", "t"))
        yield from (question["q"] for question in handbook["questions"])


def read_kept(path: Path) -> dict[str, torch.Tensor]:
    """The tensors of a reader that was kept without its words, rounded."""
    with np.load(path) as held:
        names = {name.removesuffix(".q").removesuffix(".s") for name in held.files}
        return {
            name: torch.from_numpy(
                held[name].astype(np.float32)
                if name in held.files
                else held[f"{name}.q"].astype(np.float32) * held[f"{name}.s"][..., None]
            )
            for name in names
        }


def pack(said: argparse.Namespace) -> None:
    tokenizer = data.load_tokenizer(said.tokenizer)
    texts = list(dict.fromkeys(list_texts(said)))
    seen = np.zeros(TABLE, bool)
    seen[:64] = True
    for first in range(0, len(texts), data.AT_ONCE):
        for text in data.tokenize(tokenizer, texts[first : first + data.AT_ONCE]):
            seen[text.pieces] = True
    ids = np.flatnonzero(seen)
    said.out.mkdir(parents=True, exist_ok=True)
    with np.load(said.pack) as held:
        np.savez(said.out / "words.npz", ids=ids, vectors=held[FROZEN][ids])
        np.savez(said.out / "layers.npz", **{n: held[n] for n in held.files if n != FROZEN})
    print(f"{len(texts):,} texts, {len(ids):,} pieces")


def list_lessons(said: argparse.Namespace, corpus: Corpus, device: str) -> Batches:
    written = read_written(said.data, "fit")
    material = Material(said.data, seed=said.seed)
    own_pairs, own_groups = list_written_reading(corpus, material, written, device)
    pairs = corpus.judged_pairs(said.labels, own=0.7) + 2 * own_pairs
    groups = corpus.judged_groups(said.labels, negatives=reader.NEGATIVES, own=0.7) + 2 * own_groups
    others = list_joined(said.data, corpus.chance) + list_people(said.data, corpus.chance)
    texts = [(lesson.claim, lesson.passage, lesson.supported * 0.95 + 0.025) for lesson in others]
    texts += verifier.make_claims(corpus, MADE)
    claims = 2 * list_written_claims(corpus, written) + large.make_claims(corpus, texts)
    other_pairs, other_groups = list_other_languages(corpus, said.data)
    print(f"{len(other_pairs):,} pairs and {len(other_groups):,} groups in other languages", flush=True)
    pairs, groups = pairs + OFTEN * other_pairs, groups + OFTEN * other_groups
    print(f"{len(pairs):,} pairs, {len(groups):,} groups, {len(claims):,} claims", flush=True)
    return Batches(pairs, groups, claims, seed=said.seed)


def list_other_languages(corpus: Corpus, folder: Path) -> tuple[list[Pair], list[Group]]:
    """Questions in one language with passages in the same or another, and headings with what is below."""
    given, chance = read_parallel(folder), random.Random(corpus.chance.random())
    near = Neighbours(given)
    texts: list[tuple[str, list[str], str | None, bool]] = []
    for place, passage in enumerate(given):
        for question in passage.questions:
            for asked in question.asked.values():
                for language in _draw_languages(question, list(passage.texts), chance):
                    others = near.draw(place, language, reader.NEGATIVES, chance)
                    headed = chance.random() < 0.5
                    read = [write_passage(p, language, headed=headed) for p in (passage, *others)]
                    texts.append((asked, read, question.answers.get(language), bool(question.answers)))
        for _ in range(2):
            asked_in, language = (chance.choice(list(passage.texts)) for _ in range(2))
            heading = passage.headings.get(asked_in, "").split(" > ")[-1]
            if len(heading) > 3:
                others = near.draw(place, language, reader.NEGATIVES, chance)
                read = [write_passage(p, language, headed=False) for p in (passage, *others)]
                texts.append((heading, read, "", True))
    corpus.texts(text for asked, read, _, _ in texts for text in (asked, *read))
    pairs, groups = [], []
    for asked, read, answer, answered in texts:
        question, *passages = corpus.texts([asked, *read])
        pieces = tuple(passage.pieces for passage in passages)
        start = read[0].find(answer) if answer else -1
        span = corpus.span(passages[0], {"s": start, "a": answer}) if start >= 0 else None
        if answered:
            groups.append(Group(question.pieces, pieces, span))
        if answer != "":
            pairs.append(Pair(question.pieces, pieces[0], span, answered))
    return pairs, groups


def _draw_languages(question: Question, there: list[str], chance: random.Random) -> set[str]:
    """The languages that have the words that answer, and some of the others."""
    return (set(question.answers) & set(there)) | set(chance.sample(there, min(READ_IN, len(there))))


def train(said: argparse.Namespace) -> None:
    data.choose_marks(said.tokenizer)
    large.SHARES = SHARES
    device = choose_device(said.seed)
    base = read_base(said.base)
    model = Encoder(base, large.HEADS)
    if said.start:
        missing, strange = model.load_state_dict(read_kept(said.start), strict=False)
        assert missing == [FROZEN], (missing, strange)
        assert not strange, strange
    model = model.to(device)
    corpus = Corpus(said.data, said.tokenizer, seed=said.seed)
    given = loader(list_lessons(said, corpus, device), said.workers, on_gpu=device == "cuda")
    learning = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(
        learning, lr=said.lr, weight_decay=0.01, betas=(0.9, 0.98), fused=device == "cuda"
    )
    began, step, saved = time.monotonic(), 0, time.monotonic()
    while (done := max((time.monotonic() - began) / said.seconds, step / said.steps)) < 1:
        for group in optimizer.param_groups:
            group["lr"] = said.lr * min(1.0, (step + 1) / WARMING) * max(0.02, 1 - done)
        loss, _ = loss_of(model, move(next(given), device))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learning, 1.0)
        optimizer.step()
        step += 1
        if step % 500 == 0:
            print(f"step {step} loss {loss.item():.3f} {time.monotonic() - began:.0f} s", flush=True)
        if time.monotonic() - saved > 200:
            saved = time.monotonic()
            write_model(model, said.out)
    print(f"{step} steps", flush=True)
    write_model(model, said.out)
    import measure

    print(json.dumps(measure.reader(model, said.dev, said.tokenizer)), flush=True)
    print(json.dumps(measure_claims(model, said, corpus)), flush=True)
    print(json.dumps(measure_grounded(model, corpus, said.dev)), flush=True)
    said.out.with_suffix(".done").touch()


def write_model(model: Encoder, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file(model.list_learned(), path.with_suffix(".tmp"))
    path.with_suffix(".tmp").replace(path)


def main() -> None:
    known = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known.add_argument("--base", type=Path)
    known.add_argument("--pack", type=Path)
    known.add_argument("--start", type=Path, help="an earlier reader to go on from")
    known.add_argument("--tokenizer", type=Path, default=TOKENIZER)
    known.add_argument("--data", type=Path, required=True)
    known.add_argument("--labels", type=Path, required=True)
    known.add_argument("--dev", type=Path, required=True)
    known.add_argument("--out", type=Path, required=True)
    add_schedule(known, lr=1.5e-4, seconds=1200.0, workers=5)
    said = known.parse_args()
    if said.pack:
        pack(said)
    else:
        train(said)


if __name__ == "__main__":
    main()
