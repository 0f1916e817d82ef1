"""Disks that are full, and processes that are killed: what was acknowledged is there, and nothing is half there."""

from __future__ import annotations

import errno
import os
import random
from pathlib import Path

import pytest

from auroral.dpc.events import Keep, KeepPlan, SaveState, Truncate
from auroral.dpc.values import Content, Snapshot
from auroral.dpc.versions import NO_CHANGE, Plan
from auroral.edge.durable import StorageError, StorageFull
from auroral.node.store import journal
from auroral.node.store.corestore import CoreStore
from edge.children import killed_after, moments, small_disk
from store.corestores import SMALL, Core, found, shown, table, unsynced


def no_room_at(patch: pytest.MonkeyPatch, steps: int) -> None:
    """The disk is full at the so-manieth step of what is written, and has room again after that."""
    left = [steps]

    def counting(step: str, real: object) -> None:
        def maybe(*arguments: object) -> object:
            left[0] -= 1
            if left[0] == 0:
                if step == "write_at":
                    fd, position, part, *_ = arguments
                    os.pwrite(fd, bytes(part)[:9], position)
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(*arguments)

        patch.setattr(journal, step, maybe)

    counting("write_at", journal.write_at)
    counting("sync_folder", journal.sync_folder)


@pytest.mark.parametrize("seed", range(20))
def test_no_room_at_any_step_leaves_what_was_there_and_the_same_can_be_carried_out_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    core, refused = Core(random.Random(seed)), 0
    with unsynced():
        store = CoreStore.open(tmp_path, SMALL)
        for _ in range(25):
            effects = core.effects()
            no_room_at(monkeypatch, core.rng.randint(1, 3))
            try:
                store.carry_out(effects)
            except StorageFull:
                refused += 1
                monkeypatch.undo()
                assert shown(store.started(NO_CHANGE)) == shown(core.started())
                if core.rng.random() < 0.3:
                    store.close()
                    store = CoreStore.open(tmp_path, SMALL)
                    assert store.damage == () and shown(store.started(NO_CHANGE)) == shown(core.started())
                store.carry_out(effects)
            monkeypatch.undo()
            core.carry_out(effects)
        store.close()
    assert refused
    assert found(tmp_path) == (shown(core.started()), ())


def test_a_real_full_disk(tmp_path: Path) -> None:
    """It fills up by what is kept, and what others leave of it."""
    with small_disk(tmp_path / "disk", "1m") as disk:
        store = CoreStore.open(disk / "core", 64 << 10)
        store.carry_out([KeepPlan(Plan((0, 3)))])
        filler = disk / "filler"
        filler.write_bytes(bytes(200_000))
        for bucket in range(1000):
            kept = Keep("s", bucket, (Content(bucket, 200, table(bucket, 200)),), (0.5,))
            try:
                store.carry_out([kept])
            except StorageFull:
                break
        for _ in range(3):
            with pytest.raises(StorageFull, match=r"(?s)the disk is full.*next: make room"):
                store.carry_out([kept])
        before = shown(store.started(NO_CHANGE))
        store.close()
        store = CoreStore.open(disk / "core", 64 << 10)
        assert (shown(store.started(NO_CHANGE)), store.damage) == (before, ())
        filler.unlink()
        store.carry_out([kept])
        # From here on it makes its own room.
        for later in range(bucket + 1, bucket + 300):
            store.carry_out(
                [Keep("s", later, (Content(later, 200, table(later, 200)),), (0.5,)), Truncate("s", later - 9)]
            )
        started = store.started(NO_CHANGE)
        assert (started.kept["s"].begin, len(started.kept["s"].contents)) == (bucket + 290, 10)
        assert started.plan == Plan((0, 3))
        store.close()


def test_a_store_that_cannot_be_cut_back_must_be_opened_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> int:
        raise OSError(errno.EIO, "Input/output error")

    store = CoreStore.open(tmp_path)
    store.carry_out([KeepPlan(Plan((0, 3)))])
    monkeypatch.setattr(journal, "write_at", broken)
    monkeypatch.setattr(journal, "cut_back", broken)
    with pytest.raises(StorageError, match="Input/output error"):
        store.carry_out([KeepPlan(Plan((0, 4)))])
    monkeypatch.undo()
    with pytest.raises(StorageError, match=r"(?s)cutting back.*next: check the disk, then start the core again"):
        store.carry_out([KeepPlan(Plan((0, 4)))])
    store.close()
    store = CoreStore.open(tmp_path)
    assert store.started(NO_CHANGE).plan == Plan((0, 3))
    store.carry_out([KeepPlan(Plan((0, 4)))])
    store.close()


def test_no_room_to_give_space_back_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = CoreStore.open(tmp_path, SMALL)
    for bucket in range(30):
        state = SaveState("f", Snapshot(bucket, Content(1, 1, b"x" * 1200)))
        store.carry_out([Keep("s", bucket, (Content(1, 1, b"y" * 100),), (0.0,)), state])

    def full() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal.Journal, "tidy", lambda _: full())
        store.carry_out([Truncate("s", 3)])
    store.close()
    assert found(tmp_path)[0][0]["s"][0] == 3


WRITER = """
import sys
import pyarrow as pa
from auroral.dpc.events import Deliver, Keep, KeepPlan, SaveState, DropStates, Truncate
from auroral.dpc.values import Content, Snapshot
from auroral.dpc.versions import NO_CHANGE, Plan
from auroral.node.store.corestore import CoreStore

store = CoreStore.open(sys.argv[1], 20_000)
assert store.damage == (), store.damage
bucket = store.started(NO_CHANGE).kept["s"].begin + 5 if "s" in store.started(NO_CHANGE).kept else 0
while True:
    rows = pa.table({"a": pa.array([bucket] * (bucket % 7 * 50), pa.int64())})
    store.carry_out([
        Keep("s", bucket, (Content(bucket, rows.num_rows, rows),), (bucket / 2,)),
        KeepPlan(Plan((0, bucket + 1))),
        SaveState("f", Snapshot(bucket, Content(bucket, rows.num_rows, rows))),
        DropStates("f", bucket),
        Deliver("c", bucket, Content(0, 0), True),
        Truncate("s", bucket - 4),
    ])
    print(bucket, flush=True)
    bucket += 1
"""


@pytest.mark.slow
def test_sigkill_in_the_middle_of_writing_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    folder = tmp_path / "core"
    for waited, pause in moments(11, 6):
        last = killed_after(WRITER, [str(folder)], waited + 3, pause)
        store = CoreStore.open(folder, 20_000)
        assert store.damage == ()
        started = store.started(NO_CHANGE)
        kept = started.kept["s"]
        end = kept.begin + len(kept.contents)
        assert last < end <= last + 2
        # All of one list, and nothing of another.
        assert (started.plan, started.kept["c"].begin, started.states["f"].bucket) == (Plan((0, end)), end, end - 1)
        assert kept.begin == max(0, end - 5)
        for bucket, one in enumerate(kept.contents, kept.begin):
            assert (one.hash, one.rows.column("a").to_pylist()) == (bucket, [bucket] * (bucket % 7 * 50))
        store.close()
