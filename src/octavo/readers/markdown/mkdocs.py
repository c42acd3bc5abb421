"""Read the source of an MkDocs site: the pages that `nav` in `mkdocs.yml` lists, in its order.

Without `nav`, all pages come in MkDocs' own order: the index first, then by name, folders as parts. Addresses
are those of the published site. Admonitions and tabs (`!!! note`, `=== "Tab"`) are read as text with their
title. The configuration is loaded as plain data; tags that would run code are ignored.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from octavo.errors import BadBook
from octavo.readers.files import check_sections, find_files, resolve_inside
from octavo.readers.markdown.frontmatter import load_yaml
from octavo.readers.markdown.reader import open_page, read_sections
from octavo.readers.parsed import ParsedBook, ParsedSection
from octavo.readers.sections import build_chapter, find_page_title
from octavo.readers.titles import clean_line, make_title
from octavo.text.clean import clean, decode
from octavo.types import BookFormat

if TYPE_CHECKING:
    from octavo.limits import Limits

CONFIGURATIONS = ("mkdocs.yml", "mkdocs.yaml")
_SUFFIXES = frozenset((".md", ".markdown"))
_TAG = re.compile(r"(?<=[\s\[,:-])!(?:!?[\w:./-]+)(?=\s|$)")
_ADMONITION = re.compile(
    r'^([ \t]*)(?:!!!|\?\?\?\+?|===[!+]*)[ \t]+(?:([\w-]+)(?:[ \t]+[\w-]+)*)?[ \t]*(?:"([^"]*)")?[ \t]*$'
)
_DEEPEST = 12
Chapter = tuple[tuple[str, ...], str]
"""The titles above a page, with its own or '' behind them, and its file."""


def is_mkdocs(folder: Path) -> bool:
    """Whether a folder is the source of an MkDocs site."""
    return any((folder / name).is_file() for name in CONFIGURATIONS)


def read_mkdocs(folder: Path, limits: Limits) -> ParsedBook:
    """Read the book in the folder of an MkDocs site."""
    notes: list[str] = []
    settings = _read_settings(folder, limits, notes)
    docs = resolve_inside(folder, folder, str(settings.get("docs_dir") or "docs"))
    if docs is None or not docs.is_dir():
        raise BadBook("no_text", f"{folder.name} has no folder with the pages of its MkDocs site")
    files = {
        p.resolve().relative_to(docs).as_posix(): p for p in find_files(docs, _SUFFIXES, limits, notes=notes)
    }
    nav = settings.get("nav") or settings.get("pages")
    chapters = _list_nav(nav, files, (), 0) if isinstance(nav, list) else _list_files(files)
    sections: list[ParsedSection] = []
    seen: set[str] = set()
    for path, file in chapters:
        if file not in files:
            notes.append(f"nav: left out {clean_line(file)[:100]}, which is missing")
        elif file not in seen:
            seen.add(file)
            address = _make_url(file, directories=settings.get("use_directory_urls") is not False)
            sections += _read_chapter(files[file], file, path, address, limits, notes)
    if left := len(files) - len(seen):
        notes.append(f"nav: {left} of {len(files)} pages are left out, nav does not list them")
    site = settings.get("site_url")
    author = clean_line(str(settings.get("site_author") or ""))
    return ParsedBook(
        title=clean_line(str(settings.get("site_name") or "")) or make_title(folder.resolve().name),
        format=BookFormat.MKDOCS,
        sections=check_sections(sections, limits, name=folder.name),
        authors=(author,) if author else (),
        language=_read_language(settings.get("theme")),
        base_url=str(site) if isinstance(site, str) and site else None,
        warnings=tuple(notes),
    )


def _read_language(theme: object) -> str:
    """Return the language of a theme's own words, which is that of the site."""
    stated = theme.get("language") or theme.get("locale") if isinstance(theme, dict) else None
    return clean_line(stated)[:20] if isinstance(stated, str) else ""


def _read_settings(folder: Path, limits: Limits, notes: list[str]) -> dict[str, Any]:
    file = next(folder / name for name in CONFIGURATIONS if (folder / name).is_file())
    data = file.read_bytes()[: limits.max_front_matter_kb * 1024 + 1]
    if len(data) > limits.max_front_matter_kb * 1024:
        notes.append(f"{file.name}: ignored, it is larger than {limits.max_front_matter_kb} kB")
        return {}
    try:
        settings = load_yaml(_TAG.sub("", clean(decode(data).text)))
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError) as error:
        notes.append(f"{file.name}: ignored, {clean_line(str(error))[:120]}")
        return {}
    return settings if isinstance(settings, dict) else {}


def _list_nav(nav: list[Any], files: dict[str, Path], above: tuple[str, ...], depth: int) -> list[Chapter]:
    """List the pages that `nav` names, with the titles above them."""
    chapters: list[Chapter] = []
    for entry in nav if depth < _DEEPEST else ():
        for title, target in entry.items() if isinstance(entry, dict) else (("", entry),):
            name = clean_line(str(title or ""))
            if isinstance(target, list):
                chapters += _list_nav(target, files, (*above, name) if name else above, depth + 1)
            elif isinstance(target, str) and "://" not in target:
                # A folder stands for all pages in it.
                inside = [file for file in files if target.endswith("/") and file.startswith(target)]
                chapters += [((*above, name), file) for file in inside] or [
                    ((*above, name), target.lstrip("/"))
                ]
    return chapters


def _list_files(files: dict[str, Path]) -> list[Chapter]:
    """List all pages in MkDocs' own order: the index of a folder first, then its pages, then its folders."""

    def rank(file: str) -> list[tuple[int, str]]:
        *folders, name = file.split("/")
        is_index = name.rpartition(".")[0].lower() in ("index", "readme")
        return [*((2, part) for part in folders), (0 if is_index else 1, name)]

    ordered = sorted(files, key=rank)
    return [((*(make_title(part) for part in file.split("/")[:-1]), ""), file) for file in ordered]


def _read_chapter(
    path: Path, file: str, titles: tuple[str, ...], address: str, limits: Limits, notes: list[str]
) -> list[ParsedSection]:
    page = open_page(path, limits, name=file)
    notes += page.warnings
    found = read_sections(unfold_admonitions(page.body))
    *above, named = titles
    title = named or page.front_matter.get_text("title") or find_page_title(found) or make_title(path.stem)
    # The index of a part is the part itself.
    is_part = bool(above) and path.stem.lower() in ("index", "readme") and not named
    place = tuple(above) if is_part else (*above, clean_line(title))
    return build_chapter(found, path=place, source_file=file, url=address)


def _make_url(file: str, *, directories: bool) -> str:
    stem = re.sub(r"(?:^|(?<=/))(?:index|README|readme)$", "", file.rpartition(".")[0])
    if not directories:
        return f"{stem or 'index'}.html" if not stem.endswith("/") else f"{stem}index.html"
    return f"{stem}/" if stem and not stem.endswith("/") else stem


def unfold_admonitions(text: str) -> str:
    """Write admonitions and tabs as a title and paragraphs; Markdown would read their bodies as code."""
    if "!!!" not in text and "???" not in text and '=== "' not in text:
        return text
    lines = text.split("\n")
    written: list[str] = []
    open_at: list[int] = []
    for line in lines:
        indent = len(line) - len(line.lstrip(" "))
        while open_at and line.strip() and indent < open_at[-1]:
            open_at.pop()
        found = _ADMONITION.match(line)
        bare = line[4 * len(open_at) :] if line.strip() else ""
        if found and (found.group(2) or found.group(3)):
            title = found.group(3) if found.group(3) is not None else (found.group(2) or "").capitalize()
            lead = " " * max(0, len(found.group(1)) - 4 * len(open_at))
            written += ["", f"{lead}**{title}**" if title else "", ""]
            open_at.append(len(found.group(1)) + 4)
        else:
            written.append(bare)
    return "\n".join(written)
