"""Writes trained weights as the ONNX files that Octavo ships, and says their SHA-256.

    python training/export.py BASE TRAINED [TRAINED ...] packages/octavo-models/octavo_models/reader-int8.onnx

BASE is the published model.safetensors, TRAINED what `reader.py` or `verifier.py` wrote. Several that began
with the same weights are averaged. Needs `octavo[build]`, no torch. The same weights give the same bytes.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from octavo.models import graph
from octavo.models import graph as pair_graph
from octavo.models import weights as models

AT_FIRST = frozenset({"rank", "answerable", "support"})


def averaged(paths: Sequence[Path]) -> dict[str, np.ndarray]:
    given = [graph.tensors(path) for path in paths]
    return {name: np.mean([one[name].astype(np.float32) for one in given], axis=0) for name in given[0]}


def main(base: Path, *files: Path) -> None:
    *trained, target = files
    weights = {**graph.tensors(base), **averaged(trained)}
    precision: graph.Precision = "fp32" if "fp32" in target.name else "int8"
    made = pair_graph.build_pairs(weights, models.RECIPE, at_first=AT_FIRST, precision=precision)
    with models.writing(target) as file:
        file.write(made)
    print(f"{target}: {len(made):,} bytes, SHA-256 {hashlib.sha256(made).hexdigest()}")


if __name__ == "__main__":
    main(*(Path(name) for name in sys.argv[1:]))
