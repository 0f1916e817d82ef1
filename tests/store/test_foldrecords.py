"""States of folds in the store of a core: what is written of them, and what becomes of them when some of it is gone."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from auroral.dpc.events import DropStates, Keep, SaveState
from auroral.dpc.values import Content, Snapshot
from auroral.dpc.versions import NO_CHANGE
from auroral.engine.foldstates import FoldStates
from auroral.node.fleet.contents import state_content
from auroral.node.store.corestore import CoreStore
from auroral.node.store.records import DamagedStore
from store.corestores import fold_states, rows_of


def later(states: FoldStates, number: int) -> FoldStates:
    return states.replaced({"box@state": states.of("box@state").updated({b"7": b"n%d" % number})})


def written(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*.seg"))


def test_only_what_changed_is_written_also_in_a_new_life(tmp_path: Path) -> None:
    states, store, sizes = fold_states(5000), CoreStore.open(tmp_path), []
    for bucket in range(80):
        if bucket % 10 == 9:
            store.close()
            store = CoreStore.open(tmp_path)
            started = store.started(NO_CHANGE).states["f"].state
            assert started is not None and started.rows.digest == states.digest
            states = started.rows
        before = written(tmp_path)
        states = later(states, bucket)
        store.carry_out([SaveState("f", Snapshot(bucket, state_content(states))), DropStates("f", bucket)])
        sizes.append(written(tmp_path) - before)
    store.close()
    wholes = [bucket for bucket, size in enumerate(sizes) if size > sizes[0] / 2]
    assert wholes == [0, 65]
    assert max(size for bucket, size in enumerate(sizes) if bucket not in wholes) < sizes[0] / 20


def test_what_is_dropped_stays_as_long_as_others_are_its_changes(tmp_path: Path) -> None:
    states, store = fold_states(500), CoreStore.open(tmp_path)
    for bucket in range(70):
        states = later(states, bucket)
        store.carry_out([SaveState("f", Snapshot(bucket, state_content(states))), DropStates("f", bucket)])
        held = store._journal.last.holdings
        assert len(held.states["f"]) == 1 and len(store._journal.places) == 1 + bucket % 65
    store.close()


@pytest.mark.parametrize("together", [True, False])
def test_nothing_stands_on_a_state_that_was_dropped(tmp_path: Path, together: bool) -> None:
    states, store = fold_states(500), CoreStore.open(tmp_path)
    saved, dropped = SaveState("f", Snapshot(1, state_content(states))), DropStates("f", 2)
    for effects in [[saved, dropped]] if together else [[saved], [dropped]]:
        store.carry_out(effects)
    states = later(states, 1)
    store.carry_out([SaveState("f", Snapshot(2, state_content(states)))])
    store.close()
    store = CoreStore.open(tmp_path)
    assert rows_of(store.started(NO_CHANGE).states["f"].state) == rows_of(state_content(states))
    store.close()


def damaged(folder: Path, number: int) -> None:
    """A byte of the so-manieth record of the only segment."""
    (segment,) = folder.glob("*.seg")
    content = bytearray(segment.read_bytes())
    at = -1
    for _ in range(number + 1):
        at = content.index(b"\xa7AuC\x01", at + 1)
    content[at + 60] ^= 1
    segment.write_bytes(content)


def test_a_state_is_lost_with_what_it_is_the_changes_of_and_is_said_to_be(tmp_path: Path) -> None:
    states, store = fold_states(500), CoreStore.open(tmp_path)
    for bucket in range(3):
        states = later(states, bucket)
        store.carry_out([SaveState("f", Snapshot(bucket, state_content(states)))])
    store.carry_out([Keep("s", 0, (Content(1, 2),), (0.0,))])
    store.close()
    damaged(tmp_path, 0)
    store = CoreStore.open(tmp_path)
    assert "f" not in store.started(NO_CHANGE).states
    assert "the state of f before bucket 2 is not kept any more" in "\n".join(store.damage)
    # What is saved now stands on nothing that is lost.
    store.carry_out([SaveState("f", Snapshot(3, state_content(states)))])
    store.close()
    store = CoreStore.open(tmp_path)
    found = store.started(NO_CHANGE).states["f"].state
    assert rows_of(found) == rows_of(state_content(states))
    store.close()


def test_a_state_that_came_as_rows_from_another_replica_is_the_same_state(tmp_path: Path) -> None:
    states = fold_states(20)
    given = state_content(states)
    store = CoreStore.open(tmp_path)
    store.carry_out([SaveState("f", Snapshot(4, Content(given.hash, given.count, states.rows())))])
    store.close()
    store = CoreStore.open(tmp_path)
    found = store.started(NO_CHANGE).states["f"].state
    store.close()
    assert rows_of(found) == rows_of(given)


def test_a_state_of_another_hash_is_refused(tmp_path: Path) -> None:
    store = CoreStore.open(tmp_path)
    store.carry_out([SaveState("f", Snapshot(4, Content(1, 20, fold_states(20).rows())))])
    with pytest.raises(DamagedStore, match="the state of f before bucket 4 is not the one that was written"):
        store.started(NO_CHANGE)
    store.close()


def test_a_state_of_an_earlier_version_is_refused_by_name(tmp_path: Path) -> None:
    store = CoreStore.open(tmp_path)
    older = pa.table({"edge": pa.array(["a"]), "rows": pa.array([b"x"], pa.large_binary())})
    store.carry_out([SaveState("f", Snapshot(4, Content(1, 1, older)))])
    with pytest.raises(DamagedStore, match=r"the state of f: .* written by an earlier version of auroral"):
        store.started(NO_CHANGE)
    store.close()
