"""What a core keeps on disk over its lives: the simulator's disk (`sim.disks`), made real.

All calls block, and are made one at a time: whoever runs the core makes them in a thread of their own.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from auroral.dpc.events import Effect, Kept, Started
from auroral.dpc.values import Content, Snapshot
from auroral.dpc.versions import Plan
from auroral.edge.durable import storage_error, sync_folder
from auroral.engine.foldstates import FoldStates
from auroral.node.statedeltas import Behind
from auroral.node.store.foldrecords import StateRecords, Written, read_states
from auroral.node.store.holdings import Fresh, Run, carried_out
from auroral.node.store.journal import SEGMENT_BYTES, Journal, segment_path
from auroral.node.store.locking import CoreLock
from auroral.node.store.opening import open_journal
from auroral.node.store.records import Key, Packed, packed, packed_state, unpacked


@dataclass(slots=True)
class CoreStore:
    """One folder a core."""

    _journal: Journal
    _damage: tuple[str, ...]
    _states: StateRecords = field(default_factory=StateRecords)

    @staticmethod
    def open(folder: Path | str, segment_bytes: int = SEGMENT_BYTES) -> CoreStore:
        """Make the folder where there is none. It is this process's until `close`, or its end."""
        folder = Path(folder)
        # What a crash left of one that was being thrown away.
        shutil.rmtree(_thrown_away(folder), ignore_errors=True)
        lock = CoreLock.take(folder)
        try:
            journal, damage = open_journal(folder, lock, segment_bytes)
        except OSError as error:
            lock.release()
            raise storage_error(error, "what a core keeps", folder / "*.seg") from error
        except BaseException:
            lock.release()
            raise
        return CoreStore(journal, tuple(damage))

    @property
    def damage(self) -> tuple[str, ...]:
        """What was found damaged, and what became of it, for people to read."""
        return (*self._damage, *self._journal.spoiled.values())

    def started(self, plan: Plan) -> Started:
        """With this plan, where none was kept."""
        held = self._journal.last.holdings
        # Of several snapshots, the oldest: what it was taken from may be gone on other nodes, and what follows it is not.
        oldest = {stream: min(keys, key=lambda key: key[1]) for stream, keys in held.states.items() if keys}
        chains = {stream: held.chain(key) for stream, key in oldest.items()}
        wanted = [key for run in held.runs.values() for key in run.keys]
        wanted += {key for chain in chains.values() for key in chain}
        found: dict[Key, tuple[Content | None, float]] = {}
        for key, header, rows in self._journal.read(wanted):
            found[key] = unpacked(header, rows, self._journal.folder)
        return Started(
            {stream: _kept(run, found) for stream, run in held.runs.items()},
            {stream: self._snapshot(stream, [(key, found[key][0]) for key in keys]) for stream, keys in chains.items()},
            plan if held.plan is None else held.plan,
            held.layout,
        )

    def _snapshot(self, stream: str, chain: list[tuple[Key, Content | None]]) -> Snapshot:
        key, content = chain[0]
        if content is None:
            return Snapshot(key[1], None)
        known = [(one, each) for one, each in chain if each is not None]
        content = read_states(stream, known, self._journal.folder)
        if isinstance(content.rows, FoldStates):
            # All that it is the changes of has been read, and is as good as one that changed all of it.
            behind = Behind(len(known) - 1, sum(each.rows.num_rows for _, each in known[:-1]))
            self._states.last[stream] = Written(key, content.rows, behind)
        return Snapshot(key[1], content)

    def carry_out(self, effects: Iterable[Effect]) -> None:
        """All of them are durable when this returns, and none when it raises: then the same may be carried out again."""
        journal = self._journal
        states = self._states.fork()
        holdings, fresh = carried_out(journal.last.holdings, effects, states.base)
        if holdings == journal.last.holdings:
            return
        try:
            journal.commit(holdings, {key: _packed(key, one, states) for key, one in fresh.items()})
        except OSError as error:
            raise storage_error(error, "what a core keeps", segment_path(journal.folder, journal.newest)) from error
        # One that was dropped again is not there for others to be its changes.
        self._states = StateRecords({name: one for name, one in states.last.items() if one.key in journal.places})
        # What was to be kept is; space that cannot be had back now can be later.
        with suppress(OSError):
            journal.tidy()

    def close(self) -> None:
        self._journal.close()
        self._journal.lock.release()

    @staticmethod
    def throw_away(folder: Path | str) -> None:
        """All of it, in one step: what is started there afterwards is new."""
        folder = Path(folder)
        if not folder.exists():
            return
        lock = CoreLock.take(folder)
        try:
            shutil.rmtree(_thrown_away(folder), ignore_errors=True)
            folder.rename(_thrown_away(folder))
            sync_folder(folder.parent)
            shutil.rmtree(_thrown_away(folder))
        finally:
            lock.release()


def _packed(key: Key, one: Fresh, states: StateRecords) -> Packed:
    content, usually_at = one
    if content is not None and key in states.rows:
        return packed_state(key, content, states.rows[key])
    return packed(key, content, usually_at)


def _thrown_away(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.thrown-away")


def _kept(run: Run, found: dict[Key, tuple[Content | None, float]]) -> Kept:
    contents = [found[key] for key in run.keys]
    return Kept(
        run.begin,
        tuple(content for content, _ in contents if content is not None),
        tuple(usually_at for _, usually_at in contents),
    )
