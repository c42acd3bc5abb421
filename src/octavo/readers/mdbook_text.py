"""What mdBook's own tools do to a chapter before it is Markdown: other files are put in, hidden lines go.

`Inclusions.resolve` replaces `{{#include file}}` and its kin by the file, the lines or the anchored part
they name; what `{{#playground file}}` names becomes a block of code. Only files inside the book are read;
what leads out of it, is missing or grows beyond all measure is left out with a warning. `visible` drops
the lines of Rust examples that the published page hides.
"""

from __future__ import annotations

import re
from pathlib import Path

from octavo.errors import BadBook
from octavo.limits import MB, Limits
from octavo.readers.tree import heading, inside, load
from octavo.text import clean, decode

_LINK = re.compile(r"(\\?)\{\{\s*#(\w+)\s*([^{}\n]{0,1000}?)\s*\}\}")
_ANCHOR = re.compile(r"^.*\bANCHOR(_END)?:\s*([\w-]+).*$")
_HIDDEN = re.compile(r"^\s*#(?:\s|$)")
_ESCAPED = re.compile(r"^(\s*)##")
_LISTING = re.compile(r"<Listing\b((?:[^<>\"]{1,200}\"[^\"]{0,2000}\"){0,8})\s*>")
_PART = re.compile(r'([\w-]+)="([^"]*)"')
_DEEPEST = 10


class Inclusions:
    """The inclusions of one book; their sizes are counted together."""

    def __init__(self, root: Path, limits: Limits, warnings: list[str]) -> None:
        self._root, self._limits, self._warnings = root, limits, warnings
        self._left = limits.max_text_mb * MB
        self._read: dict[Path, str | None] = {}
        self._missing: dict[str, list[str]] = {}

    def report(self) -> None:
        """One warning for each chapter that names files which are not there."""
        for name, missing in self._missing.items():
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            self._warnings.append(f"{name}: {missing[0]}{more} could not be put in")

    def resolve(self, text: str, *, base: Path, name: str, depth: int = 0) -> str:
        """`text` of a file in folder `base`, with everything put in; `name` is what warnings call it."""
        if "{{" not in text:
            return text

        def put(found: re.Match[str]) -> str:
            escape, kind, target = found.groups()
            if escape:
                return found.group()[1:]
            if kind in ("include", "rustdoc_include"):
                return self._included(target, base, name, depth)
            if kind in ("playground", "playpen"):
                code = self._included(target, base, name, depth)
                return f"```rust\n{code}\n```" if code else ""
            return ""

        return _LINK.sub(put, text)

    def _included(self, target: str, base: Path, name: str, depth: int) -> str:
        reference, _, part = target.split(" ")[0].partition(":")
        file = inside(self._root, base, reference)
        if file is None:
            self._warnings.append(
                f"{name}: {heading(reference)[:100]} leads out of the book and was left out"
            )
            return ""
        whole = self._file(file)
        if whole is None or depth >= _DEEPEST:
            self._missing.setdefault(name, []).append(heading(reference)[:100])
            return ""
        text = _part(whole, part)
        self._left -= len(text) + 1
        if self._left < 0:
            raise BadBook(
                "too_large", f"{name} puts in more than {self._limits.max_text_mb} MB of other files"
            )
        return self.resolve(text, base=file.parent, name=name, depth=depth + 1)

    def _file(self, file: Path) -> str | None:
        if file not in self._read:
            try:
                self._read[file] = clean(decode(load(file, self._limits)).text).rstrip("\n")
            except (BadBook, OSError):
                self._read[file] = None
        return self._read[file]


def _part(text: str, part: str) -> str:
    """The whole, `first:last` lines counted from one, or what stands between an anchor's two marks."""
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


def visible(info: str, text: str) -> str:
    """A code block as the page shows it: Rust lines that start with `# ` are hidden."""
    if "#" not in text or not re.match(r"rust\b", info):
        return text
    lines = [_ESCAPED.sub(r"\1#", line) for line in text.split("\n") if not _HIDDEN.match(line)]
    return "\n".join(lines)


def listings(text: str) -> str:
    """The captions that a `<Listing>` tag carries, as lines of text."""

    def caption(found: re.Match[str]) -> str:
        parts = dict(_PART.findall(found.group(1)))
        number = f"Listing {parts['number']}" if parts.get("number") else ""
        title = ": ".join(part for part in (number, parts.get("caption", "")) if part)
        file = f"Filename: {parts['file-name']}" if parts.get("file-name") else ""
        return "\n" + "\n\n".join(part for part in (title, file) if part) + "\n"

    return _LISTING.sub(caption, text).replace("</Listing>", "") if "<Listing" in text else text
