"""Vectors are of unit length, the same in any company, and errors say whose fault they are."""

from __future__ import annotations

import json
import math
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from octavo.errors import InvalidValue, ModelError, WeightsError
from octavo.models import loading, weights
from octavo.models.embedding import OnnxEmbedder, OpenAIEmbedder
from octavo.settings import Settings
from tests.support import tiny_bert

TEXTS = [
    "The whale is the largest animal of the sea.",
    "A ship sailed over the dark water, and the crew sang.",
    "Bread needs flour, water, salt and time; the rest is warmth and patience. " * 12,
    "Tax is due in April.",
]


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> OnnxEmbedder:
    return OnnxEmbedder(
        weights.find_weights("minilm-int8", cache=tmp_path_factory.mktemp("cache")), threads=2
    )


def cosine(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def test_the_default_settings_load_the_shipped_embedder(tmp_path: Path) -> None:
    loaded = loading.load_embedder(Settings(data=tmp_path))
    assert loaded.fingerprint == f"minilm-octavo-2:int8:{weights.INT8_SHA256[:12]}:256:384"
    assert (loaded.dimension, loaded.max_pieces) == (384, 254)


def test_vectors_are_those_of_the_trained_weights_in_full_precision(embedder: OnnxEmbedder) -> None:
    # By PyTorch, from the average of the two runs in float32.
    trained = [0.061791, 0.016639, 0.019356, 0.082942, 0.007575]
    assert embedder.embed(["This is an example sentence"])[0][:5] == pytest.approx(trained, abs=0.025)


def test_vectors_have_unit_length_and_meaning(embedder: OnnxEmbedder) -> None:
    whale, ship, bread, tax = embedder.embed(TEXTS)
    for vector in (whale, ship, bread, tax):
        assert len(vector) == 384
        assert math.hypot(*vector) == pytest.approx(1.0, abs=1e-9)
    asked = embedder.embed(["Which creature in the ocean is the biggest?"])[0]
    assert cosine(asked, whale) > 0.5 > 0.3 > max(cosine(asked, bread), cosine(asked, tax))


@settings(max_examples=8, deadline=None)
@given(st.permutations(range(len(TEXTS))), st.integers(0, 3))
def test_a_text_has_the_same_vector_in_any_company(
    embedder: OnnxEmbedder, order: list[int], left_out: int
) -> None:
    alone = [embedder.embed([text])[0] for text in TEXTS]
    together = embedder.embed([TEXTS[k] for k in order[left_out:]])
    assert together == [alone[k] for k in order[left_out:]]


def test_the_number_of_threads_changes_nothing(embedder: OnnxEmbedder, tmp_path: Path) -> None:
    single = loading.load_embedder(Settings(data=tmp_path, threads=1))
    assert single.embed(TEXTS) == embedder.embed(TEXTS)
    assert single.fingerprint == embedder.fingerprint


def test_what_fits_is_read_to_its_end_and_what_does_not_is_cut_there(embedder: OnnxEmbedder) -> None:
    fits = " ".join(["water"] * 253 + ["bread"])
    assert embedder.count_pieces([fits]) == [embedder.max_pieces]
    shorter = " ".join(["water"] * 253)
    longer = f"{fits} and much more that cannot be seen"
    fit, short, long = embedder.embed([fits, shorter, longer])
    assert fit != short
    assert fit == long


def test_pieces_are_counted_without_marks_and_without_an_end(embedder: OnnxEmbedder) -> None:
    assert embedder.count_pieces(["", "water", "water water", "water " * 5_000]) == [0, 1, 2, 5_000]
    assert embedder.count_pieces([]) == []
    many = embedder.count_pieces(["a b c"] * 2_500)
    assert many == [3] * 2_500


def test_no_texts_give_no_vectors_and_an_empty_text_gives_one(embedder: OnnxEmbedder) -> None:
    assert embedder.embed([]) == []
    assert len(embedder.embed([""])[0]) == 384


@settings(max_examples=25, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=300))
def test_any_text_has_a_vector(embedder: OnnxEmbedder, text: str) -> None:
    (vector,) = embedder.embed([text])
    assert math.hypot(*vector) == pytest.approx(1.0, abs=1e-9)


def test_a_folder_of_the_users_works_like_the_shipped_model(tmp_path: Path) -> None:
    path = tiny_bert.make_model_folder(tmp_path / "my-model")
    loaded = loading.load_embedder(Settings(data=tmp_path, embedder=str(path)))
    assert (loaded.dimension, loaded.max_pieces) == (tiny_bert.HIDDEN, tiny_bert.POSITIONS - 2)
    assert loaded.fingerprint.startswith("my-model:fp32:")
    ids = [1, *(tiny_bert.WORDS.index(word) + 4 for word in ("the", "sea", "is", "cold")), 2]
    expected = tiny_bert.run_forward(tiny_bert.make_weights(), ids)
    assert loaded.embed(["the sea is cold"])[0] == pytest.approx(expected.tolist(), abs=2e-6)


def lookup(path: Path, *, inputs: Mapping[str, int], output: str = "last_hidden_state") -> Path:
    """An ONNX file that gives a vector a token, as exporters write them: what is asked for is up to us."""
    table = np.random.default_rng(3).normal(size=(30, 8)).astype(np.float32)
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["found"])]
    last = "found"
    for name in sorted(set(inputs) - {"input_ids"}):
        nodes.append(helper.make_node("Cast", [name], [f"{name}_f"], to=TensorProto.FLOAT))
        nodes.append(helper.make_node("Unsqueeze", [f"{name}_f", "two"], [f"{name}_u"]))
        op = "Mul" if name == "attention_mask" else "Add"
        nodes.append(helper.make_node(op, [last, f"{name}_u"], [f"{name}_x"]))
        last = f"{name}_x"
    nodes.append(helper.make_node("Identity", [last], [output]))
    graph = helper.make_graph(
        nodes,
        "lookup",
        [helper.make_tensor_value_info(name, kind, ["b", "s"]) for name, kind in inputs.items()],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["b", "s", "h"])],
        [numpy_helper.from_array(table, "table"), numpy_helper.from_array(np.array([2]), "two")],
    )
    path.parent.mkdir(exist_ok=True)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), str(path))
    return path


@pytest.mark.parametrize("kind", [TensorProto.INT64, TensorProto.INT32])
@pytest.mark.parametrize("pooling", ["mean_tokens", "cls_token"])
def test_an_exported_graph_gets_the_inputs_it_asks_for_and_is_pooled_here(
    tmp_path: Path, kind: int, pooling: str
) -> None:
    path = tiny_bert.make_model_folder(tmp_path / "exported", kind="mpnet", pooling=pooling)
    names = ("input_ids", "attention_mask", "token_type_ids")
    lookup(path / "onnx" / "model.onnx", inputs=dict.fromkeys(names, kind))
    loaded = loading.load_embedder(Settings(data=tmp_path, embedder=str(path)))
    table = np.random.default_rng(3).normal(size=(30, 8)).astype(np.float32)
    rows = table[[1, tiny_bert.WORDS.index("sea") + 4, 2]]
    pooled = rows[0] if pooling == "cls_token" else rows.mean(axis=0)
    expected = (pooled / np.linalg.norm(pooled)).tolist()
    assert loaded.embed(["sea"])[0] == pytest.approx(expected, abs=1e-6)
    assert loaded.dimension == 8


def test_a_graph_that_takes_something_else_is_refused(tmp_path: Path) -> None:
    path = tiny_bert.make_model_folder(tmp_path / "odd", kind="mpnet")
    wanted = {"input_ids": TensorProto.INT64, "pixels": TensorProto.INT64}
    lookup(path / "onnx" / "model.onnx", inputs=wanted)
    with pytest.raises(WeightsError, match="asks for input_ids, pixels"):
        loading.load_embedder(Settings(data=tmp_path, embedder=str(path)))


def test_files_that_are_no_model_and_no_tokenizer_are_refused(tmp_path: Path) -> None:
    good = weights.find_weights("minilm-int8", cache=tmp_path)
    (tmp_path / "junk").write_bytes(b"junk")
    with pytest.raises(WeightsError, match="ONNX Runtime cannot load"):
        OnnxEmbedder(replace(good, onnx=tmp_path / "junk"))
    with pytest.raises(WeightsError, match="junk cannot be read"):
        OnnxEmbedder(replace(good, tokenizer=tmp_path / "junk"))


class Endpoint:
    """A real embedding server: it answers as told, then normally, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.script: list[tuple[int, dict[str, str], object]] = []
        self.vector: Callable[[str], list[object]] = lambda text: [float(len(text)), 3.0, 4.0]
        endpoint = self

        class Answer(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None: ...

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.asked.append({"path": self.path, **body})
                endpoint.headers.append(dict(self.headers))
                status, headers, said = endpoint.script.pop(0) if endpoint.script else (200, {}, None)
                data = json.dumps(endpoint.vectors(body["input"]) if said is None else said).encode()
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(data))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def vectors(self, texts: list[str]) -> dict[str, object]:
        rows = [{"index": n, "embedding": self.vector(text)} for n, text in enumerate(texts)]
        return {"object": "list", "data": rows[::-1]}


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint()
    Thread(target=made.server.serve_forever, daemon=True).start()
    yield made
    made.server.shutdown()
    made.server.server_close()


def remote(endpoint: Endpoint, *, key: str = "", tries: int = 3, batch_pieces: int = 4_096) -> OpenAIEmbedder:
    return OpenAIEmbedder(
        "small", url=endpoint.url, key=key, tries=tries, pause=0.001, batch_pieces=batch_pieces, timeout=60
    )


def test_an_endpoint_is_asked_in_the_openai_way(endpoint: Endpoint, tmp_path: Path) -> None:
    chosen = Settings(
        data=tmp_path, embedder="openai:small", embedder_url=endpoint.url, embedder_key="secret"
    )
    loaded = loading.load_embedder(chosen)
    assert loaded.embed(["four", "eleven char"]) == [
        pytest.approx([x / math.hypot(4, 3, 4) for x in (4, 3, 4)]),
        pytest.approx([x / math.hypot(11, 3, 4) for x in (11, 3, 4)]),
    ]
    assert endpoint.asked == [{"path": "/v1/embeddings", "model": "small", "input": ["four", "eleven char"]}]
    assert endpoint.headers[0]["Authorization"] == "Bearer secret"


def test_an_endpoints_size_is_learned_by_asking_once(endpoint: Endpoint) -> None:
    asked = remote(endpoint)
    assert asked.dimension == 3
    assert asked.fingerprint.startswith("small:endpoint:")
    assert asked.fingerprint.endswith(":512:3")
    assert len(endpoint.asked) == 1
    other = OpenAIEmbedder("small", url=f"{endpoint.url}/other/v1")
    assert other.fingerprint != asked.fingerprint
    assert endpoint.asked[-1]["path"] == "/other/v1/embeddings"


def test_a_batch_is_bounded_by_size_and_by_number(endpoint: Endpoint) -> None:
    vectors = remote(endpoint, batch_pieces=256).embed(["x" * 300] * 5)
    assert [len(a["input"]) for a in endpoint.asked] == [2, 2, 1]
    assert len(vectors) == 5
    endpoint.asked.clear()
    remote(endpoint).embed(["y"] * 130)
    assert [len(a["input"]) for a in endpoint.asked] == [64, 64, 2]
    assert remote(endpoint).embed([]) == []


def test_pieces_at_an_endpoint_are_estimated_on_the_safe_side(endpoint: Endpoint) -> None:
    assert remote(endpoint).count_pieces(["", "abc", "abcd", "漢字", "🐳"]) == [0, 1, 2, 2, 2]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_endpoint_is_asked_again(endpoint: Endpoint, status: int) -> None:
    endpoint.script = [(status, {"Retry-After": "0"}, "later"), (status, {}, "later")]
    assert len(remote(endpoint).embed(["text"])) == 1
    assert len(endpoint.asked) == 3


def test_an_endpoint_that_stays_broken_is_given_up_on(endpoint: Endpoint) -> None:
    endpoint.script = [(503, {}, "down for repairs")] * 3
    with pytest.raises(ModelError, match=r"answered 503: .*down for repairs.*tried 3 times"):
        remote(endpoint).embed(["text"])
    assert len(endpoint.asked) == 3


def test_a_refusal_is_not_repeated_and_never_shows_the_key(endpoint: Endpoint) -> None:
    endpoint.script = [(401, {}, {"error": "bad key sk-secret"})]
    with pytest.raises(ModelError, match="answered 401") as refused:
        remote(endpoint, key="sk-secret").embed(["text"])
    assert "sk-secret" not in str(refused.value)
    assert "OCTAVO_EMBEDDER_KEY" in refused.value.hint
    assert len(endpoint.asked) == 1


def test_the_key_does_not_follow_a_redirect(endpoint: Endpoint) -> None:
    endpoint.script = [(302, {"Location": f"{endpoint.url}/elsewhere"}, "gone")]
    with pytest.raises(ModelError, match="answered 302"):
        remote(endpoint, key="secret").embed(["text"])
    assert len(endpoint.asked) == 1


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"hello": "world"}, "something other than embeddings"),
        ([1, 2], "something other than embeddings"),
        ({"data": []}, "0 vectors for 1 texts"),
        ({"data": [{"index": 0, "embedding": [0.0, 0.0]}]}, "without a direction"),
        ({"data": [{"index": 0, "embedding": [1.0, float("nan")]}]}, "without a direction"),
        ({"data": [{"index": 0, "embedding": "AAAA"}]}, "not a list of numbers"),
    ],
)
def test_an_answer_that_is_not_vectors_is_the_models_fault(
    endpoint: Endpoint, said: object, why: str
) -> None:
    endpoint.script = [(200, {}, said)]
    with pytest.raises(ModelError, match=why):
        remote(endpoint).embed(["text"])


def test_vectors_of_different_sizes_are_refused(endpoint: Endpoint) -> None:
    endpoint.vector = lambda text: [1.0] * len(text)
    with pytest.raises(ModelError, match="different sizes"):
        remote(endpoint).embed(["ab", "abc"])


def test_an_endpoint_that_is_not_there_is_a_model_error() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(ModelError, match=r"cannot be reached.*tried 2 times"):
            OpenAIEmbedder("small", url=url, tries=2, pause=0.001, timeout=2).embed(["text"])


@pytest.mark.parametrize("url", ["file:///etc/passwd", "localhost:8000", "ftp://host/v1"])
def test_an_address_that_is_not_http_is_refused(url: str) -> None:
    with pytest.raises(InvalidValue, match="embedder_url"):
        OpenAIEmbedder("small", url=url)
