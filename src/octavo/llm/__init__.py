"""Answers written by a language model, checked like any other. Needs `octavo[llm]`."""

from __future__ import annotations

from octavo.errors import require_extra

require_extra("llm", hint="Without OCTAVO_MODEL, Octavo answers offline from the book's own sentences.")
