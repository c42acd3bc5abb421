"""Commands that back up a library while it is in use, and restore it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from octavo.cli.common import (
    FAILED,
    WIDTH,
    GroupOptions,
    add_common_options,
    draw_bar,
    format_count,
    is_terminal,
    run_with_library,
    show_json,
)

if TYPE_CHECKING:
    from octavo.settings import Settings

_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command(short_help="Back up the library; it may be in use.")
@click.argument("folder", type=_FOLDER)
@click.option("--verify", is_flag=True, help="Make no snapshot; read all that are there and check them.")
@click.option("--keep", type=click.IntRange(min=1), help="Delete all but the newest N snapshots afterwards.")
@add_common_options
def backup(
    context: GroupOptions, folder: Path, verify: bool, keep: int | None, data: str | None, as_json: bool
) -> None:
    """Add a snapshot of the library to FOLDER, and read it back. The library may be in use.

    A snapshot is one moment of the records, with the settings file and waiting uploads. Only what changed
    since the last snapshot is written. The digest covers every byte.

    \b
      octavo backup /mnt/backups/octavo
      octavo backup /mnt/backups/octavo --keep 30
      octavo backup /mnt/backups/octavo --verify
    """
    from octavo.maintenance.backup import back_up, prune_snapshots, verify_snapshots
    from octavo.schemas import BackupJson, SnapshotJson

    damaged: dict[str, str] = {}
    if verify:
        done, damaged = verify_snapshots(folder)
    else:
        done = [back_up(_read_settings(context, data), folder, on_step=_show_step if is_terminal() else None)]
        if is_terminal():
            click.echo(f"\r{'':<{WIDTH}}\r", nl=False, err=True)
    # An older snapshot may be the last sound one.
    gone = [] if keep is None or damaged else prune_snapshots(folder, keep=keep)
    if as_json:
        shown = [SnapshotJson.from_value(each, files=dict(each.files)) for each in done]
        show_json(BackupJson(snapshots=shown, deleted=gone, damaged=damaged))
    else:
        for each in done:
            size = f"{format_count(each.size, 'byte')}, {each.written:,} written"
            click.echo(f"{each.name}: {size if not verify else format_count(each.size, 'byte')}, verified")
            click.echo(f"  digest {each.digest}")
        for name, message in damaged.items():
            click.echo(f"✗ {name}: {message}")
        if verify and not done and not damaged:
            click.echo(f"There is no snapshot in {folder}.", err=True)
        if gone:
            click.echo(f"Deleted {format_count(len(gone), 'older snapshot')}.")
    if damaged or (verify and not done and not as_json):
        raise click.exceptions.Exit(FAILED)


@click.command(short_help="Restore the library from a backup.")
@click.argument("folder", type=_FOLDER)
@click.option("--snapshot", "name", default="", help="Name of the snapshot; the default is the newest.")
@click.option("--replace", is_flag=True, help="Rename the library that is there, and restore.")
@add_common_options
def restore(
    context: GroupOptions, folder: Path, name: str, replace: bool, data: str | None, as_json: bool
) -> None:
    """Restore the library from a snapshot in FOLDER, and build its store again. Nothing is embedded again.

    The snapshot is verified first. With --replace, the library that is there is renamed, not deleted.

    \b
      octavo restore /mnt/backups/octavo --data new-library
    """
    from octavo.maintenance.backup import restore as restore_snapshot
    from octavo.schemas import FindingJson, RestoredJson, SnapshotJson

    done = restore_snapshot(_read_settings(context, data), folder, name=name, replace=replace)
    findings = run_with_library(context, data, lambda library: library.examine(repair=True))
    sound = all(finding.sound for finding in findings)
    if as_json:
        shown = SnapshotJson.from_value(done, files=dict(done.files))
        found = [FindingJson.from_value(finding) for finding in findings]
        show_json(RestoredJson(snapshot=shown, sound=sound, findings=found))
    else:
        click.echo(f"Restored {done.name} ({format_count(done.size, 'byte')}).")
        for finding in findings:
            click.echo(f"{'✓' if finding.sound else '✗'} {finding.what}: {finding.said}")
    if not sound:
        raise click.exceptions.Exit(FAILED)


def _read_settings(context: GroupOptions, data: str | None) -> Settings:
    from octavo.settings import Settings

    chosen = data or context.data
    return Settings(data=Path(chosen)) if chosen else Settings()


def _show_step(done: int, total: int) -> None:
    line = f"backup: {draw_bar(done, total)} {done:,}/{total:,}"
    sys.stderr.write(f"\r{line[:WIDTH]:<{WIDTH}}")
    sys.stderr.flush()
