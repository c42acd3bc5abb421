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


def write_page() -> str:
    whole = octavo.make_context("octavo", [], resilient_parsing=True, terminal_width=100)
    parts = [TOP, _format_help(whole)]
    for name in octavo.list_commands(whole):
        context = octavo.commands[name].make_context(
            name, [], parent=whole, resilient_parsing=True, terminal_width=100
        )
        parts += [f"## octavo {name}\n", _format_help(context)]
    return "\n".join(parts)


def _format_help(context: click.Context) -> str:
    return f"```text\n{context.get_help()}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(write_page(), encoding="utf-8")
