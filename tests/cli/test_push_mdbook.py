"""The mdBook plugin speaks the JSON of preprocessors and renderers, as mdBook documents it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.serving import create_key, serve_library

PLUGIN = Path(__file__).parents[2] / "packages" / "mdbook-octavo" / "mdbook_octavo.py"
OPTIONS = {
    "command": "python3 mdbook_octavo.py",
    "url": "https://octavo.example/",
    "book": "guide",
    "key": "octv_1",
}


def run(given: object, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(PLUGIN), *words]
    return subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, check=False)


def chapter(name: str, path: str | None, *below: Any) -> dict[str, Any]:
    held = {"name": name, "content": f"# {name}\n\nWords.\n", "number": None, "sub_items": list(below)}
    return {"Chapter": {**held, "path": path, "source_path": path, "parent_names": []}}


@pytest.mark.parametrize("items", ["sections", "items"], ids=["0.4", "0.5"])
def test_every_page_gets_the_widget_and_nothing_else_changes(items: str) -> None:
    def make() -> dict[str, Any]:
        nested = chapter("Inner", "a/b.md")
        return {
            items: [
                chapter("Outer", "a.md", nested),
                "Separator",
                {"PartTitle": "II"},
                chapter("Draft", None),
            ]
        }

    context = {"root": "/", "renderer": "html", "config": {"preprocessor": {"octavo": OPTIONS}}}
    book = json.loads(run([context, make()]).stdout)
    tag = '<script defer src="https://octavo.example/widget.js" data-book="guide" data-key="octv_1"></script>'
    expected = make()
    for one in (expected[items][0], expected[items][0]["Chapter"]["sub_items"][0]):
        one["Chapter"]["content"] = f"# {one['Chapter']['name']}\n\nWords.\n\n{tag}\n"
    assert book == expected


def test_only_html_is_supported_and_a_missing_option_is_named() -> None:
    assert [run({}, "supports", name).returncode for name in ("html", "epub")] == [0, 1]
    wrong = run([{"config": {"preprocessor": {"octavo": {"url": 'https://x"/'}}}}, {"sections": []}])
    assert (wrong.returncode, "`book` is missing" in wrong.stderr) == (1, True)


def test_a_build_sends_the_book_to_the_service(tmp_path: Path) -> None:
    book = tmp_path / "harbour"
    (book / "src").mkdir(parents=True)
    (book / "book.toml").write_text('[book]\ntitle = "The Harbour"\n', encoding="utf-8")
    (book / "src" / "SUMMARY.md").write_text("# Summary\n\n- [Pier](pier.md)\n", encoding="utf-8")
    (book / "src" / "pier.md").write_text(
        "# Pier\n\nA storm broke the northern pier in one night.\n", encoding="utf-8"
    )
    data = tmp_path / "library"
    _, key = create_key(data, scopes=("ingest", "ask"))
    (book / "key.txt").write_text(key, encoding="utf-8")
    with serve_library(data, keys_required=True) as service:
        options = {"url": f"http://127.0.0.1:{service.port}", "book": "harbour", "key-file": "key.txt"}
        octavo = f"{sys.executable} -m octavo.cli"
        context = {"version": "0.4.40", "root": str(book), "book": {}, "destination": str(book / "book")}
        config = {"output": {"octavo": options | {"octavo": octavo}}}
        sent = run(context | {"config": config})
        assert sent.returncode == 0, sent.stderr
        (found,) = service.post("/v1/search", {"query": "storm"}, key=key).json["results"]
        assert (found["book_id"], "northern pier" in found["content"]) == ("harbour", True)
        config["output"]["octavo"]["key-file"] = "none.txt"
        assert run(context | {"config": config}).returncode != 0
