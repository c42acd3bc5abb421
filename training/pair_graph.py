"""Trained weights in, one ONNX file out that reads two texts together: a question and a passage, say.

The encoder is that of `octavo.models.graph`; the second text is marked as such. Each head is a small linear
layer, kept in full precision: those named in `at_first` are read at the first piece, which stands for the
pair as a whole, the others at every piece.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from octavo.errors import WeightsError
from octavo.models.graph import GraphWriter, Precision, Recipe

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float32]


def build_pair_graph(
    weights: Mapping[str, Array], recipe: Recipe, *, at_first: frozenset[str], precision: Precision
) -> bytes:
    """Write the ONNX file, which gives one output for each `head.NAME` of the weights."""
    inputs = ("input_ids", "attention_mask", "token_type_ids")
    graph = PairGraphWriter(
        weights, recipe, quantised=precision == "int8", name="pairs", inputs=inputs, at_first=at_first
    )
    try:
        return graph.write()
    except KeyError as missing:
        raise WeightsError(
            f"the weights hold no tensor {missing}: they are not those of a trained BERT encoder",
            hint="Give the published weights and what training wrote, together.",
        ) from missing


@dataclass(slots=True)
class PairGraphWriter(GraphWriter):
    at_first: frozenset[str] = frozenset()

    def _sum_places(self) -> Array:
        return self.weights["embeddings.position_embeddings.weight"][self.recipe.first_position :]

    def _add_kinds(self, total: str) -> str:
        table = self._add_weight("embeddings.token_type_embeddings.weight")
        kinds = self._add_node("Gather", [table, "token_type_ids"], "kinds")
        return self._add_node("Add", [total, kinds], "embeddings.all")

    def _add_outputs(self, x: str) -> dict[str, list[Any]]:
        import numpy as np

        first = self._add_node(
            "Gather", [x, self._add_constant("first", np.array(0, np.int64))], "first.piece", axis=1
        )
        heads = sorted(name.split(".")[1] for name in self.weights if name.startswith("head."))
        shapes: dict[str, list[Any]] = {}
        for head in dict.fromkeys(heads):
            weight, bias = self.weights[f"head.{head}.weight"].T, self._add_weight(f"head.{head}.bias")
            given = first if head in self.at_first else x
            product = self._add_node(
                "MatMul", [given, self._add_constant(f"{head}.weight", weight)], f"{head}.product"
            )
            self._add_node("Add", [product, bias], head)
            size = weight.shape[1]
            shapes[head] = ["batch", size] if head in self.at_first else ["batch", "length", size]
        return shapes
