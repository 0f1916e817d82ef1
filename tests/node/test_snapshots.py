"""Snapshots of fold state on disk: what changed, behind a whole one; damage is passed over by name; space is given back."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from auroral.engine.foldstates import FoldStates, from_bytes
from auroral.engine.keyedstate import KeyedState, entry, state_of
from auroral.node import snapshots
from auroral.node.snapshots import Snapshots

KEYS = 4000


def key(number: int) -> bytes:
    return f"key {number}".encode()


def first() -> FoldStates:
    return FoldStates(
        {"a@state": state_of((key(i), entry(None, i) or b"") for i in range(KEYS)), "b@state": KeyedState()}
    )


def changed(states: FoldStates, random: random.Random, many: int = 20) -> FoldStates:
    """With some keys changed, forgotten and new."""
    changes = {key(random.randrange(KEYS + 50)): entry(random.choice([None, 7]), random.random()) for _ in range(many)}
    changes |= {key(random.randrange(KEYS)): None for _ in range(3)}
    return states.replaced({"a@state": states.of("a@state").updated(changes)})


def in_order(states: FoldStates) -> list[dict[str, object]]:
    return sorted(states.rows().to_pylist(), key=lambda row: (row["edge"], row["key"]))


def same(one: FoldStates | None, other: FoldStates) -> bool:
    return one is not None and one.digest == other.digest and in_order(one) == in_order(other)


def test_what_is_read_is_what_was_written_and_only_changes_are(tmp_path: Path) -> None:
    draw, written, states = random.Random(1), {}, first()
    ours = Snapshots(tmp_path)
    for stime in range(200):
        written[stime] = states
        ours.save(stime, states)
        states = changed(states, draw)
    sizes = [(tmp_path / f"{stime}.state").stat().st_size for stime in range(200)]
    wholes = [stime for stime, size in enumerate(sizes) if size > sizes[0] / 2]
    assert wholes == [0, 65, 130, 195], "a whole one behind sixty-four of changes"
    assert max(size for stime, size in enumerate(sizes) if stime not in wholes) < sizes[0] / 10
    for stime, expected in written.items():
        assert same(Snapshots(tmp_path).read(stime), expected)


def test_one_that_was_read_is_gone_on_from(tmp_path: Path) -> None:
    draw, states = random.Random(2), first()
    Snapshots(tmp_path).save(0, states)
    again = Snapshots(tmp_path)
    found = again.read(0)
    assert found is not None
    later = changed(found, draw)
    again.save(1, later)
    assert (tmp_path / "1.state").stat().st_size < (tmp_path / "0.state").stat().st_size / 10
    assert same(Snapshots(tmp_path).read(1), later)
    # Of a state that has nothing to do with it, nothing is known but the whole.
    again.save(2, first())
    assert same(Snapshots(tmp_path).read(2), first())


def test_many_changes_are_written_as_a_whole(tmp_path: Path) -> None:
    draw, states, ours = random.Random(3), first(), Snapshots(tmp_path)
    for stime in range(8):
        ours.save(stime, states)
        states = changed(states, draw, KEYS // 3)
    bases = [snapshots._base(tmp_path / f"{stime}.state") for stime in range(8)]
    assert bases.count(None) > 1
    read = [sum(1 for _ in ours._bases(stime)) for stime in range(8)]
    assert max(read) < 4, "what is behind a whole one is never more than that"


def test_each_damaged_byte_is_noticed_and_named(tmp_path: Path) -> None:
    draw, states = random.Random(4), first()
    Snapshots(tmp_path).save(0, states)
    later = Snapshots(tmp_path)
    found = later.read(0)
    assert found is not None
    later.save(1, changed(found, draw))
    for damaged in (0, 1):
        path = tmp_path / f"{damaged}.state"
        whole = path.read_bytes()
        for at in draw.sample(range(len(whole)), 40):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << draw.randrange(8)]) + whole[at + 1 :])
            looked = Snapshots(tmp_path)
            assert looked.read(1) is None
            assert str(path) in looked.notes[0] and "passed over" in looked.notes[0]
        path.write_bytes(whole[: draw.randrange(len(whole))])
        assert Snapshots(tmp_path).read(1) is None
        path.write_bytes(whole)
    assert Snapshots(tmp_path).read(1) is not None


def test_another_state_in_the_place_of_what_changes_are_of_is_noticed(tmp_path: Path) -> None:
    draw, states, ours = random.Random(5), first(), Snapshots(tmp_path)
    ours.save(0, states)
    ours.save(1, changed(states, draw))
    Snapshots(tmp_path).save(0, changed(states, draw))
    looked = Snapshots(tmp_path)
    assert looked.read(1) is None and "1.state is not the state that was written" in looked.notes[0]
    (tmp_path / "0.state").unlink()
    looked = Snapshots(tmp_path)
    assert looked.read(1) is None
    assert "0.state, of which a later one has the changes, is missing and was passed over" in looked.notes[0]


def test_what_others_are_the_changes_of_is_not_removed(tmp_path: Path) -> None:
    draw, states, ours = random.Random(6), first(), Snapshots(tmp_path)
    for stime in range(70):
        ours.save(stime, states)
        before, states = states, changed(states, draw)
        ours.prune(stime - 1)
        assert same(Snapshots(tmp_path).read(stime), before)
    # 68 and 69 are wanted, and the whole one of 65 and what is between.
    assert ours.stimes() == [65, 66, 67, 68, 69]
    assert ours.remove([65, 68]) == 0, "69 needs both"
    assert ours.remove([68, 69]) > 0 and ours.stimes() == [65, 66, 67]


def test_one_of_an_earlier_version_is_passed_over_and_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "5.state").write_bytes(b"auroral fold state 1\n0000\x80\x05")
    looked = Snapshots(tmp_path)
    assert looked.read(5) is None and "5.state was written by an earlier version of auroral" in looked.notes[0]
    with pytest.raises(ValueError, match="written by an earlier version of auroral"):
        from_bytes(b"\x80\x05")
