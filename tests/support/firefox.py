"""A real Firefox, driven through the WebDriver BiDi protocol that it speaks itself."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from websockets.sync.client import connect
from websockets.sync.connection import Connection

from tests.support.patience import PATIENCE

NAMES = ("firefox-esr", "firefox")
_ADDRESS = re.compile(r"WebDriver BiDi listening on (ws://\S+)")
# Nothing is fetched but what a test asks for.
_PREFERENCES = {
    "app.normandy.enabled": False,
    "browser.safebrowsing.downloads.remote.enabled": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "services.settings.server": "data:,",
}


class FirefoxPage:
    """One tab. What goes wrong in it, or is written on its console as an error, is in `errors`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._numbers = count(1)
        self.errors: list[str] = []
        self._send("session.new", capabilities={})
        self._send("session.subscribe", events=["log.entryAdded"])
        self._tab = self._send("browsingContext.create", type="tab")["context"]

    def go(self, address: str) -> None:
        """Open an address and wait until the page is loaded."""
        self._send("browsingContext.navigate", context=self._tab, url=address, wait="complete")

    def evaluate(self, expression: str) -> Any:
        """Return what a JavaScript expression or promise gives, by way of JSON."""
        said = f"(async () => JSON.stringify(await ({expression}) ?? null))()"
        answer = self._send(
            "script.evaluate", expression=said, target={"context": self._tab}, awaitPromise=True
        )
        if answer["type"] != "success":
            raise RuntimeError(answer["exceptionDetails"]["text"])
        return json.loads(answer["result"]["value"])

    def until(self, expression: str) -> Any:
        """Wait until an expression is true, and return its value."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if found := self.evaluate(expression):
                return found
            time.sleep(0.05)
        raise TimeoutError(expression)

    def type(self, selector: str, text: str) -> None:
        """Write into a field as a person does, and press Enter."""
        self.until(f"document.querySelector({json.dumps(selector)}) && true")
        self.evaluate(f"document.querySelector({json.dumps(selector)}).focus()")
        keys = [{"type": kind, "value": key} for key in (*text, "\ue007") for kind in ("keyDown", "keyUp")]
        source = {"type": "key", "id": "keyboard", "actions": keys}
        self._send("input.performActions", context=self._tab, actions=[source])

    def click(self, selector: str) -> None:
        """Press the mouse on the first element that fits."""
        here = f"document.querySelector({json.dumps(selector)})?.getBoundingClientRect()"
        box = self.until(here)
        place = {"x": int(box["x"] + box["width"] / 2), "y": int(box["y"] + box["height"] / 2)}
        pressed = [{"type": kind, "button": 0} for kind in ("pointerDown", "pointerUp")]
        source = {
            "type": "pointer",
            "id": "mouse",
            "actions": [{"type": "pointerMove", **place}, *pressed],
        }
        self._send("input.performActions", context=self._tab, actions=[source])

    def _send(self, method: str, **params: object) -> dict[str, Any]:
        number = next(self._numbers)
        self._connection.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            said = json.loads(self._connection.recv(timeout=PATIENCE))
            if said.get("method") == "log.entryAdded" and said["params"]["level"] == "error":
                self.errors.append(str(said["params"]["text"]))
            if said.get("id") == number:
                if said["type"] == "error":
                    raise RuntimeError(f"{method}: {said['message']}")
                result: dict[str, Any] = said["result"]
                return result


@contextmanager
def open_firefox(profile: Path) -> Iterator[FirefoxPage]:
    """Start a Firefox with a profile of its own in an empty folder."""
    program = next((path for name in NAMES if (path := shutil.which(name))), None)
    if program is None:
        raise RuntimeError(
            "This test needs Firefox and found none: install Debian's (apt install firefox-esr)."
        )
    lines = (f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in _PREFERENCES.items())
    (profile / "user.js").write_text("\n".join(lines))
    command = [
        program,
        "--headless",
        "--no-remote",
        "--profile",
        str(profile),
        "--remote-debugging-port",
        "0",
    ]
    log = profile / "firefox.log"
    with log.open("w") as written:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=written)
    try:
        with connect(f"{_find_address(log, process)}/session", max_size=None) as connection:
            yield FirefoxPage(connection)
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _find_address(log: Path, process: subprocess.Popen[bytes]) -> str:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        if found := _ADDRESS.search(log.read_text()):
            return found[1]
        time.sleep(0.05)
    raise RuntimeError(f"Firefox did not start: {log.read_text()[-500:]}")
