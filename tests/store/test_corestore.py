"""The store of a core gives back what the simulator's disk does."""

from __future__ import annotations

import os
import random
import tempfile
from pathlib import Path
from stat import S_ISDIR

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auroral.dpc.events import Deliver, DropStates, Keep, KeepPlan, Report, SaveState, Started, Truncate
from auroral.dpc.values import Content, Snapshot
from auroral.dpc.versions import NO_CHANGE, Plan
from auroral.edge.durable import InUse
from auroral.node.store.corestore import CoreStore
from auroral.wire.errors import WireError
from store.corestores import SMALL, Core, Crash, crash_in, found, shown, states, table, unsynced


def sizes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in folder.glob("*.seg*")}


def test_a_new_store_has_nothing_but_the_plan_that_it_is_given(tmp_path: Path) -> None:
    store = CoreStore.open(tmp_path / "a" / "core")
    assert store.started(Plan((0, 4))) == Started(plan=Plan((0, 4)))
    assert store.damage == ()
    store.close()


def test_what_was_kept_is_found_again_with_its_rows(tmp_path: Path) -> None:
    store = CoreStore.open(tmp_path)
    rows = table(1, 1000)
    store.carry_out([Keep("s", 5, (Content(1 << 127, 1000, rows), Content(3, 4)), (0.1, 7.25)), KeepPlan(Plan((0, 2)))])
    store.close()
    store = CoreStore.open(tmp_path)
    kept = store.started(NO_CHANGE).kept["s"]
    assert (kept.begin, kept.usually_at, kept.contents[0].hash) == (5, (0.1, 7.25), 1 << 127)
    assert kept.contents[0].rows.equals(rows) and kept.contents[1].rows is None
    assert store.started(NO_CHANGE).plan == Plan((0, 2))
    store.close()


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 40))
def test_it_is_as_the_simulators_disk_over_any_lives(seed: int, lists: int) -> None:
    core = Core(random.Random(seed))
    with unsynced(), tempfile.TemporaryDirectory() as name:
        store = CoreStore.open(name, SMALL)
        for _ in range(lists):
            effects = core.effects()
            store.carry_out(effects)
            core.carry_out(effects)
            if core.rng.random() < 0.3:
                assert shown(store.started(NO_CHANGE)) == shown(core.started())
            if core.rng.random() < 0.2:
                store.close()
                store = CoreStore.open(name, SMALL)
        store.close()
        assert found(Path(name)) == (shown(core.started()), ())


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 25))
def test_a_crash_in_the_middle_of_a_list_leaves_all_of_it_or_nothing(seed: int, lists: int) -> None:
    core = Core(random.Random(seed))
    with unsynced(), tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        store = CoreStore.open(name, SMALL)
        for _ in range(lists):
            effects, before = core.effects(), core.copy()
            if core.rng.random() < 0.5:
                crash_in(patch, core.rng, core.rng.choice((1, 1, 1, 2)))
            core.carry_out(effects)
            try:
                store.carry_out(effects)
            except Crash:
                patch.undo()
                store.close()
                store = CoreStore.open(name, SMALL)
                assert store.damage == ()
                if (shown(store.started(NO_CHANGE)), states(store)) != (shown(core.started()), core.states()):
                    core.disks = before
                assert (shown(store.started(NO_CHANGE)), states(store)) == (shown(core.started()), core.states())
            patch.undo()
        store.close()
        assert found(Path(name)) == (shown(core.started()), ())


def test_effects_that_keep_nothing_write_nothing(tmp_path: Path) -> None:
    store = CoreStore.open(tmp_path)
    store.carry_out([Keep("s", 0, (Content(1, 0),), (0.0,)), KeepPlan(Plan((0, 2)))])
    before = sizes(tmp_path)
    store.carry_out([Report("late", "s"), Truncate("s", 0), KeepPlan(Plan((0, 2))), DropStates("f", 9)])
    store.carry_out([])
    assert sizes(tmp_path) == before
    store.close()


def test_one_sync_a_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = CoreStore.open(tmp_path)
    store.carry_out([KeepPlan(Plan((0, 2)))])
    synced: list[int] = []
    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (synced.append(fd), fsync(fd))[1])
    store.carry_out([Keep("s", 0, (Content(1, 0), Content(2, 0)), (0.0, 0.0)), Keep("t", 0, (Content(1, 0),), (0.0,))])
    assert len(synced) == 1
    store.close()


def test_a_new_segment_has_its_name_when_it_is_durable_and_then_the_name_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    fsync, rename = os.fsync, os.rename
    monkeypatch.setattr(
        os, "fsync", lambda fd: (steps.append("folder" if S_ISDIR(os.fstat(fd).st_mode) else "file"), fsync(fd))[1]
    )
    monkeypatch.setattr(os, "rename", lambda *names: (steps.append("rename"), rename(*names))[1])
    store = CoreStore.open(tmp_path)
    steps.clear()
    store.carry_out([KeepPlan(Plan((0, 2)))])
    assert steps == ["file", "rename", "folder"]
    store.close()


def test_of_several_snapshots_the_oldest_is_given_whenever_it_was_saved(tmp_path: Path) -> None:
    """A replica that got one from another has newer ones of its own from an earlier life."""
    store = CoreStore.open(tmp_path)
    store.carry_out([SaveState("f", Snapshot(bucket, Content(bucket, 1, bytes([bucket])))) for bucket in (100, 200)])
    store.carry_out([SaveState("f", Snapshot(150, Content(150, 1, b"received"))), DropStates("f", 150)])
    store.close()
    store = CoreStore.open(tmp_path)
    oldest = store.started(NO_CHANGE).states["f"]
    assert oldest == Snapshot(150, Content(150, 1)) and oldest.state is not None and oldest.state.rows == b"received"
    store.close()


@pytest.mark.parametrize(
    ("one", "error"),
    [
        (Content(1, 2, [{"a": 1}, {"a": 2}]), TypeError),
        (Content(1, 5, table(1, 2)), TypeError),
        (Content(1, 1, pa.table({"a": pa.array(["x"], pa.string_view())})), WireError),
    ],
)
def test_what_could_not_be_read_again_is_not_written(tmp_path: Path, one: Content, error: type[Exception]) -> None:
    store = CoreStore.open(tmp_path)
    with pytest.raises(error):
        store.carry_out([Keep("s", 0, (Content(7, 0), one), (0.0, 0.0))])
    assert store.started(NO_CHANGE) == Started()
    store.carry_out([Keep("s", 0, (Content(7, 0),), (0.0,))])
    store.close()
    assert found(tmp_path)[0][0] == {"s": (0, [(7, 0, None)], (0.0,))}


def test_a_folder_is_of_one_at_a_time(tmp_path: Path) -> None:
    store = CoreStore.open(tmp_path)
    for again in (CoreStore.open, CoreStore.throw_away):
        with pytest.raises(InUse, match=r"in use.*\n.*allowed: one core a folder.*\n.*next: stop"):
            again(tmp_path)
    store.close()
    CoreStore.open(tmp_path).close()


def test_what_is_thrown_away_is_gone_and_what_begins_there_is_new(tmp_path: Path) -> None:
    folder = tmp_path / "core"
    CoreStore.throw_away(folder)
    store = CoreStore.open(folder)
    store.carry_out([KeepPlan(Plan((0, 2)))])
    store.close()
    CoreStore.throw_away(folder)
    assert list(tmp_path.iterdir()) == []
    assert found(folder) == (shown(Started()), ())


def test_a_crash_while_it_is_thrown_away_leaves_nothing_that_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "core"
    store = CoreStore.open(folder)
    store.carry_out([KeepPlan(Plan((0, 2)))])
    store.close()
    monkeypatch.setattr("shutil.rmtree", lambda *_, **__: None)
    CoreStore.throw_away(folder)
    monkeypatch.undo()
    assert found(folder) == (shown(Started()), ())
    assert list(tmp_path.iterdir()) == [folder]


# Space


@pytest.mark.slow
def test_disk_use_is_bounded_over_10000_buckets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What lives for long lies between what does not: a state, a stream that stands still, and positions."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    segment, largest, rows = 64 << 10, 0, table(3, 20)
    store = CoreStore.open(tmp_path, segment)
    store.carry_out([KeepPlan(Plan((0, 2)))])
    for bucket in range(10_000):
        effects = [Keep("s", bucket, (Content(1, 20, rows),), (0.5,)), Deliver("c", bucket, Content(1, 1), True)]
        if bucket % 1000 == 0:
            effects.append(Keep("slow", bucket // 1000, (Content(2, 20, rows),), (0.5,)))
        if bucket % 100 == 0:
            effects += [SaveState("f", Snapshot(bucket, Content(3, 20, rows))), DropStates("f", bucket - 100)]
        store.carry_out([*effects, Truncate("s", bucket - 49)])
        if bucket % 20 == 0:
            largest = max(largest, sum(sizes(tmp_path).values()))
    held = 70 * 3000
    assert largest < 2 * held + 3 * segment
    assert len(sizes(tmp_path)) < 20
    kept = store.started(NO_CHANGE)
    assert (kept.kept["s"].begin, len(kept.kept["s"].contents)) == (9950, 50)
    assert (len(kept.kept["slow"].contents), kept.kept["c"].begin, kept.states["f"].bucket) == (10, 10_000, 9800)
    assert kept.plan == Plan((0, 2))
    store.close()
    assert shown(kept) == found(tmp_path)[0]


def test_nothing_is_written_twice_of_a_stream_that_is_truncated_as_it_grows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = 0
    pwrite = os.pwrite

    def counting(fd: int, data: bytes, position: int) -> int:
        nonlocal written
        written += 1
        return pwrite(fd, data, position)

    store = CoreStore.open(tmp_path, SMALL)
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.setattr(os, "pwrite", counting)
    for bucket in range(300):
        store.carry_out([Keep("s", bucket, (Content(1, 3, table(1, 3)),), (0.5,)), Truncate("s", bucket - 30)])
    # A content in two parts, a commit, and what the lock notes; heads of segments.
    assert written <= 300 * 4 + 300 * 1100 / SMALL * 2
    store.close()


def test_a_large_list_that_is_not_needed_any_more_goes_with_the_next(tmp_path: Path) -> None:
    store = CoreStore.open(tmp_path, SMALL)
    store.carry_out([Keep("s", 0, (Content(1, 0, table(1, 0)), Content(2, 3000, table(2, 3000))), (0.0, 0.0))])
    assert sum(sizes(tmp_path).values()) > 20 * SMALL
    store.carry_out([Truncate("s", 2)])
    assert sum(sizes(tmp_path).values()) < SMALL
    store.close()


@pytest.mark.slow
def test_opening_takes_no_more_memory_than_what_is_held(tmp_path: Path) -> None:
    """Of 40 large states only the oldest is read."""
    store = CoreStore.open(tmp_path)
    for bucket in range(40):
        store.carry_out([SaveState("f", Snapshot(bucket, Content(1, 50_000, pa.table({"a": range(50_000)}))))])
    store.close()
    before = pa.total_allocated_bytes()
    store = CoreStore.open(tmp_path)
    assert pa.total_allocated_bytes() == before
    started = store.started(NO_CHANGE)
    assert pa.total_allocated_bytes() - before < 2 * 400_000
    assert started.states["f"].bucket == 0
    store.close()
