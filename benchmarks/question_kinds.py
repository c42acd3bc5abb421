"""Counts which way questions of each type go: `python -m benchmarks.question_kinds FILE…`.

Each file has one question a line, as JSON with `question` and `type` (as the exam has them).
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from octavo.answers.lists import wants_several
from octavo.answers.requests import read_request

WAYS = ("Part", "Identity", "Comparison", "Several", "list", "plain")


def name_way(question: str) -> str:
    """Return the way that a question goes."""
    request = read_request(question)
    if request is not None:
        return type(request).__name__.removesuffix("Request")
    return "list" if wants_several(question) else "plain"


def main() -> None:
    counts: dict[str, Counter[str]] = {}
    for path in map(Path, sys.argv[1:]):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            counts.setdefault(row["type"], Counter())[name_way(row["question"])] += 1
    print(f"{'':12}" + "".join(f"{way:>12}" for way in WAYS))
    for kind, ways in counts.items():
        print(f"{kind:12}" + "".join(f"{ways[way]:>12}" for way in WAYS))


if __name__ == "__main__":
    main()
