"""Every figure of docs/measurements.md, one table after the other.

    python -m benchmarks [SUITE] [TRAIN]

SUITE is the unpacked development suite; without it, books are made up and retrieval is not measured.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def run(*arguments: str | Path) -> None:
    print(f"\n$ python -m {' '.join(str(a) for a in arguments)}\n", flush=True)
    subprocess.run([sys.executable, "-m", *map(str, arguments)], check=True)


def main() -> None:
    suite = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    if suite is None:
        run("benchmarks.ingest")
    else:
        policy = suite / "formats" / "debian_policy"
        moby = suite / "formats" / "epub3_samples" / "moby-dick.epub"
        run("benchmarks.ingest", moby, "--pdf", policy / "policy.pdf")
        run("benchmarks.pdf_words", policy / "policy.pdf", policy / "policy.txt")
        run("benchmarks.retrieval", suite)
        run("benchmarks.asking", suite / "squad2_book" / "book", suite / "squad2_book" / "qa.jsonl")
    run("benchmarks.agent")
    run("benchmarks.kills", "--kills", "200")
    run("benchmarks.many")
    run("benchmarks.load")


if __name__ == "__main__":
    main()
