"""Find the files of a Docusaurus site: its configuration, its docs, and what lies beside them.

Nothing is opened here. The parser's process asks before it gives up the right to look elsewhere.
"""

from __future__ import annotations

from pathlib import Path

_CONFIGS = tuple(f"docusaurus.config.{ending}" for ending in ("ts", "js", "mjs", "cjs", "mts", "cts"))
_CATEGORIES = ("_category_.json", "_category_.yml", "_category_.yaml")
_VERSIONS = "versions.json"


def find_config(path: Path) -> Path | None:
    folders = [path, *sorted(p for p in path.iterdir() if p.is_dir() and not p.is_symlink())]
    return next((f / name for f in folders for name in _CONFIGS if (f / name).is_file()), None)


def find_config_above(path: Path) -> Path | None:
    """Find the configuration of the site whose `docs` this folder is."""
    place = path.resolve()
    if place.name != "docs":
        return None
    return next((f for name in _CONFIGS if (f := place.parent / name).is_file() and not f.is_symlink()), None)


def find_docs_folder(path: Path) -> Path | None:
    """Find the folder of docs with category files: this one, or `docs` inside it."""
    here = path.resolve().name == "docs" or find_category_file(path) is not None
    for folder in (path,) if here else (path / "docs", path):
        if folder.is_dir() and any(
            (f / name).is_file()
            for f in (folder, *(p for p in folder.iterdir() if p.is_dir()))
            for name in _CATEGORIES
        ):
            return folder
    return None


def find_category_file(folder: Path) -> Path | None:
    return next((folder / name for name in _CATEGORIES if (folder / name).is_file()), None)


def list_files_above(path: Path) -> list[Path]:
    """List the files beside the `docs` of a site that say its title, its addresses and its order."""
    if find_config_above(path) is None:
        return []
    folder = path.resolve().parent
    beside = [*folder.glob("docusaurus.config.*"), *folder.glob("sidebars.*"), folder / _VERSIONS]
    return [file for file in beside if file.is_file() and not file.is_symlink()]
