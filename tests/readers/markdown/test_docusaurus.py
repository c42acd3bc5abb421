"""Docusaurus sites: order, addresses and text as the published site has them."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from octavo.errors import BadBook
from octavo.limits import Limits
from octavo.readers.markdown import docusaurus
from octavo.readers.parsed import ParsedBook
from octavo.readers.sandbox import parse
from octavo.types import BookFormat

CONFIG = """
import {themes} from 'prism-react-renderer';
/** @type {import('@docusaurus/types').Config} */
const config = {
  title: 'My Site', // url: 'https://wrong.example'
  url: 'https://site.example',
  baseUrl: '/base/',
  i18n: {defaultLocale: 'en', locales: ['en']},
  presets: [['classic', {docs: {DOCS}, blog: {path: 'blog'}}]],
  themeConfig: {navbar: {title: 'Wrong', items: [{to: '/x', label: 'X'}]}},
};
export default config;
"""


def write_site(root: Path, files: dict[str, str], *, docs: str = "{}", config: str = CONFIG) -> Path:
    for name, text in {"docusaurus.config.js": config.replace("{DOCS}", docs), **files}.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return root


def read(path: Path) -> ParsedBook:
    return docusaurus.read_docusaurus(path, Limits())


def contents(book: ParsedBook) -> list[tuple[str, str]]:
    return [(" / ".join(s.heading_path), s.url) for s in book.sections]


def test_a_site_gives_its_title_address_and_language(tmp_path: Path) -> None:
    book = read(write_site(tmp_path, {"docs/intro.md": "# Intro\n\nHello.\n\n## Deep Dive\n\nMore."}))
    assert (book.title, book.format, book.language) == ("My Site", BookFormat.DOCUSAURUS, "en")
    assert book.base_url == "https://site.example/base/"
    intro, deep = book.sections
    assert (intro.url, intro.anchor, intro.text) == ("docs/intro", "", "Hello.")
    assert (deep.url, deep.anchor, deep.source_file) == ("docs/intro", "deep-dive", "docs/intro.md")
    assert deep.heading_path == ("Intro", "Deep Dive")


def test_folders_make_the_sidebar_where_no_file_does(tmp_path: Path) -> None:
    files = {
        "docs/02-guides/10-late.md": "# Late\n\nx",
        "docs/02-guides/2-early.md": "# Early\n\nx",
        "docs/02-guides/_category_.json": json.dumps({"label": "The Guides"}),
        "docs/01-start.md": "# Start\n\nx",
        "docs/zoo.md": "---\nsidebar_position: 1.5\n---\n# Zoo\n\nx",
        "docs/api/_category_.yml": "label: API\nposition: 0\n",
        "docs/api/call.md": "x",
    }
    assert contents(read(write_site(tmp_path, files))) == [
        ("API", ""),
        ("API / Call", "docs/api/call"),
        ("Start", "docs/start"),
        ("Zoo", "docs/zoo"),
        ("The Guides", ""),
        ("The Guides / Early", "docs/guides/early"),
        ("The Guides / Late", "docs/guides/late"),
    ]


def test_number_prefixes_stay_where_the_site_says_so(tmp_path: Path) -> None:
    site = write_site(tmp_path, {"docs/01-a/02-b.md": "# B\n\nx"}, docs="{numberPrefixParser: false}")
    assert contents(read(site))[-1][1] == "docs/01-a/02-b"


@pytest.mark.parametrize("name", ["2024-01-notes", "1.2-release", "7-2-plan"])
def test_dates_and_versions_are_names_and_no_order(tmp_path: Path, name: str) -> None:
    assert contents(read(write_site(tmp_path, {f"docs/{name}.md": "# A\n\nx"})))[0][1] == f"docs/{name}"


@pytest.mark.parametrize(
    ("file", "matter", "url"),
    [
        ("guide/index.md", "", "docs/guide/"),
        ("guide/README.md", "", "docs/guide/"),
        ("guide/Guide.mdx", "", "docs/guide/"),
        ("guide/a.md", "slug: /top", "docs/top"),
        ("guide/a.md", "slug: b", "docs/guide/b"),
        ("guide/a.md", "slug: ../c", "docs/c"),
        ("guide/a.md", "slug: ./d/", "docs/guide/d/"),
        ("guide/a.md", "id: e", "docs/guide/e"),
        ("home.md", "slug: /", "docs/"),
        ("index.md", "", "docs/"),
    ],
)
def test_each_page_has_the_address_that_the_site_gives_it(
    tmp_path: Path, file: str, matter: str, url: str
) -> None:
    site = write_site(tmp_path, {f"docs/{file}": f"---\n{matter}\n---\n# Page\n\nx"})
    assert {s.url for s in read(site).sections if s.text} == {url}


@pytest.mark.parametrize(
    ("slash", "urls"),
    [("true", {"docs/a/", "docs/b/"}), ("false", {"docs/a", "docs/b"})],
)
def test_trailing_slashes_are_as_the_site_wants_them(tmp_path: Path, slash: str, urls: set[str]) -> None:
    config = CONFIG.replace("baseUrl:", f"trailingSlash: {slash}, baseUrl:")
    site = write_site(tmp_path, {"docs/a.md": "# A\n\nx", "docs/b/index.md": "# B\n\nx"}, config=config)
    assert {s.url for s in read(site).sections} == urls


def test_docs_may_lie_and_be_published_elsewhere(tmp_path: Path) -> None:
    site = write_site(tmp_path, {"handbook/a.md": "# A\n\nx"}, docs="{path: 'handbook', routeBasePath: '/'}")
    assert contents(read(site)) == [("A", "a")]


def test_a_second_set_of_docs_follows_the_first(tmp_path: Path) -> None:
    plugin = (
        "plugins: [['@docusaurus/plugin-content-docs', {id: 'c', path: 'community', routeBasePath: 'team'}]],"
    )
    config = CONFIG.replace("themeConfig:", f"{plugin}\n  themeConfig:")
    site = write_site(tmp_path, {"docs/a.md": "# A\n\nx", "community/b.md": "# B\n\nx"}, config=config)
    assert contents(read(site)) == [("A", "docs/a"), ("B", "team/b")]


SIDEBARS = """
module.exports = {
  main: [
    'b',
    {type: 'category', label: 'Group', link: {type: 'doc', id: 'sub/index'}, collapsed: false, items: [
      {type: 'doc', id: 'sub/two', label: 'Second'},
      'sub/one',
      {type: 'link', label: 'Elsewhere', href: 'https://x.y'},
    ]},
    {Short: ['c']},
    {type: 'category', label: 'Made', link: {type: 'generated-index', description: 'All of it.'},
     items: [{type: 'autogenerated', dirName: 'auto'}]},
    'missing',
  ],
  // other: ['a'],
};
"""


def test_sidebars_order_and_group_the_pages(tmp_path: Path) -> None:
    pages = ("a", "b", "c", "sub/index", "sub/one", "sub/two", "auto/x", "auto/y")
    files = {f"docs/{p}.md": f"# Page {p.replace('/', ' ')}\n\nx" for p in pages}
    site = write_site(
        tmp_path, {**files, "sidebars.js": SIDEBARS}, docs="{sidebarPath: require.resolve('./sidebars.js')}"
    )
    book = read(site)
    assert contents(book) == [
        ("Page b", "docs/b"),
        ("Group", "docs/sub/"),
        ("Group / Page sub two", "docs/sub/two"),
        ("Group / Page sub one", "docs/sub/one"),
        ("Short", ""),
        ("Short / Page c", "docs/c"),
        ("Made", "docs/category/made"),
        ("Made / Page auto x", "docs/auto/x"),
        ("Made / Page auto y", "docs/auto/y"),
        ("Page a", "docs/a"),
    ]
    assert next(s.text for s in book.sections if s.title == "Made") == "All of it."


def test_sidebars_may_be_json_and_lie_where_docusaurus_looks_for_them(tmp_path: Path) -> None:
    files = {
        "docs/a.md": "# A\n\nx",
        "docs/b.md": "# B\n\nx",
        "sidebars.json": '{"s": {"Group": ["b", "a"]}}',
    }
    assert [p for p, _ in contents(read(write_site(tmp_path, files)))] == ["Group", "Group / B", "Group / A"]


def test_a_category_with_a_page_of_the_same_name_is_that_page(tmp_path: Path) -> None:
    said = {"label": "Chapter 1", "link": {"type": "generated-index", "description": "About."}}
    files = {"docs/01-one/_category_.json": json.dumps(said), "docs/01-one/index.md": "# Chapter 1\n\nText."}
    files["docs/01-one/more.md"] = "# More\n\nx"
    assert contents(read(write_site(tmp_path, files))) == [
        ("Chapter 1", "docs/one/"),
        ("Chapter 1 / More", "docs/one/more"),
    ]


def test_drafts_partials_and_other_versions_are_no_part_of_the_book(tmp_path: Path) -> None:
    files = {
        "docs/a.md": "# A\n\nx",
        "docs/draft.md": "---\ndraft: true\n---\nsecret",
        "docs/unlisted.md": "---\nunlisted: true\n---\nsecret",
        "docs/_partial.mdx": "secret",
        "docs/_hidden/b.md": "secret",
        "blog/2024-01-01-post.md": "secret",
        "versioned_docs/version-1/a.md": "secret",
        "i18n/de/a.md": "secret",
    }
    book = read(write_site(tmp_path, files))
    assert contents(book) == [("A", "docs/a")]


def test_partials_are_put_in_where_they_are_imported(tmp_path: Path) -> None:
    files = {
        "docs/a.mdx": "import P from './_p.mdx'\nimport Q from '@site/docs/_q.md'\n\n# A\n\n<P/>\n\n<Q />",
        "docs/_p.mdx": "import Q from './_q.md'\n\nFrom p. <Q/>",
        "docs/_q.md": "---\nx: 1\n---\nFrom q.",
    }
    assert read(write_site(tmp_path, files)).sections[0].text == "From p.\n\nFrom q.\n\nFrom q."


def test_partials_outside_the_site_or_in_a_circle_are_not_read(tmp_path: Path) -> None:
    files = {
        "docs/a.mdx": "import P from '../../secret.md'\nimport A from './a.mdx'\n\n# A\n\nText <P/> <A/>",
    }
    site = write_site(tmp_path / "site", files)
    (tmp_path / "secret.md").write_text("password")
    book = read(site)
    assert "password" not in "".join(s.text for s in book.sections)
    assert any("../../secret.md" in w for w in book.warnings)


def test_a_docs_folder_alone_is_read_with_the_usual_addresses(tmp_path: Path) -> None:
    docs = tmp_path / "manual" / "docs"
    (docs / "guide").mkdir(parents=True)
    (docs / "guide" / "_category_.json").write_text('{"label": "Guide", "position": 1}')
    (docs / "guide" / "a.md").write_text("# A\n\nx")
    for root in (docs, docs.parent):
        assert docusaurus.is_docusaurus(root)
        book = read(root)
        assert (book.title, book.base_url) == ("Manual", None)
        assert contents(book)[-1] == ("Guide / A", "docs/guide/a")


def test_the_docs_of_a_site_alone_have_its_title_addresses_and_order(tmp_path: Path) -> None:
    files = {
        "docs/a.md": "# A\n\nThe first page.",
        "docs/b.md": "# B\n\nThe second page.",
        "sidebars.js": "module.exports = {docs: ['b', 'a']};",
    }
    site = write_site(
        tmp_path / "website", files, docs="{routeBasePath: 'learn', sidebarPath: './sidebars.js'}"
    )
    whole, alone = read(site), read(site / "docs")
    assert (alone.title, alone.language, alone.base_url) == ("My Site", "en", "https://site.example/base/")
    assert contents(alone) == contents(whole) == [("B", "learn/b"), ("A", "learn/a")]
    # The process that reads books may read nothing else beside the folder.
    assert asyncio.run(parse(site / "docs", Limits())) == alone
    write_site(site, {"config/sidebars.js": files["sidebars.js"]}, docs="{sidebarPath: 'config/sidebars.js'}")
    confined = asyncio.run(parse(site / "docs", Limits()))
    assert (confined.title, contents(confined)[0]) == ("My Site", ("A", "docs/a"))


def test_docs_in_a_site_that_keeps_its_docs_elsewhere_have_the_usual_addresses(tmp_path: Path) -> None:
    files = {"docs/a.md": "# A\n\nx", "guides/b.md": "# B\n\ny"}
    site = write_site(tmp_path / "website", files, docs="{path: 'guides', routeBasePath: 'learn'}")
    assert contents(read(site / "docs")) == [("A", "docs/a")]
    (site / "docusaurus.config.js").write_text("x" * 600_000)
    assert read(site / "docs").title == "Website"


def test_a_site_one_folder_down_is_found(tmp_path: Path) -> None:
    write_site(tmp_path / "website", {"docs/a.md": "# A\n\nx"})
    assert docusaurus.is_docusaurus(tmp_path)
    assert read(tmp_path).sections[0].source_file == "website/docs/a.md"


def test_other_folders_and_files_are_no_docusaurus(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A")
    assert not docusaurus.is_docusaurus(tmp_path)
    assert not docusaurus.is_docusaurus(tmp_path / "a.md")
    assert not docusaurus.is_docusaurus(tmp_path / "none")


def test_settings_that_a_program_computes_are_read_from_its_text(tmp_path: Path) -> None:
    config = """
    export default async function create() {
      return {title: "Computed", url: "https://c.example", baseUrl: "/",
              presets: [["classic", {docs: {routeBasePath: 'learn'}}]]};
    }
    """
    book = read(write_site(tmp_path, {"docs/a.md": "# A\n\nx"}, config=config))
    assert (book.title, book.base_url) == ("Computed", "https://c.example/")
    assert book.sections[0].url == "learn/a"


@pytest.mark.parametrize("config", ["", "}}}{{{[[[", "module.exports = 7", "module.exports = {presets: 'x'}"])
def test_a_broken_configuration_leaves_the_defaults(tmp_path: Path, config: str) -> None:
    book = read(write_site(tmp_path / "site", {"docs/a.md": "# A\n\nx"}, config=config))
    assert (book.title, contents(book)) == ("Site", [("A", "docs/a")])


@pytest.mark.parametrize(
    "said",
    [
        "",
        "{",
        "[]",
        '"x"',
        '{"label": 7, "position": "x", "link": []}',
        "[" * 50_000,
        '{"link": {"type": "doc"}}',
    ],
)
def test_a_broken_category_file_does_no_harm(tmp_path: Path, said: str) -> None:
    files = {"docs/g/_category_.json": said, "docs/g/a.md": "# A\n\nx", "docs/g/b.md": "# B\n\nx"}
    assert len(read(write_site(tmp_path, files)).sections) == 3


@pytest.mark.parametrize("path", ["../outside", "/etc", "missing"])
def test_docs_outside_the_site_are_not_read(tmp_path: Path, path: str) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.md").write_text("# Secret\n\npassword")
    site = write_site(tmp_path / "site", {"docs/a.md": "x"}, docs=f"{{path: '{path}'}}")
    with pytest.raises(BadBook) as refused:
        read(site)
    assert refused.value.code == "no_text"


def test_a_site_with_too_much_text_is_refused(tmp_path: Path) -> None:
    files = {"docs/_p.md": "word " * 100_000}
    files |= {f"docs/{n}.mdx": "import P from './_p.md'\n\n<P/>" for n in range(4)}
    with pytest.raises(BadBook) as refused:
        docusaurus.read_docusaurus(write_site(tmp_path, files), replace(Limits(), max_text_mb=1))
    assert refused.value.code == "too_large"
