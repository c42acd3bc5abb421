"""Writes trained weights as the ONNX files that Octavo ships, and says their SHA-256.

    python training/export.py BASE TRAINED src/octavo/weights/reader-int8.onnx

BASE is the published model.safetensors, TRAINED what `reader.py` or `verifier.py` wrote. Needs
`octavo[build]`, no torch. The same weights give the same bytes.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from octavo import models
from octavo.models import graph, pair_graph

AT_FIRST = frozenset({"rank", "answerable", "support"})


def main(base: Path, trained: Path, target: Path) -> None:
    words = graph.tensors(base)
    weights = {**words, **graph.tensors(trained)}
    precision: graph.Precision = "fp32" if "fp32" in target.name else "int8"
    made = pair_graph.build_pairs(weights, models.RECIPE, at_first=AT_FIRST, precision=precision)
    with models.writing(target) as file:
        file.write(made)
    print(f"{target}: {len(made):,} bytes, SHA-256 {hashlib.sha256(made).hexdigest()}")


if __name__ == "__main__":
    main(*(Path(name) for name in sys.argv[1:]))
