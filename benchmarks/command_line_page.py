"""Writes docs/command-line.md from the commands' own help: python -m benchmarks.command_line_page."""

from __future__ import annotations

from pathlib import Path

import click

from octavo.cli import octavo

PAGE = Path(__file__).parent.parent / "docs" / "command-line.md"
TOP = """# The command line

Answers go to standard output, progress and complaints to standard error. Exit codes: 0 done, 1 failed,
2 the call was wrong, 3 the book does not say. This page is made from the commands' own help.
"""


def page() -> str:
    parts = [TOP, _help("octavo", octavo, None)]
    context = click.Context(octavo, info_name="octavo", max_content_width=100)
    for name in octavo.list_commands(context):
        parts.append(f"## octavo {name}\n")
        parts.append(_help(name, octavo.commands[name], context))
    return "\n".join(parts)


def _help(name: str, command: click.Command, parent: click.Context | None) -> str:
    context = click.Context(command, info_name=name, parent=parent, max_content_width=100, terminal_width=100)
    return f"```text\n{command.get_help(context)}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
