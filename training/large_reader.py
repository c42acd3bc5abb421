"""Trains the large model on: readers' questions about whole narratives beside all that it has learnt.

    python training/large_reader.py --packed FOLDER --data DATA --labels LABELS --dev DEV \\
        --out RUN.safetensors --seconds 500 [--seed 1] [--mined MINED] [--opinions OPINIONS] [--around 850]
    python training/large_reader.py --packed FOLDER --data DATA --dev DEV --join RUN1.safetensors,… --out OUT

FOLDER is what `unpack_large.py` wrote, DATA has `novels.jsonl.xz` (`novels.py expand`) beside what `large.py`
needs. A question is learnt with each passage that answers it beside four that do not: those that were chosen
because they seem to, and those of the book that share most words. With MINED (`mined.py`, `judged.py`), it is
learnt with the passages that Octavo finds too, and with what is thought of each; with OPINIONS
(`labels/opinions.jsonl.xz`), with what a strong reader says of them. `--join` averages runs that
began alike, measures the average, and writes the differences from FOLDER for `export.py`.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mpnet
import numpy as np
import reader
import torch
from data import Corpus, Group, Pair, opinion, rows
from large import HEADS, examples, loss_of, measure_all, wait_for
from large_verifier import read_base
from learning import TOKENIZER, add_schedule, choose_device, learn, write
from lessons import Material, Written
from measure import Reading, auroc, f1
from mined import add_around, measure_order, read_mined
from opinions import read_opinions
from reader import NEGATIVES
from safetensors.torch import load_file
from torch import Tensor

DRAWS = 3  # groups of a question and a passage that answers it, each beside others
OFTEN = 3
OPINIONS_OFTEN = 6  # times that passages which a strong reader was asked about are repeated
NEAR = 12  # passages of the book that share most words with the question
WARMING = 200
WIDE_CROPPED = 0.25  # share of the passages that are cut short, if most are read with what is around them


def read_novels(data: Path, part: str) -> list[dict[str, Any]]:
    return [row for row in rows(data / "novels.jsonl.xz") if row["part"] == part]


def find_near(material: Material, asked: Sequence[dict[str, Any]], device: str) -> dict[str, list[str]]:
    """For each question, passages of its book that share most words with it and none that answers it."""
    passages = [row["right"][0]["t"] if row["right"] else row["wrong"][0] for row in asked]
    wanted = [
        Written(text, "", "novel", row["book"], row["q"]) for row, text in zip(asked, passages, strict=True)
    ]
    found = {row["q"]: row["t"][1:] for row in material.near(wanted, NEAR, device)}
    answers = {row["q"]: [right["a"] for right in row["right"]] for row in asked}
    return {q: [t for t in texts if not any(a in t for a in answers[q])] for q, texts in found.items()}


def list_lessons(
    corpus: Corpus,
    asked: Sequence[dict[str, Any]],
    near: dict[str, list[str]],
) -> tuple[list[Pair], list[Group]]:
    """Pairs in which a passage answers as often as not, and groups in which one of five does.

    Half of the others in a group were chosen by the writer because they seem to answer, if there are as many.
    """
    pairs: list[Pair] = []
    groups: list[Group] = []
    for row in asked:
        question = corpus.texts([row["q"]])[0].pieces
        wrong = corpus.texts(row["wrong"])
        others = corpus.texts(near.get(row["q"], []))
        unanswered = [Pair(question, text.pieces, None, False) for text in (*wrong, *others[:2])]
        answered = list_answered(corpus, question, row["right"])
        for pair, _ in answered:
            for _ in range(DRAWS):
                least = min(len(wrong), NEGATIVES // 2)
                mixed = corpus.chance.sample(wrong, least)
                left = [one for one in (*wrong, *others) if not any(one is two for two in mixed)]
                if len(left) + least < NEGATIVES:
                    continue
                mixed += corpus.chance.sample(left, NEGATIVES - least)
                passages = (pair.passage, *(text.pieces for text in mixed))
                groups.append(Group(question, passages, pair.span))
        pairs += [*unanswered, *repeat_answered(answered, len(unanswered))]
    return pairs, groups


def list_answered(
    corpus: Corpus, question: np.ndarray, given: Sequence[dict[str, Any]]
) -> list[tuple[Pair, dict[str, Any]]]:
    """A question with each passage that answers it, if the place of the answer is found, and its row."""
    found = []
    for right in given:
        (text,) = corpus.texts([right["t"]])
        span = corpus.span(text, right)
        if span is not None:
            found.append((Pair(question, text.pieces, span, True), right))
    return found


def repeat_answered(answered: Sequence[tuple[Pair, dict[str, Any]]], many: int) -> list[Pair]:
    """Pairs that answer, each at least once, and repeated until there are so many."""
    pairs = itertools.cycle(pair for pair, _ in answered)
    return list(itertools.islice(pairs, max(len(answered), many)))


def list_mined_lessons(corpus: Corpus, asked: Sequence[dict[str, Any]]) -> tuple[list[Pair], list[Group]]:
    """Passages that Octavo finds, with the log-odds that each answers; in pairs as many answer as do not."""
    pairs: list[Pair] = []
    groups: list[Group] = []
    for row in asked:
        question = corpus.texts([row["q"]])[0].pieces
        texts = corpus.texts([text for text, _ in row["others"]])
        others = [(text, odds) for text, (_, odds) in zip(texts, row["others"], strict=True)]
        drawn = corpus.chance.sample(others, min(len(others), NEAR // 2))
        doubtful = [Pair(question, text.pieces, None, None, float(opinion(odds))) for text, odds in drawn]
        answered = list_answered(corpus, question, row["right"])
        for pair, right in answered:
            for _ in range(DRAWS if len(others) >= NEGATIVES else 0):
                mixed = corpus.chance.sample(others, NEGATIVES)
                passages = (pair.passage, *(text.pieces for text, _ in mixed))
                odds = (right["z"], *(odds for _, odds in mixed))
                groups.append(Group(question, passages, pair.span, odds))
        missing = round(sum(1 - 2 * (pair.opinion or 0.0) for pair in doubtful))
        pairs += [*doubtful, *repeat_answered(answered, missing)]
    return pairs, groups


@torch.no_grad()
def measure_novels(model: torch.nn.Module, said: argparse.Namespace) -> dict[str, float]:
    """How often the passage that answers comes first among those that seem to, on books to choose with."""
    asked = read_novels(said.data, "tune")
    run = Reading(model, said.tokenizer)
    first, words, scores, labels = [], [], [], []
    for row in asked:
        given = [*(r["t"] for r in row["right"][:1]), *row["wrong"]]
        got = run([(row["q"], text) for text in given])
        scores += [one["able"] for one in got]
        labels += [bool(row["right"]) and n == 0 for n in range(len(given))]
        if row["right"]:
            first.append(max(range(len(got)), key=lambda n: got[n]["rank"]) == 0)
            start, end = got[0]["chars"]
            words.append(f1(given[0][start:end], [row["right"][0]["a"]]))
    return {
        "novels first": round(float(np.mean(first)), 3),
        "novels f1": round(float(np.mean(words)), 3),
        "novels auroc": round(auroc(scores, labels), 3),
    }


def measure_both(model: torch.nn.Module, said: argparse.Namespace, corpus: Corpus) -> None:
    model.eval()
    if said.mined:
        wait_for(said.mined.with_suffix(".done"))
    found = measure_order(Reading(model, said.tokenizer), said) if said.mined else {}
    model.eval()
    print(json.dumps(found | measure_novels(model, said) | measure_all(model, said, corpus)), flush=True)
    model.train()


def add_readers_questions(
    batches: reader.Batches, said: argparse.Namespace, corpus: Corpus, device: str
) -> None:
    """Add readers' questions to what is learnt; where passages were mined, mostly with those."""
    asked = read_novels(said.data, "fit")
    near = find_near(Material(said.data, seed=said.seed), asked, device)
    given = [(OFTEN, list_lessons(corpus, asked, near))]
    library, around = said.data / "library.jsonl.xz", said.around
    if said.opinions:
        own = read_opinions(library, said.opinions, "fit", around=around)
        asked_of = [row for row in own if row["said"]]
        given = [(1, given[0][1]), (OFTEN - 1, list_mined_lessons(corpus, own))]
        given += [(OPINIONS_OFTEN, list_mined_lessons(corpus, asked_of))]
    elif said.mined:
        wait_for(said.mined.with_suffix(".done"))
        own = read_mined(library, said.mined, "fit", around=around)
        given = [(1, given[0][1]), (OFTEN - 1, list_mined_lessons(corpus, own))]
    if said.around:
        batches.cropped = WIDE_CROPPED
    for often, (pairs, groups) in given:
        batches.pairs += often * pairs
        batches.groups += often * groups
        print(
            f"{len(pairs):,} pairs and {len(groups):,} groups of readers' questions, {often} times",
            flush=True,
        )


def train(said: argparse.Namespace) -> None:
    device = choose_device(said.seed)
    model = mpnet.LargeEncoder(read_base(said.packed), HEADS).to(device)
    corpus = Corpus(said.data, said.tokenizer, seed=said.seed)
    batches = examples(said, corpus, model, device)
    add_readers_questions(batches.reading, said, corpus, device)

    def loss(batch: dict) -> Tensor:
        return loss_of(model, batch)[0]

    for _ in learn(model, batches, loss, said, warming=WARMING):
        pass
    write(model, said.out)
    measure_both(model, said, corpus)
    said.out.with_suffix(".done").touch()


def add_mined(known: argparse.ArgumentParser) -> None:
    known.add_argument("--mined", type=Path, help="what mined.py wrote")
    known.add_argument("--opinions", type=Path, help="what a strong reader says of passages (opinions.py)")


def load_average(base: dict[str, np.ndarray], runs: str = "") -> mpnet.LargeEncoder:
    """The average of runs that began with `base`, or `base` itself without runs. Commas are between them."""
    model = mpnet.LargeEncoder(base, HEADS)
    given = [load_file(path) for path in runs.split(",") if path]
    if given:
        mean = {name: torch.stack([run[name].float() for run in given]).mean(0) for name in given[0]}
        model.load_state_dict(mean, strict=False)
    return model


def join(said: argparse.Namespace) -> None:
    """Average runs, write the average's differences from where they began, and measure it."""
    base = read_base(said.packed)
    model = load_average(base, said.join)
    mpnet.write_changes(model, base, said.out)
    device = choose_device(said.seed)
    measure_both(model.to(device), said, Corpus(said.data, said.tokenizer, seed=said.seed))


def main() -> None:
    known = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known.add_argument("--packed", type=Path, required=True, help="folder that unpack_large.py wrote")
    known.add_argument("--data", type=Path, required=True)
    known.add_argument("--labels", type=Path)
    known.add_argument("--dev", type=Path, required=True)
    known.add_argument("--out", type=Path, required=True)
    add_mined(known)
    add_around(known)
    known.add_argument("--join", default="", help="runs to average, with commas between")
    known.add_argument("--tokenizer", type=Path, default=TOKENIZER)
    add_schedule(known, lr=2.5e-5, seconds=500.0, workers=5)
    said = known.parse_args()
    if said.join:
        join(said)
    else:
        train(said)


if __name__ == "__main__":
    main()
