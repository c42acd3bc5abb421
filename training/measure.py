"""Measures a model on questions that it has never seen: reading with the right passage given, and ranking.

The folder holds `reading.jsonl.xz` (q, t, y, a: question, passage, answerable, answers) and, for each kind of
book, `rank-NAME.jsonl.xz` (q, y, and p: candidates with t text, h headings, cc first-stage score, g right or
not).
"""

from __future__ import annotations

import collections
import re
from pathlib import Path

import numpy as np
import torch
from data import PAIR_MOST, joined, padded, rows
from encoder import Encoder
from tokenizers import Tokenizer

WEIGHTS, DEPTHS = (0, 2, 4, 6, 8, 12), (5, 8, 10, 20, 30)


def words(text: str) -> list[str]:
    return [w for w in re.findall(r"\w+", text.lower()) if w not in ("a", "an", "the")]


def f1(text: str, golds: list[str]) -> float:
    best = 0.0
    for gold in golds:
        p, g = words(text), words(gold)
        same = sum((collections.Counter(p) & collections.Counter(g)).values())
        best = max(best, 2 * same / (len(p) + len(g)) if same else 0.0)
    return best


def auroc(scores: list[float], labels: list[bool]) -> float:
    order = np.argsort(np.argsort(np.array(scores), kind="stable"), kind="stable") + 1.0
    yes = np.array(labels)
    return float((order[yes].sum() - yes.sum() * (yes.sum() + 1) / 2) / (yes.sum() * (~yes).sum()))


class Reading:
    """Runs the model on pairs of texts."""

    def __init__(self, model: Encoder, tokenizer: Path) -> None:
        self.model = model.eval()
        self.device = next(model.parameters()).device
        self.tokenizer = Tokenizer.from_file(str(tokenizer))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()

    @torch.no_grad()
    def __call__(self, pairs: list[tuple[str, str]], *, batch: int = 256) -> list[dict]:
        from reader import outputs

        asked = self.tokenizer.encode_batch([q for q, _ in pairs], add_special_tokens=False)
        told = self.tokenizer.encode_batch([p for _, p in pairs], add_special_tokens=False)
        made = []
        for q, p in zip(asked, told, strict=True):
            room = PAIR_MOST - min(48, len(q.ids)) - 3
            ids, begin = joined(np.array(q.ids), np.array(p.ids[:room]))
            made.append((ids, begin, p.offsets[:room]))
        order = sorted(range(len(made)), key=lambda n: len(made[n][0]))
        found: list[dict] = [{}] * len(made)
        for first in range(0, len(order), batch):
            part = order[first : first + batch]
            texts = padded([made[n][:2] for n in part])
            ids, kinds, mask = (torch.as_tensor(t, device=self.device) for t in texts)
            with torch.autocast(self.device.type, torch.bfloat16):
                out = outputs(self.model, ids, kinds, mask)
            span, rank, able = (out[name].float().cpu().numpy() for name in ("span", "rank", "answerable"))
            for k, n in enumerate(part):
                found[n] = self._one(span[k], rank[k], able[k], made[n][1], made[n][2])
        return found

    def _one(self, span: np.ndarray, rank: float, able: float, begin: int, offsets: list) -> dict:
        count = len(offsets)
        starts, ends = span[begin : begin + count, 0], span[begin : begin + count, 1]
        total = starts[:, None] + ends[None, :]
        far = np.triu(np.ones_like(total)) * (np.tri(count, k=29)) == 0
        total[far] = -1e9
        i, j = np.unravel_index(total.argmax(), total.shape)
        null = span[0, 0] + span[0, 1]
        return {"rank": float(rank), "able": float(able), "diff": float(total[i, j] - null),
                "best": float(total[i, j]), "chars": (offsets[i][0], offsets[j][1])}  # fmt: skip


def reader(model: Encoder, folder: Path, tokenizer: Path) -> dict:
    run = Reading(model, tokenizer)
    asked = list(rows(folder / "reading.jsonl.xz"))
    got = run([(a["q"], a["t"]) for a in asked])
    both = zip(asked, got, strict=True)
    right = [f1(a["t"][g["chars"][0] : g["chars"][1]], a["a"]) for a, g in both if a["y"]]
    exact = [f == 1.0 for f in right]
    labels = [a["y"] for a in asked]
    kinds = {"able": [g["able"] for g in got], "diff": [g["diff"] for g in got]}
    kinds["both"] = [g["able"] + 0.5 * g["diff"] for g in got]
    result: dict = {"f1": round(np.mean(right), 4), "em": round(np.mean(exact), 4)}
    result |= {f"auroc_{name}": round(auroc(scores, labels), 4) for name, scores in kinds.items()}
    for path in sorted(folder.glob("rank-*.jsonl.xz")):
        sets = [s for s in rows(path) if s["y"]]
        for name, form in (("plain", _plain), ("headed", _headed)):
            pairs = [(s["q"], form(p)) for s in sets for p in s["p"]]
            rel = iter([g["rank"] for g in run(pairs)])
            scored = [[(next(rel), p["cc"], p["g"]) for p in s["p"]] for s in sets]
            result[f"{path.name[5:-9]}-{name}"] = _table(scored)
    return result


def _plain(p: dict) -> str:
    return p["t"]


def _headed(p: dict) -> str:
    return f"{' › '.join(p['h'])}: {p['t']}" if p["h"] else p["t"]


def _table(scored: list) -> dict:
    """hit@1/hit@5 by depth and weight of the first stage."""
    found = {}
    for depth in DEPTHS:
        for weight in WEIGHTS:
            one = five = 0
            for candidates in scored:
                head = sorted(candidates[:depth], key=lambda c: -(c[0] + weight * c[1]))
                ordered = [*head, *candidates[depth:]]
                one += bool(ordered and ordered[0][2])
                five += any(c[2] for c in ordered[:5])
            found[f"d{depth}w{weight}"] = f"{one / len(scored):.3f}/{five / len(scored):.3f}"
    return found
