"""An mdBook plugin: put Octavo's widget on every page, and send the book to the service with every build.

mdBook starts it twice. As a preprocessor it gets `[context, book]` as JSON and returns the book, with the
widget at the end of each chapter. As a renderer it gets one object and runs `octavo push` with the folder of
the book. It needs Python 3.11 and nothing else; the renderer needs the `octavo` command.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Mapping
from html import escape
from typing import Any


def make_widget(options: Mapping[str, Any]) -> str:
    """Write the element that puts the widget on a page."""
    url, book = _require(options, "url"), _require(options, "book")
    attributes = {
        "src": f"{url.rstrip('/')}/widget.js",
        "data-book": book,
        "data-key": options.get("key", ""),
    }
    written = "".join(f' {name}="{escape(str(value))}"' for name, value in attributes.items() if value)
    return f"<script defer{written}></script>"


def add_widget(items: list[Any], widget: str) -> None:
    """Put the widget at the end of every chapter among the items, and of those under them."""
    for item in items:
        chapter = item.get("Chapter") if isinstance(item, dict) else None
        # A draft has no page, and separators and titles of parts have none either.
        if chapter is not None:
            if chapter.get("path") is not None:
                chapter["content"] = f"{chapter['content'].rstrip()}\n\n{widget}\n"
            add_widget(chapter.get("sub_items", []), widget)


def preprocess(context: Mapping[str, Any], book: dict[str, Any]) -> dict[str, Any]:
    """Return the book with the widget. mdBook 0.5 calls `items` what was called `sections` before."""
    widget = make_widget(context["config"]["preprocessor"]["octavo"])
    add_widget(book.get("items") or book.get("sections") or [], widget)
    return book


def render(context: Mapping[str, Any]) -> int:
    """Send the folder of the book to the service; return the exit code of the command that does."""
    options = context["config"]["output"]["octavo"]
    command = [*shlex.split(options.get("octavo", "octavo")), "push", context["root"]]
    command += ["--url", _require(options, "url"), "--id", _require(options, "book")]
    if options.get("site"):
        command += ["--base-url", str(options["site"])]
    if options.get("key-file"):
        command += ["--key-file", str(options["key-file"])]
    return subprocess.run(command, cwd=context["root"], check=False).returncode


def _require(options: Mapping[str, Any], name: str) -> str:
    value = options.get(name)
    if not isinstance(value, str) or not value:
        sys.exit(f"mdbook-octavo: `{name}` is missing in book.toml; the README shows an example.")
    return value


def main(words: list[str]) -> int:
    if words[:1] == ["supports"]:
        # Only pages have room for a widget.
        return 0 if words[1:] == ["html"] else 1
    given = json.load(sys.stdin)
    if isinstance(given, dict):
        return render(given)
    json.dump(preprocess(*given), sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
