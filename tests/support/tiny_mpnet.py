"""An MPNet small enough to compute by hand: random weights, and a plain forward pass of two texts."""

from __future__ import annotations

import math

import numpy as np

from tests.support.tiny_bert import Array

HIDDEN, HEADS, LAYERS, WIDE, POSITIONS = 32, 4, 2, 64, 400
WORDS, DISTANCES = "embeddings.word_embeddings.weight", "encoder.relative_attention_bias.weight"
HEAD_SIZES = {"answerable": 1, "rank": 1, "span": 2, "support": 1}
AT_FIRST = frozenset({"answerable", "rank", "support"})


def make_published(seed: int = 7, *, words: int = 140) -> dict[str, Array]:
    """Weights as they are published: words in MPNet's order, no kinds of text, no heads."""
    random = np.random.default_rng(seed)

    def matrix(*shape: int) -> Array:
        return random.normal(0, 0.3, shape).astype(np.float32)

    made = {
        WORDS: matrix(words, HIDDEN),
        DISTANCES: matrix(32, HEADS),
        "embeddings.position_embeddings.weight": matrix(POSITIONS, HIDDEN),
        "embeddings.LayerNorm.weight": 1 + matrix(HIDDEN),
        "embeddings.LayerNorm.bias": matrix(HIDDEN),
    }
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        shapes = {f"attention.attn.{part}": (HIDDEN, HIDDEN) for part in "qkvo"}
        shapes |= {"intermediate.dense": (WIDE, HIDDEN), "output.dense": (HIDDEN, WIDE)}
        for name, shape in shapes.items():
            made |= {f"{at}{name}.weight": matrix(*shape), f"{at}{name}.bias": matrix(shape[0])}
        for name in ("attention.LayerNorm", "output.LayerNorm"):
            made |= {f"{at}{name}.weight": 1 + matrix(HIDDEN), f"{at}{name}.bias": matrix(HIDDEN)}
    return made


def make_heads(seed: int = 8) -> dict[str, Array]:
    """What training adds to the published weights."""
    random = np.random.default_rng(seed)
    made = {"embeddings.token_type_embeddings.weight": random.normal(0, 0.3, (2, HIDDEN))}
    for name, size in HEAD_SIZES.items():
        made[f"head.{name}.weight"] = random.normal(0, 0.5, (size, HIDDEN))
        made[f"head.{name}.bias"] = random.normal(0, 0.5, size)
    return {name: array.astype(np.float32) for name, array in made.items()}


def run_forward(w: dict[str, Array], words: Array, kinds: list[int]) -> dict[str, Array]:
    """The output of each head, from the vectors of the words."""
    x = encode(w, words, kinds)
    return {
        name: (x[:1] if name in AT_FIRST else x) @ w[f"head.{name}.weight"].T + w[f"head.{name}.bias"]
        for name in HEAD_SIZES
    }


def encode(w: dict[str, Array], words: Array, kinds: list[int]) -> Array:
    """Every piece through all layers, written the long way."""
    many = len(words)
    x = words + w["embeddings.position_embeddings.weight"][2 : 2 + many]
    x = _norm(x + w["embeddings.token_type_embeddings.weight"][kinds], w, "embeddings.LayerNorm")
    bias = np.array([[w[DISTANCES][find_bucket(i, j)] for j in range(many)] for i in range(many)])
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        q, k, v = (_split(_linear(x, w, f"{at}attention.attn.{part}")) for part in "qkv")
        context = np.zeros((many, HEADS, HIDDEN // HEADS), np.float32)
        for head in range(HEADS):
            scores = q[:, head] @ k[:, head].T / math.sqrt(HIDDEN / HEADS) + bias[:, :, head]
            shares = np.exp(scores - scores.max(-1, keepdims=True))
            context[:, head] = (shares / shares.sum(-1, keepdims=True)) @ v[:, head]
        mixed = _linear(context.reshape(many, HIDDEN), w, f"{at}attention.attn.o")
        x = _norm(x + mixed, w, f"{at}attention.LayerNorm")
        wide = _linear(x, w, f"{at}intermediate.dense")
        wide = wide * 0.5 * (1 + np.vectorize(math.erf)(wide / math.sqrt(2)))
        x = _norm(x + _linear(wide, w, f"{at}output.dense"), w, f"{at}output.LayerNorm")
    return x


def find_bucket(here: int, there: int) -> int:
    """The bucket of the distance, in whole numbers: two buckets for each doubling from 8 on, 16 on a side."""
    far = abs(here - there)
    wide = far if far < 8 else min(15, 8 + (far * far // 64).bit_length() - 1)
    return wide + 16 * (there > here)


def _linear(x: Array, w: dict[str, Array], name: str) -> Array:
    return np.asarray(x @ w[f"{name}.weight"].T + w[f"{name}.bias"])


def _split(x: Array) -> Array:
    return x.reshape(len(x), HEADS, HIDDEN // HEADS)


def _norm(x: Array, w: dict[str, Array], name: str) -> Array:
    spread = np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return np.asarray((x - x.mean(-1, keepdims=True)) / spread * w[f"{name}.weight"] + w[f"{name}.bias"])
