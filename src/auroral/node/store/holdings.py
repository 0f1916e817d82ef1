"""What a core holds on disk, without the rows: small enough to be written down whole with every list of effects.

What effects do to it is what `sim.disks` does, where the same cores run in simulation.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from auroral.dpc.events import Deliver, DropStates, Effect, Keep, KeepLayout, KeepPlan, Miss, SaveState, Truncate
from auroral.dpc.layout import Layout
from auroral.dpc.values import Content
from auroral.dpc.versions import Plan
from auroral.node.store.layouts import layout_from_json, layout_to_json
from auroral.node.store.records import Key


@dataclass(frozen=True, slots=True)
class Run:
    """Buckets [begin, end) of a stream, all of one group. A client's position is one without buckets."""

    group: int
    begin: int
    end: int

    @property
    def keys(self) -> Iterator[Key]:
        return ((self.group, bucket) for bucket in range(self.begin, self.end))


@dataclass(frozen=True, slots=True)
class Holdings:
    runs: Mapping[str, Run] = field(default_factory=dict)
    states: Mapping[str, tuple[Key, ...]] = field(default_factory=dict)
    """Snapshots of folds, each a group of its own."""
    bases: Mapping[Key, Key] = field(default_factory=dict)
    """Snapshots that are written as what changed since another one, with that one."""
    plan: Plan | None = None
    layout: Layout | None = None
    groups: int = 0
    """How many there were so far."""

    def chain(self, state: Key) -> list[Key]:
        """A snapshot and those without which it cannot be read, up to a whole one."""
        found = [state]
        while found[-1] in self.bases:
            found.append(self.bases[found[-1]])
        return found

    @property
    def needed(self) -> set[Key]:
        """All snapshots, and those that they are the changes of."""
        return {one for keys in self.states.values() for key in keys for one in self.chain(key)}

    def kept(self) -> Callable[[Key], bool]:
        """Whether contents are still held."""
        spans = {run.group: run for run in self.runs.values()}
        states = self.needed

        def holds(key: Key) -> bool:
            run = spans.get(key[0])
            return key in states if run is None else run.begin <= key[1] < run.end

        return holds


Fresh = tuple[Content | None, float | None]
"""Contents that are to be written, and when they usually come."""


BaseOf = Callable[[str, Key, Content | None], Key | None]
"""Which snapshot a new one of a stream is written as the changes of."""


def carried_out(
    before: Holdings, effects: Iterable[Effect], base_of: BaseOf = lambda *_: None
) -> tuple[Holdings, dict[Key, Fresh]]:
    """What is held afterwards, and which of it is new."""
    runs, states, bases = dict(before.runs), dict(before.states), dict(before.bases)
    plan, layout, groups = before.plan, before.layout, before.groups
    fresh: dict[Key, Fresh] = {}

    def new_group() -> int:
        nonlocal groups
        groups += 1
        return groups

    def run_of(stream: str) -> Run:
        return runs[stream] if stream in runs else Run(new_group(), 0, 0)

    for effect in effects:
        match effect:
            case Keep(stream, begin, contents, times):
                run = run_of(stream)
                if begin != run.end:
                    run = Run(new_group(), begin, begin)
                for content, time in zip(contents, times, strict=True):
                    fresh[run.group, run.end] = (content, time)
                    run = replace(run, end=run.end + 1)
                runs[stream] = run
            case Truncate(stream, below):
                run = run_of(stream)
                begin = max(below, run.begin)
                runs[stream] = replace(run, begin=begin, end=max(begin, run.end))
            case Deliver(stream, bucket, _, True):
                runs[stream] = Run(new_group(), bucket + 1, bucket + 1)
            case Miss(stream, _, end):
                runs[stream] = Run(new_group(), end, end)
            case KeepPlan(plan):
                pass
            case KeepLayout(layout):
                pass
            case SaveState(stream, snapshot):
                key = (new_group(), snapshot.bucket)
                fresh[key] = (snapshot.state, None)
                if (base := base_of(stream, key, snapshot.state)) is not None:
                    bases[key] = base
                states[stream] = (*states.get(stream, ()), key)
            case DropStates(stream, below):
                if stream in states:
                    states[stream] = tuple(key for key in states[stream] if key[1] >= below)
            case _:
                pass
    after = Holdings(runs, states, bases, plan, layout, groups)
    needed = after.needed
    after = replace(after, bases={key: base for key, base in bases.items() if key in needed})
    holds = after.kept()
    return after, {key: one for key, one in fresh.items() if holds(key)}


def freed(before: Holdings, after: Holdings) -> Iterator[Key]:
    """Contents that were held before, and are not any more."""
    for stream, run in before.runs.items():
        now = after.runs[stream]
        if now != run:
            end = run.end if now.group != run.group else min(now.begin, run.end)
            yield from replace(run, end=end).keys
    yield from before.needed - after.needed


def mended(holdings: Holdings, there: Container[Key]) -> tuple[Holdings, list[str]]:
    """What is left where some contents are not there any more, and what is not left: of each stream the newest buckets that have no hole
    between them. What is before them can be had elsewhere, what follows them is what the core goes on with."""
    runs, states, said = {}, {}, []
    for stream, run in holdings.runs.items():
        begin = run.end
        while begin > run.begin and (run.group, begin - 1) in there:
            begin -= 1
        runs[stream] = replace(run, begin=begin)
        if begin > run.begin:
            said.append(f"buckets {run.begin} to {begin - 1} of {stream} are not kept any more")
    for stream, keys in holdings.states.items():
        lost = [key for key in keys if not all(one in there for one in holdings.chain(key))]
        states[stream] = tuple(key for key in keys if key not in lost)
        said += [f"the state of {stream} before bucket {key[1]} is not kept any more" for key in lost]
    left = replace(holdings, runs=runs, states=states)
    needed = left.needed
    return replace(left, bases={key: base for key, base in holdings.bases.items() if key in needed}), said


@dataclass(frozen=True, slots=True)
class Commit:
    """Ends a list of effects: with it, all of the list counts."""

    number: int = 0
    """Of the list."""
    decided: int = 0
    """The last list that changed the plan or the layout."""
    segments: tuple[tuple[int, int], ...] = ()
    """The other segments that hold something, with their sizes."""
    holdings: Holdings = field(default_factory=Holdings)

    def to_bytes(self) -> bytes:
        held = self.holdings
        stored = {
            "number": self.number,
            "decided": self.decided,
            "segments": self.segments,
            "runs": {stream: (run.group, run.begin, run.end) for stream, run in held.runs.items()},
            "states": {stream: keys for stream, keys in held.states.items() if keys},
            "bases": [(*key, *base) for key, base in held.bases.items()],
            "plan": None if held.plan is None else (held.plan.starts, held.plan.promised, held.plan.attempt),
            "layout": None if held.layout is None else layout_to_json(held.layout),
            "groups": held.groups,
        }
        return json.dumps(stored, separators=(",", ":")).encode()

    @staticmethod
    def from_bytes(header: bytes) -> Commit:
        stored = json.loads(header)
        plan, layout = stored["plan"], stored["layout"]
        return Commit(
            stored["number"],
            stored["decided"],
            tuple((number, size) for number, size in stored["segments"]),
            Holdings(
                {stream: Run(*run) for stream, run in stored["runs"].items()},
                {stream: tuple((group, bucket) for group, bucket in keys) for stream, keys in stored["states"].items()},
                # Earlier versions had whole ones only.
                {(group, bucket): (*base,) for group, bucket, *base in stored.get("bases", ())},
                None if plan is None else Plan(tuple(plan[0]), plan[1], plan[2]),
                None if layout is None else layout_from_json(layout),
                stored["groups"],
            ),
        )
