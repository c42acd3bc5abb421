"""Pack the embedder for `training/gpu_embedding.py`, which measures it on a GPU.

    python -m benchmarks.gpu_embedding FOLDER
    python training/gpu_embedding.py FOLDER          # there: torch, numpy and nvcc, nothing else

FOLDER (such as .artifacts/gpu, which git ignores) gets `embedder.npz` (23 MB: the weights that ship, as whole
numbers with their scales) and `expected.npz`: 256 passages of 200 word pieces from the pages in docs/, and
their vectors on this processor.
One set of vectors is computed with the weights as they ship and 32 bits for everything else, which is what a
GPU can compute too; the other by the embedder itself, which also rounds what flows between the layers to 8
bits. Both have the same weights, so that their difference is what the rounding costs. Needs `octavo[build]`.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from octavo.models import graph
from octavo.models.embedding import load_tokenizer, open_session
from octavo.models.weights import RECIPE, find_weights

PIECES, PASSAGES = 200, 256
FIRST, LAST = 101, 102
DOCS = Path(__file__).parent.parent / "docs"
Array = NDArray[Any]


def read_weights(onnx_file: Path) -> tuple[dict[str, Array], dict[str, Array]]:
    """Read what the file holds, packed, and the same as 32-bit tensors with the names of BERT."""
    import onnx
    from onnx import numpy_helper

    held = {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(onnx_file).graph.initializer}
    packed: dict[str, Array] = {}
    full: dict[str, Array] = {
        "embeddings.word_embeddings.weight": held["words"].astype(np.float32) * held["words.scale"],
        "embeddings.position_embeddings.weight": held["places"],
        "embeddings.token_type_embeddings.weight": np.zeros((1, held["places"].shape[1]), np.float32),
    }
    packed |= {"words": held["words"], "words.scale": held["words.scale"], "places": held["places"]}
    for name, value in held.items():
        if name.endswith((".bias", "LayerNorm.weight")):
            packed[name] = value
            if not name.endswith("self.bias"):
                full[name] = value
        elif name.endswith(".steps"):
            at = name.removesuffix(".steps")
            packed[name], packed[f"{at}.scale"] = value, held[f"{at}.scale"]
            weight = value.astype(np.float32) * held[f"{at}.scale"]
            if at.endswith("self"):
                biases = np.split(held[f"{at}.bias"], 3)
                for part, some, bias in zip(
                    ("query", "key", "value"), np.split(weight, 3, axis=1), biases, strict=True
                ):
                    full[f"{at}.{part}.weight"], full[f"{at}.{part}.bias"] = some.T, bias
            else:
                full[f"{at}.weight"] = weight.T
    return packed, full


def cut_passages(tokenizer: Any) -> Array:
    """Cut the pages of docs/ into passages of exactly so many pieces."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("*.md")))
    pieces = tokenizer.encode(text, add_special_tokens=False).ids
    room = PIECES - 2
    assert len(pieces) >= PASSAGES * room, f"docs/ has only {len(pieces):,} pieces"
    rows = [[FIRST, *pieces[n * room : (n + 1) * room], LAST] for n in range(PASSAGES)]
    return np.array(rows, np.int64)


def embed(session: Any, passages: Array) -> Array:
    """Embed each passage by itself, as the library does."""
    found = []
    for row in passages:
        feeds = {"input_ids": row[None], "attention_mask": np.ones((1, len(row)), np.int64)}
        found.append(session.run(["sentence_embedding"], feeds)[0][0])
    return np.array(found, np.float32)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    shipped = find_weights("minilm-int8", cache=Path("no-such-cache"))
    packed, full = read_weights(shipped.onnx)
    passages = cut_passages(load_tokenizer(shipped.tokenizer))
    with tempfile.TemporaryDirectory() as place:
        unrounded = Path(place) / "fp32.onnx"
        unrounded.write_bytes(graph.build_graph(full, RECIPE, precision="fp32"))
        exact = embed(open_session(unrounded), passages)
    rounded = embed(open_session(shipped.onnx), passages)
    np.savez(folder / "embedder.npz", allow_pickle=False, **packed)
    np.savez(folder / "expected.npz", passages=passages.astype(np.uint16), exact=exact, rounded=rounded)
    cosines = (exact * rounded).sum(1)
    print(f"{PASSAGES} passages of {PIECES} pieces in {folder}")
    print(f"32 bits against the embedder itself: cosine {cosines.mean():.4f}, lowest {cosines.min():.4f}")


if __name__ == "__main__":
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("folder", type=Path)
    main(options.parse_args().folder)
