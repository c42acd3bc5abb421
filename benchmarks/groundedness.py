"""Fits the weights of `octavo.verification` and reports how well it tells supported claims from others.

    python benchmarks/groundedness.py SUITE --train TRAIN [--write]

SUITE is a folder with `faithbench_*.jsonl`, `wice.jsonl` and `begin_*.jsonl`; it only judges. TRAIN holds
`nli.jsonl.xz` and `books.jsonl.xz`; weights and threshold come from it alone. Each public set in `SETS`
counts the same, and so does each kind of claim made from sentences of books: true ones (shortened, reworded)
and ones with a single thing changed (a number, a name, a "not", an opposite). "Left out" is the result on a
set that the weights have not seen. What no passage can bear out (a question, what the speaker says of
himself) counts by amounts set by hand, since the public sets have too little of it. `--write` stores weights
and threshold in the package's data file.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from octavo.text.english import list_words
from octavo.verification import check
from octavo.verification.words import normalise

DATA = Path(check.__file__).parent / "verification.json"
SETS = ("fever_athnlp", "scitail", "summedits", "faithdial_audit", "paws", "cad_nli", "snli", "mnli_part")
TRUE = ("entail", "supported")
FOR = ("sentence", "window", "weakest", "spoken", "aligned", "bigrams", "words")
ALTERED = ("swapped", "opposite", "negation")
NEAR = ("paws", "cad_nli", "snli", "mnli_part")  # closer to riddles of wording than to claims about a text
SHARE = {"shortened": 1.0, "reworded": 1.0, "other_word": 0.0}
KEEP = {"verbatim": 0.95, "shortened": 0.85, "reworded": 0.85}
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Case:
    """One claim with the passages it is judged by, and the truth."""

    group: str
    claim: str
    passages: tuple[str, ...]
    true: bool


@dataclass(frozen=True, slots=True)
class Table:
    """Cases as numbers: one row of features each."""

    names: tuple[str, ...]
    x: Floats
    y: NDArray[np.bool_]
    groups: NDArray[np.str_]
    given: Floats  # the score where no features are weighed, else -1
    against: Floats  # what speaks against any such sentence, set by hand


# The suite that judges


def load_suite(folder: Path) -> list[Case]:
    sources = {r["id"]: r["source"] for r in read_rows(folder / "faithbench_responses.jsonl")}
    cases = [
        Case("faithbench", r["sentence"], (sources[r["source_id"]],), r["label"] == "Consistent")
        for r in read_rows(folder / "faithbench_sentences.jsonl")
        if r["label"] in ("Consistent", "Unwanted")
    ]
    for r in read_rows(folder / "wice.jsonl"):
        lines = r["evidence_sentences"]
        passages = tuple(" ".join(lines[i : i + 8]) for i in range(0, len(lines), 6))[:40]
        cases.append(Case("wice", r["claim"], passages, r["grounded"] is True))
    for path in sorted(folder.glob("begin_*.jsonl")):
        cases += [Case("begin", r["response"], (r["source"],), bool(r["grounded"])) for r in read_rows(path)]
    return [replace(c, claim=c.claim[:1000]) for c in cases]


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    with lzma.open(path) if path.suffix == ".xz" else path.open("rb") as lines:
        yield from map(json.loads, lines)


# What the weights are fitted on


def load_public(folder: Path, *, most: int) -> list[Case]:
    """Pairs of the public sets; half of them among other premises of the same set."""
    chance = random.Random(1)
    by_set: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in read_rows(folder / "nli.jsonl.xz"):
        if row["set"] in SETS:
            by_set[row["set"]].append(row)
    cases = []
    for name, found in by_set.items():
        for row in chance.sample(found, min(most, len(found))):
            others = [chance.choice(found)["p"] for _ in range(chance.choice((0, 0, 0, 2, 6)))]
            passages = [row["p"], *(o for o in others if o != row["p"])]
            chance.shuffle(passages)
            cases.append(Case(name, row["h"], tuple(passages), row["y"] in TRUE))
    return cases


def make_from_books(folder: Path, *, most: int) -> list[Case]:
    """True and altered sentences of books, each against five passages of about 150 words."""
    chance = random.Random(2)
    made: dict[str, list[Case]] = {kind: [] for kind in (*KINDS, "joined", "half", "elsewhere")}
    chapters = [r for r in read_rows(folder / "books.jsonl.xz") if len(r["paragraphs"]) > 8]
    chance.shuffle(chapters)
    for chapter in chapters:
        passages = cut_passages([p if isinstance(p, str) else p["text"] for p in chapter["paragraphs"]])
        if len(passages) < 7:
            continue
        for passage in chance.sample(passages, 6):
            told = [s for s in split_text(passage) if not s.rstrip("\"'”’) ").endswith("?")]
            sentences = [s for s in told if 8 <= len(s.split()) <= 40]
            if sentences:
                for case in make_variations(chance.choice(sentences), passage, passages, chance):
                    made[case.group].append(case)
        if min(map(len, made.values())) >= most:
            break
    return [case for cases in made.values() for case in cases[:most]]


def make_variations(
    sentence: str, passage: str, passages: Sequence[str], chance: random.Random
) -> Iterator[Case]:
    """What can be claimed from one sentence: the sentence altered, joined to another, or one not shown."""
    others = [p for p in passages if p != passage and sentence not in p]
    if len(others) < 5:
        return
    *shown, hidden = chance.sample(others, 5)
    shown = chance.sample([passage, *shown], 5)
    for kind, (alter, true) in KINDS.items():
        claim = alter(sentence, passage, chance)
        if claim and (claim != sentence or kind == "verbatim"):
            yield Case(kind, claim, tuple(shown), true)
    for kind, place in (("joined", chance.choice(shown)), ("half", hidden)):
        more = [t for t in split_text(place) if 5 <= len(t.split()) <= 25 and t != sentence and "?" not in t]
        if more:
            claim = f"{sentence.rstrip('.')}, and {chance.choice(more)}"
            yield Case(kind, claim, tuple(shown), kind == "joined")
    absent = [t for t in split_text(hidden) if len(t.split()) > 5 and not any(t in p for p in shown)]
    if absent:
        yield Case("elsewhere", chance.choice(absent), tuple(shown), False)


def cut_passages(paragraphs: Sequence[str]) -> list[str]:
    """Passages of about 150 words, whole paragraphs where they are not longer."""
    passages, now = [], ""
    for paragraph in paragraphs:
        now = f"{now}\n\n{paragraph}" if now else paragraph
        if len(now.split()) >= 120:
            sentences, piece = split_text(now), ""
            for sentence in sentences:
                piece = f"{piece} {sentence}" if piece else sentence
                if len(piece.split()) >= 150:
                    passages.append(piece)
                    piece = ""
            now = piece
    return [*passages, now] if now else passages


def split_text(text: str) -> list[str]:
    return [text[a:b] for a, b in check.split_roughly(text)]


# Ways to alter a sentence: each gives a claim, or "" where it does not apply

Alter = Callable[[str, str, random.Random], str]
SMALL = "two|three|four|five|six|seven|eight|nine|ten|twenty"
NUMBER = re.compile(rf"\b\d[\d,]*(?:\.\d+)?\b|\b(?:{SMALL})\b")
NAME = re.compile(
    r"(?<=[a-z,;] )(?!(?:That|Since|This|The|What|When|They|There|But|And|His|Her|She|You)\b)"
    r"[A-Z][a-z]{2,}(?: [A-Z][a-z]+)*\b"
)
VERB = re.compile(
    r"\b(is|are|was|were|can|could|will|would|should|must|has|had|have)\b"
    r"(?! (?:not|no|never|nothing|none)\b)(?!n['’]t)"
)
NOT = re.compile(
    r"\b(is|are|was|were|can|could|will|would|should|must|has|had|have|do|does|did) not\b|\bnever\b "
)
SYNONYMS = {
    "begin": "start", "began": "started", "big": "large", "large": "big", "many": "numerous",
    "often": "frequently", "show": "demonstrate", "shows": "demonstrates", "but": "however", "help": "assist",
    "use": "employ", "uses": "employs", "important": "significant", "quickly": "fast", "near": "close to",
    "children": "kids", "house": "home", "because": "since", "whole": "entire", "answered": "replied",
    "replied": "answered", "said": "remarked", "nearly": "almost", "almost": "nearly", "therefore": "thus",
    "main": "chief", "usually": "normally", "about": "approximately", "get": "obtain", "needs": "requires",
    "called": "named", "different": "distinct", "various": "diverse", "small": "little",
}  # fmt: skip


def choose_match(pattern: re.Pattern[str], text: str, chance: random.Random) -> re.Match[str] | None:
    found = list(pattern.finditer(text))
    return chance.choice(found) if found else None


def replace_match(text: str, at: re.Match[str] | None, new: str) -> str:
    return "" if at is None or not new else text[: at.start()] + new + text[at.end() :]


def keep_verbatim(sentence: str, _passage: str, _chance: random.Random) -> str:
    return sentence


def shorten(sentence: str, _passage: str, chance: random.Random) -> str:
    """A leading or trailing clause goes, or the adverbs and brackets do."""
    parts = re.split(r"(?<=[,;:])\s+", sentence)
    if len(parts) > 1 and chance.random() < 0.7:
        kept = parts[:-1] if chance.random() < 0.5 else parts[1:]
        text = " ".join(kept).rstrip(",;:").rstrip(".") + "."
        return text[0].upper() + text[1:] if len(text.split()) >= 5 else ""
    return re.sub(r"\s*\([^)]*\)|\b(?:very|quite|rather|simply|really|\w{3,}ly)\s", "", sentence)


def reword(sentence: str, _passage: str, chance: random.Random) -> str:
    """A few synonyms, digits for number words, contractions, a clause moved to the front."""
    text, changed = sentence, 0
    for word, other in chance.sample(sorted(SYNONYMS.items()), len(SYNONYMS)):
        text, n = re.subn(rf"\b{word}\b", other, text, count=1)
        changed += n
        if changed >= 2:
            break
    text = re.sub(r"\b(is|are|was|were|do|does|did|has|had|could|would) not\b", r"\1n't", text)
    text = re.sub(rf"(?<![-\w])(?:{SMALL})(?![-\w]| hundred)", lambda m: normalise(m[0]), text)
    moved = re.fullmatch(r"(.{20,}?),? (because|when|if|although|after|before|while) ([^,;]{12,})\.", text)
    if moved and chance.random() < 0.7:
        text = f"{moved[2].capitalize()} {moved[3]}, {moved[1][0].lower()}{moved[1][1:]}."
    if chance.random() < 0.5:
        text = re.sub(r"\b(?:very|quite|rather|simply|really|the)\s", "", text)
    return text


def change_number(sentence: str, _passage: str, chance: random.Random) -> str:
    at = choose_match(NUMBER, sentence, chance)
    if at is None:
        return ""
    digits = at[0].replace(",", "")
    if not digits[0].isdigit():
        return replace_match(
            sentence, at, chance.choice([w for w in ("two", "three", "five", "seven", "nine") if w != at[0]])
        )
    return replace_match(sentence, at, str(int(float(digits)) + chance.choice((1, 2, 3, 7, 10, 100))))


def borrow_number(sentence: str, passage: str, chance: random.Random) -> str:
    at = choose_match(NUMBER, sentence, chance)
    mine = {normalise(n) for n in NUMBER.findall(sentence)}
    others = [n for n in NUMBER.findall(passage) if normalise(n) not in mine]
    return replace_match(sentence, at, chance.choice(others)) if others else ""


def change_name(sentence: str, passage: str, chance: random.Random) -> str:
    names = [
        n
        for n in ("Harriet", "Boston", "Edmund", "Peru", "Newton", "Clara", "Vienna", "Osborne")
        if n not in passage
    ]
    return replace_match(sentence, choose_match(NAME, sentence, chance), chance.choice(names))


def borrow_name(sentence: str, passage: str, chance: random.Random) -> str:
    others = [n for n in NAME.findall(passage) if n not in sentence]
    return (
        replace_match(sentence, choose_match(NAME, sentence, chance), chance.choice(others)) if others else ""
    )


def swap_names(sentence: str, _passage: str, chance: random.Random) -> str:
    """Two names change places, unless they are only listed side by side."""
    names = [m for m in NAME.finditer(sentence) if sentence.count(m[0]) == 1]
    far = [
        (a, b) for a, b in pairwise(names) if len(re.findall(r"\w{3,}", sentence[a.end() : b.start()])) >= 2
    ]
    if not far:
        return ""
    a, b = chance.choice(far)
    return sentence[: a.start()] + b[0] + sentence[a.end() : b.start()] + a[0] + sentence[b.end() :]


def negate(sentence: str, _passage: str, chance: random.Random) -> str:
    at = choose_match(VERB, sentence, chance)
    return replace_match(sentence, at, f"{at[0]} not") if at else ""


def affirm(sentence: str, _passage: str, chance: random.Random) -> str:
    at = choose_match(NOT, sentence, chance)
    return sentence[: at.start()] + (at[1] or "") + sentence[at.end() :] if at else ""


def oppose(sentence: str, _passage: str, chance: random.Random) -> str:
    pairs = [pair.split() for pair in sorted(list_words("opposites", "opposites_in_claims"))]
    opposite = dict(pairs) | {b: a for a, b in pairs}
    at = choose_match(
        re.compile(r"\b[a-z]{3,}\b"), " ".join(w if w in opposite else "-" for w in sentence.split()), chance
    )
    return re.sub(rf"\b{at[0]}\b", opposite[at[0]], sentence, count=1) if at else ""


def change_word(sentence: str, passage: str, chance: random.Random) -> str:
    long = re.compile(r"\b[a-z]{6,}\b")
    others = [w for w in long.findall(passage) if w not in sentence]
    return (
        replace_match(sentence, choose_match(long, sentence, chance), chance.choice(others)) if others else ""
    )


KINDS: dict[str, tuple[Alter, bool]] = {
    "verbatim": (keep_verbatim, True),
    "shortened": (shorten, True),
    "reworded": (reword, True),
    "other_number": (change_number, False),
    "near_number": (borrow_number, False),
    "other_name": (change_name, False),
    "near_name": (borrow_name, False),
    "swapped_names": (swap_names, False),
    "negated": (negate, False),
    "affirmed": (affirm, False),
    "opposed": (oppose, False),
    "other_word": (change_word, False),
}
"""How each kind of claim is made from a sentence, and whether it is true."""


# Fitting and judging


def tabulate(cases: Sequence[Case]) -> Table:
    read = [check.measure(c.claim, c.passages) for c in cases]
    names = tuple(next(r.features for r in read if r.features))
    x = [[r.features.get(n, 0.0) for n in names] for r in read]
    given = [-1.0 if r.given is None else r.given for r in read]
    return Table(
        names,
        np.array(x),
        np.array([c.true for c in cases]),
        np.array([c.group for c in cases]),
        np.array(given),
        np.array([r.against for r in read]),
    )


def fit(table: Table, chosen: Sequence[str], *, without: str = "") -> dict[str, float]:
    """First what is there (on claims that are true or about something else), then what was altered."""
    use = (table.given < 0) & (table.groups != without)
    first = [n for n in chosen if n not in ALTERED]
    plain = use & ~np.isin(table.groups, [*NEAR, *(k for k, (_, true) in KINDS.items() if not true)])
    weights = fit_logistic(table, first, plain, {}, l2=1e-2)
    return weights | fit_logistic(table, [n for n in chosen if n in ALTERED], use, weights, l2=1e-3)


def fit_logistic(
    table: Table, chosen: Sequence[str], use: NDArray[np.bool_], known: dict[str, float], *, l2: float
) -> dict[str, float]:
    """Logistic regression; what speaks for a claim may not count against it, nor the other way about."""
    x = table.x[use][:, [table.names.index(n) for n in chosen]]
    offset = np.full(len(x), known.get("bias", 0.0))
    offset += table.x[use] @ np.array([known.get(n, 0.0) for n in table.names])
    names = list(chosen)
    if not known:
        x, names = np.column_stack([x, np.ones(len(x))]), [*chosen, "bias"]
    y, weight = table.y[use].astype(float), weigh_cases(table.groups[use], table.y[use])
    low = np.array([0.0 if n in FOR else -np.inf for n in names])
    high = np.array([np.inf if n in (*FOR, "bias") else 0.0 for n in names])
    penalty = np.array([0.0 if n == "bias" else l2 for n in names])
    w = np.zeros(len(names))
    for _ in range(25):
        p = 1 / (1 + np.exp(-(x @ w + offset)))
        slope = x.T @ (weight * (p - y)) + penalty * w
        bend = (x * (weight * p * (1 - p))[:, None]).T @ x + np.diag(penalty + 1e-9)
        new = w.copy()
        for _ in range(100):  # the bounded quadratic problem, one weight at a time
            for k in range(len(w)):
                pull = slope[k] + bend[k] @ (new - w)
                new[k] = min(high[k], max(low[k], new[k] - pull / bend[k, k]))
        w = w + (new - w) * min(1.0, 2.0 / max(1e-9, float(np.abs(new - w).max())))
    return dict(zip(names, [round(float(v), 4) for v in w], strict=True))


def weigh_cases(groups: NDArray[np.str_], y: NDArray[np.bool_]) -> Floats:
    """Every public set counts the same, its true and its other claims equally; so do the kinds from books."""
    weight = np.zeros(len(y))
    for group in set(groups):
        for side in (False, True):
            here = (groups == group) & (y == side)
            if here.any():
                weight[here] = SHARE.get(str(group), 0.5) / here.sum()
    return np.asarray(weight / weight.sum())


def score_table(table: Table, weights: dict[str, float]) -> Floats:
    w = np.array([weights.get(n, 0.0) for n in table.names])
    p = 1 / (1 + np.exp(-(table.x @ w + weights["bias"] - table.against)))
    return np.asarray(np.where(table.given >= 0, table.given, p))


def measure_auroc(p: Floats, y: NDArray[np.bool_]) -> float:
    values, places = np.unique(p, return_inverse=True)
    counts = np.bincount(places, minlength=len(values))
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    n = int(y.sum())
    return float((ranks[y].sum() - n * (n + 1) / 2) / (n * (len(y) - n)))


def find_threshold(table: Table, p: Floats) -> float:
    """The middle of the range where most claims are judged rightly, each group counting the same."""
    weight = weigh_cases(table.groups, table.y)
    tried = [round(0.4 + 0.01 * k, 2) for k in range(50)]
    right = np.array([float(weight @ ((p >= t) == table.y)) for t in tried])
    kept = [all((p >= t)[table.groups == g].mean() >= share for g, share in KEEP.items()) for t in tried]
    good = [t for t, r, k in zip(tried, right, kept, strict=True) if k and r >= right[kept].max() - 0.002]
    return good[len(good) // 2]


def report(train: Table, dev: Table, weights: dict[str, float], threshold: float) -> None:
    p, q = score_table(dev, weights), score_table(train, weights)
    print(f"weights {weights}\nthreshold {threshold}\n\n{'suite':16}{'n':>7}{'AUROC':>8}{'accuracy':>10}")
    for name in dict.fromkeys(dev.groups):
        here = dev.groups == name
        accuracy = ((p >= threshold) == dev.y)[here].mean()
        print(f"{name:16}{here.sum():7}{measure_auroc(p[here], dev.y[here]):8.3f}{accuracy:10.3f}")
    print(f"\n{'training set':16}{'n':>7}{'AUROC':>8}{'left out':>10}")
    for name in SETS:
        here = train.groups == name
        unseen = score_table(train, fit(train, train.names, without=name))[here]
        seen, left_out = (measure_auroc(s, train.y[here]) for s in (q[here], unseen))
        print(f"{name:16}{here.sum():7}{seen:8.3f}{left_out:10.3f}")
    print(f"\n{'from books':16}{'n':>7}{'true':>8}{'supported':>11}")
    for name in dict.fromkeys(g for g in train.groups if g not in SETS):
        here = train.groups == name
        print(f"{name:16}{here.sum():7}{train.y[here].any()!s:>8}{(q >= threshold)[here].mean():11.3f}")


def main() -> None:
    options = argparse.ArgumentParser(description="Fit and judge octavo.verification.")
    options.add_argument("suite", type=Path)
    options.add_argument("--train", type=Path, required=True)
    options.add_argument("--most", type=int, default=1200, help="cases of a public set; a kind has a quarter")
    options.add_argument("--write", action="store_true")
    chosen = options.parse_args()
    cases = load_public(chosen.train, most=chosen.most) + make_from_books(chosen.train, most=chosen.most // 4)
    train, judged = tabulate(cases), load_suite(chosen.suite)
    began = time.process_time()
    dev = tabulate(judged)
    print(f"{1000 * (time.process_time() - began) / len(judged):.2f} ms of CPU for a claim of the suite\n")
    weights = fit(train, train.names)
    data = json.loads(DATA.read_text(encoding="utf-8"))
    threshold = find_threshold(train, score_table(train, weights))
    report(train, dev, weights, threshold)
    if chosen.write:
        data["threshold"], data["fitted_on"] = threshold, [*SETS, "books"]
        data["weights"] = weights
        DATA.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
