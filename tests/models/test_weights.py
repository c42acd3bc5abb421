"""Weights are found where they should be, refused when they are wrong, and built right."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from octavo.errors import InvalidValue, MissingExtra, WeightsError
from octavo.models import graph
from octavo.models import weights as folder
from octavo.models import weights as models
from tests.support import tiny_bert

DATA = Path(__file__).parents[2] / "packages" / "octavo-models" / "octavo_models"
RECIPE = graph.Recipe(heads=tiny_bert.HEADS)
TEXTS = [[1, 4, 5, 6, 7, 2], [1, 9, 2], [1, 17, 12, 13, 14, 15, 16, 4, 2]]


def run(data: bytes, batch: list[list[int]]) -> tiny_bert.Array:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    longest = max(map(len, batch))
    ids = np.array([text + [0] * (longest - len(text)) for text in batch])
    mask = np.array([[1] * len(text) + [0] * (longest - len(text)) for text in batch])
    return np.asarray(session.run(None, {"input_ids": ids, "attention_mask": mask})[0])


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_the_graph_computes_what_a_plain_forward_pass_computes(pooling: graph.Pooling) -> None:
    weights = tiny_bert.weights()
    made = run(graph.build(weights, graph.Recipe(heads=2, pooling=pooling), precision="fp32"), TEXTS)
    expected = [tiny_bert.forward(weights, text, pooling=pooling) for text in TEXTS]
    np.testing.assert_allclose(made, expected, atol=2e-6)


def test_roberta_positions_begin_after_the_padding_mark() -> None:
    weights = tiny_bert.weights(prefix="roberta.")
    made = run(graph.build(weights, graph.Recipe(heads=2, first_position=2), precision="fp32"), TEXTS)
    plain = {name.removeprefix("roberta."): array for name, array in weights.items()}
    expected = [tiny_bert.forward(plain, text, first_position=2) for text in TEXTS]
    np.testing.assert_allclose(made, expected, atol=2e-6)


def test_int8_points_in_the_same_direction() -> None:
    weights = tiny_bert.weights()
    made = run(graph.build(weights, RECIPE, precision="int8"), TEXTS[:1])[0]
    assert float(made @ tiny_bert.forward(weights, TEXTS[0])) > 0.99
    assert np.linalg.norm(made) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_the_same_weights_give_the_same_bytes(tmp_path: Path, precision: graph.Precision) -> None:
    path = tiny_bert.save(tmp_path / "model.safetensors", tiny_bert.weights())
    first, second = (graph.build(graph.tensors(path), RECIPE, precision=precision) for _ in range(2))
    assert first == second
    other = graph.build(tiny_bert.weights(seed=8), RECIPE, precision=precision)
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
    weights = tiny_bert.weights()
    read = graph.tensors(tiny_bert.save(tmp_path / "m.safetensors", weights, kind=kind))
    assert read.keys() == weights.keys()
    for name, array in read.items():
        assert array.dtype == np.float32
        np.testing.assert_allclose(array, weights[name], atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("keep", [0, 7, 40, -50])
def test_a_truncated_safetensors_file_is_refused_by_name(tmp_path: Path, keep: int) -> None:
    path = tiny_bert.save(tmp_path / "model.safetensors", tiny_bert.weights())
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(WeightsError, match=r"model\.safetensors is not a whole safetensors file") as refused:
        graph.tensors(path)
    assert "again" in refused.value.hint


def test_weights_of_another_kind_of_model_are_refused() -> None:
    weights = tiny_bert.weights()
    del weights["encoder.layer.1.attention.self.key.weight"]
    with pytest.raises(WeightsError, match=r"attention\.self\.key\.weight"):
        graph.build(weights, RECIPE, precision="fp32")


def test_without_the_onnx_package_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtra, match=r"pip install 'octavo\[build\]'") as refused:
        graph.build(tiny_bert.weights(), RECIPE, precision="fp32")
    assert "minilm-int8" in refused.value.hint


def test_octavo_ships_its_default_weights(tmp_path: Path) -> None:
    found = models.find("minilm-int8", cache=tmp_path)
    folder = models.shipped_tokenizer().parent
    assert found.onnx.parent == folder
    assert found.sha256 == models.digest(found.onnx) == models.INT8_SHA256
    assert found.onnx.stat().st_size <= 24_000_000
    assert (found.name, found.precision, found.max_pieces) == ("all-MiniLM-L6-v2", "int8", 256)
    card = (folder / "EMBEDDER.md").read_text()
    assert models.SOURCE_SHA256 in card
    assert models.INT8_SHA256 in card
    assert "Apache" in (folder / "NOTICE").read_text()


def test_a_copy_in_the_cache_comes_before_the_shipped_one(tmp_path: Path) -> None:
    copy = tmp_path / models.INT8_FILE
    copy.write_bytes(models.find_shipped(models.INT8_FILE, models.INT8_SHA256).read_bytes())
    assert models.find("minilm-int8", cache=tmp_path).onnx == copy


@pytest.mark.parametrize("damage", ["truncated", "altered", "empty"])
def test_a_damaged_file_is_refused_with_both_digests_and_what_to_do(tmp_path: Path, damage: str) -> None:
    data = models.find_shipped(models.INT8_FILE, models.INT8_SHA256).read_bytes()
    wrong = {"truncated": data[:-1], "altered": b"\0" + data[1:], "empty": b""}[damage]
    (tmp_path / models.INT8_FILE).write_bytes(wrong)
    with pytest.raises(WeightsError) as refused:
        models.find("minilm-int8", cache=tmp_path)
    assert models.INT8_SHA256 in refused.value.message
    assert sha(wrong) in refused.value.message
    assert f"Delete {tmp_path / models.INT8_FILE}" in refused.value.hint


def test_a_missing_file_is_refused_with_the_digest_expected(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="expected SHA-256 abc"):
        models.check(tmp_path / "none", "abc", hint="")


def test_fp32_without_a_source_says_where_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="neither in the cache nor in an installed package") as refused:
        models.find("minilm-fp32", cache=tmp_path)
    assert str(tmp_path / models.SOURCE_FILE) in refused.value.hint
    assert models.DATA_PACKAGES[0] in refused.value.hint


def test_a_wrong_source_in_the_cache_is_refused(tmp_path: Path) -> None:
    path = tiny_bert.save(tmp_path / models.SOURCE_FILE, tiny_bert.weights())
    with pytest.raises(WeightsError) as refused:
        models.find("minilm-fp32", cache=tmp_path)
    assert models.SOURCE_SHA256 in refused.value.message
    assert models.digest(path) in refused.value.message


def install(site: Path, package: str, files: dict[str, bytes]) -> None:
    """A package as pip leaves it, whose code must never run."""
    name = package.replace("-", "_")
    info = site / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    files = {f"{name}/__init__.py": b"raise SystemExit('imported')", **files}
    for path, data in files.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_bytes(data)
    (info / "RECORD").write_text("".join(f"{path},,\n" for path in files))


def test_data_in_an_installed_package_is_found_without_running_its_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "some-weights", {"some_weights/model/model.safetensors": b"data"})
    monkeypatch.syspath_prepend(str(tmp_path))
    found = models.data_file("some-weights", "model.safetensors")
    assert found is not None
    assert found.read_bytes() == b"data"
    assert "some_weights" not in sys.modules
    assert models.data_file("some-weights", "other.file") is None
    assert models.data_file("no-such-package-here", "model.safetensors") is None


def test_data_in_an_editable_install_is_found_in_its_source_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "a folder" / "some-weights"
    (source / "some_weights").mkdir(parents=True)
    (source / "some_weights" / "model.onnx").write_bytes(b"data")
    install(tmp_path / "site", "some-weights", {})
    origin = {"url": source.as_uri(), "dir_info": {"editable": True}}
    (tmp_path / "site" / "some_weights-1.0.dist-info" / "direct_url.json").write_text(json.dumps(origin))
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    assert models.data_file("some-weights", "model.onnx") == source / "some_weights" / "model.onnx"
    assert models.data_file("some-weights", "other.file") is None


def test_without_the_data_package_the_error_names_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "site", models.PACKAGE, {})
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    with pytest.raises(WeightsError, match=r"octavo-models is not installed.*expected SHA-256") as refused:
        models.find("minilm-int8", cache=tmp_path)
    assert "pip install ./packages/octavo-models" in refused.value.hint


def test_the_data_package_holds_data_only_in_files_that_any_host_takes() -> None:
    files = [path for path in DATA.rglob("*") if path.is_file()]
    assert {path.name for path in files} == {
        *("all-MiniLM-L6-v2-int8.onnx", "reader-int8.onnx", "verifier-int8.onnx", "tokenizer.json"),
        *("EMBEDDER.md", "READER.md", "VERIFIER.md", "NOTICE"),
    }
    assert max(path.stat().st_size for path in files) < 100_000_000


def test_a_package_with_other_weights_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = models.DATA_PACKAGES[0]
    install(tmp_path / "site", package, {"x/model.safetensors": b"other weights"})
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    with pytest.raises(WeightsError, match=sha(b"other weights")) as refused:
        models.find("minilm-fp32", cache=tmp_path)
    assert package in refused.value.hint


def test_a_graph_is_built_once_and_rebuilt_when_it_is_damaged(tmp_path: Path) -> None:
    source = tiny_bert.save(tmp_path / "model.safetensors", tiny_bert.weights())
    asked: list[Path] = []

    def get() -> Path:
        asked.append(source)
        return source

    build = partial(models.built, get, "ab" * 32, RECIPE, precision="fp32", cache=tmp_path / "cache")
    first = build()
    data = first.read_bytes()
    assert build() == first
    assert len(asked) == 1
    first.write_bytes(data[:100])
    assert build().read_bytes() == data
    assert len(asked) == 2
    assert sorted(p.suffix for p in (tmp_path / "cache").iterdir()) == [".onnx", ".sha256"]


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "file"
    with models.writing(target) as file:
        file.write(b"first")

    def interrupted() -> None:
        with models.writing(target) as file:
            file.write(b"second, half writ")
            raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        interrupted()
    assert target.read_bytes() == b"first"
    assert list(target.parent.iterdir()) == [target]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """A real web server over a folder with one file."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "weights").write_bytes(b"w" * 3_000_000)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "web"))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_download_with_the_right_digest_is_kept(site: str, tmp_path: Path) -> None:
    models.fetch(f"{site}/weights", tmp_path / "got", sha256=sha(b"w" * 3_000_000))
    assert (tmp_path / "got").stat().st_size == 3_000_000


def test_a_download_with_another_digest_leaves_nothing(site: str, tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="expected SHA-256 00"):
        models.fetch(f"{site}/weights", tmp_path / "cache" / "got", sha256="00" * 32)
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_download_that_fails_says_where_the_file_may_be_put(site: str, tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="404") as refused:
        models.fetch(f"{site}/none", tmp_path / "got", sha256="00" * 32)
    assert str(tmp_path / "got") in refused.value.hint


def test_an_unknown_embedder_is_the_callers_mistake(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"minilm-int8.*got 'no-such-model'"):
        models.find("no-such-model", cache=tmp_path)


def test_a_sentence_transformers_folder_is_built_and_cached(tmp_path: Path) -> None:
    path = tiny_bert.folder(tmp_path / "my-model", pooling="cls_token")
    found = models.find(str(path), cache=tmp_path / "cache")
    assert (found.name, found.precision, found.pooling) == ("my-model", "fp32", "cls")
    assert found.sha256 == models.digest(path / "model.safetensors")
    assert found.max_pieces == tiny_bert.POSITIONS
    made = run(found.onnx.read_bytes(), TEXTS)
    expected = [tiny_bert.forward(tiny_bert.weights(), text, pooling="cls") for text in TEXTS]
    np.testing.assert_allclose(made, expected, atol=2e-6)


def test_the_folders_own_length_limit_is_kept(tmp_path: Path) -> None:
    path = tiny_bert.folder(tmp_path / "m")
    (path / "sentence_bert_config.json").write_text('{"max_seq_length": 12}')
    assert folder.read(path).max_pieces == 12
    assert folder.read(tiny_bert.folder(tmp_path / "r", kind="roberta")).max_pieces == tiny_bert.POSITIONS - 2


def test_an_onnx_file_in_the_folder_is_used_as_it_is(tmp_path: Path) -> None:
    path = tiny_bert.folder(tmp_path / "m", kind="mpnet")
    (path / "onnx").mkdir()
    (path / "onnx" / "model.onnx").write_bytes(graph.build(tiny_bert.weights(), RECIPE, precision="fp32"))
    found = models.find(str(path), cache=tmp_path / "cache")
    assert (found.onnx, found.precision) == (path / "onnx" / "model.onnx", "as-given")
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model_type": "mpnet"}, "architecture 'mpnet'"),
        ({"hidden_act": "relu"}, "activation 'relu'"),
        ({"position_embedding_type": "relative_key"}, "'relative_key' positions"),
    ],
)
def test_what_the_builder_does_not_know_is_refused_by_name(
    tmp_path: Path, change: dict[str, str], said: str
) -> None:
    path = tiny_bert.folder(tmp_path / "m")
    config = json.loads((path / "config.json").read_text()) | change
    (path / "config.json").write_text(json.dumps(config))
    with pytest.raises(WeightsError, match=said):
        models.find(str(path), cache=tmp_path)


def test_modules_and_poolings_that_are_not_supported_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="has a Dense module"):
        folder.read(tiny_bert.folder(tmp_path / "dense", modules=("Dense",)))
    with pytest.raises(WeightsError, match="pools by max_tokens"):
        folder.read(tiny_bert.folder(tmp_path / "max", pooling="max_tokens"))


@pytest.mark.parametrize("missing", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_folder_that_lacks_a_file_says_which(tmp_path: Path, missing: str) -> None:
    path = tiny_bert.folder(tmp_path / "m")
    (path / missing).unlink()
    with pytest.raises(WeightsError, match=missing.replace(".", r"\.")):
        models.find(str(path), cache=tmp_path)
