"""Effects that a core may have, what must be found again of them, and disks that fail in the middle."""

from __future__ import annotations

import copy
import os
import random
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from auroral.dpc.events import (
    Deliver,
    DropStates,
    Effect,
    Keep,
    KeepLayout,
    KeepPlan,
    Miss,
    Report,
    SaveState,
    Started,
    Truncate,
)
from auroral.dpc.layout import Layout, Phase, Wanted
from auroral.dpc.values import LOST, Content, Snapshot
from auroral.dpc.versions import NO_CHANGE, Decision, Plan
from auroral.engine.foldstates import FoldStates
from auroral.engine.keyedstate import state_of
from auroral.node.fleet.contents import state_content
from auroral.node.store import journal
from auroral.node.store.corestore import CoreStore
from auroral.sim.disks import Disks

CORE = "n1/q"
SMALL = 3100
"""Bytes of a segment: most tests have many."""


def table(seed: int, count: int) -> pa.Table:
    rng = random.Random(seed)
    return pa.table(
        {
            "stime": pa.array([rng.randrange(10**12) for _ in range(count)], pa.int64()),
            "name": pa.array(
                [f"Zürich {rng.random()}" if rng.random() < 0.9 else None for _ in range(count)], pa.string()
            ),
        }
    )


def content(seed: int) -> Content:
    match seed % 9:
        case 0:
            return LOST
        case 1:
            return Content(seed, seed % 50)
        case 2:
            return Content(seed, 3, table(seed, 3).to_batches()[0])
        case 3:
            return Content(seed, 0, table(seed, 0))
        case _:
            return Content(seed << 64, seed % 12, table(seed, seed % 12))


def state(seed: int) -> Content | None:
    match seed % 4:
        case 0:
            return None
        case 1:
            return Content(seed, 7, random.Random(seed).randbytes(seed % 900))
        case _:
            return Content(seed, seed % 20, table(seed, seed % 20))


def fold_states(keys: int) -> FoldStates:
    return FoldStates({"box@state": state_of((b"%d" % number, b"nn") for number in range(keys))})


def layout(seed: int) -> Layout:
    return Layout(
        {"q": ("a", f"b{seed}"), "r": ("c",)},
        seed,
        "q" if seed % 2 else None,
        ("a", "d") if seed % 2 else (),
        Phase(1 + seed % 3),
        bool(seed % 5),
        "r" if seed % 3 else None,
        {"r": Decision((0, 5 + seed), seed)},
        (Wanted("r"), Wanted("q", "a", "e")),
    )


@dataclass
class Core:
    """Makes up lists of effects, and knows what they leave behind."""

    rng: random.Random
    disks: Disks = field(default_factory=Disks)
    ever: dict[tuple[str, int], list[Content]] = field(default_factory=lambda: defaultdict(list))
    """All that was ever kept of a bucket."""
    snapshots: dict[str, list[Snapshot]] = field(default_factory=lambda: defaultdict(list))
    seed: int = 0
    folded: FoldStates = field(default_factory=lambda: fold_states(60))

    def effects(self, decides: bool = True) -> list[Effect]:
        kinds = (
            [self._keep] * 6 + [self._truncate] * 3 + [self._client, self._save, self._save, self._drop, self._report]
        )
        kinds += [self._plan, self._layout] if decides else []
        return [self.rng.choice(kinds)() for _ in range(self.rng.randint(0, 5))]

    def carry_out(self, effects: list[Effect]) -> None:
        for effect in effects:
            self.disks.carry_out(CORE, effect)

    def started(self) -> Started:
        return self.disks.started(CORE, NO_CHANGE)

    def _next(self) -> int:
        self.seed += 1
        return self.seed * 1000 + self.rng.randrange(1000)

    def _keep(self) -> Effect:
        stream = self.rng.choice("st")
        kept = self.disks.of(CORE).get(stream)
        end = 0 if kept is None else kept.begin + len(kept.contents)
        begin = max(0, end + self.rng.choice((0,) * 12 + (-2, 1, 7)))
        contents = tuple(content(self._next()) for _ in range(self.rng.choice((0, 1, 1, 1, 2, 9))))
        for bucket, one in enumerate(contents, begin):
            self.ever[stream, bucket].append(one)
        return Keep(stream, begin, contents, tuple(self.rng.random() * 1e9 for _ in contents))

    def _truncate(self) -> Effect:
        stream = self.rng.choice("st")
        kept = self.disks.of(CORE).get(stream)
        begin, count = (0, 0) if kept is None else (kept.begin, len(kept.contents))
        return Truncate(stream, max(0, begin + self.rng.randint(-1, count + self.rng.choice((0, 0, 2)))))

    def _client(self) -> Effect:
        stream, bucket = self.rng.choice("xy"), self.rng.randrange(100)
        return self.rng.choice(
            (
                Deliver(stream, bucket, Content(1, 1), True),
                Deliver(stream, bucket, Content(1, 1), False),
                Miss(stream, bucket, bucket + 4),
            )
        )

    def _save(self) -> Effect:
        stream = self.rng.choice("fggg")
        before = self.snapshots[stream]
        # The one's are of any kind, the other's those of folds, which are written as what changed.
        saved = state(self._next()) if stream == "f" or self.rng.random() < 0.1 else self._folded()
        snapshot = Snapshot((before[-1].bucket if before else 0) + self.rng.randrange(5), saved)
        before.append(snapshot)
        return SaveState(stream, snapshot)

    def _folded(self) -> Content:
        if self.rng.random() < 0.05:
            # Begun anew, from somewhere else.
            self.folded = fold_states(self.rng.randrange(60))
        changes = {b"%d" % self.rng.randrange(80): self.rng.choice((None, b"n%d" % self._next())) for _ in range(4)}
        self.folded = self.folded.replaced({"box@state": self.folded.of("box@state").updated(changes)})
        return state_content(self.folded)

    def _drop(self) -> Effect:
        stream = self.rng.choice("fg")
        before = self.snapshots[stream]
        return DropStates(stream, (before[-1].bucket if before else 0) - self.rng.randrange(-1, 6))

    def _report(self) -> Effect:
        return Report("late", "s")

    def _plan(self) -> Effect:
        return KeepPlan(Plan((0, self._next()), self.rng.choice((None, 9)), self.rng.randrange(5)))

    def _layout(self) -> Effect:
        return KeepLayout(layout(self._next()))

    def states(self) -> dict[str, list[int]]:
        """The buckets of all snapshots; what is started is told of the oldest alone."""
        kept = {stream: [one.bucket for one in saved] for (_, stream), saved in self.disks.states.items()}
        return {stream: buckets for stream, buckets in kept.items() if buckets}

    def copy(self) -> Disks:
        return copy.deepcopy(self.disks)


def rows_of(one: Content | None) -> Any:
    if one is not None and isinstance(one.rows, FoldStates):
        return one.hash, one.count, one.rows.digest, one.rows.rows().sort_by("key").to_pylist()
    if one is None or not isinstance(one.rows, pa.RecordBatch | pa.Table):
        return None if one is None else (one.hash, one.count, one.rows)
    return one.hash, one.count, type(one.rows).__name__, one.rows.schema, one.rows.to_pylist()


def shown(started: Started) -> Any:
    """All of it, with the rows, which contents do not compare."""
    return (
        {
            stream: (kept.begin, [rows_of(one) for one in kept.contents], kept.usually_at)
            for stream, kept in started.kept.items()
        },
        {stream: (one.bucket, rows_of(one.state)) for stream, one in started.states.items()},
        started.plan,
        started.layout,
    )


def states(store: CoreStore) -> dict[str, list[int]]:
    kept = store._journal.last.holdings.states
    return {stream: [bucket for _, bucket in keys] for stream, keys in kept.items() if keys}


@contextmanager
def unsynced() -> Iterator[None]:
    """Where no power is cut, syncing only takes time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


def found(folder: Path) -> tuple[Any, tuple[str, ...]]:
    """What a core that is started now is given, and what is said of damage."""
    store = CoreStore.open(folder, SMALL)
    try:
        return shown(store.started(NO_CHANGE)), store.damage
    finally:
        store.close()


class Crash(BaseException):
    """The machine stops here."""


def crash_in(monkeypatch: Any, rng: random.Random, writes: int) -> None:
    """At the so-manieth write from now on: cut off anywhere, or with any part of it not yet on the disk."""
    write_at, left = journal.write_at, [writes]

    def writing(fd: int, position: int, *parts: bytes | memoryview) -> int:
        left[0] -= 1
        if left[0]:
            return write_at(fd, position, *parts)
        data = bytearray(b"".join(parts))
        if rng.random() < 0.5:
            del data[rng.randrange(len(data) + 1) :]
        else:
            hole = sorted(rng.randrange(len(data) + 1) for _ in range(2))
            data[hole[0] : hole[1]] = bytes(hole[1] - hole[0])
        write_at(fd, position, bytes(data))
        raise Crash

    monkeypatch.setattr(journal, "write_at", writing)
