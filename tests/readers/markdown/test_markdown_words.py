"""A property of every page: each word that was written is read once, in order, and code is as typed."""

from __future__ import annotations

import re
from itertools import count

from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.readers.markdown.mdbook import drop_hidden_lines
from octavo.readers.markdown.mdx import drop_highlight_comments, strip_mdx
from octavo.readers.markdown.reader import read_sections

WORD = re.compile(r"w\d+z")

# A page is drawn as a tree of these; each leaf then gets words of its own, counted from w0z.
INLINE = (
    "{}", "*{}*", "**{}**", "[{}](u.md 'T')", "`{}`", "![{}](p.png)", "~~{}~~", "<kbd>{}</kbd>", "{}\\*",
    "***{}** {}*", "{}<br>{}", "a*{}*b", "&amp;{}", "<{}@example.org>", '"{}"', "({})", "{}  \n{}", "{}\n{}",
)  # fmt: skip
CODE = (
    "{} = [1]  # {}", "    {}", "# {}", "<b>{}</b>", "", "* {} *", "{{{}}}", "| {} |", "> {}", "import {}",
)  # fmt: skip
line = st.lists(st.sampled_from(INLINE), min_size=1, max_size=4).map(" ".join)
code = st.lists(st.sampled_from(CODE), min_size=1, max_size=5).map("\n".join).filter(str.strip)
leaf = st.one_of(
    st.tuples(st.just("paragraph"), line),
    st.tuples(st.just("heading"), st.integers(1, 6), st.sampled_from(["{}", "*{}* {}", "`{}`", "[{}](u)"])),
    st.tuples(st.just("code"), st.sampled_from(["```", "~~~", "````py", "~~~~ x"]), code),
    st.tuples(st.just("table"), st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.just("html"), st.sampled_from(["<p>{} <b>{}</b></p>", "<div>\n{}\n</div>", "<h2>{}</h2>"])),
)
block = st.recursive(
    leaf,
    lambda inner: st.one_of(
        st.tuples(st.just("quote"), st.lists(inner, min_size=1, max_size=3)),
        st.tuples(st.sampled_from(["- ", "3. ", "* "]), st.lists(inner, min_size=1, max_size=3)),
    ),
    max_leaves=6,
)
page = st.lists(block, min_size=1, max_size=6)


def write_block(node: tuple[object, ...], words: count[int], codes: list[str]) -> str:
    """The Markdown of one block, its words filled in; code is remembered as it was typed."""

    def fill(pattern: str) -> str:
        while "{}" in pattern:
            pattern = pattern.replace("{}", f"w{next(words)}z", 1)
        return pattern

    match node:
        case ("paragraph" | "html", str(pattern)):
            return fill(pattern)
        case ("heading", int(level), str(pattern)):
            return f"{'#' * level} {fill(pattern)}"
        case ("code", str(fence), str(pattern)):
            typed = fill(pattern.replace("{{{}}}", "\0{}\1")).replace("\0", "{").replace("\1", "}")
            codes.append(typed.strip("\n"))
            return f"{fence}\n{typed}\n{re.match(r'[`~]+', fence)[0]}"  # type: ignore[index]
        case ("table", int(rows), int(columns)):
            row = f"|{' {} |' * columns}"
            return "\n".join([fill(row), f"|{'---|' * columns}", *(fill(row) for _ in range(rows))])
        case ("quote", list(inner)):
            return _indent("\n\n".join(write_block(n, words, codes) for n in inner), "> ", "> ")
        case (str(marker), list(inner)):
            return "\n\n".join(
                _indent(write_block(n, words, codes), marker, " " * len(marker)) for n in inner
            )
    raise AssertionError(node)


def _indent(text: str, first: str, others: str) -> str:
    return "\n".join((others if n else first) + text_line for n, text_line in enumerate(text.split("\n")))


def write_tree(tree: list[tuple[object, ...]]) -> tuple[str, list[str], int]:
    words, codes = count(), list[str]()
    source = "\n\n<!-- -->\n\n".join(write_block(node, words, codes) for node in tree)
    return source, codes, next(words)


def read_words(source: str) -> list[str]:
    return [w for p in read_sections(source) for w in WORD.findall(f"{p.title}\n{p.text}")]


def find_code(source: str, codes: list[str]) -> list[str]:
    """Those blocks of a page that are one of the codes, not tables."""
    return [c for p in read_sections(source) for b in p.blocks if (c := p.text[b.start : b.end]) in codes]


@settings(max_examples=250, deadline=None)
@given(page)
def test_every_word_of_a_page_is_read_once_and_in_order(tree: list[tuple[object, ...]]) -> None:
    source, _, size = write_tree(tree)
    assert read_words(source) == [f"w{n}z" for n in range(size)], source


@settings(max_examples=150, deadline=None)
@given(page)
def test_code_is_as_it_was_typed_and_a_block_of_its_own(tree: list[tuple[object, ...]]) -> None:
    source, codes, _ = write_tree(tree)
    assert find_code(source, codes) == codes, source


@settings(max_examples=150, deadline=None)
@given(page)
def test_nothing_but_programs_is_taken_from_a_page_of_mdx(tree: list[tuple[object, ...]]) -> None:
    source, codes, size = write_tree(tree)
    mdx = f"import T from 'x'\n\n{source.replace('<!-- -->', '{/* gone */}')}\n\n<T a={{1}}>w{size}z</T>\n"
    assert read_words(strip_mdx(mdx)) == [f"w{n}z" for n in range(size + 1)], mdx
    assert find_code(strip_mdx(mdx), codes) == codes, mdx


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["# w", "  # w", "#w", "##w", "w", "", "#", "// highlight-next-line", "# highlight-end"]
        )
    )
)
def test_what_a_page_hides_of_its_code_is_hidden_line_by_line(lines: list[str]) -> None:
    text = "\n".join(lines)
    shown = [text_line for text_line in lines if "highlight-" not in text_line]
    assert drop_highlight_comments("js", text).split("\n") == (shown or [""])
    hidden = re.compile(r"\s*#(\s|$)")
    kept = [re.sub(r"^(\s*)##", r"\1#", text_line) for text_line in lines if not hidden.match(text_line)]
    assert drop_hidden_lines("rust", text).split("\n") == (kept or [""])
    assert drop_hidden_lines("python", text) == text
