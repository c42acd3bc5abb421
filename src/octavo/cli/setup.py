"""The `setup` command: find a language model that can be used, and write it into the settings of the library.

It looks for Ollama on this machine and for the keys of vendors in the environment and in `.env`. A key is
never written anywhere: Octavo finds it in the same place later. Nothing is sent to a vendor.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tomllib
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import click

from octavo.cli.common import GroupOptions, add_common_options, show_json
from octavo.errors import InvalidValue

OLLAMA_ADDRESS = "http://127.0.0.1:11434"
OLLAMA_SECONDS = 3.0
# People set OLLAMA_HOST to this for the server, which then listens on every address of this machine.
EVERYWHERE = "0.0.0.0"  # noqa: S104
# A model of each vendor that is cheap and good enough.
USUAL_MODELS = {
    "gemini-": "gemini-2.5-flash",
    "command-": "command-a-03-2025",
    "mistral-": "mistral-small-latest",
}
OLLAMA_KEY = "ollama"
"""What stands in the place of a key. Ollama does not look at it."""
OPENAI_MODEL, OPENAI_KEY = "gpt-4.1-mini", "OPENAI_API_KEY"
_TABLE = re.compile(r"^\s*\[", re.MULTILINE)
_SETTING = r"^[ \t]*{}[ \t]*=.*\n?"


class FoundModel(NamedTuple):
    """A model that can be used: its name, where it was found, and its address if that has to be written."""

    model: str
    where: str
    url: str = ""


@click.command(short_help="Find a language model and write it into the settings.")
@click.option("--model", "wanted", help="Use this one of the models found.")
@click.option("--offline", is_flag=True, help="Use no language model: answers quote the book.")
@add_common_options
def setup(context: GroupOptions, wanted: str | None, offline: bool, data: str | None, as_json: bool) -> None:
    """Find Ollama on this machine or a vendor's key in the environment, and write octavo.toml in the library.

    Octavo needs no language model: without one, answers quote the book. Keys are not written to any file.

    \b
      octavo setup
      octavo setup --model gemini-2.5-flash
      octavo setup --offline
    """
    from octavo.schemas import SetupJson
    from octavo.settings import FILE, Settings, find_default_data, read_variables

    chosen = data or context.data
    variables = read_variables()
    folder = Path(chosen or variables.get("OCTAVO_DATA") or find_default_data())
    found = [] if offline else find_models(variables)
    use = None if offline else _choose(found, wanted)
    path = folder / FILE
    if use is not None or offline:
        url = use.url if use else ""
        if set_key_aside(path):
            click.echo(f"The model_key in {path} was of another model. It is a comment now.", err=True)
        # Without a key of its own, Ollama would be sent the OPENAI_API_KEY of the environment.
        key = OLLAMA_KEY if url else ""
        write_settings(path, {"model": use.model if use else "", "model_url": url, "model_key": key})
    used = Settings(data=folder).model
    if as_json:
        show_json(SetupJson(found=[one.model for one in found], model=used, settings=str(path)))
    elif used != (use.model if use else ""):
        # The environment comes before the file, and where nothing was found the file is as it was.
        why = "nothing was written" if use is None and not offline else "OCTAVO_MODEL names it"
        click.echo(f"Answers are written with {used or 'no model'}: {why}.")
    elif use is not None:
        click.echo(f"Answers are written with {use.model} ({use.where}). Written to {path}.")
        click.echo("`octavo doctor` tries the model out; `octavo setup --offline` goes back to quotations.")
    else:
        click.echo("Answers quote the book; no language model is used.")
        if not offline:
            names = ", ".join([OPENAI_KEY, *(name for name, _ in _list_vendor_keys())])
            click.echo(f"To use one, start Ollama, or set one of {names}, and run `octavo setup` again.")


def find_models(variables: Mapping[str, str]) -> list[FoundModel]:
    """Find the models of Ollama on this machine, and of the vendors whose keys are among the variables."""
    found = _list_ollama(variables.get("OLLAMA_HOST", ""))
    for name, model in ((OPENAI_KEY, OPENAI_MODEL), *_list_vendor_keys()):
        if variables.get(name) and model not in (one.model for one in found):
            found.append(FoundModel(model, name))
    return found


def _list_vendor_keys() -> list[tuple[str, str]]:
    """List the variables that vendors' keys are in, each with a model."""
    from octavo.settings import VENDORS

    return [(name, USUAL_MODELS[vendor.models[0]]) for vendor in VENDORS for name in vendor.keys]


def _list_ollama(host: str) -> list[FoundModel]:
    """List the models of Ollama, or none if it does not run."""
    address = host if "://" in host else f"http://{host}" if host else OLLAMA_ADDRESS
    parts = urlsplit(address)
    name = "127.0.0.1" if parts.hostname in (None, EVERYWHERE) else parts.hostname
    try:
        port = parts.port or 11434
    except ValueError:
        raise InvalidValue("OLLAMA_HOST", "must end with a port number, if any", host) from None
    connection = HTTPConnection(name, port, timeout=OLLAMA_SECONDS)
    try:
        connection.request("GET", "/api/tags")
        listed = json.loads(connection.getresponse().read(1_000_000))
        names = [str(model["name"]) for model in listed["models"]]
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        return []
    finally:
        connection.close()
    return [FoundModel(model, "Ollama", f"http://{name}:{port}/v1") for model in names]


def _choose(found: list[FoundModel], wanted: str | None) -> FoundModel | None:
    """Choose the model that is wanted, the only one, or the one that is chosen on the terminal."""
    names = [one.model for one in found]
    if wanted is not None:
        if wanted not in names:
            raise InvalidValue("--model", f"must be one of those found: {', '.join(names) or 'none'}", wanted)
        return found[names.index(wanted)]
    if len(found) < 2:
        return found[0] if found else None
    for one in found:
        click.echo(f"  {one.model}  ({one.where})", err=True)
    if not sys.stdin.isatty():
        raise click.UsageError("Several models were found. Choose one with --model.")
    name = click.prompt("Which model", type=click.Choice(names), default=names[0], err=True)
    return found[names.index(name)]


def set_key_aside(path: Path) -> bool:
    """Make a comment of the key of a model that was used before, so that no other vendor is sent it."""
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    head, rest = _split_tables(before)
    found = re.search(_SETTING.format("model_key"), head, re.MULTILINE)
    if found is None or json.dumps(OLLAMA_KEY) in found[0]:
        return False
    _replace_file(path, f"{head[: found.start()]}# {found[0].lstrip()}{head[found.end() :]}{rest}")
    return True


def write_settings(path: Path, values: Mapping[str, str]) -> None:
    """Set top-level texts in a TOML file, or take out those that are empty. All the rest stays as it is."""
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    head, rest = _split_tables(before)
    for name, value in values.items():
        head = re.sub(_SETTING.format(re.escape(name)), "", head, flags=re.MULTILINE)
        if value:
            head = f"{name} = {json.dumps(value)}\n{head}"
    try:
        tomllib.loads(head + rest)
    except tomllib.TOMLDecodeError as wrong:
        raise InvalidValue(str(path), "must be TOML", str(wrong)) from None
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    _replace_file(path, head + rest)


def _split_tables(text: str) -> tuple[str, str]:
    """Split the top level of a TOML file from its tables."""
    table = _TABLE.search(text)
    return (text[: table.start()], text[table.start() :]) if table else (text, "")


def _replace_file(path: Path, text: str) -> None:
    # A link stays a link, and a file that only its owner may read, as it may hold keys, stays so.
    place = path.resolve()
    fresh = place.with_name(f"{place.name}.new")
    fresh.unlink(missing_ok=True)
    known = place.exists()
    fresh.touch(mode=0o600 if known else 0o666)
    fresh.write_text(text, encoding="utf-8")
    if known:
        shutil.copymode(place, fresh)
    os.replace(fresh, place)
