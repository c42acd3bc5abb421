"""Measures a model on questions that it has never seen: reading with the right passage given, and ranking.

The folder holds `reading.jsonl.xz` (q, t, y, a: question, passage, answerable, answers) and, for each kind of
book, `rank-NAME.jsonl.xz` (q, y, and p: candidates with t text, h headings, cc first-stage score, g right or
not). `verifier.py` and `teacher.py` also measure on its `grounded.jsonl.xz` (set, c claim, p passage, y).
"""

from __future__ import annotations

import collections
import re
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from data import PAIR_MOST, QUESTION_MOST, Text, join_pieces, load_tokenizer, pad, rows, tokenize
from encoder import Encoder
from torch import Tensor

WEIGHTS, DEPTHS = (4, 6, 8), (5, 10)
LONGEST, NOWHERE = 30, -1e4


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


def auroc_by_set(claims: list[dict], scores: list[float]) -> dict[str, float]:
    """For each `set` among the claims, how well the scores tell those with a true `y` from the others."""
    found = {}
    for name in sorted({claim["set"] for claim in claims}):
        own = [(score, bool(c["y"])) for score, c in zip(scores, claims, strict=True) if c["set"] == name]
        found[name] = round(auroc([score for score, _ in own], [true for _, true in own]), 4)
    return found


class Reading:
    """Runs the model on pairs of texts."""

    def __init__(self, model: Encoder, tokenizer: Path) -> None:
        self.model = model.eval()
        self.device = next(model.parameters()).device
        self.tokenizer = load_tokenizer(tokenizer)

    def __call__(self, pairs: list[tuple[str, str]], *, batch: int = 256) -> list[dict]:
        asked, told = (tokenize(self.tokenizer, [pair[k] for pair in pairs]) for k in (0, 1))
        return self.read(asked, told, batch=batch)

    @torch.no_grad()
    def read(self, asked: list[Text], told: list[Text], *, batch: int = 256) -> list[dict]:
        """Of each pair: rank, able, the best words by their characters, and how far before "no answer"."""
        from reader import outputs

        made = []
        for question, passage in zip(asked, told, strict=True):
            room = PAIR_MOST - min(QUESTION_MOST, len(question.pieces)) - 3
            made.append(join_pieces(question.pieces, passage.pieces[:room]))
        order = sorted(range(len(made)), key=lambda n: len(made[n][0]))
        found: list[dict] = [{}] * len(made)
        for first in range(0, len(order), batch):
            part = order[first : first + batch]
            texts = pad([made[n] for n in part])
            ids, kinds, mask = (torch.as_tensor(t, device=self.device) for t in texts)
            with torch.autocast(self.device.type, torch.bfloat16):
                out = outputs(self.model, ids, kinds, mask)
            best, begins, ends = best_spans(out["span"])
            columns = (out["rank"], out["answerable"], best - out["span"][:, 0].sum(1), best, begins, ends)
            for n, one in zip(part, zip(*(c.tolist() for c in columns), strict=True), strict=True):
                found[n] = _seen(*one[:4], (one[4] - made[n][1], one[5] - made[n][1]), told[n].offsets)
        return found


def best_spans(span: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The score of the best words of at most LONGEST pieces, and their first and last place."""
    begins, ends = span[:, 1:, 0], span[:, 1:, 1]
    reach = F.pad(ends, (0, LONGEST - 1), value=NOWHERE).unfold(1, LONGEST, 1)
    score, at = (begins[..., None] + reach).flatten(1).max(1)
    first = at // LONGEST
    return score, 1 + first, 1 + first + at % LONGEST


def _seen(
    rank: float, able: float, diff: float, best: float, places: tuple[int, int], offsets: np.ndarray
) -> dict:
    inside = 0 <= places[0] <= places[1] < len(offsets)  # not so in a passage without a word
    chars = (int(offsets[places[0], 0]), int(offsets[places[1], 1])) if inside else (0, 0)
    return {"rank": rank, "able": able, "diff": diff, "best": best, "chars": chars}


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
        sets = [(s["q"], s["p"][: max(DEPTHS)]) for s in rows(path) if s["y"]]
        rel = iter([g["rank"] for g in run([(q, _headed(p)) for q, candidates in sets for p in candidates])])
        scored = [[(next(rel), p["cc"], p["g"]) for p in candidates] for _, candidates in sets]
        result[path.name[5:-9]] = _table(scored)
    return result


def _headed(p: dict) -> str:
    """The passage as the product has it read."""
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
