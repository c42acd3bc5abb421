"""MDX: programs go, prose stays, code is never touched."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.readers.markdown.mdx import strip_mdx
from octavo.readers.markdown.reader import read_sections


def text(source: str, *, strict: bool = True) -> str:
    made = strip_mdx(textwrap.dedent(source).lstrip("\n"), strict=strict)
    return "\n\n".join(part for p in read_sections(made) for part in (p.title, p.text) if part)


@pytest.mark.parametrize(
    "statement",
    [
        "import Tabs from '@theme/Tabs';",
        'import {\n  A,\n  B as C,\n} from "x"',
        "import * as everything from './all'",
        "import Default, {named} from 'both'; // why",
        "import './style.css'",
        "import type {T} from 't'",
        "export const a = 1;",
        "export const Box = ({children}) => (\n  <b style={{a: 1}}>\n    {children}\n  </b>\n);",
        "export default function Layout() {\n  // don't\n  return 'x }';\n\n}",
        "export {a, b};",
        "export const toc =\n  [];",
    ],
)
def test_imports_and_exports_go(statement: str) -> None:
    assert text(f"{statement}\n\nProse stays.\n") == "Prose stays."
    assert text(f"Prose.\n\n{statement}\n\nMore prose.\n") == "Prose.\n\nMore prose."


def test_prose_about_importing_stays() -> None:
    prose = "import taxes rose, and\nexport numbers fell."
    assert text(prose) == "import taxes rose, and export numbers fell."


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("A <Badge color={'red'}>new</Badge> thing", "A new thing"),
        ("See <Link to='/a > b'>here</Link>.", "See here."),
        ("Line<br/>break", "Line\nbreak"),
        ("<p>One</p><p>Two</p>", "One\n\nTwo"),
        ("<ul><li>One</li><li>Two</li></ul>", "- One\n- Two"),
        ('<img src={require("./a.png").default} alt="A map" />', "A map"),
        ("<Foo\n  bar={{a: '}'}}\n  baz\n/>\n\nText", "Text"),
        ("<>Frag</>ment", "Fragment"),
        ("<Admonition type='tip' title='Look'>\n\nInside\n\n</Admonition>", "Tip: Look\n\nInside"),
        ("<style>{`p { color: red }`}</style>Visible", "Visible"),
        ("<details>\n<summary>More</summary>\nHidden words\n</details>", "More\n\nHidden words"),
        ("| a | b |\n|---|---|\n| <p>x</p> | <Icon/> y |", "a | b\nx | y"),
        ("<table><tr><td style={{a: 1}}>A</td><td>B</td></tr></table>", "A | B"),
    ],
)
def test_tags_go_and_their_text_stays(source: str, expected: str) -> None:
    assert text(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a {/* gone */} b", "a b"),
        ("a {/* don't\n\nshow */} b", "a b"),
        ("a {1 + 1} b", "a b"),
        ("a{' '}b {'kept'} {`too`}", "a b kept too"),
        ("{frontMatter.title} x", "x"),
        ("{list.map((x) => <li key={x}>{x}</li>)} after", "after"),
        ("\\{kept\\} \\<b>", "{kept} <b>"),
        ("$\\frac{a}{b}$ and $$x_{1}$$", "$\\frac{a}{b}$ and $$x_{1}$$"),
        ("It costs $5 or {x} $6", "It costs $5 or $6"),
        ("an { unclosed brace", "an { unclosed brace"),
        ("1 < 2 and 3 > 2, a<b", "1 < 2 and 3 > 2, a<b"),
        ("<https://a.b/{c}>", "https://a.b/{c}"),
    ],
)
def test_expressions_go_and_literal_text_stays(source: str, expected: str) -> None:
    assert text(source) == expected


def test_words_in_braces_stay_where_a_page_is_not_strictly_mdx() -> None:
    assert text("GET /datasets/{dataset_id} {a.b}", strict=False) == "GET /datasets/{dataset_id}"
    assert text("GET /datasets/{dataset_id}") == "GET /datasets/"


def test_code_is_never_touched() -> None:
    source = """
        Use `<T>`, `{x}` and ``import `a` b``.

        ```jsx title="a.jsx"
        import a from 'b';
        export default () => <b>{x}</b>; {/* kept */}
        :::note
        ```

        ~~~
        <Tabs>
        ~~~
        """
    assert text(source) == (
        "Use <T>, {x} and import `a` b.\n\n"
        "import a from 'b';\nexport default () => <b>{x}</b>; {/* kept */}\n:::note\n\n<Tabs>"
    )


def test_tabs_keep_their_labels_and_their_content() -> None:
    source = """
        <Tabs groupId="os">
          <TabItem value="mac" label="macOS" default>
            Run this:

            ```sh
            brew install x
              indented
            ```

            - one
              - two
          </TabItem>
          <TabItem value="win">

        Use the installer.

          </TabItem>
        </Tabs>

        After
        """
    assert text(source) == (
        "macOS\n\nRun this:\n\nbrew install x\n  indented\n\n- one\n  - two\n\n"
        "win\n\nUse the installer.\n\nAfter"
    )


def test_tags_inside_a_list_item_do_not_make_code_of_its_text() -> None:
    source = """
        1. First
           <Tabs>
             <TabItem value="x" label="X">
               Inner words
             </TabItem>
           </Tabs>
        2. Second
        """
    assert text(source) == "1. First\n\n  X\n\n  Inner words\n\n2. Second"


@pytest.mark.parametrize(
    ("opening", "line"),
    [
        (":::note", "Note:"),
        (":::tip Pro *tip*", "Tip: Pro tip"),
        (":::warning[Be careful]", "Warning: Be careful"),
        ("::::danger", "Danger:"),
        (':::info{title="Why"}', "Info: Why"),
        ("::: caution Hot", "Caution: Hot"),
    ],
)
def test_admonitions_say_what_they_are(opening: str, line: str) -> None:
    end = ":" * (len(opening) - len(opening.lstrip(":")))
    assert text(f"{opening}\nWords.\n{end}\nAfter") == f"{line}\n\nWords.\n\nAfter"


def test_heading_ids_survive_in_both_spellings() -> None:
    found = read_sections(strip_mdx("## A {#one}\n\n## B {/* #two */}\n\n## C {x}\n"))
    assert [(p.title, p.anchor) for p in found[1:]] == [("A", "one"), ("B", "two"), ("C", "c")]


def test_an_imported_partial_is_put_in_where_it_is_used() -> None:
    shelf = {"./_part.mdx": "Shared **words**.\n\n```\n<code>\n```"}
    source = (
        "import Part from './_part.mdx'\nimport Other from './x.js'\n\nBefore\n\n<Part a={1} />\n\n<Other/>\n"
    )
    (only,) = read_sections(strip_mdx(source, partial=shelf.get))
    assert only.text == "Before\n\nShared words.\n\n<code>"


def test_a_partial_used_without_end_is_not_put_in_without_end() -> None:
    source = "import P from './p.md'\n\n" + "<P/>\n\n" * 1000
    assert len(strip_mdx(source, partial=lambda _: "x" * 100_000)) < 5_000_000


BOMBS = (
    "{", "}", "{'", '{"', "{/*", "<", "<a", "<a ", "<a {", '<a "', "<a '", "<Tabs>\n", "  <Tabs>\n",
    "</Tabs>\n", "<div>\n\n", "`",
    "`a``b```", "$", "$$", "<!-- ", "import ", "import a\n", "import {\n", "export *\n", "export {\n",
    ":::note\n", "<style>", "\\",
)  # fmt: skip


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_of_marks_is_read_in_one_go(bomb: str) -> None:
    source = bomb * (60_000 // len(bomb))
    assert len(strip_mdx(source)) <= 3 * len(source)


TOKENS = (
    "\n", "\n\n", "  ", "<Tabs>", "</Tabs>", '<TabItem label="L">', "{x}", "{", "}", "<", "/>", ">",
    "word", "`", "```\n",
    ":::note T\n", ":::\n", "import A from './a'\n", "export const a = {\n", "$", "\\", "'", "- ",
)  # fmt: skip
PARTS = st.lists(st.sampled_from(TOKENS), max_size=40)


@settings(max_examples=150)
@given(PARTS)
def test_any_page_comes_out_without_the_marks_we_work_with(parts: list[str]) -> None:
    made = strip_mdx("".join(parts))
    assert "\x01" not in made
    assert "\x02" not in made
