"""Read the small models that ship back into tensors, for a run that goes on from them.

    python training/unpack_small.py FOLDER TARGET

FOLDER holds reader-int8.onnx, verifier-int8.onnx and the embedder; TARGET gets words.npz, reader.npz,
verifier.npz and embedder.npz as `mpnet.unpack` reads them. Needs `octavo[build]`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np


def read_shipped(path: Path) -> dict[str, np.ndarray]:
    import onnx
    from onnx import numpy_helper

    held = {t.name: numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer}
    found: dict[str, np.ndarray] = {}
    for name, value in held.items():
        if name == "words":
            found["embeddings.word_embeddings.weight.q"] = value
            found["embeddings.word_embeddings.weight.s"] = held["words.scale"].reshape(-1)
        elif name == "places":
            found["embeddings.position_embeddings.weight"] = value
            # The embedder reads one kind of text only, which is part of its places.
            found.setdefault(
                "embeddings.token_type_embeddings.weight", np.zeros((2, value.shape[1]), np.float32)
            )
        elif name.endswith("attention.self.steps"):
            at = name.removesuffix("steps")
            biases = np.split(held[f"{at}bias"], 3)
            parts = np.split(value.T, 3), np.split(held[f"{at}scale"], 3), biases
            for part, steps, scale, bias in zip(("query", "key", "value"), *parts, strict=True):
                found[f"{at}{part}.weight.q"], found[f"{at}{part}.weight.s"] = steps, scale
                found[f"{at}{part}.bias"] = bias
        elif name.endswith(".dense.steps"):
            at = name.removesuffix("steps")
            found[f"{at}weight.q"], found[f"{at}weight.s"] = value.T, held[f"{at}scale"]
        elif name.startswith("head.") or name.endswith(
            (".dense.bias", "LayerNorm.weight", "LayerNorm.bias", "token_type_embeddings.weight")
        ):
            found[name] = value
        elif name in ("span.weight", "rank.weight", "answerable.weight", "support.weight"):
            found[f"head.{name}"] = value.T
    return found


def main(folder: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    shipped = {"reader": "reader", "verifier": "verifier", "embedder": "english"}
    for name, file in shipped.items():
        tensors = read_shipped(folder / f"{file}-int8.onnx")
        words = {n: tensors.pop(n) for n in list(tensors) if "word_embeddings" in n}
        np.savez(target / f"{name}.npz", **{n: np.ascontiguousarray(t) for n, t in tensors.items()})
        np.savez(target / "words.npz", **words)


if __name__ == "__main__":
    main(*(Path(name) for name in sys.argv[1:]))
