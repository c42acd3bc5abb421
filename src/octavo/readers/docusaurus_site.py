"""A Docusaurus site as its files describe it: its address, where its docs are, what its sidebars say.

The configuration is read, never run. What cannot be read from it has Docusaurus' own defaults: docs lie in
`docs`, are published under `docs`, and their sidebar follows the folders.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from octavo.errors import BadBook
from octavo.limits import Limits
from octavo.readers.frontmatter import load_yaml
from octavo.readers.jsliteral import exported
from octavo.readers.tree import heading, inside, load
from octavo.text import clean, decode

_CONFIGS = tuple(f"docusaurus.config.{ending}" for ending in ("ts", "js", "mjs", "cjs", "mts", "cts"))
_SIDEBARS = tuple(f"sidebars.{ending}" for ending in ("ts", "js", "json", "mjs", "cjs", "mts", "cts"))
_CATEGORIES = ("_category_.json", "_category_.yml", "_category_.yaml")
_LARGEST = 512 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Docs:
    """One set of docs of a site."""

    folder: Path
    route: str = "docs"
    sidebars: Any = None
    numbered: bool = True
    """Whether number prefixes only order the files and are no part of their names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    folder: Path
    """Where the configuration lies: what `@site/` means."""
    docs: tuple[Docs, ...]
    title: str = ""
    base_url: str | None = None
    slash: bool | None = None
    """Whether every address ends in a slash, none does, or each as its page says."""
    language: str = ""


def is_docusaurus(path: Path) -> bool:
    """Whether a folder is a Docusaurus site, holds one, or is the docs folder of one."""
    return path.is_dir() and (_config(path) is not None or _docs_folder(path) is not None)


def open_site(path: Path, limits: Limits) -> Site:
    config = _config(path)
    if config is None:
        folder = _docs_folder(path) or path
        return Site(folder=folder.parent, docs=(Docs(folder=folder),))
    source = _source(config, limits)
    settings = exported(source)
    settings = settings if isinstance(settings, dict) else {}
    url, base = _setting(settings, source, "url"), _setting(settings, source, "baseUrl") or "/"
    i18n = settings.get("i18n")
    slash = settings.get("trailingSlash")
    return Site(
        folder=config.parent,
        docs=tuple(_instances(path, config, settings, source, limits)),
        title=heading(_setting(settings, source, "title")),
        base_url=f"{url.rstrip('/')}/{base.strip('/')}/".replace("//", "/").replace(":/", "://")
        if url
        else None,
        slash=slash if isinstance(slash, bool) else None,
        language=heading(str(i18n.get("defaultLocale") or "")) if isinstance(i18n, dict) else "",
    )


def category_file(folder: Path) -> Path | None:
    return next((folder / name for name in _CATEGORIES if (folder / name).is_file()), None)


def category(folder: Path, limits: Limits) -> dict[str, Any]:
    """What a folder says about itself; nothing when its file cannot be read."""
    file = category_file(folder)
    if file is None or file.is_symlink() or file.stat().st_size > limits.max_front_matter_kb * 1024:
        return {}
    text = decode(load(file, limits)).text
    try:
        said = json.loads(text) if file.suffix == ".json" else load_yaml(text)
    except (ValueError, RecursionError, yaml.YAMLError):
        return {}
    return said if isinstance(said, dict) else {}


def _config(path: Path) -> Path | None:
    folders = [path, *sorted(p for p in path.iterdir() if p.is_dir() and not p.is_symlink())]
    return next((f / name for f in folders for name in _CONFIGS if (f / name).is_file()), None)


def _docs_folder(path: Path) -> Path | None:
    """The folder that holds docs with category files: this one, or `docs` inside it."""
    here = path.resolve().name == "docs" or category_file(path) is not None
    for folder in (path,) if here else (path / "docs", path):
        if folder.is_dir() and any(
            (f / name).is_file()
            for f in (folder, *(p for p in folder.iterdir() if p.is_dir()))
            for name in _CATEGORIES
        ):
            return folder
    return None


def _source(file: Path, limits: Limits) -> str:
    data = load(file, limits)
    if len(data) > _LARGEST:
        raise BadBook("too_large", f"{file.name} is larger than a configuration can be")
    return clean(decode(data).text)


def _setting(settings: dict[str, Any], source: str, name: str) -> str:
    """A setting that is a string; looked up in the text when a program computes the settings."""
    value = settings.get(name)
    if isinstance(value, str):
        return value
    found = re.search(rf"\b{name}\s*:\s*(?:'([^'\n]*)'|\"([^\"\n]*)\"|`([^`$\n]*)`)", source)
    return next((g for g in found.groups() if g), "") if found and not settings else ""


def _instances(root: Path, config: Path, settings: dict[str, Any], source: str, limits: Limits) -> list[Docs]:
    """The docs of the preset, then those of plugins."""
    options = [o for p in _named(settings, "presets") if isinstance(o := p.get("docs", {}), dict)]
    options += _named(settings, "plugins", "content-docs")
    if not options:
        words = {name: _setting({}, source, name) for name in ("routeBasePath", "sidebarPath")}
        options = [{key: value for key, value in words.items() if value}]
    made: list[Docs] = []
    for option in options:
        folder = inside(root, config.parent, str(option.get("path") or "docs"))
        if folder is None or not folder.is_dir() or any(d.folder == folder for d in made):
            continue
        said = option.get("routeBasePath")
        route = (said if isinstance(said, str) else "docs").strip("/")
        version = _version(config.parent, option, limits)
        made.append(
            Docs(
                folder=folder,
                route=f"{route}/{version}".strip("/"),
                sidebars=_sidebars(root, config, option, limits),
                numbered=option.get("numberPrefixParser") is not False,
            )
        )
    return made


def _version(site: Path, option: dict[str, Any], limits: Limits) -> str:
    """Where the docs of no version yet are published: at `next`, once the site has released a version."""
    name = str(option.get("id") or "default")
    file = site / ("versions.json" if name == "default" else f"{name.replace('/', '')}_versions.json")
    try:
        released = json.loads(_source(file, limits)) if file.is_file() else []
    except (ValueError, RecursionError):
        released = []
    versions = option.get("versions")
    current = versions.get("current") if isinstance(versions, dict) else None
    path = current.get("path") if isinstance(current, dict) else None
    if isinstance(path, str):
        return path.strip("/")
    latest = not released or option.get("lastVersion") == "current" or option.get("disableVersioning") is True
    return "" if latest else "next"


def _named(settings: dict[str, Any], key: str, name: str = "") -> list[dict[str, Any]]:
    """The options of presets or plugins, which are written `name` or `[name, options]`."""
    listed = settings.get(key)
    pairs = [p if isinstance(p, list) else [p] for p in (listed if isinstance(listed, list) else [])]
    fitting = [p for p in pairs if p and isinstance(p[0], str) and name in p[0]]
    return [p[1] if len(p) > 1 and isinstance(p[1], dict) else {} for p in fitting]


def _sidebars(root: Path, config: Path, option: dict[str, Any], limits: Limits) -> Any:
    """What the sidebars file exports; None when the folders make the sidebar."""
    said = option.get("sidebarPath")
    names = [said] if isinstance(said, str) else [*_SIDEBARS] if said is None and not option.get("id") else []
    for name in names:
        file = inside(root, config.parent, name.lstrip("/"))
        if file and file.is_file():
            if file.suffix == ".json":
                try:
                    return json.loads(_source(file, limits))
                except (ValueError, RecursionError):
                    return None
            return exported(_source(file, limits))
    return None
