"""Many books in one command: which books the given paths are, and a summary of what came in."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from octavo.cli.common import format_count
from octavo.errors import BadBook, OctavoError
from octavo.records.options import BookOptions

if TYPE_CHECKING:
    from octavo.ingest.shelves import FoundBook
    from octavo.schemas import AddedBookJson, FailedPathJson, PlannedBookJson

T = TypeVar("T")
STDIN = "-"
_NO_OPTIONS = BookOptions()


@dataclass(frozen=True, slots=True)
class SourceBook:
    """A book as the caller named it: the paths of its formats or its web address, and what is known of it."""

    paths: tuple[str, ...]
    options: BookOptions = _NO_OPTIONS

    @classmethod
    def from_found(cls, found: FoundBook) -> SourceBook:
        return cls(tuple(map(str, found.paths)), found.options)

    @property
    def name(self) -> str:
        return self.paths[0]

    def choose_options(self, asked: BookOptions) -> BookOptions:
        """Return what is known of the book, with what the caller asked for in its place."""
        said = {name: getattr(asked, name) for name in ("title", "base_url", "book_id")}
        return replace(self.options, **{name: value for name, value in said.items() if value is not None})

    async def try_formats(self, work: Callable[[str], Awaitable[T]]) -> T:
        """Call `work` with the best format; when that is a bad book, with the next."""
        *others, last = self.paths
        for path in others:
            try:
                return await work(path)
            except BadBook as refused:
                click.echo(f"octavo: {refused.message}; trying another format of it", err=True)
        return await work(last)


def expand_paths(paths: Sequence[str]) -> list[SourceBook]:
    """Return the books at the given paths, each once; `-` stands for the paths on standard input."""
    named = [name for path in paths for name in (_read_list() if path == STDIN else (path,))]
    books = [book for name in named for book in _expand(name)]
    return list({book.paths: book for book in books}.values())


def _expand(name: str) -> list[SourceBook]:
    from octavo.ingest.shelves import find_shelf
    from octavo.limits import Limits

    # A zero byte is told by whoever opens the path.
    if "\0" in name or not Path(name).is_dir():
        return [SourceBook((name,))]
    shelf = find_shelf(Path(name), Limits())
    if not shelf or (len(shelf) == 1 and shelf[0].path.is_dir()):
        return [SourceBook((name,))]
    return [SourceBook.from_found(book) for book in shelf]


def _read_list() -> list[str]:
    """Read paths from standard input: one a line, or separated by zero bytes as `find -print0` does."""
    text = sys.stdin.read()
    lines = text.split("\0") if "\0" in text else text.splitlines()
    found = [line for line in lines if line.strip()]
    if not found:
        raise click.UsageError("Standard input names no path.")
    return found


@dataclass(slots=True)
class AddSummary:
    """What came in and what did not, of all the books of one command."""

    total: int
    failed: list[tuple[str, OctavoError]] = field(default_factory=list)

    @contextmanager
    def watch(self, book: SourceBook) -> Iterator[None]:
        """Note the error of a book that fails, and pass it on."""
        try:
            yield
        except OctavoError as error:
            self.failed.append((book.name, error))
            raise

    def describe_failures(self) -> list[FailedPathJson]:
        from octavo.schemas import FailedPathJson

        return [FailedPathJson.from_value(error, path=path) for path, error in self.failed]

    def show(self, done: Sequence[AddedBookJson | PlannedBookJson]) -> None:
        """Print how many books came in, and the names of those that did not.

        Why was said when it happened.
        """
        same = sum(getattr(book, "unchanged", False) for book in done)
        planned = any(hasattr(book, "dry_run") for book in done)
        counts = [f"{len(done) - same} {'to add' if planned else 'added'}"]
        counts += [f"{same} already there"] if same else []
        counts += [f"{len(self.failed)} failed"] if self.failed else []
        # An error of the machine stops what had not begun.
        left = self.total - len(done) - len(self.failed)
        counts += [f"{left} not tried"] if left else []
        click.echo(f"{format_count(self.total, 'book')}: {', '.join(counts)}")
        for path, _ in self.failed:
            click.echo(f"  not added: {path}")
