"""What a core keeps on disk over its lives: the simulator's disk (`sim.disks`), made real.

All calls block, and are made one at a time: whoever runs the core makes them in a thread of their own.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from auroral.dpc.events import Effect, Kept, Started
from auroral.dpc.values import Content, Snapshot
from auroral.dpc.versions import Plan
from auroral.edge.durable import storage_error, sync_folder
from auroral.node.store.holdings import Run, carried_out
from auroral.node.store.journal import SEGMENT_BYTES, Journal, segment_path
from auroral.node.store.locking import CoreLock
from auroral.node.store.opening import open_journal
from auroral.node.store.records import Key, packed, unpacked


@dataclass(slots=True)
class CoreStore:
    """One folder a core."""

    _journal: Journal
    _damage: tuple[str, ...]

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
        wanted = [*(key for run in held.runs.values() for key in run.keys), *oldest.values()]
        found: dict[Key, tuple[Content | None, float]] = {}
        for key, header, rows in self._journal.read(wanted):
            found[key] = unpacked(header, rows, self._journal.folder)
        return Started(
            {stream: _kept(run, found) for stream, run in held.runs.items()},
            {stream: Snapshot(key[1], found[key][0]) for stream, key in oldest.items()},
            plan if held.plan is None else held.plan,
            held.layout,
        )

    def carry_out(self, effects: Iterable[Effect]) -> None:
        """All of them are durable when this returns, and none when it raises: then the same may be carried out again."""
        journal = self._journal
        holdings, fresh = carried_out(journal.last.holdings, effects)
        if holdings == journal.last.holdings:
            return
        try:
            journal.commit(holdings, {key: packed(key, *one) for key, one in fresh.items()})
        except OSError as error:
            raise storage_error(error, "what a core keeps", segment_path(journal.folder, journal.newest)) from error
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


def _thrown_away(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.thrown-away")


def _kept(run: Run, found: dict[Key, tuple[Content | None, float]]) -> Kept:
    contents = [found[key] for key in run.keys]
    return Kept(
        run.begin,
        tuple(content for content, _ in contents if content is not None),
        tuple(usually_at for _, usually_at in contents),
    )
