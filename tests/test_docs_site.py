"""The bundled documentation as a site: pages, addresses and headings are those that citations lead to."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from octavo.ingest.edition import build_sections
from octavo.limits import Limits
from octavo.readers.markdown import mdbook

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "examples"))
import docs_site  # noqa: E402

SERVER = "https://octavo.example.org/"
HOME = "https://guide.example.org/book"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    return docs_site.build(
        ROOT / "docs", target, server="https://octavo.example.org/", book_id="the-octavo-book"
    )


def test_every_section_of_the_book_is_on_the_page_that_its_address_names(site: Path) -> None:
    sections = build_sections(mdbook.read_mdbook(ROOT / "docs", Limits()), book_id="octavo", base_url=HOME)
    places = [
        s.url.removeprefix(f"{HOME}/").split("#") for s in sections if s.url.startswith(HOME) and s.text
    ]
    assert len(places) > 50
    for page, *anchor in places:
        text = (site / page).read_text(encoding="utf-8")
        assert all(f'id="{name}"' in text for name in anchor), (page, anchor)


def test_every_page_has_the_widget_and_every_link_between_pages_leads_somewhere(site: Path) -> None:
    pages = sorted(site.glob("*.html"))
    chapters = re.findall(r"\]\(([\w-]+\.md)\)", (ROOT / "docs" / "SUMMARY.md").read_text(encoding="utf-8"))
    assert len(pages) == len(chapters)
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert (
            text.count('<script src="https://octavo.example.org/widget.js" data-book="the-octavo-book"') == 1
        )
        for link in re.findall(r'(?:href|src)="(?!https?:|#|mailto:)([^"#]+)', text):
            assert (site / link).exists(), (page.name, link)
        assert ".md" not in "".join(re.findall(r'href="(?!https?:)([^"]*)"', text)), page.name


def test_a_chapter_is_rendered_with_its_tables_code_and_ids() -> None:
    made = docs_site.render(
        "# A *b*\n\n| x |\n|---|\n| 1 |\n\n## A b\n\nSee [c](c.md#d) and [e](https://e.md).\n"
    )
    assert '<h1 id="a-b">A <em>b</em></h1>' in made
    assert '<h2 id="a-b-1">A b</h2>' in made
    assert "<td>1</td>" in made
    assert '<a href="c.html#d">c</a>' in made
    assert '<a href="https://e.md">e</a>' in made
