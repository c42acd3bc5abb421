"""Published BERT weights in, one ONNX file out: pooling and unit length are part of the graph.

`read_tensors` reads a safetensors file with nothing but a JSON header and array views; nothing in it can run.
`build_graph` writes the graph operator by operator, so neither torch nor an exporter is needed, and the same
weights give the same bytes. It needs `octavo[build]`, for a sentence-transformers folder of the user's own;
`training/` builds the files that ship with it.

At int8 every weight has its own scale per output channel (per row for the embeddings), and takes 7 of the 8
bits: the largest sum that an x86 without VNNI holds in 16 bits, 2 · 255 · 64 = 32,640, then always fits, and
the same file is right on every processor.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from octavo.errors import WeightsError, require_extra

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float32]

Precision = Literal["int8", "fp32"]
Pooling = Literal["mean", "cls"]
GRAPH_VERSION = 2
_MICROSOFT = "com.microsoft"
_MICROSOFT_OPERATORS = frozenset(
    {
        *("Attention", "QAttention", "DynamicQuantizeMatMul", "Gelu"),
        *("FusedMatMul", "MatMulIntegerToFloat", "MatMulNBits"),
    }
)
_OPSET, _IR = 18, 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What the tensors' shapes do not say."""

    heads: int
    epsilon: float = 1e-12
    pooling: Pooling = "mean"
    first_position: int = 0
    steps: int = 64
    """How far an int8 weight may be from zero; 127 is right only where sums of products never saturate."""


def read_tensors(path: Path) -> dict[str, Array]:
    """Read the floating-point tensors of a safetensors file, as float32."""
    import numpy as np

    with path.open("rb") as file:
        data = file.read()
    try:
        (length,) = struct.unpack_from("<Q", data)
        header = json.loads(data[8 : 8 + length])
        body = memoryview(data)[8 + length :]
        found: dict[str, Array] = {}
        for name, entry in header.items():
            if name == "__metadata__" or entry["dtype"] not in ("F32", "F16", "BF16"):
                continue
            start, end = entry["data_offsets"]
            kind = {"F32": "<f4", "F16": "<f2", "BF16": "<u2"}[entry["dtype"]]
            flat = np.frombuffer(body[start:end], dtype=kind)
            if entry["dtype"] == "BF16":
                flat = (flat.astype(np.uint32) << 16).view(np.float32)
            found[name] = flat.astype(np.float32).reshape(entry["shape"])
    except (struct.error, ValueError, KeyError, TypeError, AttributeError, MemoryError) as broken:
        raise WeightsError(
            f"{path} is not a whole safetensors file: {broken}", hint="Download or copy it again."
        ) from broken
    return found


def build_graph(weights: Mapping[str, Array], recipe: Recipe, *, precision: Precision) -> bytes:
    """Write the ONNX file: `input_ids`, `attention_mask` (int64) to `sentence_embedding` of unit length."""
    require_extra("build", hint="The embedder 'minilm-int8' needs no building.")
    plain = {_strip_prefix(name): array for name, array in weights.items()}
    try:
        return GraphWriter(plain, recipe, quantised=precision == "int8").write()
    except KeyError as missing:
        raise WeightsError(
            f"the weights hold no tensor {missing}: they are not those of a BERT encoder",
            hint="Use a sentence-transformers model of the BERT or RoBERTa family.",
        ) from missing


def _strip_prefix(name: str) -> str:
    for prefix in ("bert.", "roberta.", "0.auto_model."):
        name = name.removeprefix(prefix)
    return name


@dataclass(slots=True)
class GraphWriter:
    """Writes a graph: each method adds nodes and returns the name of what they compute."""

    weights: Mapping[str, Array]
    recipe: Recipe
    quantised: bool
    nodes: list[Any] = field(default_factory=list)
    constants: dict[str, Any] = field(default_factory=dict)
    name: str = "embedder"
    inputs: tuple[str, ...] = ("input_ids", "attention_mask")

    def write(self) -> bytes:
        from onnx import TensorProto, helper

        self._add_mask()
        x = self._add_embeddings()
        layer = 0
        while f"encoder.layer.{layer}.output.dense.weight" in self.weights:
            x = self._add_layer(f"encoder.layer.{layer}.", x)
            layer += 1
        outputs = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
            for name, shape in self._add_outputs(x).items()
        ]
        graph = helper.make_graph(
            self.nodes, self.name, self._describe_inputs(), outputs, list(self.constants.values())
        )
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_MICROSOFT, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR, producer_name="octavo")
        return bytes(model.SerializeToString(deterministic=True))

    def _describe_inputs(self) -> list[Any]:
        from onnx import TensorProto, helper

        return [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])
            for name in self.inputs
        ]

    def _add_mask(self) -> None:
        from onnx import TensorProto

        self._add_node("Cast", ["attention_mask"], "mask", to=TensorProto.INT32)

    def _add_node(self, op: str, inputs: list[str], output: str, **attributes: Any) -> str:
        return self._add_nodes(op, inputs, [output], **attributes)[0]

    def _add_nodes(self, op: str, inputs: list[str], outputs: list[str], **attributes: Any) -> list[str]:
        from onnx import helper

        domain = _MICROSOFT if op in _MICROSOFT_OPERATORS else ""
        self.nodes.append(
            helper.make_node(op, inputs, outputs, name=f"/{outputs[0]}", domain=domain, **attributes)
        )
        return outputs

    def _add_constant(self, name: str, array: Any) -> str:
        import numpy as np
        from onnx import numpy_helper

        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(np.asarray(array, order="C"), name)
        return name

    def _add_weight(self, name: str) -> str:
        return self._add_constant(name, self.weights[name])

    def _add_norm(self, name: str) -> list[str]:
        return [self._add_weight(f"{name}.weight"), self._add_weight(f"{name}.bias")]

    def _add_embeddings(self) -> str:
        import numpy as np

        words_in = self._add_words()
        zero = self._add_constant("zero", np.zeros(1, np.int64))
        length = self._add_node("Shape", [self.inputs[0]], "length", start=1, end=2)
        places = self._add_constant("places", self._sum_places())
        here = self._add_node("Slice", [places, zero, length, zero], "places.here")
        total = self._add_kinds(self._add_node("Add", [words_in, here], "embeddings.sum"))
        norm = self._add_norm("embeddings.LayerNorm")
        epsilon = self.recipe.epsilon
        return self._add_node("LayerNormalization", [total, *norm], "embeddings", axis=-1, epsilon=epsilon)

    def _add_words(self) -> str:
        """Add the lookup of each word piece's vector."""
        words = self.weights["embeddings.word_embeddings.weight"]
        if not self.quantised:
            return self._add_node("Gather", [self._add_constant("words", words), "input_ids"], "words.values")
        steps, scales = quantise(words, axis=1, most=self.recipe.steps)
        table, sizes = self._add_constant("words", steps), self._add_constant("words.scale", scales)
        picked = self._add_node("Gather", [table, "input_ids"], "words.steps")
        numbers = self._add_node("Cast", [picked], "words.numbers", to=1)
        scale = self._add_node("Gather", [sizes, "input_ids"], "words.scales")
        return self._add_node("Mul", [numbers, scale], "words.values")

    def _sum_places(self) -> Array:
        """Sum what is added at each place: one text is all of the first kind."""
        places = self.weights["embeddings.position_embeddings.weight"][self.recipe.first_position :]
        first: Array = places + self.weights["embeddings.token_type_embeddings.weight"][0]
        return first

    def _add_kinds(self, total: str) -> str:
        return total

    def _add_layer(self, at: str, x: str) -> str:
        attended = self._add_attention(f"{at}attention.self.", x)
        mixed = self._add_linear(f"{at}attention.output.dense", attended)
        x = self._add_sum_norm(f"{at}attention.output", mixed, x)
        wide = self._add_node("Gelu", [self._add_linear(f"{at}intermediate.dense", x)], f"{at}gelu")
        return self._add_sum_norm(f"{at}output", self._add_linear(f"{at}output.dense", wide), x)

    def _add_attention(self, at: str, x: str) -> str:
        import numpy as np

        parts = [f"{at}{part}" for part in ("query", "key", "value")]
        weight = np.concatenate([self.weights[f"{part}.weight"].T for part in parts], axis=1)
        joined = np.concatenate([self.weights[f"{part}.bias"] for part in parts])
        bias = self._add_constant(f"{at}bias", joined)
        heads = self.recipe.heads
        if not self.quantised:
            inputs = [x, self._add_constant(f"{at}weight", weight), bias, "mask"]
            return self._add_node("Attention", inputs, f"{at}context", num_heads=heads)
        steps, scale = self._add_quantised(at, weight)
        zero = self._add_constant(f"{at}zero", np.zeros(weight.shape[1], np.int8))
        names = [f"{at}x{end}" for end in (".steps", ".scale", ".zero")]
        x_steps, x_scale, x_zero = self._add_nodes("DynamicQuantizeLinear", [x], names)
        inputs = [x_steps, steps, bias, x_scale, scale, "mask", x_zero, zero]
        return self._add_node("QAttention", inputs, f"{at}context", num_heads=heads)

    def _add_linear(self, at: str, x: str) -> str:
        weight, bias = self.weights[f"{at}.weight"].T, self._add_weight(f"{at}.bias")
        if not self.quantised:
            product = self._add_node(
                "MatMul", [x, self._add_constant(f"{at}.weight", weight)], f"{at}.product"
            )
            return self._add_node("Add", [product, bias], at)
        steps, scale = self._add_quantised(f"{at}.", weight)
        return self._add_node("DynamicQuantizeMatMul", [x, steps, scale, "", bias], at)

    def _add_quantised(self, at: str, weight: Array) -> tuple[str, str]:
        steps, scales = quantise(weight, axis=0, most=self.recipe.steps)
        return self._add_constant(f"{at}steps", steps), self._add_constant(f"{at}scale", scales.reshape(-1))

    def _add_sum_norm(self, at: str, x: str, skip: str) -> str:
        """Add a sum and what normalises it. The operator that does both takes far longer."""
        total = self._add_node("Add", [x, skip], f"{at}.sum")
        norm, epsilon = self._add_norm(f"{at}.LayerNorm"), self.recipe.epsilon
        return self._add_node("LayerNormalization", [total, *norm], f"{at}.out", axis=-1, epsilon=epsilon)

    def _add_outputs(self, x: str) -> dict[str, list[Any]]:
        """Add what comes after the last layer; return the outputs with their shapes."""
        self._add_pooling(x)
        return {"sentence_embedding": ["batch", self.weights["embeddings.word_embeddings.weight"].shape[1]]}

    def _add_pooling(self, x: str) -> None:
        import numpy as np

        one = self._add_constant("one", np.array([1], np.int64))
        if self.recipe.pooling == "cls":
            zero = self._add_constant("first", np.array(0, np.int64))
            pooled = self._add_node("Gather", [x, zero], "pooled", axis=1)
        else:
            kept = self._add_node("Cast", ["mask"], "kept", to=1)
            rows = self._add_node("Unsqueeze", [kept, one], "rows")
            total = self._add_node("Squeeze", [self._add_node("MatMul", [rows, x], "sums"), one], "total")
            count = self._add_node("ReduceSum", [kept, one], "count", keepdims=1)
            pooled = self._add_node("Div", [total, count], "pooled")
        self._add_node("LpNormalization", [pooled], "sentence_embedding", axis=-1, p=2)


def quantise(weight: Array, *, axis: int, most: int = 64) -> tuple[NDArray[np.int8], Array]:
    """Round to whole steps, with the size of a step for each slice across `axis`; zero stays exactly zero."""
    import numpy as np

    largest = np.abs(weight).max(axis=axis, keepdims=True)
    scales = (np.where(largest > 1e-30, largest, 1) / np.float32(most)).astype(np.float32)
    return np.rint(weight / scales).astype(np.int8), scales
