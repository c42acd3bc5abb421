"""Compare the store with the records while the library is in use, a little at a time.

A disk can change a bit that nobody reads for months. So the running service reads every point of the store
once a day, at the pace that the settings state, and compares it with the digest in the records. If anything
differs, store and records are compared again while nothing changes, and what is wrong is written anew from
the records. At the end of the pass the records are compared with the digests that were saved when they were
published. What was changed is logged; `octavo doctor --rebuild` reads it back. When the last full pass was,
is kept in the records: `octavo doctor` and the metrics say it.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from octavo.concurrency import run_blocking
from octavo.ingest.install import split_batches
from octavo.maintenance.repair import repair_store
from octavo.records.queries import Queries
from octavo.store.base import digest_payload, pack_floats

if TYPE_CHECKING:
    from octavo.ingest.context import Changes, LibraryContext
    from octavo.protocols import StoredPoint
    from octavo.records.catalogue import Records
    from octavo.records.database import Database

log = logging.getLogger(__name__)
LAST_CHECK = "last check of the store"
AT_ONCE = 128
EVERY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreCheck:
    """A full pass over the store: when it ended, how many passages it compared, and how many it repaired.

    `changed` says how many times something of the records was not what was published.
    """

    finished_at: datetime
    passages: int
    repaired: int
    changed: int = 0

    def __str__(self) -> str:
        when = self.finished_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
        found = [f"{self.repaired:,} repaired"] if self.repaired else []
        if self.changed:
            found.append(
                f"{self.changed:,} {'book' if self.changed == 1 else 'books'} changed in the records"
            )
        result = ", ".join(found) or "nothing was wrong"
        return f"the last full pass ended on {when}; {self.passages:,} passages, {result}"

    @property
    def due_at(self) -> datetime:
        """When the next pass should begin."""
        return self.finished_at + EVERY


async def read_last_check(database: Database) -> StoreCheck | None:
    """Return the last full pass, or None if there was none yet."""
    noted = await Queries(database).get_meta(LAST_CHECK)
    if noted is None:
        return None
    said = json.loads(noted)
    return StoreCheck(
        finished_at=datetime.fromisoformat(said["finished_at"]),
        passages=said["passages"],
        repaired=said["repaired"],
        changed=said.get("changed", 0),
    )


async def save_check(records: Records, *, passages: int, repaired: int, changed: int = 0) -> StoreCheck:
    """Note that a full pass has just ended."""
    counts = {"passages": passages, "repaired": repaired, "changed": changed}
    done = StoreCheck(finished_at=datetime.now(UTC), **counts)
    await records.set_meta(LAST_CHECK, json.dumps({"finished_at": done.finished_at.isoformat(), **counts}))
    return done


async def check_store(context: LibraryContext, changes: Changes, *, per_minute: int) -> StoreCheck:
    """Make one full pass, so many passages a minute at most, and repair what is wrong. 0 means no limit."""
    seen, differs = await _compare(context, per_minute)
    repaired = 0
    if differs:
        # What was being changed just then may only have looked wrong: compare again while nothing changes.
        async with changes() as alone:
            found = await repair_store(alone)
            repaired = len(found.missing) + len(found.damaged)
        if repaired:
            log.error("The store differed from the records and was repaired: %s", found)
    changed = await _count_changed(context, changes, per_minute)
    return await save_check(context.records, passages=seen, repaired=repaired, changed=changed)


async def _count_changed(context: LibraryContext, changes: Changes, per_minute: int) -> int:
    """Compare the records with their digests; return how many differences there are, and log them."""
    pause = 60 * AT_ONCE / per_minute if per_minute else 0
    suspected = await context.records.find_changed_editions(pause=pause)
    if not suspected:
        return 0
    # A book that was being published just then may only have looked changed.
    async with changes() as alone:
        among = list(dict.fromkeys((each.book_id, each.edition) for each in suspected))
        found = await alone.records.find_changed_editions(among=among)
    if found:
        log.error("The records were changed: %s", "; ".join(str(each) for each in found[:5]))
    return len(found)


async def _compare(context: LibraryContext, per_minute: int) -> tuple[int, bool]:
    """Read every point once; return how many there were, and whether any may differ from the records."""
    seen: set[str] = set()
    batch: list[StoredPoint] = []
    differs = False
    async for point in context.store.read_points():
        batch.append(point)
        if len(batch) == AT_ONCE:
            differs |= await _differ(context.records, batch)
            seen.update(each.id for each in batch)
            batch.clear()
            await asyncio.sleep(60 * AT_ONCE / per_minute if per_minute else 0)
    differs |= await _differ(context.records, batch)
    seen.update(each.id for each in batch)
    missing = (await context.records.read_digests()).keys() - seen
    return len(seen), differs or bool(missing)


async def _differ(records: Records, points: Sequence[StoredPoint]) -> bool:
    expected: dict[str, str] = {}
    for ids in split_batches([point.id for point in points], AT_ONCE):
        expected |= await records.find_digests(ids)
    return await run_blocking(_find_wrong, points, expected)


def _find_wrong(points: Sequence[StoredPoint], expected: Mapping[str, str]) -> bool:
    """Whether a point is damaged. Points that readers do not see yet, or no more, are not looked at."""
    for point in points:
        if point.id in expected:
            digest = digest_payload(point.payload, pack_floats(point.vector))
            if not point.sound or digest != expected[point.id]:
                return True
    return False
