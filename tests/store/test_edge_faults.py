"""Every kind of file in a store is cut, zeroed, flipped and deleted: no damage may pass for a right answer.

A damaged store either refuses to open, or reports a digest that the records do not expect, and is mended
point by point as a library mends it; or the damage was harmless, and then every answer is the same.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from octavo.errors import LibraryBusy, OctavoError, StorageLow, StoreError
from octavo.protocols import EVERYWHERE, Hit, Where
from octavo.settings import Settings
from octavo.store import Store, locate_store, open_store
from octavo.store.base import digest_chunk
from octavo.store.compaction import rewrite  # noqa: F401 - the processes below use it
from octavo.store.edge import EdgeStore
from octavo.store.edge_files import create
from octavo.types import Chunk
from tests.support.store_contract import SIZE, make_chunk, make_vector, words_of

MEMORY = Path("/dev/shm")  # hundreds of stores, each opened once, need no disk
ROOT = Path(__file__).parents[2]
WORDS = ("harpoon", "mast", "whale", "sail")
MANY = [
    make_chunk(
        n,
        f"The {WORDS[n % 4]} number {n} is white and large.",
        points=(1.0, n / 7),
        book_id="ab"[n % 2],
        section_id=f"s{n % 3}",
        page=n,
    )
    for n in range(1, 65)
]
"""Enough for the engine to rewrite them into a segment of their own."""
CHUNKS = MANY[:8]
EXPECTED = {c.id: digest_chunk(c) for c in CHUNKS}
FILTERS = (
    EVERYWHERE,
    Where(any_of={"book_id": ("a",)}),
    Where(any_of={"sections": ("s1", "s2")}),
    Where(any_of={"source_file": ("b.txt",)}, at_least={"edition": 1}),
    Where(any_of={"edition": (1,)}, at_most={"page_end": 5}),
    Where(any_of={"page_number": (2, 3, 4)}),
    Where(at_least={"page_number": 3}, none_of={"book_id": ("a",)}),
    Where(at_least={"document_position": 3}, at_most={"document_position": 6}),
    Where(none_of={"edition": (1,)}),
)
Answers = list[tuple[tuple[Hit, ...], tuple[Hit, ...]]]
Picture = dict[str, tuple[int, bytes]]
Damage = Callable[[Path, bytes], None]


async def open_existing(data: Path) -> Store:
    return await open_store(Settings(data=data, free_space_mb=0), dimension=SIZE, expected=True)


async def ask_everything(store: Store) -> Answers:
    """What the store says to everything that it can be asked, in every filter's words."""
    found = [
        await store.search(make_vector(1.0, 0.3), words_of(word), where=where, limit=20)
        for where in FILTERS
        for word in WORDS
    ]
    return [(each.dense, each.lexical) for each in found]


def read_files(data: Path) -> Picture:
    """Every file with its size and its bytes up to the zeros at its end: these files are mostly air."""
    files = sorted(file for file in data.rglob("*") if file.is_file())
    return {str(f.relative_to(data)): (f.stat().st_size, f.read_bytes().rstrip(b"\0")) for f in files}


def write_files(picture: Picture, data: Path) -> Path:
    for name, (size, content) in picture.items():
        file = data / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        os.truncate(file, size)
    return data


def classify(name: str) -> str:
    """A file's name without what differs from store to store and from index to index."""
    return re.sub(r"segments/[^/]+|payload_index/[^/]+-(?=map|null|numeric)", "…", name)


def write_store(data: Path, chunks: str, *, then: str = "") -> Picture:
    """The files of a closed store with the chunks of that name, after another line was run."""
    ended = run(
        f"""
        store = asyncio.run(open_store(Settings(data=data, free_space_mb=0), dimension=SIZE))
        asyncio.run(store.upsert({chunks}, edition=1))
        asyncio.run(store.close())
        {then}
        """,
        data,
    )
    assert ended.returncode == 0, ended.stderr
    return {name: file for name, file in read_files(data).items() if name.startswith("store")}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Picture:
    return write_store(tmp_path_factory.mktemp("sound"), "CHUNKS")


@pytest.fixture(scope="module")
def rewritten(tmp_path_factory: pytest.TempPathFactory) -> Picture:
    """A store that was rewritten, so that what finds its points is read from the disk."""
    then = "rewrite(locate_store(data), dimension=SIZE)"
    return write_store(tmp_path_factory.mktemp("rewritten"), "MANY", then=then)


@pytest.fixture
async def right(sound: Picture, tmp_path: Path) -> Answers:
    """The answers of the store when nothing is wrong with it."""
    return await ask_sound(write_files(sound, tmp_path / "right"), CHUNKS)


async def ask_sound(data: Path, chunks: Sequence[Chunk]) -> Answers:
    store = await open_existing(data)
    said = await ask_everything(store)
    assert await store.read_digests() == {chunk.id: digest_chunk(chunk) for chunk in chunks}
    await store.close()
    return said


def run(code: str, data: Path) -> subprocess.CompletedProcess[str]:
    """Runs `code` in a process of its own, with this module's names, the data folder and asyncio at hand."""
    program = (
        f"import asyncio, os, signal, sys\nsys.path.insert(0, {str(ROOT)!r})\nfrom pathlib import Path\n"
        f"from tests.store.test_edge_faults import *\ndata = Path(sys.argv[1])\n{textwrap.dedent(code)}"
    )
    return subprocess.run(
        [sys.executable, "-c", program, str(data)], capture_output=True, text=True, timeout=120, check=False
    )


def patch(file: Path, at: int, new: bytes) -> None:
    with file.open("r+b") as out:
        out.seek(at)
        out.write(new)


def cut(file: Path, content: bytes) -> None:
    os.truncate(file, len(content) // 2)


def zero(file: Path, content: bytes) -> None:
    patch(file, 0, bytes(max(len(content), 1)))


def flip(file: Path, content: bytes) -> None:
    for at in (len(content) // 9, len(content) // 2):
        patch(file, at, bytes(byte ^ 0xFF for byte in content[at : at + 2] or b"\0"))


def delete(file: Path, content: bytes) -> None:
    file.unlink()


async def judge(data: Path, right: Answers, chunks: Sequence[Chunk]) -> str:
    """How the damage shows: `refused`, `unreadable`, `mended`, `harmless`, or what must never be."""
    expected = {chunk.id: digest_chunk(chunk) for chunk in chunks}
    try:
        store = await open_existing(data)
    except OctavoError as error:
        return "refused" if "ai_book_embedding" in str(error) else f"refused without its place: {error}"
    try:
        reported = await store.read_digests()
        if reported == expected:
            return "harmless" if await ask_everything(store) == right else "SILENTLY WRONG"
        wrong = [id for id, said in reported.items() if said != expected.get(id)]
        await store.delete(wrong)
        await store.upsert([c for c in chunks if c.id in wrong or c.id not in reported], edition=1)
        whole = await store.read_digests() == expected and await ask_everything(store) == right
        return "mended" if whole else "NOT MENDED"
    except StoreError:
        return "unreadable"
    finally:
        await store.close()


DAMAGES = (cut, zero, flip, delete)
ALLOWED = {"refused", "unreadable", "mended", "harmless"}


async def damage_each(
    damage: Damage, names: Iterable[str], store: Picture, right: Answers, chunks: Sequence[Chunk]
) -> dict[str, str]:
    """Damages one file of each kind, the one with most in it, and tells how that shows.

    The files of the filters' indexes are all alike: there each damage has a fourth of the kinds.
    """
    kinds = {classify(name): name for name in sorted(names, key=lambda name: store[name][1])}
    assert len(kinds) > 40
    indexes = sorted(what for what in kinds if re.search("map|null|numeric", what))
    spared = {what for n, what in enumerate(indexes) if DAMAGES[n % 4] is not damage}
    seen = {}
    for what, name in kinds.items():
        if what in spared:
            continue
        with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as room:
            data = write_files(store, Path(room))
            damage(data / name, store[name][1])
            seen[what] = await judge(data, right, chunks)
    return seen


@pytest.mark.parametrize("damage", DAMAGES, ids=[damage.__name__ for damage in DAMAGES])
async def test_no_damage_to_any_kind_of_file_passes_for_a_right_answer(
    damage: Damage, sound: Picture, right: Answers
) -> None:
    seen = await damage_each(damage, sound, sound, right, CHUNKS)
    assert {what: said for what, said in seen.items() if said not in ALLOWED} == {}
    assert len(seen) - Counter(seen.values())["harmless"] >= 8, Counter(seen.values())


@pytest.mark.parametrize("damage", DAMAGES, ids=[damage.__name__ for damage in DAMAGES])
async def test_no_damage_to_a_rewritten_store_passes_for_a_right_answer(
    damage: Damage, rewritten: Picture, tmp_path: Path
) -> None:
    right = await ask_sound(write_files(rewritten, tmp_path / "right"), MANY)
    (codes,) = (name for name in rewritten if name.endswith("/vector_storage/quantized.data"))
    segment = codes.removesuffix("vector_storage/quantized.data")
    inside = [name for name in rewritten if name.startswith(segment)]
    seen = await damage_each(damage, inside, rewritten, right, MANY)
    assert {what: said for what, said in seen.items() if said not in ALLOWED} == {}
    assert len(seen) - Counter(seen.values())["harmless"] >= 8, Counter(seen.values())


async def test_words_that_the_log_writes_a_second_time_are_counted_once(
    sound: Picture, right: Answers, tmp_path: Path
) -> None:
    """Without its versions the engine takes every logged point for a newer one."""
    data = write_files(sound, tmp_path / "data")
    (versions,) = data.rglob("mutable_id_tracker.versions")
    versions.unlink()
    store = await open_existing(data)
    assert await ask_everything(store) == right
    await store.close()


async def test_what_was_written_and_not_committed_is_found_whole_after_a_kill_or_not_at_all(
    sound: Picture, right: Answers, tmp_path: Path
) -> None:
    data = write_files(sound, tmp_path / "data")
    ended = run(
        """
        store = asyncio.run(open_existing(data))
        asyncio.run(store.upsert(CHUNKS[:5], edition=1))
        asyncio.run(store.delete([CHUNKS[6].id]))
        asyncio.run(store.upsert([CHUNKS[6]], edition=1))
        os.kill(os.getpid(), signal.SIGKILL)
        """,
        data,
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    store = await open_existing(data)
    assert await store.read_digests() == EXPECTED
    assert await ask_everything(store) == right
    await store.close()


async def test_words_of_chunks_that_are_gone_weigh_nothing_any_more(
    sound: Picture, right: Answers, tmp_path: Path
) -> None:
    """The scores by words are those of a store that never held anything else, at once."""
    store = await open_existing(write_files(sound, tmp_path / "data"))
    others = [make_chunk(n, f"A harpoon, a mast and a sail of {n}.") for n in range(20, 60)]
    for _ in range(2):
        await store.upsert(others, edition=2)
        assert await ask_everything(store) != right
        await store.delete([c.id for c in others])
        assert await ask_everything(store) == right
    await store.delete([CHUNKS[0].id, CHUNKS[5].id])
    await store.upsert([CHUNKS[5], CHUNKS[0]], edition=1)
    assert await ask_everything(store) == right
    await store.close()


async def test_deleting_twice_or_deleting_the_unknown_changes_nothing_more(
    sound: Picture, tmp_path: Path
) -> None:
    store = await open_existing(write_files(sound, tmp_path / "data"))
    unknown = make_chunk(999).id
    await store.delete([unknown])
    await store.delete([])
    assert await store.read_digests() == EXPECTED
    await store.delete([CHUNKS[0].id, unknown])
    await store.delete([CHUNKS[0].id])
    assert await store.read_digests() == {id: d for id, d in EXPECTED.items() if id != CHUNKS[0].id}
    await store.close()


def test_a_store_that_another_process_has_open_is_refused_until_that_process_dies(
    sound: Picture, tmp_path: Path
) -> None:
    data = write_files(sound, tmp_path / "data")
    program = (
        f"import asyncio, sys\nsys.path.insert(0, {str(ROOT)!r})\n"
        "from tests.store.test_edge_faults import *\n"
        "store = asyncio.run(open_existing(Path(sys.argv[1]))); print('open', flush=True); sys.stdin.read()\n"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", program, str(data)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(LibraryBusy, match=f"in use by process {holder.pid} "):
            asyncio.run(open_existing(data))
    finally:
        holder.kill()
        holder.communicate()
    store = asyncio.run(open_existing(data))
    assert asyncio.run(store.read_digests()) == EXPECTED
    asyncio.run(store.close())


def test_a_child_forked_from_an_open_store_can_neither_read_nor_write_nor_hurt_it(
    sound: Picture, tmp_path: Path
) -> None:
    ended = run(
        """
        store = asyncio.run(open_existing(data))
        child = os.fork()
        if child == 0:
            refused = 0
            for use in (store.read_digests(), store.upsert([make_chunk(70)], edition=1),
                        store.delete([CHUNKS[0].id]), store.commit(), store.count(),
                        store.search(make_vector(1.0), words_of("whale"), where=EVERYWHERE, limit=3)):
                try:
                    asyncio.run(use)
                except StoreError as error:
                    refused += "forked" in str(error)
            asyncio.run(store.close())
            os._exit(refused)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        print(asyncio.run(store.read_digests()) == EXPECTED)
        try:
            asyncio.run(open_existing(data))
        except LibraryBusy:
            print("still ours")
        asyncio.run(store.close())
        """,
        write_files(sound, tmp_path / "data"),
    )
    assert ended.stdout.split("\n")[:3] == ["6", "True", "still ours"], ended.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only to root")
async def test_a_store_that_may_not_be_written_says_so_and_what_to_check(
    sound: Picture, tmp_path: Path
) -> None:
    data = write_files(sound, tmp_path / "data")
    folders = [folder for folder in (locate_store(data), *locate_store(data).rglob("*")) if folder.is_dir()]
    for file in locate_store(data).rglob("*"):
        file.chmod(0o500 if file.is_dir() else 0o400)
    try:
        with pytest.raises(StoreError, match="ai_book_embedding cannot be written to") as refused:
            await open_existing(data)
        assert "rights" in refused.value.hint
    finally:
        for folder in folders:
            folder.chmod(0o700)


async def test_below_the_floor_points_can_still_be_deleted(tmp_path: Path) -> None:
    create(tmp_path / "s", dimension=SIZE)
    store = EdgeStore(tmp_path / "s", dimension=SIZE, free_space_mb=0)
    await store.upsert(CHUNKS[:3], edition=1)
    await store.close()
    crowded = EdgeStore(tmp_path / "s", dimension=SIZE, free_space_mb=10**9)
    with pytest.raises(StorageLow):
        await crowded.upsert(CHUNKS[3:4], edition=1)
    await crowded.delete([CHUNKS[0].id])
    assert await crowded.count() == 2
    await crowded.close()


async def test_files_with_holes_that_the_disk_cannot_fill_are_not_opened(tmp_path: Path) -> None:
    """The engine maps its files, and a write into such a hole would kill the process."""
    create(tmp_path / "s", dimension=SIZE)
    EdgeStore(tmp_path / "s", dimension=SIZE).disown("closed")
    with (tmp_path / "s" / "segments" / "sparse").open("wb") as file:
        file.truncate(1 << 42)
    with pytest.raises(StorageLow, match="MB are free"):
        EdgeStore(tmp_path / "s", dimension=SIZE)
