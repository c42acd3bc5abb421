"""The command that prints what a shell needs to complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

VARIABLE = "_OCTAVO_COMPLETE"


@click.command(short_help="Print a script that completes commands in your shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script for SHELL that completes the commands and options of octavo with the Tab key.

    \b
      octavo completion bash >> ~/.bashrc
      octavo completion zsh >> ~/.zshrc
      octavo completion fish > ~/.config/fish/completions/octavo.fish
    """
    made = get_completion_class(shell)
    assert made is not None
    click.echo(made(context.find_root().command, {}, "octavo", VARIABLE).source())
