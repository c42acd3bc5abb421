"""The reading order of a site: a tree of its pages, built from what they say about each other.

`find_contents_page` weighs who could hold the contents: the page that others call home or contents, that many
link to, whose lists name many pages, or whose file is named so; never an index. `order_pages` then places
every page once. The contents page's nested lists come first. A page that they leave out, or name without
saying what it stands under, goes under the page that it calls "up"; then come pages in the lists of a page
that is already placed, and those that a "next" link leads to. What nothing places comes last, sorted by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from octavo.readers.html.site import INDEX_NAMES, SitePage, find_indexes

Menu = Callable[[str], "Sequence[ContentsLine]"]
"""From a page to the lines of its own lists."""

_SHORTLIST = 12
_LEAST_COVERED = 0.2
_LEAST_CLAIMED = 0.5


@dataclass(frozen=True, slots=True)
class ContentsPart:
    """A part above a line of the contents: a page, or only a name."""

    file: str
    label: str


@dataclass(frozen=True, slots=True)
class ContentsLine:
    """A page in the contents, with the parts above it."""

    file: str
    above: tuple[ContentsPart, ...] = ()


def find_contents_page(
    pages: Mapping[str, SitePage], home: SitePage | None, read_lines: Menu
) -> SitePage | None:
    """Find the page with the best claim to hold the contents; None when no page has a good one.

    The home page has them unless a page that most others link to names more than twice as many.
    """
    linked = Counter(target for page in pages.values() for target in page.claims.targets)
    called = Counter(page.claims.contents for page in pages.values())
    indexes = find_indexes(pages)
    others = max(1, len(pages) - 1)

    def weigh(page: SitePage, covered: int) -> float:
        share, known = covered / others, linked[page.file] / others
        claimed = called[page.file] / others
        named = page.stem in INDEX_NAMES
        is_known = max(claimed, known) >= _LEAST_CLAIMED or (named and home is not None)
        if not is_known and (home is not None or share < _LEAST_COVERED):
            return 0.0
        return share + claimed + known + 0.5 * named - 0.5 * page.file.count("/")

    candidates = [
        page
        for page in pages.values()
        if len(page.claims.targets) > 1 and page.file not in indexes and page is not home
    ]
    shortlist = sorted(candidates, key=lambda p: weigh(p, len(p.claims.targets)), reverse=True)[:_SHORTLIST]
    lines = {page.file: len(read_lines(page.file)) for page in shortlist}
    best = max(shortlist, key=lambda page: weigh(page, lines[page.file]), default=None)
    if best is not None and weigh(best, lines[best.file]) <= 0:
        best = None
    if home is None or home.file in indexes:
        return best
    own = max(2, len(read_lines(home.file)))
    return best if best is not None and lines[best.file] > 2 * own else home


@dataclass(slots=True, eq=False)
class _Node:
    """A page or a named part in the tree. `file` is empty for a part."""

    file: str
    label: str
    parent: _Node | None = None
    children: list[_Node] = field(default_factory=list)

    def list_above(self) -> tuple[ContentsPart, ...]:
        parts: list[ContentsPart] = []
        node = self.parent
        while node is not None and node.parent is not None:
            parts.append(ContentsPart(node.file, node.label))
            node = node.parent
        return tuple(reversed(parts))

    def walk(self) -> Iterator[_Node]:
        """Yield all nodes below this one in reading order."""
        waiting = list(reversed(self.children))
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed(node.children)


class PageTree:
    """The pages of a site while they are placed. `heads` stand above everything and never over one page."""

    def __init__(self, pages: Mapping[str, SitePage], *, heads: Sequence[str]) -> None:
        self._pages, self._heads = pages, frozenset(heads)
        self._root = _Node("", "")
        self._nodes: dict[str, _Node] = {}
        for head in heads:
            self._insert(head, self._root)
        self._before: dict[str, str] = {}
        for file, page in pages.items():
            self._before.setdefault(page.claims.next, file)

    def place_lines(self, lines: Iterable[ContentsLine]) -> None:
        """Place the lines of the contents, in their order."""
        listed = {line.file: self._drop_heads(line.above) for line in lines}
        # A list of figures names a page beside the parts, which it stands inside by its own word.
        astray = {file for file, above in listed.items() if not above and listed.get(self._find_up(file))}
        early: list[str] = []
        for file, above in listed.items():
            if file in astray:
                continue
            # A small list may name a page before the large one that says where its parent stands.
            if any(part.file in listed and part.file not in self._nodes for part in above):
                early.append(file)
            else:
                self._place_line(file, listed)
        for file in early:
            self._place_line(file, listed)

    def _place_line(self, file: str, listed: Mapping[str, tuple[ContentsPart, ...]]) -> None:
        if file in self._nodes:
            return
        above, up = listed[file], self._find_up(file)
        # The contents name both pages side by side, and this one says that it stands below the other.
        if listed.get(up) == above and not any(part.file for part in above):
            holder = self._nodes.get(up) or self._insert(up, self._enter(above))
        else:
            holder = self._enter(above)
        if file not in self._nodes:
            self._insert(file, holder)

    def place_children(self, menu: Menu) -> None:
        """Place the pages that call a placed page "up", and those in its lists that call none."""
        wanted: dict[str, list[str]] = {}
        for file in self._pages:
            if file not in self._nodes and (up := self._find_up(file)):
                wanted.setdefault(up, []).append(file)
        waiting = [node.file for node in self._root.walk() if node.file]
        seen: set[str] = set()
        while waiting:
            found: list[str] = []
            for file in waiting:
                if file not in seen:
                    seen.add(file)
                    found += self._place_below(file, wanted.get(file, []), menu)
            waiting = found

    def place_followers(self) -> None:
        """Place each page that a "next" link leads to after the page with that link, beside it."""
        for node in list(self._root.walk()):
            self._follow(node)
        led = {page.claims.next for page in self._pages.values()}
        for file, page in self._pages.items():
            if file not in self._nodes and page.claims.next and file not in led:
                self._follow(self._insert(file, self._root))

    def place_rest(self) -> int:
        """Place all other pages last, in the order of their names; return how many they are."""
        left = [file for file in self._pages if file not in self._nodes]
        for file in left:
            up = self._nodes.get(self._find_up(file), self._root)
            self._insert(file, up)
        return len(left)

    def list_lines(self) -> list[ContentsLine]:
        return [ContentsLine(node.file, node.list_above()) for node in self._root.walk() if node.file]

    def _find_up(self, file: str) -> str:
        """Return the page that a page calls "up", unless that is the head of the site."""
        page = self._pages.get(file)
        up = page.claims.up if page is not None else ""
        return up if up in self._pages and up not in self._heads and up != file else ""

    def _drop_heads(self, above: tuple[ContentsPart, ...]) -> tuple[ContentsPart, ...]:
        return tuple(part for part in above if part.file not in self._heads)

    def _enter(self, above: tuple[ContentsPart, ...]) -> _Node:
        """Return the node of the innermost part, after making those that are missing."""
        node = self._root
        for part in above:
            if part.file:
                node = self._nodes.get(part.file) or self._insert(part.file, node, label=part.label)
                continue
            same = (child for child in node.children if not child.file and child.label == part.label)
            named = next(same, None)
            if named is None:
                named = _Node("", part.label, node)
                node.children.append(named)
            node = named
        return node

    def _insert(self, file: str, parent: _Node, *, after: _Node | None = None, label: str = "") -> _Node:
        node = _Node(file, label, parent)
        if after is None:
            parent.children.append(node)
        else:
            parent.children.insert(parent.children.index(after) + 1, node)
        self._nodes[file] = node
        return node

    def _place_below(self, file: str, children: list[str], menu: Menu) -> list[str]:
        """Place pages below one page in the order of its own lists; return them."""
        page = self._pages.get(file)
        if page is None:
            return []
        open_targets = {
            target
            for target in page.claims.targets
            if target in self._pages and target not in self._nodes and target not in self._heads
        }
        mine = {target for target in open_targets if self._find_up(target) in ("", file)}
        if not children and not mine:
            return []
        parent = self._root if file in self._heads else self._nodes[file]
        lines = [line for line in menu(file) if line.file in mine or line.file in children] if mine else []
        placed: list[str] = []
        for line in lines:
            if line.file in self._nodes:
                continue
            inner = [part for part in line.above if part.file in self._nodes and part.file in placed]
            holder = self._nodes[inner[-1].file] if inner else parent
            self._insert(line.file, holder)
            placed.append(line.file)
        for child in self._sort_chain(child for child in children if child not in self._nodes):
            self._insert(child, parent, after=self._find_sibling_before(child, parent))
            placed.append(child)
        return placed

    def _sort_chain(self, files: Iterable[str]) -> list[str]:
        """Sort pages so that each comes after the one whose "next" link names it, else by name."""
        waiting = dict.fromkeys(files)
        starts = [file for file in waiting if self._before.get(file, "") not in waiting]
        chain: list[str] = []
        for start in (*starts, *waiting):
            file = start
            while file in waiting:
                chain.append(file)
                del waiting[file]
                file = self._pages[file].claims.next
            if not waiting:
                break
        return chain

    def _find_sibling_before(self, file: str, parent: _Node) -> _Node | None:
        """Return the child of `parent` that holds the page before this one."""
        node = self._nodes.get(self._before.get(file, ""))
        while node is not None and node.parent is not parent:
            node = node.parent
        return node

    def _follow(self, node: _Node) -> None:
        file = self._pages[node.file].claims.next if node.file in self._pages else ""
        while file in self._pages and file not in self._nodes and file not in self._heads:
            parent = node.parent or self._root
            node = self._insert(file, parent, after=node)
            file = self._pages[file].claims.next


def order_pages(
    pages: Mapping[str, SitePage], lines: Iterable[ContentsLine], *, heads: Sequence[str], menu: Menu
) -> tuple[list[ContentsLine], int]:
    """Return every page once, in reading order, and how many of them only their names placed.

    `heads` are the pages that stand before all others: the home page and the contents.
    """
    tree = PageTree(pages, heads=heads)
    tree.place_lines(lines)
    tree.place_children(menu)
    tree.place_followers()
    tree.place_children(menu)
    left = tree.place_rest()
    return [line for line in tree.list_lines() if line.file in pages], left
