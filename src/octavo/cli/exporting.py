"""Conversations on paper: the list of them, and one of them as Markdown or JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from octavo.cli.frame import show_json

if TYPE_CHECKING:
    from octavo.conversation import Session
    from octavo.library import Library


def listed(sessions: Sequence[Session], *, as_json: bool) -> None:
    """The conversations, the newest first."""
    from octavo.wire_asking import session_json

    if as_json:
        show_json({"sessions": [session_json(session) for session in sessions]})
    elif not sessions:
        click.echo("No conversations yet. `octavo chat` starts one.")
    else:
        for session in sessions:
            count = f"{session.query_count} question{'' if session.query_count == 1 else 's'}"
            state = "ended" if session.end_time else "open"
            click.echo(f"{session.session_id}  {session.start_time:%Y-%m-%d %H:%M}  {count}, {state}")


async def exported(library: Library, session_id: str, *, as_json: bool) -> str:
    """One conversation with its citations."""
    from octavo.export import session_json, session_markdown

    session = await library.journal.session(session_id)
    meant = {entry.question.id: entry.interpreted for entry in await library.journal.entries(session_id)}
    if as_json:
        return json.dumps(session_json(session, interpreted=meant), ensure_ascii=False, indent=2)
    return session_markdown(session, interpreted=meant)


def written(path: Path, text: str) -> None:
    try:
        path.write_text(text.rstrip("\n") + "\n", encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"{path} cannot be written: {error.strerror}.") from error
    click.echo(f"Written to {path}.", err=True)
