"""A sentence-transformers folder as people download it: what it holds, and whether Octavo can run it.

An ONNX file in the folder is used as it is. Otherwise the graph is built from `model.safetensors`, for the
BERT and RoBERTa families with mean or first-token pooling. Whatever else the folder asks for is refused by
name, because vectors that are almost right are worse than none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from octavo.errors import WeightsError
from octavo.models.graph import Pooling, Recipe

BERT = ("bert",)
ROBERTA = ("camembert", "roberta", "xlm-roberta")
MODULES = ("Transformer", "Pooling", "Normalize")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFolder:
    path: Path
    config: Mapping[str, object]
    pooling: Pooling
    max_pieces: int
    onnx: Path | None

    @property
    def safetensors(self) -> Path:
        return self.path / "model.safetensors"

    def derive_recipe(self) -> Recipe:
        """Say how to build the graph; refuse what would come out wrong."""
        kind = self.config.get("model_type")
        if kind not in BERT + ROBERTA:
            raise _make_error(
                self.path, f"has the architecture {kind!r}; Octavo builds {', '.join(BERT + ROBERTA)}"
            )
        if self.config.get("hidden_act", "gelu") != "gelu":
            raise _make_error(
                self.path, f"uses the activation {self.config['hidden_act']!r}; Octavo builds 'gelu'"
            )
        if self.config.get("position_embedding_type", "absolute") != "absolute":
            raise _make_error(
                self.path, f"uses {self.config['position_embedding_type']!r} positions, not absolute"
            )
        return Recipe(
            heads=_get_whole(self.config, "num_attention_heads", 12),
            epsilon=float(str(self.config.get("layer_norm_eps", 1e-12))),
            pooling=self.pooling,
            first_position=_find_first_position(self.config),
        )


def read_folder(path: Path) -> ModelFolder:
    """Look into the folder; name what is missing or not supported."""
    config = _read_json(path / "config.json")
    if not (path / "tokenizer.json").is_file():
        raise _make_error(path, "has no tokenizer.json")
    places = [path / "onnx" / "model.onnx", path / "model.onnx"]
    onnx = next((place for place in places if place.is_file()), None)
    if onnx is None and not (path / "model.safetensors").is_file():
        raise _make_error(path, "has neither onnx/model.onnx nor model.safetensors")
    return ModelFolder(
        path=path,
        config=config,
        pooling=_read_pooling(path),
        max_pieces=_read_max_pieces(path, config),
        onnx=onnx,
    )


def _read_pooling(path: Path) -> Pooling:
    modules = json.loads((path / "modules.json").read_bytes()) if (path / "modules.json").is_file() else []
    kinds = [str(module.get("type", "")).rsplit(".", 1)[-1] for module in modules]
    for kind in kinds:
        if kind not in MODULES:
            raise _make_error(path, f"has a {kind} module; Octavo runs {', '.join(MODULES)}")
    if not (path / "1_Pooling" / "config.json").is_file():
        return "mean"
    config = _read_json(path / "1_Pooling" / "config.json")
    modes = {key.removeprefix("pooling_mode_") for key, on in config.items() if on is True}
    modes = {mode for mode in modes if mode != "include_prompt"} | {
        str(config.get("pooling_mode", "")) or "-"
    }
    modes.discard("-")
    if modes in ({"cls_token"}, {"cls"}):
        return "cls"
    if modes in ({"mean_tokens"}, {"mean"}, set()):
        return "mean"
    raise _make_error(path, f"pools by {', '.join(sorted(modes))}; Octavo pools by mean or cls")


def _read_max_pieces(path: Path, config: Mapping[str, object]) -> int:
    positions = _get_whole(config, "max_position_embeddings", 512) - _find_first_position(config)
    stated = path / "sentence_bert_config.json"
    if not stated.is_file():
        return positions
    return min(positions, _get_whole(_read_json(stated), "max_seq_length", positions))


def _find_first_position(config: Mapping[str, object]) -> int:
    """RoBERTa counts positions from the one after its padding mark."""
    return _get_whole(config, "pad_token_id", 1) + 1 if config.get("model_type") in ROBERTA else 0


def _get_whole(values: Mapping[str, object], key: str, default: int) -> int:
    value = values.get(key)
    return value if isinstance(value, int) and value >= 0 else default


def _read_json(path: Path) -> dict[str, object]:
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError) as broken:
        raise WeightsError(
            f"{path} cannot be read: {broken}", hint="Download the whole model folder again."
        ) from broken
    return value if isinstance(value, dict) else {}


def _make_error(path: Path, fault: str) -> WeightsError:
    return WeightsError(
        f"the model folder {path} {fault}", hint="Choose another model, or use the embedder 'minilm-int8'."
    )
