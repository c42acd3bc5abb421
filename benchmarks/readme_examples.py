"""Runs the README's examples on the real book: `python -m benchmarks.readme_examples moby-dick.epub`.

Every command must succeed, no question may be refused, and what the README prints must come out.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROGRAM = Path(sys.executable).parent / "octavo"
_QUESTION = re.compile(r'library\.ask\("([^"]+)"')


def list_examples() -> list[tuple[list[str], str]]:
    """Return each command of the README, and what it prints as far as the README shows it."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = text.split("```console\n", 1)[1].split("```", 1)[0]
    found: list[tuple[list[str], str]] = []
    for line in shown.splitlines():
        if line.startswith("$ octavo "):
            found.append((shlex.split(line)[2:], ""))
        else:
            command, said = found.pop()
            found.append((command, f"{said} {line}".strip()))
    return [*found, *((["ask", question], "") for question in _QUESTION.findall(text))]


def main() -> int:
    book, failed = Path(sys.argv[1]).resolve(), 0
    with tempfile.TemporaryDirectory() as data:
        for command, printed in list_examples():
            words = [str(book) if word == "moby-dick.epub" else word for word in command]
            run = subprocess.run(
                [PROGRAM, "--data", data, *words],
                capture_output=True,
                text=True,
                check=False,
                env={**os.environ, "COLUMNS": "500"},
            )
            out = " ".join(run.stdout.split())
            good = run.returncode == 0 and " ".join(printed.split()) in out
            failed += not good
            print(
                f"{'ok' if good else 'FAILED'}  octavo {shlex.join(command)}\n    {out[:300] or run.stderr}"
            )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
