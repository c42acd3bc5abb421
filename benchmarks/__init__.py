"""Measurements: what Octavo costs and how good it is, each with the command that repeats it."""

import os

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # the engine would report home
