"""What every command shares: where the library is, `--json`, how results and complaints are shown."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from octavo.errors import InvalidTransition, InvalidValue, MachineError, NotFound, OctavoError
from octavo.wire import error_json

if TYPE_CHECKING:
    from octavo.library import Library

T = TypeVar("T")
Command = TypeVar("Command", bound=Callable[..., Any])

FAILED, WRONG_CALL, NOT_SAID = 1, 2, 3
LEAST_FILES = 48
"""File descriptors for the library: those it has open when idle, and more for a book on its way in."""


@dataclass(frozen=True, slots=True)
class Context:
    """What was said before the command's name."""

    data: str | None = None


def common(command: Command) -> Command:
    """The options that every command has."""
    command = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")(command)
    data = click.option("--data", type=click.Path(file_okay=False), help="Folder of the library.")(command)
    return click.pass_obj(data)  # type: ignore[return-value]


def with_library(context: Context, data: str | None, work: Callable[[Library], Coroutine[Any, Any, T]]) -> T:
    """Opens the library, runs `work` with it and closes it, whatever happens."""
    _require_files()

    from octavo.library import Library

    async def run() -> T:
        async with Library.open(data=data or context.data) as library:
            return await work(library)

    return asyncio.run(run())


def most_files() -> int:
    """How many files and connections this process may have open at a time."""
    import resource

    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1_000_000 if most == resource.RLIM_INFINITY else most


def _require_files() -> None:
    """With fewer descriptors than a library needs, something would fail that does not say why."""
    if (most := most_files()) < LEAST_FILES:
        raise MachineError(
            f"this process may open only {most} files at a time, and a library needs {LEAST_FILES}",
            hint="`ulimit -n 1024` before it starts gives it more.",
        )


def show_json(value: object) -> None:
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))


def counted(count: int, what: str) -> str:
    """`1 section`, `1,234 sections`."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def complain(error: OctavoError, *, as_json: bool) -> int:
    """Says what went wrong and what to do; returns the exit code."""
    if as_json:
        show_json(error_json(error))
    click.echo(f"octavo: {error.message}", err=True)
    if error.hint:
        click.echo(f"  {error.hint}", err=True)
    return exit_code(error)


def exit_code(error: OctavoError) -> int:
    wrong_call = isinstance(error, InvalidValue | NotFound | InvalidTransition)
    return WRONG_CALL if wrong_call else FAILED


def on_terminal() -> bool:
    return sys.stderr.isatty()
