"""A language model behind the service: what it is doing is streamed, and its failure is no error page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from octavo.testing import Call, Claims, Fault, FaultKind, ModelRequest, Reply, Script, ScriptedModel
from tests.support.answerers import add_tides
from tests.support.serving import RunningService, serve_library

LOST = "How many boats were lost in the storm?"
SEVEN = "Seven boats were lost with all their nets."


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return add_tides(tmp_path_factory.mktemp("tides"))


@contextmanager
def modelled(data: Path, script: Script) -> Iterator[RunningService]:
    with ScriptedModel(script) as model:
        settings = {"model": "scripted-1", "model_url": model.url, "model_key": "sk-secret", "risk": 0.9}
        with serve_library(data, **settings) as served:  # type: ignore[arg-type]
            yield served


def searching(request: ModelRequest) -> Reply:
    if not request.tool_results:
        return Call("search_book", {"query": "boats", "top_k": 3})
    return Claims([(text, [id_]) for id_, text in request.sentences.items() if "Seven" in text])


def test_what_the_model_is_doing_is_streamed_and_ends_with_the_same_object(data: Path) -> None:
    with modelled(data, searching) as served:
        headers = {"accept": "text/event-stream"}
        events = served.call("POST", "/v1/ask", {"question": LOST}, headers=headers).events
        plain = served.call("POST", "/v1/ask", {"question": LOST}).json
    kinds = [kind for kind, _ in events]
    assert kinds == ["asked", "scoped", "retrieved", "working", "working", "claimed", "answered"]
    assert [data for kind, data in events if kind == "working"] == [
        {"step": "searching", "detail": "boats"},
        {"step": "writing", "detail": ""},
    ]
    final = events[-1][1]
    assert (final["answer"], final["answerer"], final["question"]) == (f"{SEVEN} [1]", "scripted-1", LOST)
    assert set(plain) == set(final)
    assert plain["answer"] == final["answer"]


def test_a_vendor_that_is_down_is_no_error_page_and_no_key_is_shown(data: Path) -> None:
    with modelled(data, Fault(FaultKind.UNAUTHORIZED)) as served:
        got = served.call("POST", "/v1/ask", {"question": LOST})
        config = served.call("GET", "/v1/config")
    assert got.status == 200
    assert got.json["answer"] == f"{SEVEN} [1]"
    assert got.json["answerer"] == "offline, because the endpoint refuses the key (status 401)"
    assert config.json["model"] == "scripted-1"
    assert "sk-secret" not in got.text + config.text
