"""Read an mdBook or a GitBook: the chapters that SUMMARY.md lists, in its order and under its parts.

Takes a book (with `book.toml`), its source folder, or any folder with a SUMMARY.md. Chapters without a file
are entries without text; chapters whose file is missing are left out with a warning.

Chapters are prepared as mdBook prepares them. `{{#include file}}` and the like are replaced by the file, the
lines or the anchored part that they name; only files inside the book are read. Lines of Rust examples that
the published page hides are dropped.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from octavo.errors import BadBook
from octavo.limits import MB, Limits
from octavo.readers.files import check_sections, load_file, resolve_inside
from octavo.readers.markdown.gitbook import GITBOOK, drop_tags, read_gitbook_settings
from octavo.readers.markdown.reader import open_page, read_sections
from octavo.readers.parsed import ParsedBook, ParsedSection
from octavo.readers.sections import build_chapter
from octavo.readers.sections import make_mdbook_anchor as id_rule
from octavo.readers.titles import clean_line, make_title
from octavo.text.clean import clean, decode
from octavo.types import BookFormat

_DIRECTIVE = re.compile(r"(\\?)\{\{\s*#(\w+)\s*([^{}\n]{0,1000}?)\s*\}\}")
_ANCHOR = re.compile(r"^.*\bANCHOR(_END)?:\s*([\w-]+).*$")
_HIDDEN = re.compile(r"^\s*#(?:\s|$)")
_ESCAPED = re.compile(r"^(\s*)##")
_LISTING = re.compile(r"<Listing\b((?:[^<>\"]{1,200}\"[^\"]{0,2000}\"){0,8})\s*>")
_ATTRIBUTE = re.compile(r'([\w-]+)="([^"]*)"')
_DEEPEST = 10
_SUMMARIES = ("SUMMARY.md", "Summary.md", "summary.md")
_LINK = r"\[((?:[^\[\]\\]|\\.|\[[^\[\]]*\])*)\]\((<[^<>]*>|(?:[^()]|\([^()]*\))*)"
_ENTRY = re.compile(rf"^([ \t]*)(?:[-*+]|\d{{1,9}}[.)])[ \t]+{_LINK}")
_UNLINKED = re.compile(r"^([ \t]*)(?:[-*+]|\d{1,9}[.)])[ \t]+(\S.*)$")
_LOOSE = re.compile(rf"^{_LINK}")
_BY_LABEL = re.compile(r"\[([^\[\]]+)\]\[([^\[\]]*)\]")
_LABEL = re.compile(r"^ {0,3}\[([^\[\]]+)\]:[ \t]*(?:<([^<>\n]*)>|(\S+)).*$", re.MULTILINE)
_RULE = re.compile(r"^\s*(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$")
_PART = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")


@dataclass(frozen=True, slots=True)
class _SummaryEntry:
    """A chapter or part in SUMMARY.md: the titles down to it, and the file that it links to."""

    path: tuple[str, ...]
    link: str


def is_mdbook(path: Path) -> bool:
    """Whether a folder is an mdBook, the source of one, or has a SUMMARY.md."""
    return (
        path.is_dir()
        and _find_summary(*_list_sources(path, {}), *_list_sources(path, _read_settings(path, Limits())))
        is not None
    )


def read_mdbook(path: Path, limits: Limits) -> ParsedBook:
    """Read the book in an mdBook's folder."""
    settings = _read_settings(path, limits)
    book = settings.get("book")
    book = book if isinstance(book, dict) else {}
    summary = _find_summary(*_list_sources(path, settings))
    if summary is None:
        raise BadBook(
            "unsupported_format", f"{path.name} has no SUMMARY.md", hint="Add the folder as Markdown."
        )
    warnings: list[str] = []
    title, entries = _read_summary(open_page(summary, limits, name=summary.name).body)
    reader = _ChapterReader(path, summary.parent, limits, warnings, gitbook=str(settings.get(GITBOOK, "")))
    authors = book.get("authors")
    return ParsedBook(
        title=clean_line(str(book.get("title") or "")) or title or _find_title(path, summary.parent, limits),
        format=BookFormat.GITBOOK if GITBOOK in settings else BookFormat.MDBOOK,
        sections=check_sections(reader.read_sections(entries), limits, name=path.name or "the book"),
        authors=tuple(line for a in authors if (line := clean_line(str(a))))
        if isinstance(authors, list)
        else (),
        language=clean_line(str(book.get("language") or "")),
        warnings=tuple(warnings),
    )


def _find_title(path: Path, source: Path, limits: Limits) -> str:
    """Find the title where settings and summary have none: the heading of README.md, or the folder's name."""
    file = source / "README.md"
    if file.is_file():
        headed = _PART.search(open_page(file, limits, name=file.name).body.lstrip().partition("\n")[0])
        if headed:
            return _read_name(headed.group(1))
    return make_title(path.resolve().name)


def _list_sources(path: Path, settings: dict[str, Any]) -> tuple[Path, ...]:
    """List where SUMMARY.md may be: in the folder that the settings name, right here, or in `src`."""
    book = settings.get("book")
    stated = resolve_inside(path, path, str(book.get("src") or "src")) if isinstance(book, dict) else None
    return (*((stated,) if stated else ()), path, path / "src")


def _read_settings(path: Path, limits: Limits) -> dict[str, Any]:
    file = path / "book.toml"
    if not file.is_file():
        return read_gitbook_settings(path, limits)
    if file.stat().st_size > limits.max_front_matter_kb * 1024:
        return {}
    try:
        return tomllib.loads(clean(decode(load_file(file, limits)).text))
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return {}


def _find_summary(*folders: Path) -> Path | None:
    return next((f / name for f in folders for name in _SUMMARIES if (f / name).is_file()), None)


def _read_summary(summary: str) -> tuple[str, list[_SummaryEntry]]:
    """Return the book's title, when SUMMARY.md gives one, and its chapters."""
    title, part, entries = "", "", list[_SummaryEntry]()
    above: list[tuple[int, str]] = []
    for line in _resolve_labels(re.sub(r"<!--.*?-->", "", summary, flags=re.DOTALL)).split("\n"):
        listed = _ENTRY.match(line) or (None if _RULE.match(line) else _UNLINKED.match(line))
        if listed:
            indent, name = len(listed.group(1).expandtabs(4)), _read_name(listed.group(2))
            while above and above[-1][0] >= indent:
                above.pop()
            above.append((indent, name))
            names = [part] if part else []
            entries.append(_SummaryEntry((*names, *(n for _, n in above)), _read_target(listed)))
        elif loose := _LOOSE.match(line):
            above.clear()
            entries.append(_SummaryEntry((_read_name(loose.group(1)),), _read_target(loose)))
        elif headed := _PART.match(line):
            above.clear()
            if not title and not entries and not part:
                title = _read_name(headed.group(1))
                part = ""
            else:
                part = _read_name(headed.group(1))
                entries.append(_SummaryEntry((part,), ""))
    return ("" if title.lower() == "summary" else title), entries


def _read_target(link: re.Match[str]) -> str:
    """Return the file that an entry links to, without the link's title; '' for a draft."""
    if link.re is _UNLINKED:
        return ""
    target = link.groups()[-1].strip()
    if target.startswith("<"):
        return str(target.strip("<>"))
    quote = target.rfind(target[-1:], 0, -1) if target.endswith(('"', "'")) else -1
    return str(target[:quote].rstrip() if quote > 0 and target[quote - 1].isspace() else target)


def _resolve_labels(summary: str) -> str:
    """Rewrite links by label as links that name their file."""
    labels = {label.casefold(): angled or bare for label, angled, bare in _LABEL.findall(summary)}

    def write_link(found: re.Match[str]) -> str:
        file = labels.get((found.group(2) or found.group(1)).casefold())
        return f"[{found.group(1)}](<{file}>)" if file else found.group()

    return _BY_LABEL.sub(write_link, _LABEL.sub("", summary)) if labels else summary


def _read_name(markdown: str) -> str:
    return clean_line(" ".join(p.text for p in read_sections(markdown))) or clean_line(markdown) or "Untitled"


class _ChapterReader:
    """Reads the chapters that SUMMARY.md lists, each file once."""

    def __init__(
        self, root: Path, source: Path, limits: Limits, warnings: list[str], *, gitbook: str = ""
    ) -> None:
        self._gitbook = gitbook
        self._root, self._source, self._limits = root.resolve(), source.resolve(), limits
        self._warnings = warnings
        self._inclusions = _Inclusions(self._root, limits, warnings)
        self._seen: set[Path] = set()

    def read_sections(self, entries: list[_SummaryEntry]) -> list[ParsedSection]:
        sections = [section for entry in entries for section in self._read_entry(entry)]
        self._inclusions.warn_of_missing()
        return sections

    def _read_entry(self, entry: _SummaryEntry) -> list[ParsedSection]:
        name, title = clean_line(entry.link.partition("#")[0]), entry.path[-1]
        if not name:
            summary = (self._source / "SUMMARY.md").relative_to(self._root).as_posix()
            return [ParsedSection(title=title, heading_path=entry.path, text="", source_file=summary)]
        file = resolve_inside(self._root, self._source, name)
        if file is None and name.startswith("/"):
            # GitBook takes such a link from the folder of the book on.
            within = resolve_inside(self._root, self._source, name.lstrip("/"))
            file = within if within is not None and within.is_file() else None
        if file is None or not file.is_file():
            why = "is outside the book" if file is None else "is missing"
            self._warnings.append(f"SUMMARY.md: left out {name[:100]}, which {why}")
            return []
        if file in self._seen:
            return []
        self._seen.add(file)
        return self._read_chapter(file, entry.path)

    def _read_chapter(self, file: Path, path: tuple[str, ...]) -> list[ParsedSection]:
        name = file.relative_to(self._root).as_posix()
        try:
            page = open_page(file, self._limits, name=name)
        except (BadBook, OSError) as refused:
            self._warnings.append(f"{name}: left out, {refused}")
            return []
        self._warnings += page.warnings
        body = drop_tags(page.body) if self._gitbook else page.body
        text = self._inclusions.resolve(body, base=file.parent, name=name)
        found = read_sections(write_listing_captions(text), rule=id_rule, code=drop_hidden_lines)
        home = self._source if file.is_relative_to(self._source) else self._root
        return build_chapter(found, path=path, source_file=name, url=_make_url(file, home, self._gitbook))


def _make_url(file: Path, source: Path, gitbook: str) -> str:
    place = PurePosixPath(file.relative_to(source).as_posix())
    if gitbook == ".gitbook.yaml":
        parent = place.parent.as_posix().removeprefix(".")
        return parent if place.stem.lower() == "readme" else place.with_suffix("").as_posix()
    name = "index" if place.stem.lower() == "readme" else place.stem
    return place.with_name(f"{name}.html").as_posix()


class _Inclusions:
    """The files that the chapters of one book include; their sizes are counted together."""

    def __init__(self, root: Path, limits: Limits, warnings: list[str]) -> None:
        self._root, self._limits, self._warnings = root, limits, warnings
        self._left = limits.max_text_mb * MB
        self._read: dict[Path, str | None] = {}
        self._missing: dict[str, list[str]] = {}

    def warn_of_missing(self) -> None:
        """Add one warning for each chapter that includes files which are missing."""
        for name, missing in self._missing.items():
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            self._warnings.append(f"{name}: {missing[0]}{more} could not be included")

    def resolve(self, text: str, *, base: Path, name: str, depth: int = 0) -> str:
        """Return `text`, of a file in folder `base`, with all inclusions; `name` is its name in warnings."""
        if "{{" not in text:
            return text

        def put(found: re.Match[str]) -> str:
            escape, kind, target = found.groups()
            if escape:
                return found.group()[1:]
            if kind in ("include", "rustdoc_include"):
                return self._include(target, base, name, depth)
            if kind in ("playground", "playpen"):
                code = self._include(target, base, name, depth)
                return f"```rust\n{code}\n```" if code else ""
            return ""

        return _DIRECTIVE.sub(put, text)

    def _include(self, target: str, base: Path, name: str, depth: int) -> str:
        reference, _, part = target.split(" ")[0].partition(":")
        file = resolve_inside(self._root, base, reference)
        if file is None:
            self._warnings.append(
                f"{name}: left out {clean_line(reference)[:100]}, which is outside the book"
            )
            return ""
        whole = self._load(file)
        if whole is None or depth >= _DEEPEST:
            self._missing.setdefault(name, []).append(clean_line(reference)[:100])
            return ""
        text = _select_part(whole, part)
        self._left -= len(text) + 1
        if self._left < 0:
            raise BadBook(
                "too_large", f"{name} includes more than {self._limits.max_text_mb} MB of other files"
            )
        return self.resolve(text, base=file.parent, name=name, depth=depth + 1)

    def _load(self, file: Path) -> str | None:
        if file not in self._read:
            try:
                self._read[file] = clean(decode(load_file(file, self._limits)).text).rstrip("\n")
            except (BadBook, OSError):
                self._read[file] = None
        return self._read[file]


def _select_part(text: str, part: str) -> str:
    """Select the whole text, the lines `first:last` counted from one, or what an anchor's marks enclose."""
    lines = text.split("\n")
    if not part:
        return "\n".join(line for line in lines if not _ANCHOR.match(line))
    numbers = re.fullmatch(r"(\d{0,9})(:(\d{0,9}))?", part)
    if numbers:
        first = int(numbers.group(1) or 1)
        last = int(numbers.group(3) or len(lines)) if numbers.group(2) else first
        return "\n".join(line for line in lines[max(0, first - 1) : last] if not _ANCHOR.match(line))
    kept: list[str] = []
    open_ = False
    for line in lines:
        mark = _ANCHOR.match(line)
        if not mark:
            if open_:
                kept.append(line)
        elif mark.group(2) == part:
            open_ = not mark.group(1)
    return "\n".join(kept)


def drop_hidden_lines(info: str, text: str) -> str:
    """Drop the lines of a Rust example that start with `# `: the page does not show them."""
    if "#" not in text or not re.match(r"rust\b", info):
        return text
    lines = [_ESCAPED.sub(r"\1#", line) for line in text.split("\n") if not _HIDDEN.match(line)]
    return "\n".join(lines)


def write_listing_captions(text: str) -> str:
    """Write the captions that `<Listing>` tags carry as lines of text."""

    def write_caption(found: re.Match[str]) -> str:
        parts = dict(_ATTRIBUTE.findall(found.group(1)))
        number = f"Listing {parts['number']}" if parts.get("number") else ""
        title = ": ".join(part for part in (number, parts.get("caption", "")) if part)
        file = f"Filename: {parts['file-name']}" if parts.get("file-name") else ""
        return "\n" + "\n\n".join(part for part in (title, file) if part) + "\n"

    return _LISTING.sub(write_caption, text).replace("</Listing>", "") if "<Listing" in text else text
