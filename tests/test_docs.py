"""The documentation says what is so: commands, settings, codes and links are held against the code."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from benchmarks.command_line_page import PAGE, write_page
from octavo.errors import BAD_BOOK_CODES
from octavo.limits import AgentLimits, Limits, ServiceLimits, SiteLimits
from octavo.settings import Settings

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").glob("*.md"))


def text(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def test_the_page_about_the_command_line_is_the_commands_own_help() -> None:
    assert PAGE.read_text(encoding="utf-8") == write_page(), "run: python -m benchmarks.command_line_page"


def test_every_page_is_in_the_summary_and_the_summary_names_only_pages() -> None:
    named = set(re.findall(r"\]\(([\w-]+\.md)\)", text("SUMMARY.md")))
    assert named == {p.name for p in PAGES} - {"SUMMARY.md"}


@pytest.mark.parametrize("path", [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ids=lambda p: p.name)
def test_links_lead_somewhere(path: Path) -> None:
    targets = re.findall(r"\]\(([^)#:\s]+)\)", path.read_text(encoding="utf-8"))
    assert [t for t in targets if not (path.parent / t).exists()] == []


def test_every_setting_is_described_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \|([^|]*)\|", text("settings.md"), re.MULTILINE))
    expected = {
        name: f.default
        for name, f in Settings.model_fields.items()
        if name not in ("data", "limits", "agent", "service", "sites")
    }
    expected |= {
        f.name: f.default for kind in (Limits, AgentLimits, ServiceLimits, SiteLimits) for f in fields(kind)
    }
    for name, default in expected.items():
        shown = rows[name].strip().strip("`")
        assert shown == (
            "" if default == "" else f"{default:g}" if isinstance(default, float) else str(default)
        ), name


def test_every_reason_for_a_refusal_is_listed() -> None:
    listed = set(re.findall(r"`(\w+)`", text("hostile-files.md")))
    assert set(BAD_BOOK_CODES) <= listed


def test_nothing_names_a_registry_or_a_path_of_some_machine() -> None:
    suspicious = re.compile(r"pypi\.org|files\.pythonhosted|registry\.npmjs|/work/|/root/")
    for path in [*ROOT.rglob("*.md"), *ROOT.rglob("*.py"), *ROOT.rglob("*.toml"), ROOT / "constraints.txt"]:
        ours = (
            not {".venv", "build", "dist"} & set(path.relative_to(ROOT).parts) and path.name != "test_docs.py"
        )
        assert not (ours and suspicious.search(path.read_text(encoding="utf-8"))), path
