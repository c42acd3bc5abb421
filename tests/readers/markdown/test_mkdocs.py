"""MkDocs and GitBook: order, titles and addresses from `nav` and SUMMARY.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.limits import Limits
from octavo.readers import read_book
from octavo.readers.markdown.mkdocs import unfold_admonitions
from octavo.readers.parsed import ParsedBook
from octavo.types import BookFormat

CONFIG = """\
site_name: Sea Docs
site_url: https://sea.example/docs/
site_author: Ann Writer
theme:
  name: material
  language: en
nav:
  - Home: index.md
  - Guide:
      - guide/start.md
      - The Ports: guide/ports.md
      - Outside: https://example.org
      - Missing: gone.md
  - ../secret.md
markdown_extensions:
  - pymdownx.emoji:
      emoji_generator: !!python/name:os.system
"""


def make(root: Path, config: str) -> ParsedBook:
    (root / "sea" / "docs" / "guide").mkdir(parents=True)
    (root / "secret.md").write_text("# Secret\n\nThe secret.\n")
    (root / "sea" / "mkdocs.yml").write_text(config)
    pages = {
        "index.md": "# Welcome\n\nHello.\n",
        "guide/start.md": '# Start\n\n!!! note "Mind"\n    The tide.\n\n    More.\n\n## Next\n\nGo on.\n',
        "guide/ports.md": "---\ntitle: Ports\n---\n\nPort words.\n",
        "guide/index.md": "# All guides\n\nGuide words.\n",
    }
    for name, text in pages.items():
        (root / "sea" / "docs" / name).write_text(text)
    return read_book(root / "sea", Limits())


def test_nav_gives_order_titles_and_addresses(tmp_path: Path) -> None:
    book = make(tmp_path, CONFIG)
    assert (book.authors, book.language) == (("Ann Writer",), "en")
    assert (book.title, book.format, book.base_url) == (
        "Sea Docs",
        BookFormat.MKDOCS,
        "https://sea.example/docs/",
    )
    assert book.authors == ("Ann Writer",)
    assert [(s.heading_path, s.url) for s in book.sections] == [
        (("Home",), ""),
        (("Guide", "Start"), "guide/start/"),
        (("Guide", "Start", "Next"), "guide/start/"),
        (("Guide", "The Ports"), "guide/ports/"),
    ]
    assert book.sections[1].text == "Mind\n\nThe tide.\n\nMore."
    assert any("gone.md" in note for note in book.warnings)
    assert "nav: 1 of 4 pages are left out, nav does not list them" in book.warnings
    assert not any("secret" in s.text for s in book.sections)


@pytest.mark.parametrize("config", ["site_name: Sea Docs\n", "a: &x [1]\nb: *x\n", "nav: [" * 50])
def test_without_nav_or_with_a_bad_configuration_all_pages_are_read(tmp_path: Path, config: str) -> None:
    book = make(tmp_path, config)
    assert [s.heading_path for s in book.sections if s.level < 3] == [
        ("Welcome",),
        ("Guide",),
        ("Guide", "Ports"),
        ("Guide", "Start"),
    ]


def test_admonitions_and_tabs_are_text_and_code_stays_code() -> None:
    text = '=== "One"\n\n    a\n\n        code\n\n??? tip\n    b\n\nc\n'
    assert unfold_admonitions(text) == "\n**One**\n\n\na\n\n    code\n\n\n**Tip**\n\nb\n\nc\n"


@pytest.mark.parametrize(
    ("name", "settings", "title", "addresses"),
    [
        (".gitbook.yaml", "root: ./pages/\n", "Hello", ["", "guide/start"]),
        (
            "book.json",
            '{"title": "Sea Docs", "root": "pages"}',
            "Sea Docs",
            ["index.html", "guide/start.html"],
        ),
    ],
)
def test_a_gitbook_comes_in_the_order_of_its_summary(
    tmp_path: Path, name: str, settings: str, title: str, addresses: list[str]
) -> None:
    (tmp_path / "pages" / "guide").mkdir(parents=True)
    (tmp_path / name).write_text(settings)
    (tmp_path / "pages" / "SUMMARY.md").write_text(
        "# Summary\n\n* [Hello](README.md)\n* [Start](guide/start.md)\n"
    )
    (tmp_path / "pages" / "README.md").write_text("# Hello\n\nHello words.\n")
    hint = '{% hint style="info" %}\nMind the tide.\n{% endhint %}\n'
    (tmp_path / "pages" / "guide" / "start.md").write_text(f"# Start\n\n{hint}")
    book = read_book(tmp_path, Limits())
    assert (book.format, book.title) == (BookFormat.GITBOOK, title)
    assert [(s.title, s.url) for s in book.sections] == list(zip(("Hello", "Start"), addresses, strict=True))
    assert book.sections[1].text == "Mind the tide."
