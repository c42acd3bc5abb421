"""Trains multilingual-e5-small on: a question is near its passage in whatever language either is written.

    python training/multilingual_embedder.py --base E5 --tokenizer TOKENIZER --data DATA --dev DEV \\
        --out OUT.safetensors --seconds 300

E5 is what `multilingual_reader.py --pack` wrote. It learns from `other_languages.py`: questions, headings and
sentences in one language, with the passage in the same or another one; and from the English questions with
their passages. Every other passage of a batch is a wrong one, but those that say the same in another
language. The word vectors stay as they are. What it says of passages stays near what the published model
says, so that languages that it meets here rarely or never keep their places.

DEV/handbook.json has passages and questions in several languages that nothing was learnt from.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import data
import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from data import rows
from encoder import Encoder
from large import loader
from learning import add_schedule, choose_device, move
from multilingual_reader import read_base, write_model
from other_languages import Neighbours, read_parallel, split_sentences, write_passage
from torch import Tensor
from torch.utils.data import IterableDataset, get_worker_info

QUERY, PASSAGE = "query: ", "passage: "
BATCH, MOST_ASKED, MOST_READ = 256, 64, 224
TEMPERATURE, KEPT, WARMING = 0.02, 0.3, 200
# How often each kind is drawn: written questions, headings, sentences, English questions.
SHARES = (0.34, 0.12, 0.22, 0.32)


@dataclass(frozen=True, slots=True)
class Triple:
    """A question with the passage it belongs to and one it does not. `key` names what the passage says."""

    asked: str
    right: str
    wrong: str
    key: str
    wrong_key: str


class Drawer:
    """Draws triples of all kinds."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.given = read_parallel(folder)
        self.near = Neighbours(self.given)
        self.asked = [
            (n, question)
            for n, passage in enumerate(self.given)
            for question in passage.questions
            if question.answers
        ]
        contexts = {row["i"]: row["t"] for row in rows(folder / "contexts.jsonl.xz")}
        self.english = [
            (row["q"], contexts[row["p"]], [contexts[n] for n in row["n"]])
            for row in rows(folder / "rank.jsonl.xz")
            if row["n"] and row["set"] not in data.LEFT_OUT
        ]
        self.chance = random.Random(seed)

    def draw(self) -> Triple:
        kind = self.chance.choices(range(4), SHARES)[0]
        if kind == 3:
            question, right, others = self.chance.choice(self.english)
            wrong = self.chance.choice(others)
            return Triple(question, right, wrong, right, wrong)
        if kind == 0:
            place, question = self.chance.choice(self.asked)
            asked = self.chance.choice(list(question.asked.values()))
            return self._add_passages(place, asked, headed=self.chance.random() < 0.6)
        while True:
            place = self.chance.randrange(len(self.given))
            passage = self.given[place]
            language = self.chance.choice(list(passage.texts))
            if kind == 1:
                heading = passage.headings.get(language, "").split(" > ")[-1]
                if len(heading) > 3:
                    return self._add_passages(place, heading, headed=False)
            elif sentences := split_sentences(passage.texts[language]):
                # The sentence itself stands in the passage, so another language says more.
                others = [code for code in passage.texts if code != language]
                return self._add_passages(place, self.chance.choice(sentences), headed=True, languages=others)

    def _add_passages(self, place: int, asked: str, *, headed: bool, languages: Sequence[str] = ()) -> Triple:
        right = self.given[place]
        language = self.chance.choice(list(languages) or list(right.texts))
        wrong = self.near.draw(place, language, 1, self.chance)[0]
        texts = (write_passage(one, language, headed=headed) for one in (right, wrong))
        return Triple(asked, *texts, right.id, wrong.id)


class Batches(IterableDataset):
    def __init__(self, drawer: Drawer, tokenizer: Path, *, seed: int) -> None:
        self.drawer, self.tokenizer, self.seed = drawer, tokenizer, seed

    def __iter__(self) -> Iterator[dict]:
        worker = get_worker_info()
        self.drawer.chance = random.Random(1000 * self.seed + (worker.id if worker else 0))
        made = data.load_tokenizer(self.tokenizer)
        while True:
            drawn = [self.drawer.draw() for _ in range(BATCH)]
            asked = encode(made, [QUERY + one.asked for one in drawn], MOST_ASKED)
            passages = [PASSAGE + text for one in drawn for text in (one.right, one.wrong)]
            keys = [key for one in drawn for key in (one.key, one.wrong_key)]
            own = [one.key for one in drawn]
            # A passage that says the same as the right one is not wrong; the right one itself counts.
            same = np.array([[key == mine for key in keys] for mine in own])
            same[np.arange(BATCH), 2 * np.arange(BATCH)] = False
            yield {"asked": asked, "read": encode(made, passages, MOST_READ), "same": same}


def encode(tokenizer: object, texts: Sequence[str], most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ids, kinds and mask of a batch of single texts."""
    found = [
        np.array([data.CLS, *e.ids[: most - 2], data.SEP])
        for e in tokenizer.encode_batch(list(texts), add_special_tokens=False)  # type: ignore[attr-defined]
    ]
    longest = -(-max(map(len, found)) // 32) * 32
    ids = np.zeros((len(found), longest), np.int64)
    mask = np.zeros(ids.shape, bool)
    for n, own in enumerate(found):
        ids[n, : len(own)], mask[n, : len(own)] = own, True
    return ids, np.zeros_like(ids), mask


def embed(model: Encoder, ids: Tensor, kinds: Tensor, mask: Tensor) -> Tensor:
    """The mean of a text's pieces, as a vector of length one."""
    with torch.autocast(ids.device.type, torch.bfloat16):
        vectors = model(ids, kinds, mask)["same"].float()
    weight = mask[..., None].float()
    return F.normalize((vectors * weight).sum(1) / weight.sum(1), dim=-1)


class Identity(torch.nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x


def load_model(base: dict[str, Tensor], device: str) -> Encoder:
    model = Encoder(base, {}, dropout=0.05)
    model.head["same"] = Identity()
    return model.to(device)


def compare(
    model: Encoder,
    first: Encoder,
    batch: dict,
    *,
    temperature: float,
    kept: float,
    better: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """How far each question is from its passage among all, and how far passages are from where they were.

    The passage of a question comes first of its two; `kept` weighs the distance from the `first` model.
    `better` are a teacher's log odds that it is the better one of the two.
    """
    asked, read = embed(model, *batch["asked"]), embed(model, *batch["read"])
    scores = (asked @ read.T / temperature).masked_fill(batch["same"], -1e4)
    wanted = 2 * torch.arange(len(asked), device=scores.device)
    with torch.no_grad():
        before = embed(first, *batch["read"])
    moved = 1 - (read * before).sum(-1).mean()
    loss = F.cross_entropy(scores, wanted) + kept * moved
    if better is not None:
        rows = torch.arange(len(asked), device=scores.device)
        lead = scores[rows, wanted] - scores[rows, wanted + 1]
        loss = loss + F.binary_cross_entropy_with_logits(lead, torch.sigmoid(better))
    return loss, moved


def train(said: argparse.Namespace) -> None:
    data.choose_marks(said.tokenizer)
    device = choose_device(said.seed)
    model = load_model(read_base(said.base), device)
    first = copy.deepcopy(model).eval()
    print("before", json.dumps(measure(first, said)), flush=True)
    batches = Batches(Drawer(said.data, said.seed), said.tokenizer, seed=said.seed)
    given = loader(batches, said.workers, on_gpu=device == "cuda")
    learning = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(learning, lr=said.lr, weight_decay=0.01, fused=device == "cuda")
    began, step = time.monotonic(), 0
    model.train()
    while (done := max((time.monotonic() - began) / said.seconds, step / said.steps)) < 1:
        for group in optimizer.param_groups:
            group["lr"] = said.lr * min(1.0, (step + 1) / WARMING) * max(0.02, 1 - done)
        batch = move(next(given), device)
        loss, moved = compare(model, first, batch, temperature=TEMPERATURE, kept=KEPT)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learning, 1.0)
        optimizer.step()
        step += 1
        if step % 200 == 0:
            spent = time.monotonic() - began
            print(f"step {step} loss {loss.item():.3f} moved {moved.item():.3f} {spent:.0f} s", flush=True)
    print(f"{step} steps", flush=True)
    print("after", json.dumps(measure(model.eval(), said)), flush=True)
    write_model(model, said.out)
    said.out.with_suffix(".done").touch()


@torch.no_grad()
def measure(model: Encoder, said: argparse.Namespace) -> dict[str, list[float]]:
    """The share of questions whose section is among the first 1, 5, 10 and 20, by the way they are asked."""
    held = json.loads((said.dev / "handbook.json").read_text(encoding="utf-8"))
    tokenizer = data.load_tokenizer(said.tokenizer)
    device = next(model.parameters()).device

    def place(texts: Sequence[str], most: int) -> Tensor:
        parts = [texts[n : n + 256] for n in range(0, len(texts), 256)]
        made = (encode(tokenizer, part, most) for part in parts)
        return torch.cat([embed(model, *(torch.as_tensor(t, device=device) for t in one)) for one in made])

    chunks, asked = held["chunks"], [q for q in held["questions"] if q["part"] == "tune" and q["p"]]
    read = place([f"{PASSAGE}{c['h']}\n{c['t']}" for c in chunks], 264)
    questions = place([QUERY + q["q"] for q in asked], 264)
    scores = (questions @ read.T).cpu().numpy()
    languages = [c["l"] for c in chunks]
    answered = {(q["id"], q["l"]) for q in asked if q["in"]}
    found: dict[str, list[int]] = {"same": [], "from English": [], "to English": [], "others": []}
    for n, q in enumerate(asked):
        for book in dict.fromkeys(languages):
            way = "same" if book == q["l"] else "from English" if q["l"] == "en" else "to English"
            way = "others" if "en" not in (book, q["l"]) and book != q["l"] else way
            if (q["id"], book) not in answered or (way == "same" and book == "en"):
                continue
            own = [k for k, language in enumerate(languages) if language == book]
            order = sorted(own, key=lambda k: -scores[n, k])
            found[way].append(next(r for r, k in enumerate(order, 1) if chunks[k]["p"] == q["p"]))
    return {
        way: [round(float(np.mean([r <= k for r in places])), 3) for k in (1, 5, 10, 20)]
        for way, places in found.items()
    }


def main() -> None:
    known = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known.add_argument("--base", type=Path, required=True)
    known.add_argument("--tokenizer", type=Path, required=True)
    known.add_argument("--data", type=Path, required=True)
    known.add_argument("--dev", type=Path, required=True)
    known.add_argument("--out", type=Path, required=True)
    add_schedule(known, lr=4e-5, seconds=300.0, workers=6)
    train(known.parse_args())


if __name__ == "__main__":
    main()
