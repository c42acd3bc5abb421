"""A large teacher for the small models: it learns to judge and to ask, then writes questions and judges.

    python training/teacher.py --qwen GGUF --data DATA --out LABELS [--dev DEV] [--teach 230]

The teacher is a language model of 1.5 billion parameters. Whether a passage answers a question, or bears a
statement out, is its log-odds of "Yes" against "No". It learns from people's judgements, and from people's
questions to write such questions itself: some that a passage seems to answer and does not, some that it
answers. What comes out, for `reader.py` and `verifier.py` to learn from (line-delimited JSON, xz):

    pairs.jsonl.xz    q question, t passage, a and s answer and its place (or null), z log-odds, kind
    groups.jsonl.xz   q question, t passages (the first is its own), z log-odds of each, a, s, kind
    claims.jsonl.xz   h statement, p passage, z log-odds, kind (as it was meant: true, or false with what is
                      wrong)
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import lessons
import numpy as np
import qwen
import torch
import torch.nn.functional as F  # noqa: N812
from data import rows
from lessons import Judged, Material, Written
from measure import auroc, auroc_by_set
from tokenizers import Tokenizer
from torch import Tensor
from verifier import make_claims

BEGIN, END = "<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n"
PASSAGE_MOST, ASKED_MOST, QUESTION_MOST, STATEMENT_MOST = 340, 90, 36, 60
BATCH, RATE, WARMING = 48, 1.5e-5, 30
JUDGED_PIECES, WRITTEN_AT_ONCE = 100_000, 1536


@dataclass(slots=True)
class Lesson:
    """`target` is what is to be judged, or the last `tail` pieces are what is to be written."""

    ids: np.ndarray
    target: float
    tail: int = 0


@dataclass
class Teacher:
    model: Any
    tokenizer: Tokenizer
    device: str
    known: dict[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.yes, self.no = (self.tokenizer.encode(word).ids[0] for word in ("Yes", "No"))
        self.pad = self.tokenizer.token_to_id("<|endoftext|>")
        self.end = self.tokenizer.token_to_id("<|im_end|>")

    def prompts(self, texts: Sequence[tuple[str, str]]) -> list[np.ndarray]:
        """Passages, each cut to its room, with what is asked about them."""
        new = list({passage for passage, _ in texts} - self.known.keys())
        for text, ids in zip(new, self._pieces(new), strict=True):
            self.known[text] = ids[:PASSAGE_MOST]
        begin, end = self._pieces([BEGIN, END])
        asked = self._pieces([said for _, said in texts])
        return [
            np.concatenate([begin, self.known[passage], said[-ASKED_MOST:], end])
            for (passage, _), said in zip(texts, asked, strict=True)
        ]

    def _pieces(self, texts: Sequence[str]) -> list[np.ndarray]:
        made = self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [np.array(e.ids, np.int32) for e in made]

    def lessons(self, judged: Sequence[Judged], written: Sequence[Written]) -> list[Lesson]:
        found = [
            Lesson(ids, one.target)
            for one, ids in zip(judged, self.prompts([(j.passage, j.asked) for j in judged]), strict=True)
        ]
        texts = self._pieces([w.question for w in written])
        prompts = self.prompts([(w.passage, w.asked) for w in written])
        for ids, text in zip(prompts, texts, strict=True):
            tail = np.append(text[: STATEMENT_MOST - 1], self.end)
            found.append(Lesson(np.concatenate([ids, tail]), 0.0, len(tail)))
        return found

    def odds(self, hidden: Tensor) -> Tensor:
        """Log-odds of "Yes" against "No" after these states."""
        table = self.model.lm_head.weight
        return hidden.float() @ (table[self.yes].float() - table[self.no].float())

    def learn(self, given: list[Lesson], seconds: float, *, seed: int) -> None:
        """Takes steps until the time is over. The steps are made in full precision, the work in half."""
        self.model.train()
        learning = [p for p in self.model.parameters() if p.requires_grad]
        full = [p.detach().float() for p in learning]
        cuda = self.device == "cuda"
        optimizer = torch.optim.AdamW(full, lr=RATE, betas=(0.9, 0.98), weight_decay=0.0, fused=cuda)
        began = time.monotonic()
        for step, batch in enumerate(_batches(given, random.Random(seed))):
            done = (time.monotonic() - began) / seconds
            if done >= 1:
                break
            for group in optimizer.param_groups:
                group["lr"] = RATE * min(1.0, (step + 1) / WARMING) * max(0.02, 1 - done)
            loss = self.loss(batch)
            loss.backward()
            for p, whole in zip(learning, full, strict=True):
                whole.grad, p.grad = p.grad.float(), None
            torch.nn.utils.clip_grad_norm_(full, 1.0)
            optimizer.step()
            with torch.no_grad():
                torch._foreach_copy_(learning, full)
            if step % 50 == 0:
                print(f"step {step} loss {loss.item():.3f} {time.monotonic() - began:.0f} s", flush=True)
        del optimizer, full
        if cuda:
            print(f"{torch.cuda.max_memory_allocated() / 1e9:.0f} GB at most", flush=True)
            torch.cuda.empty_cache()

    def loss(self, batch: list[Lesson]) -> Tensor:
        ids, mask = _padded([lesson.ids for lesson in batch], self.pad, self.device)
        hidden = self.model.model(input_ids=ids, attention_mask=mask, use_cache=False).last_hidden_state
        total = hidden.new_zeros((), dtype=torch.float32)
        judged = [n for n, lesson in enumerate(batch) if not lesson.tail]
        if judged:
            last = torch.tensor([len(batch[n].ids) - 1 for n in judged], device=self.device)
            target = torch.tensor([batch[n].target for n in judged], device=self.device)
            odds = self.odds(hidden[torch.tensor(judged, device=self.device), last])
            total = total + F.binary_cross_entropy_with_logits(odds, target, reduction="sum") / len(batch)
        places = [
            (n, k)
            for n, lesson in enumerate(batch)
            for k in range(len(lesson.ids) - lesson.tail, len(lesson.ids))
        ]
        if places:
            row, place = (torch.tensor(p, device=self.device) for p in zip(*places, strict=True))
            said = self.model.lm_head(hidden[row, place - 1]).float()
            spoken = F.cross_entropy(said, ids[row, place])
            total = total + 0.3 * spoken * (len(batch) - len(judged)) / len(batch)
        return total

    @torch.inference_mode()
    def judge(self, given: Sequence[tuple[str, str]], *, until: float = float("inf")) -> list[float | None]:
        """The log-odds of each, in this order as far as the clock (time.monotonic) lets it."""
        self.model.eval()
        found: list[float | None] = [None] * len(given)
        for first in range(0, len(given), 8192):
            if time.monotonic() > until:
                break
            prompts = self.prompts(given[first : first + 8192])
            order = sorted(range(len(prompts)), key=lambda n: len(prompts[n]))
            while order:
                size = max(1, JUDGED_PIECES // len(prompts[order[-1]]))
                part, order = order[-size:], order[:-size]
                ids, mask = _padded([prompts[n] for n in part], self.pad, self.device)
                hidden = self.model.model(input_ids=ids, attention_mask=mask, use_cache=False)
                last = mask.sum(1) - 1
                odds = self.odds(hidden.last_hidden_state[torch.arange(len(part), device=self.device), last])
                for n, z in zip(part, odds.tolist(), strict=True):
                    found[first + n] = round(z, 3)
        return found

    @torch.inference_mode()
    def write(
        self, given: Sequence[tuple[str, str]], *, seed: int, until: float, most: int = QUESTION_MOST
    ) -> list[str]:
        """A text for each passage, drawn by chance, as far as the clock lets it; the others are empty."""
        self.model.eval()
        torch.manual_seed(seed)
        prompts = self.prompts(given)
        order = sorted(range(len(prompts)), key=lambda n: len(prompts[n]))
        parts = [order[k : k + WRITTEN_AT_ONCE] for k in range(0, len(order), WRITTEN_AT_ONCE)]
        random.Random(seed).shuffle(parts)
        found = [""] * len(given)
        for part in parts:
            if time.monotonic() > until:
                break
            ids, mask = _padded([prompts[n] for n in part], self.pad, self.device, left=True)
            made = self.model.generate(
                input_ids=ids, attention_mask=mask, do_sample=True, temperature=0.9, top_p=0.95, top_k=0,
                max_new_tokens=most, eos_token_id=self.end, pad_token_id=self.pad,
            )  # fmt: skip
            texts = self.tokenizer.decode_batch(made[:, ids.shape[1] :].tolist(), skip_special_tokens=True)
            for n, text in zip(part, texts, strict=True):
                found[n] = text.strip()
        return found


def _batches(given: list[Lesson], chance: random.Random) -> Iterator[list[Lesson]]:
    """Shuffled batches of about the same length, without end."""
    while True:
        order = list(given)
        chance.shuffle(order)
        for first in range(0, len(order), BATCH * 40):
            part = sorted(order[first : first + BATCH * 40], key=lambda lesson: len(lesson.ids))
            batches = [part[k : k + BATCH] for k in range(0, len(part), BATCH)]
            chance.shuffle(batches)
            yield from batches


def _padded(
    texts: Sequence[np.ndarray], pad: int, device: str, *, left: bool = False
) -> tuple[Tensor, Tensor]:
    longest = max(map(len, texts))
    ids = np.full((len(texts), longest), pad, np.int64)
    mask = np.zeros_like(ids)
    for n, text in enumerate(texts):
        place = slice(longest - len(text), longest) if left else slice(0, len(text))
        ids[n, place], mask[n, place] = text, 1
    return torch.from_numpy(ids).to(device), torch.from_numpy(mask).to(device)


def measure_model(teacher: Teacher, dev: Path) -> dict[str, float]:
    """AUROC on questions with their passages and on claims that the teacher has not learnt from."""
    asked = list(rows(dev / "reading.jsonl.xz"))
    said = teacher.judge([(a["t"], lessons.ANSWERS.format(a["q"])) for a in asked])
    found = {"reading": round(auroc(said, [bool(a["y"]) for a in asked]), 4)}
    claims = list(rows(dev / "grounded.jsonl.xz"))
    said = teacher.judge([(c["p"], lessons.BEARS.format(c["c"])) for c in claims])
    return found | auroc_by_set(claims, said)


def keep(path: Path, found: Sequence[dict[str, Any]]) -> None:
    with lzma.open(path, "wt", encoding="utf-8", preset=1) as file:
        for row in found:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(f"{path.name}: {len(found):,}", flush=True)


def write_all(
    teacher: Teacher,
    wanted: Sequence[Written],
    most: int,
    is_sound: Callable[[str], bool],
    said: argparse.Namespace,
    share: float,
) -> list[tuple[Written, str]]:
    """What the teacher writes in its share of the time, without what is no question or statement."""
    began = time.monotonic()
    asks = [(w.passage, w.asked) for w in wanted]
    texts = teacher.write(asks, seed=said.seed, until=began + share * said.write, most=most)
    found = [(w, text) for w, text in zip(wanted, texts, strict=True) if is_sound(text)]
    print(f"wrote {len(found):,} of {len(wanted):,} in {time.monotonic() - began:.0f} s", flush=True)
    for w, text in random.Random(said.seed).sample(found, min(12, len(found))):
        print(f"  {w.kind}: {text}", flush=True)
    return found


def label(teacher: Teacher, material: Material, said: argparse.Namespace) -> None:
    """Writes questions, judges them and what else there is, most wanted first, and keeps what was judged."""
    began = time.monotonic()
    stated = write_all(teacher, material.to_state(), STATEMENT_MOST, lessons.sound_statement, said, 0.45)
    written = write_all(teacher, material.to_write(), QUESTION_MOST, lessons.sound, said, 0.55)
    pairs = material.pairs(written)
    groups = material.groups(written, teacher.device)
    made = make_claims(SimpleNamespace(chance=material.chance, contexts=material.contexts), said.claims)
    claims = [{"h": h, "p": p, "kind": "rule"} for h, p, _ in made] + material.claims()
    claims += [{"h": text, "p": w.passage, "kind": w.kind} for w, text in stated]
    began = time.monotonic()
    until = began + said.judge
    asks = [(row["t"], lessons.ANSWERS.format(row["q"])) for row in pairs]
    asks += [(t, lessons.ANSWERS.format(row["q"])) for row in groups for t in row["t"]]
    asks += [(row["p"], lessons.BEARS.format(row["h"])) for row in claims]
    mixed = list(range(len(asks)))
    random.Random(said.seed).shuffle(mixed)
    odds: list[float | None] = [None] * len(asks)
    judged = teacher.judge([asks[n] for n in mixed], until=until)
    for n, z in zip(mixed, judged, strict=True):
        odds[n] = z
    done = sum(z is not None for z in odds)
    print(f"judged {done:,} of {len(asks):,} in {time.monotonic() - began:.0f} s", flush=True)
    rest = iter(odds)
    for row in pairs:
        row["z"] = next(rest)
    for row in groups:
        row["z"] = [next(rest) for _ in row["t"]]
    for row in claims:
        row["z"] = next(rest)
    keep(said.out / "pairs.jsonl.xz", [row for row in pairs if row["z"] is not None])
    keep(said.out / "groups.jsonl.xz", [row for row in groups if None not in row["z"]])
    keep(said.out / "claims.jsonl.xz", [row for row in claims if row["z"] is not None])
    (said.out / "done").touch()


def main() -> None:
    known = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known.add_argument("--qwen", type=Path, required=True, help="what qwen.py wrote")
    known.add_argument("--data", type=Path, required=True)
    known.add_argument("--out", type=Path, required=True)
    known.add_argument("--dev", type=Path)
    known.add_argument("--seed", type=int, default=1)
    known.add_argument("--teach", type=float, default=230, help="seconds of learning")
    known.add_argument("--write", type=float, default=120, help="seconds of writing questions")
    known.add_argument("--judge", type=float, default=250, help="seconds of judging")
    known.add_argument("--claims", type=int, default=20_000, help="statements made by rule")
    known.add_argument("--part", type=float, default=1.0, help="of the material, for a trial")
    said = known.parse_args()
    said.out.mkdir(parents=True, exist_ok=True)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cuda.enable_cudnn_sdp(False)
    began = time.monotonic()
    material = Material(said.data, seed=said.seed, part=said.part)
    teacher = Teacher(*qwen.load(said.qwen, device), device)
    given = teacher.lessons(*material.to_learn(device))
    print(f"{len(given):,} lessons, ready after {time.monotonic() - began:.0f} s", flush=True)
    (said.out / "begun").touch()
    teacher.learn(given, said.teach, seed=said.seed)
    if said.dev:
        print(json.dumps(measure_model(teacher, said.dev)), flush=True)
    label(teacher, material, said)


if __name__ == "__main__":
    main()
