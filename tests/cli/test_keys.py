"""`octavo keys` and what `octavo serve` asks for before it serves: real commands on real libraries."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from octavo.cli import octavo
from octavo.errors import AccessDenied, InvalidValue, NotFound
from tests.support.answerers import add_tides
from tests.support.patience import PATIENCE


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(add_tides(tmp_path_factory.mktemp("keys")))


def run(data: str, *words: str) -> Result:
    return CliRunner().invoke(octavo, ["--data", data, *words])


def test_a_key_is_shown_once_and_then_only_described(data: str) -> None:
    made = run(data, "keys", "create", "laptop", "--scope", "ask", "--scope", "ingest")
    assert made.exit_code == 0
    token = made.stdout.strip()
    assert re.fullmatch(r"octv_[0-9a-f]{12}_[0-9a-f]{64}", token)
    assert "cannot be shown again" in made.stderr
    listed = run(data, "keys", "list").stdout
    assert f"{token.split('_')[1]}  laptop  (ask, ingest; all books; works; never used)" in listed
    assert token.split("_")[2] not in listed


def test_programs_get_json(data: str) -> None:
    wishes = ("--public", "--origin", "https://a.example", "--book", "The Tides", "--days", "30", "--json")
    made = json.loads(run(data, "keys", "create", "site", *wishes).stdout)
    assert (made["books"], made["origins"], made["public"]) == (["the-tides"], ["https://a.example"], True)
    assert made["key"].startswith(f"octv_{made['id']}_")
    listed = json.loads(run(data, "keys", "list", "--json").stdout)["keys"]
    assert {**made, "key": None} in [{**key, "key": None} for key in listed]
    assert made["key"] not in json.dumps(listed)
    ended = json.loads(run(data, "keys", "revoke", made["id"], "--json").stdout)
    assert (ended["id"], ended["state"]) == (made["id"], "revoked")


def test_a_key_is_revoked_by_its_id_or_by_itself(data: str) -> None:
    token = run(data, "keys", "create", "lost").stdout.strip()
    got = run(data, "keys", "revoke", token)
    assert got.stdout == f"lost ({token.split('_')[1]}) is revoked.\n"
    assert "lost  (ask; all books; revoked; never used)" in run(data, "keys", "list").stdout


def test_an_expired_key_is_shown_as_such(data: str) -> None:
    run(data, "keys", "create", "brief", "--days", "1e-9")
    run(data, "keys", "create", "long", "--days", "1")
    listed = run(data, "keys", "list").stdout
    assert "brief  (ask; all books; expired; never used)" in listed
    assert re.search(r"long  \(ask; all books; works until \d{4}-\d\d-\d\d; never used\)", listed)


def test_what_makes_no_sense_is_told(data: str, tmp_path: Path) -> None:
    assert isinstance(run(data, "keys", "create", "x", "--public").exception, InvalidValue)
    assert isinstance(run(data, "keys", "create", "x", "--book", "nothing").exception, NotFound)
    assert isinstance(run(data, "keys", "revoke", "nothing").exception, NotFound)
    assert run(data, "keys", "create", "x", "--scope", "read").exit_code == 2
    assert run(str(tmp_path / "new"), "keys", "list").stdout.startswith("No keys yet. `octavo keys create")


def test_a_service_for_others_does_not_start_without_a_key(tmp_path: Path) -> None:
    data = str(tmp_path / "library")
    refused = run(data, "serve", "--host", "0.0.0.0", "--port", "0")
    assert isinstance(refused.exception, AccessDenied)
    assert "octavo keys create" in refused.exception.hint
    token = run(data, "keys", "create", "gone").stdout.strip()
    run(data, "keys", "revoke", token)
    assert isinstance(run(data, "serve", "--host", "192.0.2.1", "--port", "0").exception, AccessDenied)


def test_a_service_for_others_is_never_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCTAVO_KEYS_REQUIRED", "false")
    refused = run(str(tmp_path / "library"), "serve", "--host", "0.0.0.0")
    assert isinstance(refused.exception, AccessDenied)
    assert "anyone who can reach this machine" in refused.exception.message


def test_the_command_that_serves_says_where_and_stops_when_it_is_told_to(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "octavo.cli",
        "--data",
        str(tmp_path / "library"),
        "serve",
        "--port",
        "0",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        told = ""
        while "Octavo serves" not in told and process.poll() is None:
            told = process.stderr.readline()
        where = re.search(r"http://127\.0\.0\.1:(\d+) ", told)
        assert where is not None
        connection = http.client.HTTPConnection("127.0.0.1", int(where[1]), timeout=PATIENCE)
        connection.request("GET", "/readyz")
        assert json.loads(connection.getresponse().read()) == {"status": "ready", "books": 0}
        connection.close()
        process.terminate()
        process.stderr.read()
        assert process.wait(PATIENCE) == 0
