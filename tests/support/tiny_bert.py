"""A BERT small enough to compute by hand: random weights, a model folder, and a plain forward pass."""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, pre_tokenizers, processors

Array = NDArray[np.float32]
WORDS = ["the", "sea", "is", "deep", "and", "cold", "tonight", "a", "ship", "sails", "slowly", "home", "over"]
WORDS += ["dark", "water"]
HIDDEN, HEADS, LAYERS, POSITIONS = 16, 2, 2, 24
TEXTS = [[1, 4, 5, 6, 7, 2], [1, 9, 2], [1, 17, 12, 13, 14, 15, 16, 4, 2]]


def make_weights(seed: int = 7, *, prefix: str = "") -> dict[str, Array]:
    random = np.random.default_rng(seed)

    def matrix(*shape: int) -> Array:
        return random.normal(0, 0.3, shape).astype(np.float32)

    made = {
        "embeddings.word_embeddings.weight": matrix(len(WORDS) + 4, HIDDEN),
        "embeddings.position_embeddings.weight": matrix(POSITIONS, HIDDEN),
        "embeddings.token_type_embeddings.weight": matrix(2, HIDDEN),
        "embeddings.LayerNorm.weight": 1 + matrix(HIDDEN),
        "embeddings.LayerNorm.bias": matrix(HIDDEN),
    }
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        shapes = {f"attention.self.{part}": (HIDDEN, HIDDEN) for part in ("query", "key", "value")}
        shapes |= {"attention.output.dense": (HIDDEN, HIDDEN)}
        shapes |= {"intermediate.dense": (2 * HIDDEN, HIDDEN), "output.dense": (HIDDEN, 2 * HIDDEN)}
        for name, shape in shapes.items():
            made |= {f"{at}{name}.weight": matrix(*shape), f"{at}{name}.bias": matrix(shape[0])}
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            made |= {f"{at}{name}.weight": 1 + matrix(HIDDEN), f"{at}{name}.bias": matrix(HIDDEN)}
    return {f"{prefix}{name}": array for name, array in made.items()}


def run_forward(
    w: dict[str, Array], ids: list[int], *, pooling: str = "mean", first_position: int = 0
) -> Array:
    """One text through the model and pooled."""
    x = encode(w, ids, kinds=[0] * len(ids), first_position=first_position)
    pooled = x[0] if pooling == "cls" else x.mean(0)
    return np.asarray(pooled / np.linalg.norm(pooled), np.float32)


def encode(w: dict[str, Array], ids: list[int], *, kinds: list[int], first_position: int = 0) -> Array:
    """Every piece through all layers, written the long way."""
    positions = w["embeddings.position_embeddings.weight"][first_position : first_position + len(ids)]
    x = (
        w["embeddings.word_embeddings.weight"][ids]
        + positions
        + w["embeddings.token_type_embeddings.weight"][kinds]
    )
    x = _norm(x, w, "embeddings.LayerNorm")
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        q, k, v = (_heads(_linear(x, w, f"{at}attention.self.{part}")) for part in ("query", "key", "value"))
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(HIDDEN / HEADS)
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        context = (shares / shares.sum(-1, keepdims=True)) @ v
        joined = context.transpose(1, 0, 2).reshape(len(ids), HIDDEN)
        x = _norm(x + _linear(joined, w, f"{at}attention.output.dense"), w, f"{at}attention.output.LayerNorm")
        wide = _linear(x, w, f"{at}intermediate.dense")
        wide = wide * 0.5 * (1 + np.vectorize(math.erf)(wide / math.sqrt(2)))
        x = _norm(x + _linear(wide, w, f"{at}output.dense"), w, f"{at}output.LayerNorm")
    return x


def _linear(x: Array, w: dict[str, Array], name: str) -> Array:
    return np.asarray(x @ w[f"{name}.weight"].T + w[f"{name}.bias"])


def _heads(x: Array) -> Array:
    return x.reshape(len(x), HEADS, HIDDEN // HEADS).transpose(1, 0, 2)


def _norm(x: Array, w: dict[str, Array], name: str) -> Array:
    spread = np.sqrt(x.var(-1, keepdims=True) + 1e-12)
    return np.asarray((x - x.mean(-1, keepdims=True)) / spread * w[f"{name}.weight"] + w[f"{name}.bias"])


def save_weights(path: Path, arrays: dict[str, Array], *, kind: str = "F32") -> Path:
    """A safetensors file, byte by byte."""
    header, body = {}, b""
    for name, array in arrays.items():
        if kind == "BF16":
            data = (array.view(np.uint32) >> 16).astype("<u2").tobytes()
        else:
            data = array.astype({"F32": "<f4", "F16": "<f2"}[kind]).tobytes()
        header[name] = {
            "dtype": kind,
            "shape": list(array.shape),
            "data_offsets": [len(body), len(body) + len(data)],
        }
        body += data
    raw = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    path.write_bytes(struct.pack("<Q", len(raw)) + raw + body)
    return path


def make_model_folder(
    path: Path, *, kind: str = "bert", pooling: str = "mean_tokens", modules: tuple[str, ...] = ()
) -> Path:
    """A sentence-transformers folder with the tiny model in it."""
    path.mkdir(parents=True, exist_ok=True)
    config = {"model_type": kind, "num_attention_heads": HEADS, "max_position_embeddings": POSITIONS}
    config |= {"layer_norm_eps": 1e-12, "hidden_act": "gelu", "pad_token_id": 1 if kind != "bert" else 0}
    (path / "config.json").write_text(json.dumps(config))
    (path / "1_Pooling").mkdir(exist_ok=True)
    (path / "1_Pooling" / "config.json").write_text(json.dumps({f"pooling_mode_{pooling}": True}))
    named = [{"type": f"sentence_transformers.models.{m}"} for m in ("Transformer", "Pooling", *modules)]
    (path / "modules.json").write_text(json.dumps(named))
    vocabulary = {word: n for n, word in enumerate(["[PAD]", "[CLS]", "[SEP]", "[UNK]", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer.save(str(path / "tokenizer.json"))
    save_weights(path / "model.safetensors", make_weights(prefix="" if kind == "bert" else "roberta."))
    return path


def run_model(data: bytes, batch: list[list[int]]) -> Array:
    """Run a graph that was built, on texts of different lengths."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    longest = max(map(len, batch))
    ids = np.array([text + [0] * (longest - len(text)) for text in batch])
    mask = np.array([[1] * len(text) + [0] * (longest - len(text)) for text in batch])
    return np.asarray(session.run(None, {"input_ids": ids, "attention_mask": mask})[0])
