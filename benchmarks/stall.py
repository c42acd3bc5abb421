"""A server that knows how long its event loop was held up: `python -m benchmarks.stall FILE DATA PORT`.

It serves like `octavo serve` and writes to FILE, every half second, the longest time in milliseconds by which
a timer of its event loop came late since the last line, and how many tasks there are. With FILE alone it
serves nothing: what is late then is late because of the machine.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from octavo.limits import ServiceLimits
from octavo.server.app import make_app
from octavo.server.run import DrainingServer, make_config
from octavo.settings import Settings

TICK, LINE = 0.02, 0.5


async def watch(file: Path) -> None:
    worst, written = 0.0, time.monotonic()
    with file.open("w", encoding="ascii", buffering=1) as lines:
        while True:
            before = time.monotonic()
            await asyncio.sleep(TICK)
            now = time.monotonic()
            worst = max(worst, now - before - TICK)
            if now - written > LINE:
                lines.write(f"{worst * 1000:.1f} {len(asyncio.all_tasks())}\n")
                worst, written = 0.0, now


async def serve(data: Path, port: int, file: Path) -> None:
    limits = ServiceLimits(requests_per_minute=1_000_000, streams=100)
    app = make_app(Settings(data=data, service=limits))
    server = DrainingServer(make_config(app, host="127.0.0.1", port=port, log=False), app.state.load)
    watching = asyncio.create_task(watch(file))
    await server.serve()
    watching.cancel()


if __name__ == "__main__":
    written = Path(sys.argv[1])
    asyncio.run(serve(Path(sys.argv[2]), int(sys.argv[3]), written) if len(sys.argv) > 2 else watch(written))
