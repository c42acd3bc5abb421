"""The image and the compose file: what they name exists, and what they promise is written in them."""

from __future__ import annotations

import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from octavo.cli import octavo
from octavo.settings import Settings
from tests.support.book_service import serve_books

ROOT = Path(__file__).parent.parent
IMAGES = {"octavo", "qdrant/qdrant:v1.16.3", "postgres:16"}


@cache
def compose() -> Any:
    return yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))


@cache
def dockerfile() -> list[tuple[str, str]]:
    """The instructions of the image, each with its words."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in lines)]


def said(word: str) -> list[str]:
    return [rest for name, rest in dockerfile() if name == word]


def known_settings() -> set[str]:
    names = set()
    for name, field in Settings.model_fields.items():
        names.add(f"OCTAVO_{name.upper()}")
        default = field.default
        parts = (
            getattr(type(default), "__dataclass_fields__", {}) if not isinstance(default, BaseModel) else {}
        )
        names |= {f"OCTAVO_{name.upper()}__{part.upper()}" for part in parts}
    return names


def test_every_variable_that_is_named_is_a_setting() -> None:
    files = ("Dockerfile", "compose.yaml", "docs/production.md")
    for file in files:
        named = set(re.findall(r"\bOCTAVO_[A-Z_]+", (ROOT / file).read_text(encoding="utf-8")))
        assert named, file
        assert named <= known_settings() | {"OCTAVO_TEST_QDRANT_URL"}, (file, named - known_settings())


def test_every_service_restarts_and_is_watched() -> None:
    for name, service in compose()["services"].items():
        assert service["restart"] == "unless-stopped", name
        assert service["image"] in IMAGES
        watched = service.get("healthcheck", {}).get("test") or said("HEALTHCHECK")
        assert watched, name


def test_octavo_waits_until_its_databases_answer() -> None:
    for name in ("octavo", "worker"):
        needs = compose()["services"][name]["depends_on"]
        assert {n: need["condition"] for n, need in needs.items()} == {
            "qdrant": "service_healthy",
            "postgres": "service_healthy",
        }
    for name in ("qdrant", "postgres"):
        assert compose()["services"][name]["healthcheck"]["test"][0] == "CMD-SHELL"


def test_only_the_service_can_be_reached_and_only_from_the_machine_itself() -> None:
    ports = {name: service.get("ports", []) for name, service in compose()["services"].items()}
    assert ports.pop("octavo") == ["127.0.0.1:8321:8321"]
    assert not any(ports.values())


def test_no_password_is_written_down() -> None:
    text = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    for line in text.splitlines():
        if re.search(r"(KEY|PASSWORD): ", line) and not line.lstrip().startswith("#"):
            assert "${" in line, line
    assert not (ROOT / ".env").exists()


def test_the_containers_are_read_only_and_have_no_rights_to_lose() -> None:
    for name in ("octavo", "worker"):
        service = compose()["services"][name]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["volumes"] == ["data:/data"]
        assert service["environment"]["OCTAVO_DATA"] == "/data"


def test_volumes_that_are_used_are_declared() -> None:
    used = {volume.split(":")[0] for s in compose()["services"].values() for volume in s.get("volumes", [])}
    assert used == set(compose()["volumes"])


@pytest.mark.parametrize("name", ["octavo", "worker"])
def test_the_commands_of_the_containers_exist_with_their_options(name: str) -> None:
    first, *options = compose()["services"][name]["command"]
    command = octavo.commands[first]
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in options if word.startswith("--")} <= known


def test_the_image_is_built_in_two_stages_and_does_not_run_as_root() -> None:
    assert [rest.split()[0] for rest in said("FROM")] == ["python:3.12-slim"] * 2
    assert said("USER") == ["octavo"]
    words = [word for word, _ in dockerfile()]
    assert words.index("USER") < words.index("ENTRYPOINT")
    assert said("ENTRYPOINT") == ['["octavo"]']
    assert "-c constraints.txt" in " ".join(said("RUN"))


def test_what_the_image_copies_is_there_and_not_ignored() -> None:
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    for copied in said("COPY"):
        if not copied.startswith("--from"):
            *sources, _ = copied.split()
            for source in sources:
                assert (ROOT / source).exists(), source
                assert source.removeprefix("./") in kept


def test_the_command_that_watches_the_image_tells_a_living_service_from_a_dead_one(tmp_path: Path) -> None:
    import subprocess
    import sys

    command = said("HEALTHCHECK")[0].split("CMD ", 1)[1]
    _, *arguments = yaml.safe_load(command)
    with serve_books(tmp_path / "library") as service:
        here = [word.replace("8321", str(service.port)) for word in arguments]
        assert subprocess.run([sys.executable, *here], check=False).returncode == 0
    assert subprocess.run([sys.executable, *here], capture_output=True, check=False).returncode != 0


def test_the_page_about_production_shows_commands_that_exist() -> None:
    text = (ROOT / "docs" / "production.md").read_text(encoding="utf-8")
    shown = re.findall(r"^(?:\$ )?octavo (.+)$", text, re.MULTILINE)
    assert shown
    for line in shown:
        words = [word for word in shlex.split(line, comments=True) if not word.startswith("-")]
        assert words[0] in octavo.commands, line
