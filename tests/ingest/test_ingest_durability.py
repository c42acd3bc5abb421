"""A dozen kills at named steps, each judged by a fresh opening; `python -m benchmarks.kills` does hundreds.

The control looks at the same remains without recovery: it must find fault where the kill fell between two
writes, or these tests could not fail.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from benchmarks import kills


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    room = tmp_path_factory.mktemp("kills")
    kills.prepare(room / "original")
    return room / "original"


@cache
def steps(original: Path, job: str) -> tuple[str, ...]:
    return tuple(kills.list_steps(original, job, original.parent))


def number_of(step: str, *, among: tuple[str, ...], time: int) -> int:
    """The number of a step by its name; `time` says which, when it is taken more than once."""
    return [number for number, name in enumerate(among, start=1) if name == step][time]


@pytest.mark.parametrize(
    ("job", "step", "time", "left", "fault"),
    [
        ("add", "before begin_edition", 0, "1", False),
        ("add", "after begin_edition", 0, "1", False),
        ("add", "after save_vectors", 0, "1", False),
        ("add", "after upsert", 0, "1", True),
        ("add", "after commit", 0, "1", True),
        ("add", "after publish", 0, "2", True),
        ("add", "after upsert", 1, "2", True),
        ("add", "after delete", 0, "2", False),
        ("add", "before settle", 0, "2", False),
        ("add", "after settle", 0, "2", False),
        ("remove", "after remove", 0, "none", True),
        ("remove", "before clear_removals", 0, "none", False),
    ],
)
def test_a_kill_leaves_the_old_edition_or_the_new_one_whole(
    original: Path, tmp_path: Path, job: str, step: str, time: int, left: str, fault: bool
) -> None:
    number = number_of(step, among=steps(original, job), time=time)
    data = kills.kill_at_step(original, job, number, tmp_path / "killed")
    if fault:
        bare = kills.judge(kills.copy(data, tmp_path / "bare"), job, kills.look_without_recovery)
        assert not bare.sound, "the control found no fault: this trial proves nothing"
    remains = kills.judge(data, job)
    assert (remains.sound, remains.edition) == (True, left), remains.why
    assert remains.compared in ("nothing", "some")
    assert kills.judge(data, job) == remains


def test_a_killed_add_goes_on_where_it_stopped(original: Path, tmp_path: Path) -> None:
    number = number_of("after save_vectors", among=steps(original, "add"), time=0)
    data = kills.kill_at_step(original, "add", number, tmp_path / "killed")
    names = kills.list_steps(data, "add", tmp_path)
    assert "after publish" in names
    assert "before save_vectors" not in names  # nothing is embedded again
