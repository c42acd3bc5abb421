"""The files that `training/` writes for the large model compute what its weights say, by our word ids."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from training.pair_graph import (
    MOST,
    build_large_graph,
    find_buckets,
    order_words,
    pack_words,
    round_by_chance,
)

from octavo.errors import WeightsError
from octavo.models.embedding import open_session
from octavo.models.graph import Precision
from tests.support.tiny_bert import Array, save_weights
from tests.support.tiny_mpnet import (
    AT_FIRST,
    LAYERS,
    WORDS,
    find_bucket,
    make_heads,
    make_published,
    run_forward,
)

ROOT = Path(__file__).parents[1]
WEIGHTS = make_published() | make_heads()
TABLE = order_words(WEIGHTS[WORDS])
IDS, KINDS = [101, 5, 9, 102, 11, 7, 4, 18, 102], [0, 0, 0, 0, 1, 1, 1, 1, 1]


class Run:
    """A graph from the weights, written to a file and loaded as Octavo loads it."""

    def __init__(self, folder: Path, precision: Precision, weights: dict[str, Array] = WEIGHTS) -> None:
        path = folder / f"{precision}.onnx"
        path.write_bytes(build_large_graph(weights, at_first=AT_FIRST, precision=precision))
        self.session: Any = open_session(path, fuse=False)

    def __call__(self, words: Array, kinds: list[int]) -> dict[str, Array]:
        names = [output.name for output in self.session.get_outputs()]
        feeds = {"words": words[None].astype(np.float32), "token_type_ids": np.array([kinds], np.int64)}
        return dict(zip(names, self.session.run(names, feeds), strict=True))


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run(tmp_path_factory.mktemp("graph"), "fp32")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run(tmp_path_factory.mktemp("graph"), "int8")


# The graph

pieces = st.lists(st.integers(0, len(TABLE) - 1), min_size=1, max_size=20)


@given(pieces, pieces)
@settings(max_examples=30, deadline=None)
def test_in_full_precision_the_file_computes_what_the_weights_say(
    exact: Run, first: list[int], second: list[int]
) -> None:
    words, kinds = TABLE[first + second], [0] * len(first) + [1] * len(second)
    out, meant = exact(words, kinds), run_forward(WEIGHTS, words, kinds)
    assert set(out) == set(meant)
    for name in meant:
        np.testing.assert_allclose(out[name].reshape(meant[name].shape), meant[name], atol=2e-4)


def test_pieces_far_from_each_other_are_told_apart_up_to_the_longest_pair(exact: Run) -> None:
    random = np.random.default_rng(3)
    words, kinds = TABLE[random.integers(0, len(TABLE), MOST)], [0] * 40 + [1] * (MOST - 40)
    out, meant = exact(words, kinds), run_forward(WEIGHTS, words, kinds)
    assert out["span"].shape == (1, MOST, 2)
    np.testing.assert_allclose(out["span"][0], meant["span"], atol=5e-4)


def test_each_distance_is_in_the_bucket_of_a_plain_reference() -> None:
    meant = [[find_bucket(i, j) for j in range(MOST)] for i in range(MOST)]
    np.testing.assert_array_equal(find_buckets(MOST), meant)
    assert {0, 15, 16 + 1, 31} <= set(find_buckets(MOST).reshape(-1).tolist())


def test_heads_at_the_first_piece_have_one_row_and_the_others_one_for_each_piece(exact: Run) -> None:
    out = exact(TABLE[IDS], KINDS)
    assert {name: value.shape for name, value in out.items()} == {
        "answerable": (1, 1),
        "rank": (1, 1),
        "span": (1, len(IDS), 2),
        "support": (1, 1),
    }


def test_it_matters_which_text_a_piece_belongs_to(exact: Run) -> None:
    one, other = exact(TABLE[IDS], KINDS), exact(TABLE[IDS], [0] * len(IDS))
    assert np.abs(one["span"] - other["span"]).max() > 0.05


def measure_error(run: Run, weights: dict[str, Array]) -> float:
    """The error of the span at sixty random pieces, as a share of what is meant."""
    words, kinds = TABLE[np.random.default_rng(1).integers(0, len(TABLE), 60)], [0] * 20 + [1] * 40
    out, meant = run(words, kinds)["span"][0], run_forward(weights, words, kinds)["span"]
    return float(np.linalg.norm(out - meant) / np.linalg.norm(meant))


def test_at_8_bits_it_is_near_that(small: Run) -> None:
    assert measure_error(small, WEIGHTS) < 0.1


def test_neurons_and_dimensions_that_are_far_louder_than_others_do_not_drown_them(tmp_path: Path) -> None:
    """Without neurons in full precision the error is 0.26, without dimensions in parts 0.13."""
    loud = make_published() | make_heads()
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        loud[f"{at}attention.LayerNorm.weight"][[3, 20]] *= 12
        loud[f"{at}intermediate.dense.weight"][:, [3, 20]] /= 12
        loud[f"{at}intermediate.dense.weight"][[5, 40]] *= 40
        loud[f"{at}output.dense.weight"][:, [5, 40]] /= 10
    assert measure_error(Run(tmp_path, "int8", loud), loud) < 0.1


@pytest.mark.parametrize("precision", ["int8", "fp32"])
def test_the_same_weights_give_the_same_bytes(precision: Precision) -> None:
    again = dict(sorted((make_published() | make_heads()).items(), reverse=True))
    first, second, other = (
        build_large_graph(weights, at_first=AT_FIRST, precision=precision)
        for weights in (WEIGHTS, again, make_published(9) | make_heads())
    )
    assert first == second
    assert first != other


def test_weights_that_are_not_whole_are_refused() -> None:
    for missing in ("attention.attn.k.weight", "token_type", "relative_attention_bias"):
        lacking = {name: array for name, array in WEIGHTS.items() if missing not in name}
        with pytest.raises(WeightsError, match=missing):
            build_large_graph(lacking, at_first=AT_FIRST, precision="fp32")


# The words


def test_the_table_is_in_the_order_of_our_own_tokenizer() -> None:
    tokenizer = json.loads((ROOT / "packages/octavo-models/octavo_models/tokenizer.json").read_bytes())
    bert: dict[str, int] = tokenizer["model"]["vocab"]
    mpnet = ["<s>", "<pad>", "</s>", "<unk>", *sorted(bert, key=lambda word: bert[word]), "<mask>"]
    rows = order_words(np.arange(len(mpnet), dtype=np.float32)[:, None])[:, 0].astype(int)
    marks = {"[CLS]": "<s>", "[PAD]": "<pad>", "[SEP]": "</s>", "[UNK]": "<unk>"}
    assert len(rows) == len(bert) == 30_522
    assert all(mpnet[rows[number]] == marks.get(word, word) for word, number in bert.items())


def test_packed_words_are_read_back_within_half_a_step_and_rounding_twice_changes_nothing(
    tmp_path: Path,
) -> None:
    (tmp_path / "words.npy").write_bytes(pack_words(TABLE))
    packed = np.load(tmp_path / "words.npy", mmap_mode="r")
    values = packed["steps"] * packed["scale"][:, None]
    assert values.shape == TABLE.shape
    assert (np.abs(values - TABLE) <= packed["scale"][:, None] * 0.501).all()
    assert pack_words(values) == pack_words(TABLE)


# The export


def test_small_changes_of_rounded_weights_are_kept_on_average() -> None:
    began = np.random.default_rng(1).integers(-64, 65, (512, 8)).astype(np.float32)
    began[0] = 64
    changed = began.copy()
    changed[1:] += 0.2
    steps, scales = round_by_chance(changed, axis=0, most=64, seed=7)
    moved = (steps * scales - began)[1:]
    assert moved.mean() == pytest.approx(0.2, abs=0.03)
    assert np.array_equal(steps, round_by_chance(changed, axis=0, most=64, seed=7)[0])
    assert not np.array_equal(steps, round_by_chance(changed, axis=0, most=64, seed=8)[0])


def test_weights_that_were_not_changed_are_rounded_as_before() -> None:
    began = np.random.default_rng(1).integers(-64, 65, (512, 8)).astype(np.float32) * np.float32(0.37)
    began[0] = 64 * 0.37
    steps, scales = round_by_chance(began, axis=0, most=64, seed=7)
    assert np.allclose(steps * scales, began, rtol=1e-5)


def export(folder: Path, *files: Path) -> dict[str, bytes]:
    """Run the command, and return the files that it writes."""
    folder.mkdir()
    command = [sys.executable, "training/export.py", *map(str, files), str(folder / "large-int8.onnx")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise WeightsError(done.stderr.splitlines()[-1])
    assert all(str(path) in done.stdout for path in folder.iterdir())
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def round_rows(values: Array) -> tuple[np.ndarray, Array]:
    scales = (np.abs(values).max(axis=-1, keepdims=True) / 127).astype(np.float32)
    return np.rint(values / scales).astype(np.int8), scales[..., 0]


class Trained:
    """Weights that training changed, as differences in two files and as whole tensors."""

    def __init__(self, folder: Path) -> None:
        published, random = make_published(), np.random.default_rng(5)
        self.base = save_weights(folder / "model.safetensors", published)
        parts: list[dict[str, np.ndarray]] = [{}, {}]
        self.whole: dict[str, Array] = {}
        for number, (name, value) in enumerate(published.items()):
            if value.ndim == 1:
                self.whole[name] = parts[number % 2][name] = value + np.float32(0.5)
            elif name != WORDS:
                steps, scales = round_rows(random.normal(0, 0.05, value.shape).astype(np.float32))
                parts[number % 2] |= {f"{name}.q": steps, f"{name}.s": scales}
                self.whole[name] = value + steps.astype(np.float32) * scales[:, None]
        self.whole |= make_heads()
        parts[1] |= make_heads()
        self.changes = [folder / "changes-0.npz", folder / "changes-1.npz"]
        for path, part in zip(self.changes, parts, strict=True):
            np.savez_compressed(path, **part)  # type: ignore[arg-type]
        self.parts = parts


@pytest.fixture
def trained(tmp_path: Path) -> Trained:
    return Trained(tmp_path)


def test_differences_give_the_same_files_as_whole_tensors(trained: Trained, tmp_path: Path) -> None:
    whole = save_weights(tmp_path / "trained.safetensors", trained.whole)
    files = export(tmp_path / "one", trained.base, *trained.changes)
    assert files == export(tmp_path / "other", trained.base, whole)
    weights = make_published() | trained.whole
    assert files == {
        "large-int8.onnx": build_large_graph(weights, at_first=AT_FIRST, precision="int8"),
        "large-words.npy": pack_words(order_words(weights[WORDS])),
    }
    assert files["large-int8.onnx"] != build_large_graph(WEIGHTS, at_first=AT_FIRST, precision="int8")


def test_differences_from_a_rounded_copy_are_added_to_that_copy(trained: Trained, tmp_path: Path) -> None:
    rounded: dict[str, np.ndarray] = {}
    meant: dict[str, Array] = {}
    for name, value in make_published().items():
        if value.ndim == 1:
            rounded[name] = meant[name] = value
        else:
            steps, scales = round_rows(order_words(value) if name == WORDS else value)
            rounded |= {f"{name}.q": steps, f"{name}.s": scales}
            meant[name] = steps.astype(np.float32) * scales[:, None]
    np.savez(tmp_path / "copy.npz", **rounded)  # type: ignore[arg-type]
    for part in trained.parts:
        for name in part:
            if name.endswith(".q"):
                plain = name.removesuffix(".q")
                meant[plain] = meant[plain] + part[name].astype(np.float32) * part[f"{plain}.s"][:, None]
            elif not name.endswith(".s"):
                meant[name] = part[name]
    files = export(tmp_path / "out", tmp_path / "copy.npz", *trained.changes)
    assert files["large-words.npy"] == pack_words(meant[WORDS])
    assert files["large-int8.onnx"] == build_large_graph(meant, at_first=AT_FIRST, precision="int8")


Q = "encoder.layer.0.attention.attn.q.weight"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({f"{Q}.s": np.ones(3, np.float32)}, f"{Q}.q and {Q}.s must come together"),
        ({f"{Q}.q": np.ones((2, 3), np.int8)}, f"{Q}.q and {Q}.s must come together"),
        ({f"{Q}.q": np.ones((2, 3), np.int8), f"{Q}.s": np.ones(3)}, "one scale for each row"),
        ({f"{Q}.q": np.ones((2, 3), np.int8), f"{Q}.s": np.ones(2, np.float32)}, f"the base holds no {Q}"),
        ({"head.rank.bias": np.ones(1, np.float32)}, "head.rank.bias, which another file holds too"),
    ],
)
def test_files_that_do_not_fit_together_are_refused(
    trained: Trained, tmp_path: Path, change: dict[str, np.ndarray], said: str
) -> None:
    kept, other = ({n: a for n, a in part.items() if not n.startswith(Q)} for part in trained.parts)
    np.savez(tmp_path / "first.npz", **(kept | change))  # type: ignore[arg-type]
    np.savez(tmp_path / "second.npz", **other)  # type: ignore[arg-type]
    with pytest.raises(WeightsError, match=said):
        export(tmp_path / "out", trained.base, tmp_path / "first.npz", tmp_path / "second.npz")


def test_whole_tensors_and_differences_are_not_mixed(trained: Trained, tmp_path: Path) -> None:
    whole = save_weights(tmp_path / "trained.safetensors", trained.whole)
    with pytest.raises(WeightsError, match=r"all \.npz files, or all safetensors files"):
        export(tmp_path / "out", trained.base, whole, *trained.changes)
