"""Trained weights in, one ONNX file out that reads two texts together: a question and a passage, say.

The encoder of `build_pair_graph` is that of `octavo.models.graph`; the second text is marked as such. Each
head is a small linear layer, kept in full precision: those named in `at_first` are read at the first piece,
which stands for the pair as a whole, the others at every piece.

`build_large_graph` writes the encoder of MPNet, which differs in its names and adds a bias to the attention
by the distance of two pieces. Its graph takes the vectors of the words instead of their ids, because the
table of the words is a file of its own (`pack_words`). It takes one pair at a time, of at most `MOST` pieces,
so that no piece is ever masked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from zlib import crc32

from octavo.errors import WeightsError
from octavo.models.graph import GraphWriter, Precision, Recipe, quantise

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float32]

WORDS = "embeddings.word_embeddings.weight"
DISTANCES = "encoder.relative_attention_bias.weight"
MOST = 384
BUCKETS, FAR = 32, 128
LOUD, SPLIT, PARTS = 16, 4, 8
BLOCK, ZERO_STEP = 256, 128
# A weight that is so near to a whole step stays there.
UNCHANGED = 1e-3
# Inputs are rounded to 8 bits, block by block; 0 would leave them in full precision.
BLOCK_INPUTS = 4
# The ids of [PAD], [UNK], [CLS] and [SEP] in BERT's vocabulary, and those of MPNet's marks in their place.
MARKS = {0: 1, 100: 3, 101: 0, 102: 2}
# MPNet puts its marks in front of BERT's vocabulary, and <mask> behind it.
MARKS_BEFORE, MARKS_BEHIND = 4, 1


def build_pair_graph(
    weights: Mapping[str, Array], recipe: Recipe, *, at_first: frozenset[str], precision: Precision
) -> bytes:
    """Write the ONNX file, which gives one output for each `head.NAME` of the weights.

    Without a table of words in the weights, the graph takes the vectors of the word pieces.
    """
    writer = PairGraphWriter if WORDS in weights else OutsideWordsGraphWriter
    inputs = ("input_ids" if WORDS in weights else "words", "attention_mask", "token_type_ids")
    graph = writer(
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


@dataclass(slots=True)
class OutsideWordsGraphWriter(PairGraphWriter):
    """Writes the encoder without its table of words, which several models share."""

    def _describe_inputs(self) -> list[Any]:
        from onnx import TensorProto, helper

        size = self.weights["embeddings.LayerNorm.weight"].shape[0]
        words = helper.make_tensor_value_info("words", TensorProto.FLOAT, ["batch", "length", size])
        return [words, *PairGraphWriter._describe_inputs(self)[1:]]

    def _add_words(self) -> str:
        return "words"

    def _sum_places(self) -> Array:
        return PairGraphWriter._sum_places(self)[:MOST]


def build_large_graph(
    weights: Mapping[str, Array], *, at_first: frozenset[str], precision: Precision, in_blocks: bool = False
) -> bytes:
    """Write the ONNX file: `words`, `token_type_ids` to one output for each `head.NAME` of the weights.

    With `in_blocks`, the weights have 8 bits and a scale for each block of a row.
    """
    inputs = ("words", "token_type_ids")
    try:
        recipe = Recipe(heads=weights[DISTANCES].shape[1], epsilon=1e-5, first_position=2)
        writer = BlockGraphWriter if in_blocks else LargeGraphWriter
        quantised = precision == "int8" and not in_blocks
        return writer(
            weights, recipe, quantised=quantised, name="large", inputs=inputs, at_first=at_first
        ).write()
    except KeyError as missing:
        raise WeightsError(
            f"the weights hold no tensor {missing}: they are not those of a trained MPNet encoder",
            hint="Give the published weights and what training wrote, together.",
        ) from missing


@dataclass(slots=True)
class LargeGraphWriter(PairGraphWriter):
    """Writes MPNet from the operators that ONNX Runtime runs fastest on one thread.

    The sum and the layer norm stay apart, since the fused operator takes seven times as long. The input of
    the attention is quantised once for queries, keys and values. FusedMatMul reads the heads where they lie,
    without a copy of them in another order.

    At int8 all values of a product's input share one scale. In MPNet, a few neurons of each layer reach a
    hundred times what the others do, and a few dimensions ten times, which would leave the others hardly any
    steps. So the `LOUD` loudest neurons are computed in full precision, beside the others, and the `SPLIT`
    loudest dimensions go into the product in `PARTS` equal parts. The weights tell which they are.
    """

    def _describe_inputs(self) -> list[Any]:
        from onnx import TensorProto, helper

        size = self.weights["embeddings.LayerNorm.weight"].shape[0]
        return [
            helper.make_tensor_value_info("words", TensorProto.FLOAT, [1, "length", size]),
            helper.make_tensor_value_info("token_type_ids", TensorProto.INT64, [1, "length"]),
        ]

    def _add_mask(self) -> None:
        """Add none: each pair is a batch of its own."""

    def _add_words(self) -> str:
        return "words"

    def _sum_places(self) -> Array:
        first = self.recipe.first_position
        return self.weights["embeddings.position_embeddings.weight"][first : first + MOST]

    def _add_embeddings(self) -> str:
        # The decorator makes a new class of this one, which super() without arguments does not find.
        x = PairGraphWriter._add_embeddings(self)
        self._add_distance_bias()
        return self._add_node("Squeeze", [x, self._add_batch_axis()], "pieces")

    def _add_outputs(self, x: str) -> dict[str, list[Any]]:
        batch = self._add_node("Unsqueeze", [x, self._add_batch_axis()], "pair")
        return PairGraphWriter._add_outputs(self, batch)

    def _add_batch_axis(self) -> str:
        import numpy as np

        return self._add_constant("batch.axis", np.zeros(1, np.int64))

    def _add_distance_bias(self) -> None:
        """Add the bias of every head for each pair of places. The first step is done once, at loading."""
        import numpy as np

        table = self._add_constant("bias.table", self.weights[DISTANCES].T)
        buckets = self._add_constant("bias.buckets", find_buckets(MOST))
        whole = self._add_node("Gather", [table, buckets], "bias.whole", axis=1)
        ends = self._add_node("Concat", ["length", "length"], "bias.ends", axis=0)
        starts = self._add_constant("bias.starts", np.zeros(2, np.int64))
        axes = self._add_constant("bias.axes", np.array([1, 2], np.int64))
        self._add_node("Slice", [whole, starts, ends, axes], "bias")

    def _add_layer(self, at: str, x: str) -> str:
        attended = self._add_attention(f"{at}attention.attn.", x)
        mixed = self._add_linear(f"{at}attention.attn.o", attended)
        x = self._add_sum_norm(f"{at}attention", mixed, x)
        return self._add_sum_norm(f"{at}output", self._add_feed_forward(at, x), x)

    def _add_sum_norm(self, at: str, x: str, skip: str) -> str:
        inputs = [self._add_node("Add", [x, skip], f"{at}.sum"), *self._add_norm(f"{at}.LayerNorm")]
        epsilon = self.recipe.epsilon
        return self._add_node("LayerNormalization", inputs, f"{at}.out", axis=-1, epsilon=epsilon)

    def _add_attention(self, at: str, x: str) -> str:
        import numpy as np

        size = self.weights[f"{at}q.weight"].shape[0]
        each = size // self.recipe.heads
        split = self._add_constant("split", np.array([-1, self.recipe.heads, each], np.int64))
        query, key, value = (
            self._add_node("Reshape", [part, split], f"{part}.heads") for part in self._add_projections(at, x)
        )
        order = {"transBatchA": 1, "transBatchB": 1, "transB": 1}
        scores = self._add_node("FusedMatMul", [query, key], f"{at}scores", alpha=each**-0.5, **order)
        biased = self._add_node("Add", [scores, "bias"], f"{at}biased")
        shares = self._add_node("Softmax", [biased], f"{at}shares", axis=-1)
        context = self._add_node("FusedMatMul", [shares, value], f"{at}context", transBatchB=1)
        ordered = self._add_node("Transpose", [context], f"{at}ordered", perm=[1, 0, 2])
        join = self._add_constant("join", np.array([-1, size], np.int64))
        return self._add_node("Reshape", [ordered, join], f"{at}joined")

    def _add_projections(self, at: str, x: str) -> list[str]:
        """Add the queries, keys and values."""
        if not self.quantised:
            return [self._add_linear(f"{at}{part}", x) for part in "qkv"]
        names = [f"{at}x.{end}" for end in ("steps", "scale", "zero")]
        x_steps, x_scale, x_zero = self._add_nodes("DynamicQuantizeLinear", [x], names)
        made = []
        for part in "qkv":
            steps, scale = self._add_quantised(f"{at}{part}.", self.weights[f"{at}{part}.weight"].T)
            inputs = [x_steps, steps, x_scale, scale, x_zero, "", self._add_weight(f"{at}{part}.bias")]
            made.append(self._add_node("MatMulIntegerToFloat", inputs, f"{at}{part}"))
        return made

    def _add_feed_forward(self, at: str, x: str) -> str:
        import numpy as np

        first, second = f"{at}intermediate.dense", f"{at}output.dense"
        if not self.quantised:
            wide = self._add_node("Gelu", [self._add_linear(first, x)], f"{at}gelu")
            return self._add_linear(second, wide)
        up, down, bias = (
            self.weights[name] for name in (f"{first}.weight", f"{second}.weight", f"{first}.bias")
        )
        norm = self.weights[f"{at}attention.LayerNorm.weight"]
        loud = find_loud_neurons(norm, up, down)
        quiet = np.setdiff1d(np.arange(len(bias)), loud)
        parts, rows = self._add_split(at, x, find_loud_dimensions(norm))
        wide = self._add_product(first, parts, up.T[rows][:, quiet], bias[quiet])
        wide = self._add_node("Gelu", [wide], f"{at}gelu")
        made = self._add_product(second, wide, down.T[quiet], self.weights[f"{second}.bias"])
        beside = [self._add_constant(f"{first}.loud", up.T[:, loud])]
        beside.append(self._add_constant(f"{first}.loud.bias", bias[loud]))
        few = self._add_node("Gelu", [self._add_node("Gemm", [x, *beside], f"{first}.apart")], f"{at}loud")
        back = self._add_constant(f"{second}.loud", down.T[loud])
        return self._add_node("Gemm", [few, back, made], f"{second}.all")

    def _add_split(self, at: str, x: str, loud: NDArray[np.int64]) -> tuple[str, NDArray[np.int64]]:
        """Put parts of the loud dimensions in their place and behind the others.

        Return them and, for each, the dimension it is a part of.
        """
        import numpy as np

        size = self.weights["embeddings.LayerNorm.weight"].shape[0]
        shares = np.ones(size, np.float32)
        shares[loud] = 1 / PARTS
        again = np.repeat(loud, PARTS - 1)
        part = self._add_node("Mul", [x, self._add_constant(f"{at}shares", shares)], f"{at}part")
        others = [part, self._add_constant(f"{at}again", again)]
        behind = self._add_node("Gather", others, f"{at}behind", axis=1)
        parts = self._add_node("Concat", [part, behind], f"{at}parts", axis=1)
        return parts, np.concatenate([np.arange(size), again])

    def _add_linear(self, at: str, x: str) -> str:
        return self._add_product(at, x, self.weights[f"{at}.weight"].T, self.weights[f"{at}.bias"])

    def _add_quantised(self, at: str, weight: Array) -> tuple[str, str]:
        steps, scales = round_by_chance(weight, axis=0, most=self.recipe.steps, seed=crc32(at.encode()))
        return self._add_constant(f"{at}steps", steps), self._add_constant(f"{at}scale", scales.reshape(-1))

    def _add_product(self, at: str, x: str, weight: Array, bias: Array) -> str:
        added = self._add_constant(f"{at}.bias", bias)
        if not self.quantised:
            product = self._add_node(
                "MatMul", [x, self._add_constant(f"{at}.weight", weight)], f"{at}.product"
            )
            return self._add_node("Add", [product, added], at)
        steps, scale = self._add_quantised(f"{at}.", weight)
        return self._add_node("DynamicQuantizeMatMul", [x, steps, scale, "", added], at)


def round_by_chance(weight: Array, *, axis: int, most: int, seed: int) -> tuple[NDArray[np.int8], Array]:
    """Round to whole steps as `quantise` does, but up or down by a chance that is right on average.

    Training begins with weights that were rounded before and changes most of them by less than half a step.
    Rounded to the nearest step they would all be back where they began. The same seed gives the same steps.
    """
    import numpy as np

    nearest, scales = quantise(weight, axis=axis, most=most)
    exact = weight / scales
    chance = np.random.default_rng(seed).random(exact.shape, np.float32)
    steps = np.where(np.abs(exact - nearest) < UNCHANGED, nearest, np.floor(exact + chance))
    return np.clip(steps, -most, most).astype(np.int8), scales


@dataclass(slots=True)
class BlockGraphWriter(LargeGraphWriter):
    """Writes MPNet so that each `BLOCK` values have a scale of their own, in the weights and in the inputs.

    That keeps what one scale for a whole input loses, at about twice the cost. The verifier of the gate needs
    it: at the top, where lies and honest claims part, its scores lie close together.
    """

    def _add_product(self, at: str, x: str, weight: Array, bias: Array) -> str:
        import numpy as np

        inputs, outputs = weight.shape
        blocks = weight.T.reshape(outputs, inputs // BLOCK, BLOCK)
        scales = np.abs(blocks).max(axis=2) / self.recipe.steps
        scales = np.where(scales > 0, scales, 1).astype(np.float32)
        steps = (np.rint(blocks / scales[..., None]) + ZERO_STEP).astype(np.uint8)
        given = [
            x,
            self._add_constant(f"{at}.steps", steps),
            self._add_constant(f"{at}.scale", scales.reshape(-1)),
            "",
            "",
            self._add_constant(f"{at}.bias", bias),
        ]
        sizes = {"K": inputs, "N": outputs, "bits": 8, "block_size": BLOCK}
        return self._add_node("MatMulNBits", given, at, accuracy_level=BLOCK_INPUTS, **sizes)


def find_loud_neurons(norm: Array, up: Array, down: Array) -> NDArray[np.int64]:
    """Find the neurons that can reach the largest values: large weights lead to them and from them."""
    import numpy as np

    reach = np.abs(up * norm).max(axis=1) * np.abs(down).max(axis=0)
    return np.sort(np.argsort(-reach, kind="stable")[:LOUD])


def find_loud_dimensions(norm: Array) -> NDArray[np.int64]:
    """Find the dimensions that the layer norm makes largest."""
    import numpy as np

    return np.sort(np.argsort(-np.abs(norm), kind="stable")[:SPLIT])


def find_buckets(length: int) -> NDArray[np.int32]:
    """For each piece and each other, find the bucket of their distance.

    Half of the buckets are for what comes before a piece, half for what comes after it. In each half, near
    distances have a bucket each; those further off share them, in steps that grow with the distance.
    """
    import numpy as np

    half, near = BUCKETS // 2, BUCKETS // 4
    places = np.arange(length)
    behind = places[:, None] - places[None, :]
    far = np.abs(behind)
    # Single precision, as in training: a distance at the edge of a bucket must not change sides.
    share = np.log(np.maximum(far, 1).astype(np.float32) / np.float32(near)) / np.float32(np.log(FAR / near))
    wide = np.minimum(near + (share * np.float32(half - near)).astype(np.int64), half - 1)
    found: NDArray[np.int32] = (np.where(far < near, far, wide) + half * (behind < 0)).astype(np.int32)
    return found


def order_words(table: Array) -> Array:
    """Put the rows of MPNet's word table in the order of BERT's ids, which Octavo's tokenizer gives."""
    import numpy as np

    rows = np.arange(MARKS_BEFORE, len(table) - MARKS_BEHIND)
    for bert, own in MARKS.items():
        rows[bert] = own
    return table[rows]


def pack_words(table: Array) -> bytes:
    """Write a word table in BERT's order as an .npy file: a row for each id, with its scale and its steps."""
    import io

    import numpy as np

    steps, scales = quantise(table, axis=1)
    packed = np.empty(len(steps), [("scale", "<f4"), ("steps", "i1", (steps.shape[1],))])
    packed["scale"], packed["steps"] = scales[:, 0], steps
    file = io.BytesIO()
    np.lib.format.write_array(file, packed, version=(1, 0), allow_pickle=False)
    return file.getvalue()
