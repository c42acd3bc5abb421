"""Write trained weights as the ONNX files that ship, and print their SHA-256.

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
from pair_graph import build_pair_graph

from octavo.models.graph import Precision, read_tensors
from octavo.models.weights import RECIPE, replace_file

AT_FIRST = frozenset({"rank", "answerable", "support"})


def average_weights(paths: Sequence[Path]) -> dict[str, np.ndarray]:
    models = [read_tensors(path) for path in paths]
    return {name: np.mean([model[name].astype(np.float32) for model in models], axis=0) for name in models[0]}


def main(base: Path, *files: Path) -> None:
    *trained, target = files
    weights = {**read_tensors(base), **average_weights(trained)}
    precision: Precision = "fp32" if "fp32" in target.name else "int8"
    data = build_pair_graph(weights, RECIPE, at_first=AT_FIRST, precision=precision)
    with replace_file(target) as file:
        file.write(data)
    print(f"{target}: {len(data):,} bytes, SHA-256 {hashlib.sha256(data).hexdigest()}")


if __name__ == "__main__":
    main(*(Path(name) for name in sys.argv[1:]))
