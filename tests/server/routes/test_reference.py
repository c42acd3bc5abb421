"""The description of the API against the API: whatever schemathesis sends, the service does as it says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from octavo.limits import ServiceLimits
from tests.support.answerers import AllSentencesAnswerer, add_tides
from tests.support.serving import PROBLEM, RunningService, create_key, serve_library

BY_RULES = "positive_data_acceptance"
"""Not asked for: some rules bind fields together, or to a book, and no schema says them. They are 422s."""


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service with room for a crowd: how it refuses one is tested elsewhere."""
    folder = add_tides(tmp_path_factory.mktemp("tides"))
    _, token = create_key(folder, scopes=("admin",), per_minute=1_000_000)
    limits = ServiceLimits(wrong_keys_per_minute=1_000_000)
    with serve_library(
        folder, answerer=AllSentencesAnswerer("boats"), keys_required=True, service=limits
    ) as served:
        yield replace(served, key=token)


def test_whatever_is_sent_the_service_does_what_its_description_says(
    closed: RunningService, tmp_path: Path
) -> None:
    """Examples, edge cases and random requests, right and wrong, with every other check that there is."""
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "run", f"http://127.0.0.1:{closed.port}/openapi.json"),
        *("-H", f"Authorization: Bearer {closed.key}", "--exclude-checks", BY_RULES),
        *("--phases", "examples,coverage,fuzzing", "--max-examples", "4", "--seed", "1"),
        *("--generation-database", "none", "--no-color"),
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    said = done.stdout[-6_000:] + done.stderr[-1_000:]
    assert done.returncode == 0, said
    found = re.search(r"(\d+) generated, (\d+) passed", done.stdout)
    assert found is not None, said
    assert int(found[1]) > 300
    assert closed.get("/readyz").status == 200


def test_every_route_says_what_it_gives_and_how_it_fails(closed: RunningService) -> None:
    described = closed.get("/openapi.json").json
    open_to_all = {"/healthz", "/readyz"}
    for path, methods in described["paths"].items():
        for method, route in methods.items():
            responses = route["responses"]
            good = [r for status, r in responses.items() if status.startswith("2")]
            assert len(good) == 1, (method, path)
            assert "204" in responses or good[0]["content"], (method, path)
            bad = [r for status, r in responses.items() if status >= "4"]
            assert all(list(r["content"]) == [PROBLEM] for r in bad), (method, path)
            if path not in open_to_all:
                assert {"401", "403", "422", "429", "503"} <= set(responses), (method, path)
                assert {"key": []} in route["security"], (method, path)
    assert described["components"]["securitySchemes"]["key"]["scheme"] == "bearer"


def test_bodies_have_examples_and_take_nothing_that_they_do_not_list(closed: RunningService) -> None:
    schemas = closed.get("/openapi.json").json["components"]["schemas"]
    for name in ("AskBody", "SearchBody", "CheckBody", "FeedbackBody"):
        assert schemas[name]["additionalProperties"] is False
        assert "examples" in json.dumps(schemas[name])
    # Front ends of others send more to /query than it knows.
    assert "additionalProperties" not in schemas["QueryBody"]
    assert "examples" in json.dumps(schemas["QueryBody"])


def test_a_method_that_a_path_does_not_have_is_told_those_it_has(closed: RunningService) -> None:
    for path, methods in (
        ("/v1/sessions", "GET, POST"),
        ("/v1/sessions/x", "DELETE, GET, PATCH"),
        ("/query", "POST"),
    ):
        got = closed.call("PUT", path, {})
        assert (got.status, got.type, got.headers["allow"]) == (405, PROBLEM, methods)
