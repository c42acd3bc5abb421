"""The graph computes what a plain forward pass computes, from whole files alone."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from octavo.errors import MissingExtra, WeightsError
from octavo.models import graph
from tests.support import tiny_bert
from tests.support.tiny_bert import TEXTS, run_model

RECIPE = graph.Recipe(heads=tiny_bert.HEADS)


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_the_graph_computes_what_a_plain_forward_pass_computes(pooling: graph.Pooling) -> None:
    weights = tiny_bert.make_weights()
    made = run_model(
        graph.build_graph(weights, graph.Recipe(heads=2, pooling=pooling), precision="fp32"), TEXTS
    )
    expected = [tiny_bert.run_forward(weights, text, pooling=pooling) for text in TEXTS]
    np.testing.assert_allclose(made, expected, atol=2e-6)


def test_roberta_positions_begin_after_the_padding_mark() -> None:
    weights = tiny_bert.make_weights(prefix="roberta.")
    made = run_model(
        graph.build_graph(weights, graph.Recipe(heads=2, first_position=2), precision="fp32"), TEXTS
    )
    plain = {name.removeprefix("roberta."): array for name, array in weights.items()}
    expected = [tiny_bert.run_forward(plain, text, first_position=2) for text in TEXTS]
    np.testing.assert_allclose(made, expected, atol=2e-6)


def test_int8_points_in_the_same_direction() -> None:
    weights = tiny_bert.make_weights()
    made = run_model(graph.build_graph(weights, RECIPE, precision="int8"), TEXTS[:1])[0]
    assert float(made @ tiny_bert.run_forward(weights, TEXTS[0])) > 0.99
    assert np.linalg.norm(made) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_the_same_weights_give_the_same_bytes(tmp_path: Path, precision: graph.Precision) -> None:
    path = tiny_bert.save_weights(tmp_path / "model.safetensors", tiny_bert.make_weights())
    first, second = (
        graph.build_graph(graph.read_tensors(path), RECIPE, precision=precision) for _ in range(2)
    )
    assert first == second
    other = graph.build_graph(tiny_bert.make_weights(seed=8), RECIPE, precision=precision)
    assert other != first


@given(arrays(np.float32, (5, 3), elements=st.floats(-100, 100, width=32)), st.sampled_from([0, 1]))
def test_quantised_weights_stay_within_seven_bits_and_half_a_step(weight: tiny_bert.Array, axis: int) -> None:
    steps, scales = graph.quantise(weight, axis=axis)
    assert np.abs(steps.astype(int)).max() <= 64
    assert 2 * 255 * np.abs(steps.astype(int)).max() <= 32_767, "two products must fit into 16 bits"
    assert (np.abs(steps * scales - weight) <= scales * 0.501).all()
    assert (steps[weight == 0] == 0).all()


@pytest.mark.parametrize(("kind", "tolerance"), [("F16", 1e-3), ("BF16", 1e-2)])
def test_half_precision_files_are_read_as_float32(tmp_path: Path, kind: str, tolerance: float) -> None:
    weights = tiny_bert.make_weights()
    read = graph.read_tensors(tiny_bert.save_weights(tmp_path / "m.safetensors", weights, kind=kind))
    assert read.keys() == weights.keys()
    for name, array in read.items():
        assert array.dtype == np.float32
        np.testing.assert_allclose(array, weights[name], atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("keep", [0, 7, 40, -50])
def test_a_truncated_safetensors_file_is_refused_by_name(tmp_path: Path, keep: int) -> None:
    path = tiny_bert.save_weights(tmp_path / "model.safetensors", tiny_bert.make_weights())
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(WeightsError, match=r"model\.safetensors is not a whole safetensors file") as refused:
        graph.read_tensors(path)
    assert "again" in refused.value.hint


def test_weights_of_another_kind_of_model_are_refused() -> None:
    weights = tiny_bert.make_weights()
    del weights["encoder.layer.1.attention.self.key.weight"]
    with pytest.raises(WeightsError, match=r"attention\.self\.key\.weight"):
        graph.build_graph(weights, RECIPE, precision="fp32")


def test_without_the_onnx_package_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtra, match=r"pip install 'octavo\[build\]'") as refused:
        graph.build_graph(tiny_bert.make_weights(), RECIPE, precision="fp32")
    assert "minilm-int8" in refused.value.hint
