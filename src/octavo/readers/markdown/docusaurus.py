"""Read the docs of a Docusaurus site as one book, each section at the address where the site publishes it.

Takes a site, a folder that holds one, or a docs folder alone, which has the title and the addresses of the
site around it. Drafts, unlisted pages, partials, the blog,
other versions and translations are not part of the book. The configuration is read, never run. What cannot be
read from it has Docusaurus' own defaults: docs are in `docs`, are published under `docs`, and the folders
make the sidebar.

The sidebars decide the order. Pages that no sidebar lists are published all the same, so they come at the
end; a page that is listed twice stands where it comes first.
"""

from __future__ import annotations

import json
import posixpath
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import yaml

from octavo.errors import BadBook
from octavo.readers.files import (
    check_sections,
    check_text_size,
    find_files,
    load_file,
    make_sort_key,
    resolve_inside,
)
from octavo.readers.markdown.docusaurus_files import (
    find_category_file,
    find_config,
    find_config_above,
    find_docs_folder,
)
from octavo.readers.markdown.frontmatter import FrontMatter, load_yaml
from octavo.readers.markdown.jsliteral import read_export
from octavo.readers.markdown.mdx import drop_highlight_comments, strip_mdx
from octavo.readers.markdown.reader import MarkdownPage, open_page, open_pages, read_sections
from octavo.readers.parsed import ParsedBook, ParsedSection
from octavo.readers.sections import Anchors, build_chapter
from octavo.readers.titles import clean_line, make_title
from octavo.text.clean import clean, decode
from octavo.types import BookFormat

if TYPE_CHECKING:
    from octavo.limits import Limits
    from octavo.readers.sections import PageSection

_SIDEBARS = tuple(f"sidebars.{ending}" for ending in ("ts", "js", "json", "mjs", "cjs", "mts", "cts"))
_LARGEST = 512 * 1024
_PREFIX = re.compile(r"^(\d+)\s*[-_.]+\s*([^-_.\s].*)$")
_NO_PREFIX = re.compile(r"^(?:\d{4}[-_.]\d{2}|\d{2}[-_.]\d{2}[-_.]\d{2,4}|\d+[-_.]\d+)")
_DEEPEST = 30
_SUFFIXES = frozenset((".md", ".mdx"))
_DEEPEST_PARTIAL = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class _DocsFolder:
    """One set of docs of a site."""

    folder: Path
    route: str = "docs"
    sidebars: Any = None
    numbered: bool = True
    """Whether number prefixes only order the files and are no part of their names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _DocusaurusSite:
    """What the configuration of a site says."""

    folder: Path
    """Where the configuration lies: what `@site/` means."""
    docs: tuple[_DocsFolder, ...]
    title: str = ""
    base_url: str | None = None
    slash: bool | None = None
    """Whether every address ends in a slash, none does, or each as its page says."""
    language: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _DocPage:
    """A published page."""

    id: str
    title: str
    url: str
    source_file: str
    folder: str
    name: str
    front_matter: FrontMatter
    sections: list[PageSection]

    @property
    def is_index(self) -> bool:
        return _is_index(self.name, self.folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Category:
    """A group of pages in a sidebar; it may have a page of its own, or a generated one at `url`."""

    label: str
    items: tuple[_DocPage | _Category, ...]
    page: _DocPage | None = None
    url: str = ""
    description: str = ""
    source_file: str = ""


def is_docusaurus(path: Path) -> bool:
    """Whether a folder is a Docusaurus site, holds one, or is the docs folder of one."""
    if not path.is_dir():
        return False
    return any(find(path) is not None for find in (find_config, find_docs_folder, find_config_above))


def read_docusaurus(path: Path, limits: Limits) -> ParsedBook:
    """Read all docs of a site as one book."""
    site = _open_site(path, limits)
    warnings: list[str] = []
    sections: list[ParsedSection] = []
    for docs in site.docs:
        sections += _DocsReader(path, site, docs, limits, warnings).read_sections()
    name = path.resolve().name
    return ParsedBook(
        title=site.title or make_title(path.resolve().parent.name if name == "docs" else name),
        format=BookFormat.DOCUSAURUS,
        sections=check_sections(sections, limits, name=path.name or "the site"),
        language=site.language,
        base_url=site.base_url,
        warnings=tuple(warnings),
    )


class _DocsReader:
    """Reads one set of docs: its pages, in the order of its sidebars."""

    def __init__(
        self, root: Path, site: _DocusaurusSite, docs: _DocsFolder, limits: Limits, warnings: list[str]
    ) -> None:
        self._root, self._site, self._docs, self._limits = root.resolve(), site, docs, limits
        self._warnings = warnings
        self._home = docs.folder.resolve()
        self._place = self._home.relative_to(self._root).as_posix().removeprefix(".")
        self._size = 0

    def read_sections(self) -> list[ParsedSection]:
        files = [
            f
            for f in find_files(self._home, _SUFFIXES, self._limits, notes=self._warnings)
            if not self._is_private(f)
        ]
        opened = open_pages(self._root, files, self._limits, self._warnings)
        pages = [self._read_doc(page) for page in opened.values() if not _is_hidden(page)]
        contents = _SidebarReader(self._docs, pages, self._limits, place=self._place)
        return [section for item in contents.read_items() for section in self._build_sections(item, ())]

    def _is_private(self, file: Path) -> bool:
        return any(part.startswith("_") for part in file.relative_to(self._home).parts)

    def _read_doc(self, page: MarkdownPage) -> _DocPage:
        folder, stem = page.path.parent.relative_to(self._home).as_posix().removeprefix("."), page.path.stem
        bare = "/".join(self._drop_prefix(part) for part in PurePosixPath(folder).parts)
        base = page.front_matter.get_text("id") or self._drop_prefix(stem)
        found = read_sections(self._read_markdown(page, _DEEPEST_PARTIAL), code=drop_highlight_comments)
        self._size += sum(len(p.text) for p in found)
        check_text_size(self._size, self._limits, name=self._root.name)
        top = found[1].title if len(found) > 1 and found[1].level == 1 else ""
        doc = _DocPage(
            id=f"{bare}/{base}".strip("/"),
            title=page.front_matter.get_text("title")
            or top
            or page.front_matter.get_text("sidebar_label")
            or make_title(
                PurePosixPath(bare).name if bare and _is_index(stem, folder) else self._drop_prefix(stem)
            ),
            url="",
            source_file=page.path.relative_to(self._root).as_posix(),
            folder=folder,
            name=stem,
            front_matter=page.front_matter,
            sections=found,
        )
        slug = self._make_slug(page.front_matter.get_text("slug"), bare, "" if doc.is_index else base)
        return replace(doc, url=self._make_url(slug))

    def _drop_prefix(self, name: str) -> str:
        return _split_prefix(name, numbered=self._docs.numbered)[1]

    def _make_slug(self, slug: str, folder: str, base: str) -> str:
        """Make the address below that of the docs: what the page says, or its folder and name."""
        if slug.startswith("/"):
            return slug
        here = f"/{folder}/" if folder else "/"
        if not slug and not base:
            return here
        return posixpath.normpath(posixpath.join(here, slug or base)) + ("/" if slug.endswith("/") else "")

    def _make_url(self, slug: str) -> str:
        url = "/".join(part for part in (self._docs.route, slug.lstrip("/")) if part)
        if slug == "/" and self._docs.route:
            url += "/"
        if self._site.slash is None or not url:
            return url
        return url.rstrip("/") + ("/" if self._site.slash else "")

    def _read_markdown(self, page: MarkdownPage, depth: int) -> str:
        def load_partial(reference: str) -> str | None:
            if not depth or not reference.endswith((".md", ".mdx")):
                return None
            base = self._site.folder if reference.startswith("@site/") else page.path.parent
            file = resolve_inside(self._root, base, reference.removeprefix("@site/"))
            if file is None or not file.is_file():
                name = page.path.relative_to(self._root).as_posix()
                self._warnings.append(f"{name}: imports {reference}, which is not inside the book")
                return None
            return self._read_markdown(open_page(file, self._limits, name=file.name), depth - 1)

        return strip_mdx(page.body, partial=load_partial, strict=page.path.suffix.lower() == ".mdx")

    def _build_sections(self, item: _DocPage | _Category, path: tuple[str, ...]) -> list[ParsedSection]:
        if isinstance(item, _DocPage):
            return self._build_chapter(item, (*path, item.title))
        place = (*path, item.label)
        if item.page:
            sections = self._build_chapter(item.page, place)
        else:
            sections = [
                ParsedSection(
                    title=item.label,
                    heading_path=place,
                    text=item.description,
                    source_file=self._find_source_file(item),
                    url=self._make_url(item.url) if item.url else "",
                )
            ]
        return [
            *sections,
            *(section for inner in item.items for section in self._build_sections(inner, place)),
        ]

    def _find_source_file(self, item: _Category) -> str:
        file = find_category_file(self._root / item.source_file)
        return file.relative_to(self._root).as_posix() if file else item.source_file

    def _build_chapter(self, doc: _DocPage, place: tuple[str, ...]) -> list[ParsedSection]:
        return build_chapter(
            doc.sections, path=place, source_file=doc.source_file, url=doc.url, anchored=False
        )


def _is_hidden(page: MarkdownPage) -> bool:
    return page.front_matter.is_true("draft") or page.front_matter.is_true("unlisted")


def _open_site(path: Path, limits: Limits) -> _DocusaurusSite:
    """Read the configuration of a site, and find its docs."""
    config = find_config(path)
    if config is None:
        folder = find_docs_folder(path) or path
        above = find_config_above(path) if folder == path else None
        if above is not None:
            return _open_site_above(path, above, limits)
        return _DocusaurusSite(folder=folder.parent, docs=(_DocsFolder(folder=folder),))
    return _read_config(path, config, limits)


def _open_site_above(path: Path, config: Path, limits: Limits) -> _DocusaurusSite:
    """Read the site that a docs folder belongs to. What lies outside the folder may be forbidden to read."""
    here, alone = path.resolve(), (_DocsFolder(folder=path),)
    with suppress(BadBook, OSError):
        site = _read_config(config.parent, config, limits)
        docs = tuple(replace(each, folder=path) for each in site.docs if each.folder.resolve() == here)
        return replace(site, docs=docs or alone)
    # Its sidebars lie where they cannot be read: the folders order the pages.
    with suppress(BadBook, OSError):
        return _read_config(config.parent, config, limits, docs=alone)
    return _DocusaurusSite(folder=config.parent, docs=alone)


def _read_config(
    root: Path, config: Path, limits: Limits, *, docs: tuple[_DocsFolder, ...] = ()
) -> _DocusaurusSite:
    """Read what the configuration of a site says. Its docs lie in `root`, unless they are given."""
    source = _read_source(config, limits)
    settings = read_export(source)
    settings = settings if isinstance(settings, dict) else {}
    url, base = _read_setting(settings, source, "url"), _read_setting(settings, source, "baseUrl") or "/"
    i18n = settings.get("i18n")
    slash = settings.get("trailingSlash")
    return _DocusaurusSite(
        folder=config.parent,
        docs=docs or tuple(_find_docs(root, config, settings, source, limits)),
        title=clean_line(_read_setting(settings, source, "title")),
        base_url=f"{url.rstrip('/')}/{base.strip('/')}/".replace("//", "/").replace(":/", "://")
        if url
        else None,
        slash=slash if isinstance(slash, bool) else None,
        language=clean_line(str(i18n.get("defaultLocale") or "")) if isinstance(i18n, dict) else "",
    )


def _read_category(folder: Path, limits: Limits) -> dict[str, Any]:
    """Return what a folder says about itself; nothing when its file cannot be read."""
    file = find_category_file(folder)
    if file is None or file.is_symlink() or file.stat().st_size > limits.max_front_matter_kb * 1024:
        return {}
    text = decode(load_file(file, limits)).text
    try:
        values = json.loads(text) if file.suffix == ".json" else load_yaml(text)
    except (ValueError, RecursionError, yaml.YAMLError):
        return {}
    return values if isinstance(values, dict) else {}


def _read_source(file: Path, limits: Limits) -> str:
    data = load_file(file, limits)
    if len(data) > _LARGEST:
        raise BadBook(
            "too_large", f"{file.name} is larger than {_LARGEST // 1024} kB, too large for a configuration"
        )
    return clean(decode(data).text)


def _read_setting(settings: dict[str, Any], source: str, name: str) -> str:
    """Read a setting that is a string; search the text for it when a program computes the settings."""
    value = settings.get(name)
    if isinstance(value, str):
        return value
    found = re.search(rf"\b{name}\s*:\s*(?:'([^'\n]*)'|\"([^\"\n]*)\"|`([^`$\n]*)`)", source)
    return next((g for g in found.groups() if g), "") if found and not settings else ""


def _find_docs(
    root: Path, config: Path, settings: dict[str, Any], source: str, limits: Limits
) -> list[_DocsFolder]:
    """Find the docs of the preset, then those of plugins."""
    options = [o for p in _list_options(settings, "presets") if isinstance(o := p.get("docs", {}), dict)]
    options += _list_options(settings, "plugins", "content-docs")
    if not options:
        words = {name: _read_setting({}, source, name) for name in ("routeBasePath", "sidebarPath")}
        options = [{key: value for key, value in words.items() if value}]
    docs: list[_DocsFolder] = []
    for option in options:
        folder = resolve_inside(root, config.parent, str(option.get("path") or "docs"))
        if folder is None or not folder.is_dir() or any(d.folder == folder for d in docs):
            continue
        base_path = option.get("routeBasePath")
        route = (base_path if isinstance(base_path, str) else "docs").strip("/")
        version = _find_version_path(config.parent, option, limits)
        docs.append(
            _DocsFolder(
                folder=folder,
                route=f"{route}/{version}".strip("/"),
                sidebars=_read_sidebars(root, config, option, limits),
                numbered=option.get("numberPrefixParser") is not False,
            )
        )
    return docs


def _find_version_path(site: Path, option: dict[str, Any], limits: Limits) -> str:
    """Return where unreleased docs are published: at `next` once the site has released a version."""
    name = str(option.get("id") or "default")
    file = site / ("versions.json" if name == "default" else f"{name.replace('/', '')}_versions.json")
    try:
        released = json.loads(_read_source(file, limits)) if file.is_file() else []
    except (ValueError, RecursionError):
        released = []
    versions = option.get("versions")
    current = versions.get("current") if isinstance(versions, dict) else None
    path = current.get("path") if isinstance(current, dict) else None
    if isinstance(path, str):
        return path.strip("/")
    latest = not released or option.get("lastVersion") == "current" or option.get("disableVersioning") is True
    return "" if latest else "next"


def _list_options(settings: dict[str, Any], key: str, name: str = "") -> list[dict[str, Any]]:
    """List the options of presets or plugins, which are written `name` or `[name, options]`."""
    listed = settings.get(key)
    pairs = [p if isinstance(p, list) else [p] for p in (listed if isinstance(listed, list) else [])]
    fitting = [p for p in pairs if p and isinstance(p[0], str) and name in p[0]]
    return [p[1] if len(p) > 1 and isinstance(p[1], dict) else {} for p in fitting]


def _read_sidebars(root: Path, config: Path, option: dict[str, Any], limits: Limits) -> Any:
    """Return what the sidebars file exports; None when the folders make the sidebar."""
    stated = option.get("sidebarPath")
    names: tuple[str, ...] = ()
    if isinstance(stated, str):
        names = (stated,)
    elif stated is None and not option.get("id"):
        names = _SIDEBARS
    for name in names:
        file = resolve_inside(root, config.parent, name.lstrip("/"))
        if file and file.is_file():
            if file.suffix == ".json":
                try:
                    return json.loads(_read_source(file, limits))
                except (ValueError, RecursionError):
                    return None
            return read_export(_read_source(file, limits))
    return None


def _is_index(name: str, folder: str) -> bool:
    """Whether a file is the page of its folder."""
    return name.lower() in ("index", "readme", PurePosixPath(folder).name.lower())


def _split_prefix(name: str, *, numbered: bool) -> tuple[float | None, str]:
    """Split `03-setup` into 3 and `setup`; dates and versions are names."""
    found = None if not numbered or _NO_PREFIX.match(name) else _PREFIX.match(name)
    return (float(found.group(1)[:15]), found.group(2)) if found else (None, name)


class _SidebarReader:
    """Reads the contents of one set of docs from its sidebars and folders, each page once."""

    def __init__(self, docs: _DocsFolder, pages: list[_DocPage], limits: Limits, *, place: str) -> None:
        self._docs, self._limits, self._place = docs, limits, place
        self._by_id = {page.id: page for page in pages}
        self._pages: dict[str, list[_DocPage]] = {}
        self._folders: dict[str, set[str]] = {}
        for page in pages:
            self._pages.setdefault(page.folder, []).append(page)
            below = page.folder
            while below:
                above = PurePosixPath(below).parent.as_posix().removeprefix(".")
                self._folders.setdefault(above, set()).add(below)
                below = above
        self._used: set[str] = set()
        self._slugs = Anchors()

    def read_items(self) -> list[_DocPage | _Category]:
        sidebars = self._docs.sidebars
        listed: list[_DocPage | _Category] = []
        for sidebar in sidebars.values() if isinstance(sidebars, dict) else ():
            listed += self._read_list(sidebar, 0)
        return [*listed, *self._read_folder("", 0)]

    def _read_list(self, entries: Any, depth: int) -> list[_DocPage | _Category]:
        if isinstance(entries, dict):
            entries = [{name: items} for name, items in entries.items()]
        found: list[_DocPage | _Category] = []
        for entry in entries if isinstance(entries, list) and depth < _DEEPEST else ():
            if isinstance(entry, str):
                found += self._use_page(entry)
            elif isinstance(entry, dict):
                found += self._read_entry(entry, depth)
        return found

    def _read_entry(self, entry: dict[str, Any], depth: int) -> list[_DocPage | _Category]:
        kind = entry.get("type")
        if kind in ("doc", "ref"):
            return self._use_page(str(entry.get("id")))
        if kind == "autogenerated":
            folder = str(entry.get("dirName") or ".").strip("/").removeprefix("./")
            return self._read_folder("" if folder == "." else folder, depth)
        if kind == "category":
            label, page = clean_line(str(entry.get("label") or "")), self._find_linked_page(entry.get("link"))
            url = self._make_index_url(label, entry)
            items = self._read_list(entry.get("items"), depth + 1)
            return self._build_category(label, items, entry, page, url, "")
        if kind is None:
            nested = [(clean_line(str(k)), self._read_list(v, depth + 1)) for k, v in entry.items()]
            return [
                c for label, items in nested for c in self._build_category(label, items, {}, None, "", "")
            ]
        return []

    def _use_page(self, name: str) -> list[_DocPage | _Category]:
        page = self._by_id.get(name)
        if page is None or page.id in self._used:
            return []
        self._used.add(page.id)
        return [page]

    def _find_linked_page(self, link: Any, folder: str | None = None) -> _DocPage | None:
        """Find the page of a category; a folder's own category may use its last name alone."""
        if not isinstance(link, dict) or link.get("type") != "doc":
            return None
        name = str(link.get("id"))
        near = self._pages.get(folder, ()) if folder is not None else ()
        page = next((p for p in near if p.id.rpartition("/")[2] == name), None) or self._by_id.get(name)
        return page if page and self._use_page(page.id) else None

    def _make_index_url(self, label: str, settings: dict[str, Any]) -> str:
        """Make the address of a category's generated index; a label that comes again counts up."""
        link = settings.get("link")
        if not isinstance(link, dict) or link.get("type") != "generated-index":
            return ""
        return str(link.get("slug") or f"/category/{self._slugs.make(label)}")

    def _read_folder(self, folder: str, depth: int) -> list[_DocPage | _Category]:
        """Read a folder's pages and folders: by position, then by name."""
        pages = [p for p in self._pages.get(folder, ()) if p.id not in self._used]
        ranked: list[tuple[float, list[tuple[int, str]], _DocPage | str]] = [
            (
                self._find_position(p.front_matter.get_number("sidebar_position"), p.name),
                make_sort_key(p.name),
                p,
            )
            for p in pages
        ]
        for below in self._folders.get(folder, ()):
            name = PurePosixPath(below).name
            settings = FrontMatter("", _read_category(self._docs.folder / below, self._limits))
            index = next((p for p in self._pages.get(below, ()) if p.is_index), None)
            own = settings.get_number("position")
            own = index.front_matter.get_number("sidebar_position") if own is None and index else own
            ranked.append((self._find_position(own, name), make_sort_key(name), below))
        found: list[_DocPage | _Category] = []
        for _, _, entry in sorted(ranked, key=lambda r: r[:2]):
            if isinstance(entry, str):
                found += self._read_folder_category(entry, depth + 1) if depth < _DEEPEST else []
            else:
                found += self._use_page(entry.id)
        return found

    def _find_position(self, stated: float | None, name: str) -> float:
        number = _split_prefix(name, numbered=self._docs.numbered)[0] if stated is None else stated
        return float("inf") if number is None else number

    def _read_folder_category(self, folder: str, depth: int) -> list[_DocPage | _Category]:
        settings = _read_category(self._docs.folder / folder, self._limits)
        index = next((p for p in self._pages.get(folder, ()) if p.is_index), None)
        page = self._find_linked_page(settings["link"], folder) if "link" in settings else None
        if "link" not in settings and index and self._use_page(index.id):
            page = index
        name = _split_prefix(PurePosixPath(folder).name, numbered=self._docs.numbered)[1]
        label = clean_line(str(settings.get("label") or "")) or (
            page.front_matter.get_text("sidebar_label") or page.title if page else ""
        )
        label = label or make_title(name)
        url = self._make_index_url(label, settings)
        return self._build_category(label, self._read_folder(folder, depth), settings, page, url, folder)

    def _build_category(
        self,
        label: str,
        items: list[_DocPage | _Category],
        settings: dict[str, Any],
        page: _DocPage | None,
        url: str,
        folder: str,
    ) -> list[_DocPage | _Category]:
        if not items:
            return [page] if page else []
        if not label:
            return [*([page] if page else []), *items]
        description = ""
        if url:
            description = clean_line(str(settings["link"].get("description") or ""))
            twin = next(
                (i for i in items if isinstance(i, _DocPage) and i.title.casefold() == label.casefold()), None
            )
            if twin:
                page, items = twin, [i for i in items if i is not twin]
        place = "/".join(part for part in (self._place, folder) if part)
        return [
            _Category(
                label=label,
                items=tuple(items),
                page=page,
                url=url,
                description=description,
                source_file=place,
            )
        ]
