"""`octavo push` sends a folder to a running service; the Docusaurus plugin puts the widget on its pages."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from octavo.cli import octavo
from octavo.errors import BadBook, MachineError
from octavo.ingest.source import locate_book
from octavo.settings import Settings
from tests.support.serving import create_key, serve_library

DENO = str(Path(sys.executable).parent / "deno")
PLUGIN = Path(__file__).parents[2] / "packages" / "docusaurus-plugin-octavo" / "index.js"


def push(*words: str, typed: str = "") -> Result:
    return CliRunner().invoke(octavo, ["push", *words], input=typed)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A Docusaurus site with one page, and with what builds leave behind."""
    root = tmp_path / "harbour"
    (root / "docs").mkdir(parents=True)
    config = "export default {title: 'The Harbour', url: 'https://harbour.example', baseUrl: '/'};"
    (root / "docusaurus.config.js").write_text(config)
    (root / "docs" / "pier.md").write_text("# The pier\n\nA storm broke the northern pier in one night.\n")
    (root / "node_modules" / "x").mkdir(parents=True)
    (root / "node_modules" / "x" / "README.md").write_text("# Not the book\n\nNobody reads this text.\n")
    return root


def test_a_folder_is_sent_added_and_updated(tmp_path: Path, site: Path) -> None:
    data = tmp_path / "library"
    _, key = create_key(data, scopes=("ingest",))
    _, reader = create_key(data, scopes=("ask",))
    with serve_library(data, keys_required=True) as service:
        url = f"http://127.0.0.1:{service.port}"
        done = push(str(site), "--url", url, "--key-file", "-", "--id", "harbour", typed=f"{key}\n")
        assert done.output == f"harbour: readers of {url} can ask it.\n"
        (found,) = service.post("/v1/search", {"query": "storm"}, key=reader).json["results"]
        assert found["url"] == "https://harbour.example/docs/pier"
        refused = push(str(site), "--url", url, "--key", "octv_wrong")
        assert isinstance(refused.exception, MachineError)
        assert "refused it" in refused.exception.message
    assert list((data / "uploads").iterdir()) == []


def test_the_source_of_a_sphinx_project_is_sent_with_its_settings(tmp_path: Path) -> None:
    project, data = tmp_path / "harbour", tmp_path / "library"
    (project / "docs").mkdir(parents=True)
    (project / "docs" / "conf.py").write_text('project = "The Harbour"\n')
    (project / "docs" / "index.rst").write_text("Harbour\n=======\n\n.. toctree::\n\n   pier\n")
    (project / "docs" / "pier.rst").write_text(
        "Pier\n====\n\nA storm broke the northern pier in one night.\n"
    )
    (project / "setup.py").write_text("secret = 1\n")
    with serve_library(data) as service:
        done = push(str(project), "--url", f"http://127.0.0.1:{service.port}", "--id", "harbour")
        assert done.exit_code == 0, done.output
        (found,) = service.post("/v1/search", {"query": "storm"}).json["results"]
        (book,) = service.get("/v1/books").json["books"]
    assert (book["title"], book["format"]) == ("The Harbour", "rst")
    assert found["section"] == "Pier"


async def test_an_archive_that_leads_out_of_its_folder_stays_inside(tmp_path: Path) -> None:
    path = tmp_path / "site.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("docs/a.md", "# A")
        archive.writestr("../../evil.md", "# Evil")
    settings = Settings(data=tmp_path / "library")
    async with locate_book(path, settings) as folder:
        assert folder.name == "site"
        assert [p.relative_to(folder).as_posix() for p in folder.rglob("*.md")] == ["docs/a.md"]
    assert not list(tmp_path.rglob("evil.md"))
    assert not folder.exists()
    link = zipfile.ZipInfo("docs/link")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(link, "/etc")
    with pytest.raises(BadBook, match="is a link"):
        async with locate_book(path, settings):
            pass


def test_the_plugin_puts_the_widget_on_every_page_and_refuses_a_wrong_address() -> None:
    script = f"""
    const make = (await import("node:module")).createRequire(import.meta.url)({json.dumps(str(PLUGIN))});
    const plugin = make({{siteDir: "."}}, {{url: "https://octavo.example/", book: "guide", key: "octv_1"}});
    let wrong = ""; try {{ make({{siteDir: "."}}, {{}}); }} catch (error) {{ wrong = error.message; }}
    console.log(JSON.stringify([plugin.injectHtmlTags().postBodyTags, wrong]));
    """
    command = [DENO, "run", "--no-config", "--no-lock", "--no-remote", "--allow-read", "--ext=js", "-"]
    done = subprocess.run(command, input=script, capture_output=True, text=True, check=True)
    tags, wrong = json.loads(done.stdout)
    attributes = {"src": "https://octavo.example/widget.js", "defer": True}
    expected = {"tagName": "script", "attributes": attributes | {"data-book": "guide", "data-key": "octv_1"}}
    assert tags == [expected]
    assert "must be the address of an Octavo service" in wrong


@pytest.mark.parametrize(
    ("member", "is_book"),
    [("word/document.xml", True), ("word/document2.xml", True), ("password/document.xml", False)],
)
async def test_a_word_document_that_is_called_an_archive_is_not_unpacked(
    tmp_path: Path, member: str, is_book: bool
) -> None:
    path = tmp_path / "letter.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, "<w/>")
    async with locate_book(path, Settings(data=tmp_path / "library")) as place:
        assert (place == path) == is_book


@pytest.mark.parametrize("names", [("a", "a/b.md"), (f"{'x' * 300}.md",)])
async def test_an_archive_that_no_disk_can_hold_is_refused(tmp_path: Path, names: tuple[str, ...]) -> None:
    path = tmp_path / "...zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "# A book of a few words")
    with pytest.raises(BadBook, match="cannot be unpacked"):
        async with locate_book(path, Settings(data=tmp_path / "library")):
            pass
