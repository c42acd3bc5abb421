"""Fits the judges of `octavo.verification.meaning` and tells what the gate makes of claims about books.

    python -m benchmarks.gate WRITTEN [--part tune|test] [--judge small|large] [--write]

WRITTEN is the file that `training/written.py expand` writes: claims about passages of books, half of them
honest and half lies, in words of their own or in those of the book. No book is in two of its parts. The
verifiers learnt from the part `fit`, so the judges are fitted on the part `tune`. Each book of it is judged
by weights that were fitted without it, and the limits come from these scores. `--write` stores weights and
limits. The part `test` is only scored.
"""

from __future__ import annotations

import argparse
import json
import lzma
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.groundedness import measure_auroc
from octavo.models.cross_encoders import Verifier
from octavo.models.weights import GATE, GATE_LARGE, LARGE
from octavo.text.blocks import find_block, list_blocks
from octavo.types import Chunk
from octavo.verification.claims import Claim, Sentence
from octavo.verification.gate import Ruling, cite_texts, decide, verify_claim
from octavo.verification.meaning import Opinions, measure_meaning
from octavo.verification.rules import may_overrule

DATA = Path(__file__).parent.parent / "src/octavo/verification/meaning.json"
# The shares of lies that may be published, and the share of the honest claims that may be lost altogether.
SHARES, LOST = (0.05, 0.02, 0.01, 0.005, 0.002), 0.02
L2, LEAST = 10.0, 5e-4
FOR = frozenset(
    {"gate", "large", "reader", "cited_spoken"}
    | {f"near_{name}" for name in ("sentence", "window", "weakest", "spoken", "aligned", "bigrams", "words")}
)
"""The measures that speak for a claim. All others speak against it."""
Floats = NDArray[np.float64]
Row = dict[str, Any]


def make_sentences(row: Row) -> dict[str, Sentence]:
    """The sentences of a passage, as an answerer would have found them."""
    text = " ".join(row["sentences"])
    chunk = make_chunk(row["id"], text, row["heading"])
    blocks = list_blocks(text)
    found: dict[str, Sentence] = {}
    at = 0
    for n, sentence in enumerate(row["sentences"], 1):
        end, block = at + len(sentence), find_block(blocks, at)
        found[f"s{n}"] = Sentence(f"s{n}", chunk, at, end, sentence, 0.5, 1, 0.5, block)
        at += len(sentence) + 1
    return found


def make_chunk(name: str, text: str, heading: str) -> Chunk:
    return Chunk(
        id=name, chunk_id=1, content=text, book_id=name, section_id=name, document_position=0, chunk_index=0,
        chapter=heading, section=heading, url="book://written/claims", source_file=name, source_location=name,
        source_title=name, start=0, end=len(text), created_at=datetime(2025, 1, 1, tzinfo=UTC),
        heading_path=(heading,) if heading.strip() else (),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Case:
    """A claim about a passage, and what is known of it."""

    claim: Claim
    sentences: Mapping[str, Sentence]
    honest: bool
    book: str
    kinds: tuple[str, ...]


def read_cases(path: Path, part: str) -> list[Case]:
    found = []
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for row in (row for row in map(json.loads, lines) if row["part"] == part):
            sentences = make_sentences(row)
            words = "own words" if "/own" in row["id"] else "other words"
            for one in row["claims"]:
                ids = tuple(f"s{n}" for n in one["s"]) or ("s1",)
                found.append(
                    Case(Claim(one["c"], ids), sentences, one["honest"], row["book"], (words, *one["k"]))
                )
    return found


@dataclass(frozen=True, slots=True)
class Table:
    """What was measured of the claims that the strict rules do not let through by themselves."""

    names: tuple[str, ...]
    x: Floats
    honest: NDArray[np.bool_]
    books: NDArray[np.str_]
    strict: NDArray[np.bool_]
    vetoed: NDArray[np.bool_]


def tabulate(cases: Sequence[Case], opinions: Opinions) -> Table:
    rows, strict, vetoed = [], [], []
    for case in cases:
        named = [case.sentences[id_] for id_ in case.claim.sentences]
        cited, near = cite_texts(named, case.sentences.values())
        rows.append(measure_meaning(case.claim.text, cited, near, opinions))
        support = verify_claim(case.claim, case.sentences, opinion=opinions.verifier)
        strict.append(support.supported)
        vetoed.append(not support.supported and not may_overrule(case.claim.text, cited))
    names = tuple(rows[0])
    return Table(
        names,
        np.array([[row[name] for name in names] for row in rows]),
        np.array([case.honest for case in cases]),
        np.array([case.book for case in cases]),
        np.array(strict),
        np.array(vetoed),
    )


def fit(table: Table, chosen: Sequence[str], use: NDArray[np.bool_]) -> dict[str, float]:
    """Logistic regression; what speaks for a claim may not count against it, nor the other way about.

    What is measured counts by its spread, so that the penalty is fair.
    """
    x = table.x[use][:, [table.names.index(name) for name in chosen]]
    spread = np.where(x.std(axis=0) > 0, x.std(axis=0), 1.0)
    z, y = x / spread, table.honest[use].astype(float)
    low = np.array([0.0 if name in FOR else -np.inf for name in chosen])
    high = np.array([np.inf if name in (*FOR, "bias") else 0.0 for name in chosen])
    penalty = np.array([0.0 if name == "bias" else L2 for name in chosen])
    w = np.zeros(len(chosen))
    for _ in range(15):
        p = 1 / (1 + np.exp(-(z @ w)))
        slope = z.T @ (p - y) + penalty * w
        bend = (z * (p * (1 - p))[:, None]).T @ z + np.diag(penalty + 1e-9)
        new = w.copy()
        for _ in range(60):  # the bounded quadratic problem, one weight at a time
            for k in range(len(w)):
                pull = slope[k] + bend[k] @ (new - w)
                new[k] = min(high[k], max(low[k], new[k] - pull / bend[k, k]))
        w = w + (new - w) * min(1.0, 2.0 / max(1e-9, float(np.abs(new - w).max())))
    return dict(zip(chosen, (float(v) for v in w / spread), strict=True))


def score(table: Table, weights: Mapping[str, float]) -> Floats:
    return np.asarray(table.x @ np.array([weights.get(name, 0.0) for name in table.names]))


def score_left_out(table: Table, chosen: Sequence[str]) -> Floats:
    """The score of each claim by weights that were fitted without its book."""
    found = np.zeros(len(table.honest))
    for book in set(table.books):
        here = table.books == book
        found[here] = score(table, fit(table, chosen, ~here & ~table.strict))[here]
    return found


def find_limit(table: Table, scores: Floats, share: float) -> float:
    """The least score from which on at most this share of the lies is published.

    Lies that are published whatever their score is count too.
    """
    lies = np.sort(scores[~table.honest & ~table.strict & ~table.vetoed])[::-1]
    allowed = int(share * (~table.honest).sum()) - int((~table.honest & table.strict).sum())
    if allowed < 0:
        raise SystemExit(f"more than {share} of the lies are published whatever their score")
    return float(lies[allowed]) + 1e-3 if allowed < len(lies) else 0.0


def make_judge(table: Table, *, without: Sequence[str] = ()) -> dict[str, Any]:
    chosen = [name for name in table.names if name not in without]
    scores = score_left_out(table, chosen)
    weighed = scores[table.honest & ~table.strict]
    limits = [[share, round(find_limit(table, scores, share), 4)] for share in SHARES]
    honest, use = table.honest, ~table.strict
    print(f"{len(chosen)} measures, AUROC {measure_auroc(scores[use], honest[use]):.3f}, left out by book")
    for share, limit in limits:
        passed = table.strict | (~table.vetoed & (scores >= limit))
        print(f"  {share:.3f}: honest {passed[honest].mean():.3f}, lies {passed[~honest].mean():.4f}")
    weights = {name: round(value, 4) for name, value in fit(table, chosen, use).items() if abs(value) > LEAST}
    quote = float(np.sort(weighed)[int(LOST * honest.sum())])
    return {"publish": limits, "quote": round(quote, 4), "weights": weights}


def report(cases: Sequence[Case], rulings: Sequence[Ruling]) -> None:
    """Tell what became of the claims, by the ways in which they were made."""
    for honest in (True, False):
        many: dict[str, Counter[str]] = defaultdict(Counter)
        for case, ruling in zip(cases, rulings, strict=True):
            if case.honest == honest:
                for kind in ("all", *case.kinds):
                    many[kind][ruling.decision] += 1
        print(f"\n{'honest' if honest else 'lies':14}{'n':>6}{'published':>11}{'quoted':>9}{'dropped':>9}")
        for kind, found in sorted(many.items(), key=lambda pair: -pair[1].total()):
            shares = "".join(f"{found[d] / found.total():10.3f}" for d in ("publish", "quote", "drop"))
            print(f"{kind:14}{found.total():6}{shares}")


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("written", type=Path)
    options.add_argument("--part", choices=("tune", "test"), default="tune", help="the claims to judge")
    options.add_argument("--judge", choices=("small", "large"), default="large")
    options.add_argument("--write", action="store_true", help="fit both judges on the part tune")
    said = options.parse_args()
    verifier = Verifier(threads=1).score_support
    gate, large, reader = (
        Verifier(threads=1, shipped=model).score_support for model in (GATE, GATE_LARGE, LARGE)
    )
    if said.write:
        table = tabulate(read_cases(said.written, "tune"), Opinions(verifier, gate, large, reader))
        judges = {"small": make_judge(table, without=("large", "reader")), "large": make_judge(table)}
        DATA.write_text(json.dumps({"version": 1, **judges}, indent=1) + "\n", encoding="utf-8")
    cases = read_cases(said.written, said.part)
    opinions = Opinions(verifier, gate, large, reader) if said.judge == "large" else Opinions(verifier, gate)
    began = time.process_time()
    rulings = [decide(case.claim, case.sentences, opinions=opinions) for case in cases]
    spent = 5000 * (time.process_time() - began) / len(cases)
    report(cases, rulings)
    print(f"\n{spent:.0f} ms of CPU for five claims")


if __name__ == "__main__":
    main()
