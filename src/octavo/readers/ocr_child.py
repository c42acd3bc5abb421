"""The process of the OCR program: it limits and confines itself, then becomes Tesseract.

The library starts it with `python -I -m octavo.readers.ocr_child PROGRAM DATA LANGUAGES MEGABYTES SECONDS`, a
picture on stdin, and gets hOCR on stdout. Before the program sees a byte of the picture, the process limits
its memory, CPU time and file sizes, and gives up the network, every file but the program's own, and every
other program. All of it stays in force for the program.
"""

from __future__ import annotations

import math
import os
import resource
import sys

from octavo.limits import MB
from octavo.readers.confine import confine

_RESOLUTION = "300"


def main(program: str, data: str, languages: str, megabytes: str, seconds: str) -> None:
    memory, most = int(megabytes) * MB, max(1, math.ceil(float(seconds)))
    for limit, value in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, most),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 64),
    ):
        _, highest = resource.getrlimit(limit)
        allowed = value if highest == resource.RLIM_INFINITY else min(value, highest)
        resource.setrlimit(limit, (allowed, allowed))
    program = os.path.realpath(program)
    data = os.path.realpath(data)
    confine((program, data), run=program)
    environment = {"LANG": "C.UTF-8", "OMP_THREAD_LIMIT": "1"}
    command = (program, "stdin", "stdout", "--tessdata-dir", data, "-l", languages, "--dpi", _RESOLUTION)
    # No shell takes part, and the arguments come from the library.
    os.execve(program, (*command, "-c", "tessedit_create_hocr=1"), environment)  # noqa: S606


if __name__ == "__main__":
    main(*sys.argv[1:6])
