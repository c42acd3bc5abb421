"""Keeps what the large teacher wrote and judged, without the texts of the sets that it judged.

    python training/labels.py pack DATA LABELS KEPT
    python training/labels.py expand DATA KEPT LABELS

The texts of the training data have licences of their own and stay out of this repository. KEPT therefore
holds numbers: for each question or statement with its passage the beginning of a SHA-256 of both texts, and
the teacher's log-odds. What the teacher wrote itself is kept as text, with the beginning of the SHA-256 of
its passage. `expand` draws the material once more from DATA, with the same seed, and makes the files of
`teacher.py` again.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from data import rows
from lessons import Material
from verifier import make_claims

SEED, RULE_CLAIMS = 1, 12_000
WROTE = ("miss", "story", "true", "false")
Row = dict[str, Any]


def digest(*texts: str) -> str:
    return hashlib.sha256("\x1f".join(texts).encode()).hexdigest()[:16]


def wrote(row: Row) -> bool:
    """Whether the teacher wrote the question or statement itself."""
    return str(row["kind"]).startswith(WROTE)


def pack_row(row: Row) -> Row:
    text, passages = (
        row.get("q") or row["h"],
        row["t"] if isinstance(row.get("t"), list) else [row.get("t") or row["p"]],
    )
    kept: Row = {"z": row["z"], "kind": row["kind"]}
    if wrote(row):
        return kept | {"text": text, "p": [digest(p) for p in passages]}
    return kept | {"k": digest(text, *passages)}


def write_rows(path: Path, found: Iterable[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with lzma.open(path, "wt", encoding="utf-8", preset=9) as file:
        for row in found:
            file.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")


def pack(labels: Path, kept: Path) -> None:
    for name in ("pairs", "groups", "claims"):
        write_rows(kept / f"{name}.jsonl.xz", (pack_row(row) for row in rows(labels / f"{name}.jsonl.xz")))


def list_written(kept: Sequence[Row], passages: dict[str, str]) -> list[tuple[Row, list[str]]]:
    """What the teacher wrote, with its passages, as far as they are in the data."""
    return [
        (row, [passages[p] for p in row["p"]])
        for row in kept
        if "text" in row and all(p in passages for p in row["p"])
    ]


def match(kept: Sequence[Row], drawn: Iterable[tuple[Row, str, list[str]]]) -> Iterator[Row]:
    """What was drawn again, with the log-odds that are kept for it."""
    odds = {row["k"]: row["z"] for row in kept if "k" in row}
    for row, text, passages in drawn:
        known = odds.pop(digest(text, *passages), None)
        if known is not None:
            yield row | {"z": known}


def expand(data: Path, kept: Path, labels: Path, device: str = "cpu") -> None:
    material = Material(data, seed=SEED)
    passages = {digest(t): t for t in material.contexts.values()}
    passages |= {digest(t): t for texts in material.books.values() for t in texts}
    files = {name: list(rows(kept / f"{name}.jsonl.xz")) for name in ("pairs", "groups", "claims")}
    material.to_learn(device)
    material.to_state()
    material.to_write()
    pairs = [
        {"q": r["text"], "t": t[0], "a": None, "s": None, **_own(r)}
        for r, t in list_written(files["pairs"], passages)
    ]
    drawn = material.pairs([])
    pairs += match(files["pairs"], ((r, r["q"], [r["t"]]) for r in drawn))
    groups = [
        {"q": r["text"], "t": t, "a": None, "s": None, **_own(r)}
        for r, t in list_written(files["groups"], passages)
    ]
    drawn = material.groups([], device)
    groups += match(files["groups"], ((r, r["q"], r["t"]) for r in drawn))
    made = make_claims(SimpleNamespace(chance=material.chance, contexts=material.contexts), RULE_CLAIMS)
    claims = [{"h": r["text"], "p": t[0], **_own(r)} for r, t in list_written(files["claims"], passages)]
    drawn = [{"h": h, "p": p, "kind": "rule"} for h, p, _ in made] + material.claims()
    claims += match(files["claims"], ((r, r["h"], [r["p"]]) for r in drawn))
    for name, found in (("pairs", pairs), ("groups", groups), ("claims", claims)):
        write_rows(labels / f"{name}.jsonl.xz", found)
        print(f"{name}: {len(found):,} of {len(files[name]):,}", flush=True)


def _own(row: Row) -> Row:
    return {"z": row["z"], "kind": row["kind"]}


def main(task: str, *folders: str) -> None:
    data, first, second = (Path(folder) for folder in folders)
    if task == "pack":
        pack(first, second)
    else:
        expand(data, first, second)


if __name__ == "__main__":
    main(*sys.argv[1:])
