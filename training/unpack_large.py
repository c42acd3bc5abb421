"""Read the large model that ships back into tensors, for a run that goes on from it.

    python training/unpack_large.py FOLDER TARGET

FOLDER holds large-int8.onnx and large-words.npy. TARGET gets files of at most 55 MB, part-NN.npz, as
`mpnet.unpack` reads them. The neurons of a layer come in another order than they were trained in: those that
ship in full precision stand behind the others, which changes nothing that the model says. Needs
`octavo[build]`, and torch, because `mpnet.py` does.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from mpnet import BUCKETS, DISTANCES, FIRST_PLACE, HEADS, LAYERS, SIZE, WORDS, round_rows

PLACES, MOST = 514, 55_000_000


def read_shipped(folder: Path) -> dict[str, np.ndarray]:
    """The tensors of the model, those of a product with a scale for each row."""
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(folder / "large-int8.onnx").graph
    held = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    table = np.load(folder / "large-words.npy", allow_pickle=False)
    found = {f"{WORDS}.q": table["steps"], f"{WORDS}.s": table["scale"]}
    places = np.zeros((PLACES, SIZE), np.float32)
    places[FIRST_PLACE : FIRST_PLACE + len(held["places"])] = held["places"]
    found["embeddings.position_embeddings.weight"] = places
    found[DISTANCES] = held["bias.table"].T
    assert found[DISTANCES].shape == (BUCKETS, HEADS)
    for name in ("token_type_embeddings.weight", "LayerNorm.weight", "LayerNorm.bias"):
        found[f"embeddings.{name}"] = held[f"embeddings.{name}"]
    for layer in range(LAYERS):
        found |= read_layer(held, f"encoder.layer.{layer}.")
    for head in ("span", "rank", "answerable", "support"):
        if f"head.{head}.bias" in held:
            found[f"head.{head}.weight"] = held[f"{head}.weight"].T
            found[f"head.{head}.bias"] = held[f"head.{head}.bias"]
    return found


def read_layer(held: dict[str, np.ndarray], at: str) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    for part in ("attention.attn.q", "attention.attn.k", "attention.attn.v", "attention.attn.o"):
        found[f"{at}{part}.weight.q"] = held[f"{at}{part}.steps"].T
        found[f"{at}{part}.weight.s"] = held[f"{at}{part}.scale"]
        found[f"{at}{part}.bias"] = held[f"{at}{part}.bias"]
    first, second = f"{at}intermediate.dense", f"{at}output.dense"
    up = np.concatenate([multiply(held, first)[:SIZE], held[f"{first}.loud"]], axis=1)
    down = np.concatenate([multiply(held, second), held[f"{second}.loud"]])
    for name, weight in ((first, up.T), (second, down.T)):
        found[f"{name}.weight.q"], found[f"{name}.weight.s"] = round_rows(weight)
    found[f"{first}.bias"] = np.concatenate([held[f"{first}.bias"], held[f"{first}.loud.bias"]])
    found[f"{second}.bias"] = held[f"{second}.bias"]
    for norm in ("attention.LayerNorm", "output.LayerNorm"):
        for end in ("weight", "bias"):
            found[f"{at}{norm}.{end}"] = held[f"{at}{norm}.{end}"]
    return found


def multiply(held: dict[str, np.ndarray], name: str) -> np.ndarray:
    made: np.ndarray = held[f"{name}.steps"].astype(np.float32) * held[f"{name}.scale"]
    return made


def main(folder: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    held: dict[str, np.ndarray] = {}
    part = size = 0
    for name, tensor in read_shipped(folder).items():
        if not name.endswith(".s") and size + tensor.nbytes > MOST:
            np.savez(target / f"part-{part:02d}.npz", **held)
            held, size, part = {}, 0, part + 1
        held[name] = np.ascontiguousarray(tensor)
        size += tensor.nbytes
    np.savez(target / f"part-{part:02d}.npz", **held)


if __name__ == "__main__":
    main(*(Path(name) for name in sys.argv[1:]))
