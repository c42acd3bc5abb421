"""Model files are found where they should be, and refused when they are wrong."""

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
import pytest

from octavo.errors import InvalidValue, WeightsError
from octavo.models import graph
from octavo.models import weights as models
from octavo.models.folder import read_folder
from tests.support import tiny_bert

DATA = Path(__file__).parents[2] / "packages" / "octavo-models" / "octavo_models"
RECIPE = graph.Recipe(heads=tiny_bert.HEADS)


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_octavo_ships_its_default_weights(tmp_path: Path) -> None:
    found = models.find_weights("minilm-int8", cache=tmp_path)
    folder = models.find_tokenizer().parent
    assert found.onnx.parent == folder
    assert found.sha256 == models.hash_file(found.onnx) == models.INT8_SHA256
    assert found.onnx.stat().st_size <= 24_000_000
    assert (found.name, found.precision, found.max_pieces) == ("minilm-octavo-2", "int8", 256)
    card = (folder / "EMBEDDER.md").read_text()
    assert models.SOURCE_SHA256 in card
    assert models.INT8_SHA256 in card
    assert "Apache" in (folder / "NOTICE").read_text()


def test_a_copy_in_the_cache_comes_before_the_shipped_one(tmp_path: Path) -> None:
    copy = tmp_path / models.INT8_FILE
    copy.write_bytes(models.find_shipped(models.INT8_FILE, models.INT8_SHA256).read_bytes())
    assert models.find_weights("minilm-int8", cache=tmp_path).onnx == copy


@pytest.mark.parametrize("damage", ["truncated", "altered", "empty"])
def test_a_damaged_file_is_refused_with_both_digests_and_what_to_do(tmp_path: Path, damage: str) -> None:
    data = models.find_shipped(models.INT8_FILE, models.INT8_SHA256).read_bytes()
    wrong = {"truncated": data[:-1], "altered": b"\0" + data[1:], "empty": b""}[damage]
    (tmp_path / models.INT8_FILE).write_bytes(wrong)
    with pytest.raises(WeightsError) as refused:
        models.find_weights("minilm-int8", cache=tmp_path)
    assert models.INT8_SHA256 in refused.value.message
    assert sha(wrong) in refused.value.message
    assert f"Delete {tmp_path / models.INT8_FILE}" in refused.value.hint


def test_a_missing_file_is_refused_with_the_digest_expected(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="expected SHA-256 abc"):
        models.check_file(tmp_path / "none", "abc", hint="")


def test_fp32_without_a_source_says_where_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="neither in the cache nor in an installed package") as refused:
        models.find_weights("minilm-fp32", cache=tmp_path)
    assert str(tmp_path / models.SOURCE_FILE) in refused.value.hint
    assert models.DATA_PACKAGES[0] in refused.value.hint


def test_a_wrong_source_in_the_cache_is_refused(tmp_path: Path) -> None:
    path = tiny_bert.save_weights(tmp_path / models.SOURCE_FILE, tiny_bert.make_weights())
    with pytest.raises(WeightsError) as refused:
        models.find_weights("minilm-fp32", cache=tmp_path)
    assert models.SOURCE_SHA256 in refused.value.message
    assert models.hash_file(path) in refused.value.message


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
    found = models.find_data_file("some-weights", "model.safetensors")
    assert found is not None
    assert found.read_bytes() == b"data"
    assert "some_weights" not in sys.modules
    assert models.find_data_file("some-weights", "other.file") is None
    assert models.find_data_file("no-such-package-here", "model.safetensors") is None


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
    assert models.find_data_file("some-weights", "model.onnx") == source / "some_weights" / "model.onnx"
    assert models.find_data_file("some-weights", "other.file") is None


def test_without_the_data_package_the_error_names_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "site", models.PACKAGE, {})
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    with pytest.raises(WeightsError, match=r"octavo-models is not installed.*expected SHA-256") as refused:
        models.find_weights("minilm-int8", cache=tmp_path)
    assert "pip install ./packages/octavo-models" in refused.value.hint


def test_the_data_package_holds_data_only_in_files_that_any_host_takes() -> None:
    files = [path for path in DATA.rglob("*") if path.is_file()]
    assert {path.name for path in files} == {
        *("english-int8.onnx", "reader-int8.onnx", "verifier-int8.onnx", "tokenizer.json"),
        *("gate-int8.onnx", "large-int8.onnx", "large-words.npy", "gate-large-int8.onnx"),
        *("multilingual-int8.onnx", "multilingual-words.npy", "multilingual-vocabulary.xz"),
        *("multilingual-reader-int8.onnx", "MULTILINGUAL_READER.md"),
        *("EMBEDDER.md", "READER.md", "VERIFIER.md", "GATE.md", "GATE_LARGE.md", "LARGE.md"),
        *("MULTILINGUAL.md", "NOTICE"),
    }
    assert max(path.stat().st_size for path in files) < 100_000_000


def test_a_package_with_other_weights_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = models.DATA_PACKAGES[0]
    install(tmp_path / "site", package, {"x/model.safetensors": b"other weights"})
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    with pytest.raises(WeightsError, match=sha(b"other weights")) as refused:
        models.find_weights("minilm-fp32", cache=tmp_path)
    assert package in refused.value.hint


def test_a_graph_is_built_once_and_rebuilt_when_it_is_damaged(tmp_path: Path) -> None:
    source = tiny_bert.save_weights(tmp_path / "model.safetensors", tiny_bert.make_weights())
    asked: list[Path] = []

    def get() -> Path:
        asked.append(source)
        return source

    build = partial(models.build_cached, get, "ab" * 32, RECIPE, precision="fp32", cache=tmp_path / "cache")
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
    with models.replace_file(target) as file:
        file.write(b"first")

    def interrupted() -> None:
        with models.replace_file(target) as file:
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
    models.fetch_file(f"{site}/weights", tmp_path / "got", sha256=sha(b"w" * 3_000_000))
    assert (tmp_path / "got").stat().st_size == 3_000_000


def test_a_download_with_another_digest_leaves_nothing(site: str, tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="expected SHA-256 00"):
        models.fetch_file(f"{site}/weights", tmp_path / "cache" / "got", sha256="00" * 32)
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_download_that_fails_says_where_the_file_may_be_put(site: str, tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="404") as refused:
        models.fetch_file(f"{site}/none", tmp_path / "got", sha256="00" * 32)
    assert str(tmp_path / "got") in refused.value.hint


def test_an_unknown_embedder_is_the_callers_mistake(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"minilm-int8.*got 'no-such-model'"):
        models.find_weights("no-such-model", cache=tmp_path)


def test_a_sentence_transformers_folder_is_built_and_cached(tmp_path: Path) -> None:
    path = tiny_bert.make_model_folder(tmp_path / "my-model", pooling="cls_token")
    found = models.find_weights(str(path), cache=tmp_path / "cache")
    assert (found.name, found.precision, found.pooling) == ("my-model", "fp32", "cls")
    assert found.sha256 == models.hash_file(path / "model.safetensors")
    assert found.max_pieces == tiny_bert.POSITIONS
    made = tiny_bert.run_model(found.onnx.read_bytes(), tiny_bert.TEXTS)
    expected = [
        tiny_bert.run_forward(tiny_bert.make_weights(), text, pooling="cls") for text in tiny_bert.TEXTS
    ]
    np.testing.assert_allclose(made, expected, atol=2e-6)


def test_the_folders_own_length_limit_is_kept(tmp_path: Path) -> None:
    path = tiny_bert.make_model_folder(tmp_path / "m")
    (path / "sentence_bert_config.json").write_text('{"max_seq_length": 12}')
    assert read_folder(path).max_pieces == 12
    assert (
        read_folder(tiny_bert.make_model_folder(tmp_path / "r", kind="roberta")).max_pieces
        == tiny_bert.POSITIONS - 2
    )


def test_an_onnx_file_in_the_folder_is_used_as_it_is(tmp_path: Path) -> None:
    path = tiny_bert.make_model_folder(tmp_path / "m", kind="mpnet")
    (path / "onnx").mkdir()
    (path / "onnx" / "model.onnx").write_bytes(
        graph.build_graph(tiny_bert.make_weights(), RECIPE, precision="fp32")
    )
    found = models.find_weights(str(path), cache=tmp_path / "cache")
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
    path = tiny_bert.make_model_folder(tmp_path / "m")
    config = json.loads((path / "config.json").read_text()) | change
    (path / "config.json").write_text(json.dumps(config))
    with pytest.raises(WeightsError, match=said):
        models.find_weights(str(path), cache=tmp_path)


def test_modules_and_poolings_that_are_not_supported_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="has a Dense module"):
        read_folder(tiny_bert.make_model_folder(tmp_path / "dense", modules=("Dense",)))
    with pytest.raises(WeightsError, match="pools by max_tokens"):
        read_folder(tiny_bert.make_model_folder(tmp_path / "max", pooling="max_tokens"))


@pytest.mark.parametrize("missing", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_folder_that_lacks_a_file_says_which(tmp_path: Path, missing: str) -> None:
    path = tiny_bert.make_model_folder(tmp_path / "m")
    (path / missing).unlink()
    with pytest.raises(WeightsError, match=missing.replace(".", r"\.")):
        models.find_weights(str(path), cache=tmp_path)
