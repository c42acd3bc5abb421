"""Write trained weights as the files that ship, and print their SHA-256.

    python training/export.py BASE TRAINED [TRAINED ...] packages/octavo-models/octavo_models/reader-int8.onnx
    python training/export.py BASE TRAINED [TRAINED ...] packages/octavo-models/octavo_models/large-int8.onnx
    python training/export.py TRAINED packages/octavo-models/octavo_models/multilingual-reader-int8.onnx

BASE is the published model.safetensors, TRAINED what training wrote. Needs `octavo[build]`, no torch. The
same weights give the same bytes. The tensors say whether the model is small or large. The large one becomes
two files: beside the graph, its words (`large-words.npy`). A large model whose file begins with "gate-" has a
scale for each block of its weights.

Safetensors files hold whole tensors; several that began with the same weights are averaged. Files of numpy
(.npz) hold a part of the tensors each, and together they are one model:

- NAME.q (int8) and NAME.s (float32, one for each row, where the last axis is the row): the difference from
  BASE, rounded. What was trained is BASE + q · s.
- NAME (float32): the tensor itself. All that BASE lacks comes like this, and may any other.

The differences must have been taken from BASE. If training began with a rounded copy of the published
weights, give that copy: an .npz file where NAME.q · NAME.s is the tensor itself, with the words in the order
of BERT's vocabulary already, or a folder of such files (`unpack_large.py`). Heads of such a copy that
training did not write are left out.

Without TRAINED, the first file holds the whole model. One without words gets them from outside, as the
multilingual reader does.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from pair_graph import DISTANCES, WORDS, build_large_graph, build_pair_graph, order_words, pack_words

from octavo.errors import WeightsError
from octavo.models.graph import Precision, read_tensors
from octavo.models.weights import RECIPE, replace_file

AT_FIRST = frozenset({"rank", "answerable", "support"})
WORDS_FILE = "large-words.npy"
_HINT = "Give all files that training wrote, and the base that it began with."


def read_base(path: Path) -> dict[str, np.ndarray]:
    """Read the weights that training began with. Words of MPNet are put in the order of BERT's vocabulary."""
    if path.is_dir() or path.suffix == ".npz":
        return apply_changes({}, sorted(path.glob("*.npz")) if path.is_dir() else [path])
    base = read_tensors(path)
    if DISTANCES in base:
        base[WORDS] = order_words(base[WORDS])
    return base


def read_trained(base: Mapping[str, np.ndarray], paths: Sequence[Path]) -> dict[str, np.ndarray]:
    """Read the weights that training ended with, those of the base included where it left them alone."""
    if not paths:
        return dict(base)
    kinds = {path.suffix == ".npz" for path in paths}
    if len(kinds) != 1:
        raise WeightsError("the trained weights must be all .npz files, or all safetensors files", hint=_HINT)
    if kinds == {True}:
        made = apply_changes(base, paths)
        written = {name.removesuffix(".q") for path in paths for name in np.load(path).files}
        return {name: made[name] for name in made if name in written or not name.startswith("head.")}
    trained = average_weights(paths)
    if DISTANCES in base and WORDS in trained and len(trained[WORDS]) != len(base[WORDS]):
        trained[WORDS] = order_words(trained[WORDS])
    return {**base, **trained}


def average_weights(paths: Sequence[Path]) -> dict[str, np.ndarray]:
    models = [read_tensors(path) for path in paths]
    return {name: np.mean([model[name].astype(np.float32) for model in models], axis=0) for name in models[0]}


def apply_changes(base: Mapping[str, np.ndarray], paths: Sequence[Path]) -> dict[str, np.ndarray]:
    """Add the rounded differences in the files to the base. With no base, they are the weights themselves."""
    held: dict[str, np.ndarray] = {}
    for path in paths:
        with np.load(path) as file:
            twice = sorted(held.keys() & set(file.files))
            if twice:
                raise WeightsError(f"{path} holds {twice[0]}, which another file holds too", hint=_HINT)
            held |= {name: file[name] for name in file.files}
    made = dict(base)
    for name in sorted(held):
        plain = name.removesuffix(".q").removesuffix(".s")
        made[plain] = held[name].astype(np.float32) if plain == name else _add_change(plain, held, base)
    return made


def _add_change(name: str, held: Mapping[str, np.ndarray], base: Mapping[str, np.ndarray]) -> np.ndarray:
    steps, scales = held.get(f"{name}.q"), held.get(f"{name}.s")
    if steps is None or scales is None or scales.shape != steps.shape[:-1]:
        raise WeightsError(f"{name}.q and {name}.s must come together, one scale for each row", hint=_HINT)
    change = steps.astype(np.float32) * scales.astype(np.float32)[..., None]
    if not base:
        return change
    if name not in base or base[name].shape != change.shape:
        raise WeightsError(f"the base holds no {name} of the shape {change.shape}", hint=_HINT)
    return base[name] + change


def build_files(weights: Mapping[str, np.ndarray], target: Path) -> dict[Path, bytes]:
    precision: Precision = "fp32" if "fp32" in target.name else "int8"
    if DISTANCES not in weights:
        return {target: build_pair_graph(weights, RECIPE, at_first=AT_FIRST, precision=precision)}
    in_blocks = target.name.startswith("gate-")
    return {
        target: build_large_graph(weights, at_first=AT_FIRST, precision=precision, in_blocks=in_blocks),
        target.with_name(WORDS_FILE): pack_words(weights[WORDS]),
    }


def main(base: Path, *files: Path) -> None:
    *trained, target = files
    for path, data in build_files(read_trained(read_base(base), trained), target).items():
        with replace_file(path) as file:
            file.write(data)
        print(f"{path}: {len(data):,} bytes, SHA-256 {hashlib.sha256(data).hexdigest()}")


if __name__ == "__main__":
    main(*(Path(name) for name in sys.argv[1:]))
