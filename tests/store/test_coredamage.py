"""What is not as it was written is never read as what was kept: it is refused by name, and said."""

from __future__ import annotations

import random
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auroral.dpc.events import Deliver, DropStates, Keep, KeepLayout, KeepPlan, SaveState, Started, Truncate
from auroral.dpc.values import Content, Snapshot
from auroral.dpc.versions import Plan
from auroral.node.store import locking, opening, records
from auroral.node.store.corestore import CoreStore
from auroral.node.store.records import DamagedStore
from store.corestores import SMALL, Core, Crash, content, found, layout, rows_of, shown, table, unsynced

PLAN = Plan((0, 8), 9, 1)


def segments(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.seg"))


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def flip(path: Path, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)


def keep(bucket: int) -> Keep:
    return Keep("s", bucket, (Content(100 + bucket, 5, table(bucket, 5)),), (bucket / 4,))


def filled(folder: Path, buckets: int = 12) -> CoreStore:
    store = CoreStore.open(folder, SMALL)
    store.carry_out([KeepPlan(PLAN), KeepLayout(layout(3)), Deliver("c", 6, Content(1, 1), True)])
    for bucket in range(buckets):
        store.carry_out([keep(bucket)])
    return store


def begins(folder: Path) -> tuple[int, int]:
    """Of what is kept of the stream: its first bucket, and the one behind the last; with the right rows in between."""
    (kept, _, plan, known), _ = found(folder)
    begin, contents, times = kept["s"]
    for bucket, (one, time) in enumerate(zip(contents, times, strict=True), begin):
        assert one == rows_of(keep(bucket).contents[0]) and time == bucket / 4
    assert (plan, known, kept["c"]) == (PLAN, layout(3), (7, [], ()))
    return begin, begin + len(contents)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    filled(tmp_path).close()
    assert len(segments(tmp_path)) > 3
    return tmp_path


def test_a_damaged_older_segment_is_moved_aside_and_what_follows_it_is_kept(folder: Path) -> None:
    second = segments(folder)[1]
    flip(second, 8 * 1500)
    damaged = second.read_bytes()
    _, damage = found(folder)
    assert damage[0].startswith(f"{second.name}: what is at byte ")
    assert damage[0].endswith(f" is no whole record; moved aside to {second.name}.damaged")
    assert damage[1].startswith("buckets 0 to ") and damage[1].endswith(" of s are not kept any more")
    assert second.with_name(f"{second.name}.damaged").read_bytes() == damaged
    begin, end = begins(folder)
    assert 0 < begin < end == 12
    assert found(folder)[1] == ()


def test_a_missing_segment_is_named(folder: Path) -> None:
    second = segments(folder)[1]
    second.unlink()
    assert found(folder)[1][0] == f"{second.name} is missing"
    assert 0 < begins(folder)[0] < begins(folder)[1] == 12


def test_an_older_segment_that_ends_too_soon_is_refused(folder: Path) -> None:
    """Also where what is there is whole."""
    first = segments(folder)[0]
    store = CoreStore.open(folder, SMALL)
    lists = [lies.offset for lies in store._journal.places.values() if lies.segment == 1]
    store.close()
    with open(first, "r+b") as file:
        file.truncate(max(lists))
    (damage, *_) = found(folder)[1]
    assert damage.startswith(f"{first.name}: it has {max(lists)} bytes, and had ")
    assert begins(folder)[1] == 12


def test_the_newest_segment_damaged_before_its_last_list_loses_its_contents_and_no_position(folder: Path) -> None:
    """All that was in it can be had from others, but not what the core promised and how far it came."""
    last = segments(folder)[-1]
    store = CoreStore.open(folder, SMALL)
    store.carry_out([keep(12)])
    store.carry_out([Truncate("s", 9)])
    store.close()
    assert segments(folder)[-1] == last
    flip(last, 8 * 100)
    assert found(folder)[1][0].startswith(f"{last.name}: ")
    assert begins(folder) == (13, 13)
    store = CoreStore.open(folder, SMALL)
    assert store.damage == ()
    store.carry_out([keep(13)])
    store.close()
    assert begins(folder) == (13, 14)


def test_a_damaged_head_of_the_newest_segment(folder: Path) -> None:
    last = segments(folder)[-1]
    flip(last, 8 * 20)
    assert found(folder)[1][0] == f"{last.name}: its head is damaged; moved aside to {last.name}.damaged"
    assert begins(folder) == (12, 12)


def test_damage_with_whole_lists_behind_it_is_no_unfinished_write_though_nothing_says_that_they_were_acknowledged(
    folder: Path,
) -> None:
    last = segments(folder)[-1]
    size = last.stat().st_size
    store = CoreStore.open(folder, SMALL)
    for bucket in (12, 13):
        store.carry_out([Keep("s", bucket, (Content(1, 1),), (0.0,))])
    store.close()
    assert segments(folder)[-1] == last
    flip(last, 8 * (size + 30))
    (folder / locking.NAME).unlink()
    assert found(folder)[1][0].startswith(f"{last.name}: ")
    assert begins(folder) == (14, 14)


def acknowledged(folder: Path) -> int:
    said = locking.Acknowledged.from_bytes((folder / locking.NAME).read_bytes())
    assert said is not None
    return said.number


def test_the_last_list_damaged_is_not_taken_for_an_unfinished_write(folder: Path) -> None:
    last, before = segments(folder)[-1], acknowledged(folder)
    flip(last, 8 * (last.stat().st_size - 3))
    damage = found(folder)[1]
    assert "the last 1 lists that were kept are missing" in damage
    assert any(one.startswith(f"{last.name}: ") for one in damage)
    assert begins(folder)[1] == 11
    # No list is given the number of one that was lost.
    assert acknowledged(folder) == before + 1
    assert found(folder)[1] == ()


def test_a_crash_before_a_damaged_segment_is_moved_aside_does_not_lose_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = segments(folder)[-1]
    flip(last, 8 * 100)
    damaged = last.read_bytes()

    def crash(_: Path) -> str:
        raise Crash

    monkeypatch.setattr(opening, "_aside", crash)
    with pytest.raises(Crash):
        CoreStore.open(folder, SMALL)
    monkeypatch.undo()
    assert found(folder)[1][0].startswith(f"{last.name}: ")
    assert last.with_name(f"{last.name}.damaged").read_bytes() == damaged
    assert begins(folder) == (12, 12)


def test_a_newest_segment_that_is_missing_or_cut_is_said(folder: Path) -> None:
    segments(folder)[-1].unlink()
    assert found(folder)[1][0].startswith("the last ")
    assert 0 < begins(folder)[1] < 12


@pytest.mark.parametrize("kept", [KeepPlan(Plan((0, 3))), KeepLayout(layout(8))])
@pytest.mark.parametrize("how", ["flip", "cut", "missing"])
def test_a_plan_or_layout_that_is_lost_stops_every_opening_and_nothing_is_touched(
    folder: Path, kept: KeepPlan | KeepLayout, how: str
) -> None:
    before = files(folder)
    store = CoreStore.open(folder, SMALL)
    store.carry_out([kept])
    store.close()
    (last,) = [path for path in segments(folder) if before.get(path.name) != path.read_bytes()]
    match how:
        case "flip":
            flip(last, 8 * (last.stat().st_size - 20))
        case "cut":
            last.write_bytes(last.read_bytes()[: len(before[last.name]) + 30])
        case "missing":
            last.unlink()
    after = files(folder)
    for _ in range(2):
        with pytest.raises(DamagedStore, match=r"(?s)plan or the layout.*is lost.*allowed: .*next: restore"):
            CoreStore.open(folder, SMALL)
        assert files(folder) == after
    CoreStore.throw_away(folder)
    assert found(folder) == (shown(Started()), ())


def test_a_plan_that_was_written_again_since_is_not_lost(folder: Path) -> None:
    for path in segments(folder)[:-1]:
        path.write_bytes(b"nonsense")
    (_, _, plan, known), damage = found(folder)
    assert (plan, known) == (PLAN, layout(3))
    assert [f"{one.split(':')[0]}.damaged" for one in damage[:-1]] == sorted(p.name for p in folder.glob("*.damaged"))


def test_a_segment_of_another_store_is_refused_whatever_is_in_it(folder: Path, tmp_path_factory: Any) -> None:
    other = tmp_path_factory.mktemp("other")
    store = CoreStore.open(other, SMALL)
    store.carry_out([KeepPlan(Plan((0, 777))), Keep("s", 0, (Content(1, 0),), (0.0,))])
    store.close()
    shutil.copy(segments(other)[0], folder / "0000000099.seg")
    shutil.copy(segments(folder)[0], folder / "0000000098.seg")
    (folder / "notes.seg").write_bytes(b"mine")
    damage = found(folder)[1]
    assert damage == (
        "notes.seg: not the name of a segment; moved aside to notes.seg.damaged",
        "0000000099.seg: it is a segment of another store; moved aside to 0000000099.seg.damaged",
        "0000000098.seg: it is segment 1 under another name; moved aside to 0000000098.seg.damaged",
    )
    assert begins(folder) == (0, 12)
    assert found(folder)[1] == ()


def test_another_version_is_neither_read_nor_moved(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = files(folder)
    monkeypatch.setattr(records, "FORMAT", 2)
    with pytest.raises(DamagedStore, match=r"(?s)format 1.*allowed: format 2.*next: go on with the version"):
        CoreStore.open(folder, SMALL)
    assert files(folder) == before


def test_without_its_lock_a_store_is_the_same(folder: Path) -> None:
    (folder / locking.NAME).unlink()
    assert found(folder)[1] == ()
    (folder / locking.NAME).write_bytes(b"nonsense" * 99)
    assert begins(folder) == (0, 12)
    assert acknowledged(folder) == 13
    (folder / locking.NAME).write_bytes(b"")
    for path in segments(folder):
        path.write_bytes(b"nonsense")
    with pytest.raises(DamagedStore, match="neither the lock nor any segment"):
        CoreStore.open(folder)


def test_without_its_lock_a_newest_segment_that_says_nothing_may_have_had_a_plan(folder: Path) -> None:
    (folder / locking.NAME).unlink()
    segments(folder)[-1].write_bytes(b"nonsense")
    with pytest.raises(DamagedStore, match="is lost"):
        CoreStore.open(folder)


def test_a_state_that_is_damaged_is_left_out_and_a_dropped_one_stays_dropped(tmp_path: Path) -> None:
    store = CoreStore.open(tmp_path, SMALL)
    for bucket in range(4):
        store.carry_out([SaveState("f", Snapshot(bucket, Content(bucket, 1, bytes([bucket]) * SMALL)))])
    store.carry_out([DropStates("f", 1)])
    store.close()
    names = [path.name for path in segments(tmp_path)]
    flip(segments(tmp_path)[0], 8 * 500)
    (_, states, _, _), damage = found(tmp_path)
    assert damage[0].startswith(f"{names[0]}: ")
    assert damage[1] == "the state of f before bucket 1 is not kept any more"
    assert states["f"] == (2, (2, 1, b"\2" * SMALL))


def test_damage_while_it_runs_stops_nothing_and_is_said(tmp_path: Path) -> None:
    """Found where a segment that is mostly dead was to be written again."""
    store = CoreStore.open(tmp_path, SMALL)
    for bucket in range(12):
        state = SaveState("f", Snapshot(bucket, Content(1, 1, b"x" * 1200)))
        store.carry_out([Keep("s", bucket, (Content(1, 1, b"y" * 100),), (0.0,)), state])
    for path in segments(tmp_path)[:-2]:
        flip(path, 8 * 150)
    store.carry_out([DropStates("f", 11)])
    said = store.damage
    assert said[0].startswith(f"{tmp_path}/00000000") and "is not any more" in said[0]
    store.carry_out([Keep("s", 12, (Content(2, 1, b"y"),), (0.0,))])
    assert store.damage == said
    store.close()
    ((kept, _, _, _), damage) = found(tmp_path)
    assert damage[0].startswith("0000000001.seg: ")
    assert 0 < kept["s"][0] < kept["s"][0] + len(kept["s"][1]) == 13


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 40), st.booleans())
def test_any_bit_that_flips_is_said_and_no_wrong_data_are_given(seed: int, lists: int, decides: bool) -> None:
    core = Core(random.Random(seed))
    with unsynced(), tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = CoreStore.open(folder, SMALL)
        for _ in range(lists):
            effects = core.effects(decides)
            store.carry_out(effects)
            core.carry_out(effects)
        store.close()
        if not segments(folder):
            return
        path = core.rng.choice(segments(folder))
        flip(path, core.rng.randrange(8 * path.stat().st_size))
        before = files(folder)
        try:
            given_now, damage = found(folder)
        except DamagedStore:
            assert decides and files(folder) == before
            return
        assert any(one.startswith(f"{path.name}: ") for one in damage)
        _check(core, given_now)
        if not any("lists that were kept" in one for one in damage):
            assert ends(given_now) == ends(shown(core.started()))
        assert found(folder) == (given_now, ())
        # And it goes on.
        store = CoreStore.open(folder, SMALL)
        store.carry_out([Keep("s", 10**6, (content(13),), (0.5,)), Truncate("t", 10**6)])
        store.close()
        (kept, states, plan, known), damage = found(folder)
        assert (kept["s"][0], kept["t"][:2], damage) == (10**6, (10**6, []), ())
        assert (states, plan, known) == given_now[1:]


def ends(started: Any) -> dict[str, int]:
    """The bucket that each stream goes on with."""
    return {stream: begin + len(contents) for stream, (begin, contents, _) in started[0].items()}


def _check(core: Core, given_now: Any) -> None:
    kept, states, plan, known = given_now
    assert (plan, known) == (core.started().plan, core.started().layout)
    for stream, (begin, contents, times) in kept.items():
        assert len(times) == len(contents)
        for bucket, one in enumerate(contents, begin):
            assert one in [rows_of(ever) for ever in core.ever[stream, bucket]]
    for stream, (bucket, state) in states.items():
        assert (bucket, state) in [(ever.bucket, rows_of(ever.state)) for ever in core.snapshots[stream]]
