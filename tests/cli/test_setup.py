"""`octavo setup` finds a model, writes it into the settings, and leaves everything else in them alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from click.testing import CliRunner, Result

from octavo.cli import octavo
from octavo.cli.setup import write_settings
from octavo.errors import InvalidValue
from octavo.settings import Settings

MODELS = {"models": [{"name": "qwen2.5:7b", "size": 1}]}
KEYS = (
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "COHERE_API_KEY",
    "CO_API_KEY",
    "MISTRAL_API_KEY",
)


class Ollama(BaseHTTPRequestHandler):
    """Lists its models as Ollama does."""

    def do_GET(self) -> None:
        body = json.dumps(MODELS if self.path == "/api/tags" else {}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Keep the log of the tests clean."""


@pytest.fixture
def ollama() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Ollama) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(autouse=True)
def _no_other_models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    # A port that nobody listens on.
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")


def setup(tmp_path: Path, *words: str) -> Result:
    return CliRunner().invoke(octavo, ["--data", str(tmp_path / "library"), "setup", *words])


def test_ollama_is_found_and_its_address_written(
    tmp_path: Path, ollama: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", ollama)
    told = setup(tmp_path)
    assert (told.exit_code, "qwen2.5:7b (Ollama)" in told.stdout) == (0, True)
    settings = Settings(data=tmp_path / "library")
    assert (settings.model, settings.model_url) == ("qwen2.5:7b", f"http://{ollama}/v1")
    assert setup(tmp_path, "--offline").exit_code == 0
    assert Settings(data=tmp_path / "library").model == ""


def test_a_key_of_openai_is_not_sent_to_ollama(
    tmp_path: Path, ollama: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", ollama)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert setup(tmp_path, "--model", "qwen2.5:7b").exit_code == 0
    settings = Settings(data=tmp_path / "library")
    assert (settings.model_url, settings.model_key) == (f"http://{ollama}/v1", "ollama")
    assert setup(tmp_path, "--model", "gpt-4.1-mini").exit_code == 0
    settings = Settings(data=tmp_path / "library")
    assert (settings.model_url, settings.model_key) == ("", "sk-secret")


def test_the_key_of_another_vendor_becomes_a_comment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "library").mkdir()
    file = tmp_path / "library" / "octavo.toml"
    file.write_text('model = "mine"\nmodel_key = "for mine"\n[limits]\nmax_pages = 7\n', encoding="utf-8")
    monkeypatch.setenv("GEMINI_API_KEY", "for gemini")
    told = setup(tmp_path)
    assert "is a comment now" in told.stderr
    settings = Settings(data=tmp_path / "library")
    assert (settings.model, settings.model_key) == ("gemini-2.5-flash", "for gemini")
    assert '# model_key = "for mine"\n' in file.read_text(encoding="utf-8")
    assert "comment" not in setup(tmp_path).stderr


def test_a_key_in_the_env_file_is_used_and_written_nowhere(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("GEMINI_API_KEY=secret-of-mine\n", encoding="utf-8")
    told = setup(tmp_path, "--json")
    assert json.loads(told.stdout)["model"] == "gemini-2.5-flash"
    settings = Settings(data=tmp_path / "library")
    assert settings.model_key == "secret-of-mine"
    assert "generativelanguage" in settings.model_url
    assert "secret" not in (tmp_path / "library" / "octavo.toml").read_text(encoding="utf-8")


def test_several_models_are_named_and_one_is_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-one")
    monkeypatch.setenv("MISTRAL_API_KEY", "two")
    several = setup(tmp_path)
    assert (several.exit_code, "mistral-small-latest" in several.output) == (2, True)
    assert not (tmp_path / "library" / "octavo.toml").exists()
    assert setup(tmp_path, "--model", "mistral-small-latest").exit_code == 0
    assert Settings(data=tmp_path / "library").model == "mistral-small-latest"
    assert isinstance(setup(tmp_path, "--model", "other").exception, InvalidValue)


def test_without_any_model_it_says_what_to_do_and_writes_nothing(tmp_path: Path) -> None:
    told = setup(tmp_path)
    assert told.exit_code == 0
    assert "GEMINI_API_KEY" in told.stdout
    assert not (tmp_path / "library").exists()


def test_other_settings_and_comments_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "octavo.toml"
    path.write_text('# ours\nmodel = "old"\nrisk = 0.1\n\n[service]\nmodel = 1\n', encoding="utf-8")
    write_settings(path, {"model": "new", "model_url": ""})
    assert path.read_text(encoding="utf-8") == 'model = "new"\n# ours\nrisk = 0.1\n\n[service]\nmodel = 1\n'


def test_a_file_of_settings_keeps_its_rights_and_its_place(tmp_path: Path) -> None:
    kept = tmp_path / "kept.toml"
    kept.write_text('model_key = "secret"\n', encoding="utf-8")
    kept.chmod(0o600)
    link = tmp_path / "octavo.toml"
    link.symlink_to(kept)
    write_settings(link, {"model": "new"})
    assert link.is_symlink()
    assert kept.read_text(encoding="utf-8") == 'model = "new"\nmodel_key = "secret"\n'
    assert kept.stat().st_mode & 0o777 == 0o600


def test_it_says_which_model_is_really_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "library").mkdir()
    file = tmp_path / "library" / "octavo.toml"
    file.write_text('model = "mine"\n', encoding="utf-8")
    assert "written with mine: nothing was written" in setup(tmp_path).stdout
    assert file.read_text(encoding="utf-8") == 'model = "mine"\n'
    monkeypatch.setenv("OCTAVO_MODEL", "other")
    assert "written with other: OCTAVO_MODEL names it" in setup(tmp_path, "--offline").stdout
