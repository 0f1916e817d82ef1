"""What survives a crash: logs of sources, outputs that replicas keep, positions of clients."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from auroral.dpc.events import (
    Deliver,
    DropStates,
    Effect,
    Keep,
    KeepLayout,
    KeepPlan,
    Kept,
    Miss,
    SaveState,
    Started,
    Truncate,
)
from auroral.dpc.layout import Layout
from auroral.dpc.values import Content, Snapshot
from auroral.dpc.versions import Plan


@dataclass(slots=True)
class Disks:
    begins: dict[tuple[str, str], int] = field(default_factory=dict)
    """By core and stream."""
    contents: dict[tuple[str, str], dict[int, tuple[Content, float]]] = field(default_factory=dict)
    """Of each bucket, with when it usually comes."""
    states: dict[tuple[str, str], list[Snapshot]] = field(default_factory=dict)
    plans: dict[str, Plan] = field(default_factory=dict)
    """Never lost: the catalog has them too."""
    layouts: dict[str, Layout] = field(default_factory=dict)

    def carry_out(self, core: str, effect: Effect) -> None:
        match effect:
            case Keep(stream, begin, contents, times):
                kept = self.contents.setdefault((core, stream), {})
                if begin != self.begins.setdefault((core, stream), 0) + len(kept):
                    kept.clear()
                    self.begins[core, stream] = begin
                kept.update(enumerate(zip(contents, times, strict=True), begin))
            case Truncate(stream, below):
                kept = self.contents.setdefault((core, stream), {})
                self.begins[core, stream] = max(below, self.begins.get((core, stream), 0))
                for bucket in [b for b in kept if b < below]:
                    del kept[bucket]
            case Deliver(stream, bucket, _, True):
                self.begins[core, stream] = bucket + 1
            case Miss(stream, _, end):
                self.begins[core, stream] = end
            case KeepPlan(plan):
                self.plans[core] = plan
            case KeepLayout(layout):
                self.layouts[core] = layout
            case SaveState(stream, snapshot):
                self.states.setdefault((core, stream), []).append(snapshot)
            case DropStates(stream, below):
                kept_states = self.states.get((core, stream), [])
                self.states[core, stream] = [snapshot for snapshot in kept_states if snapshot.bucket >= below]
            case _:
                pass

    def started(self, core: str, plan: Plan) -> Started:
        """With this plan, where none was kept."""
        return Started(self.of(core), self.states_of(core), self.plans.get(core, plan), self.layouts.get(core))

    def throw_away(self, core: str) -> None:
        """Of a core that is not wanted any more: also what the catalog has of it."""
        self.lose(core)
        self.plans.pop(core, None)

    def lose(self, core: str) -> None:
        kept: dict[tuple[str, str], Any]
        for kept in (self.begins, self.contents, self.states):
            for key in [key for key in kept if key[0] == core]:
                del kept[key]

    def of(self, core: str) -> dict[str, Kept]:
        streams = {stream for name, stream in (*self.begins, *self.contents) if name == core}
        return {stream: self._of(core, stream) for stream in streams}

    def states_of(self, core: str) -> dict[str, Snapshot]:
        return {stream: kept[0] for (name, stream), kept in self.states.items() if name == core and kept}

    def _of(self, core: str, stream: str) -> Kept:
        begin, kept = self.begins.get((core, stream), 0), self.contents.get((core, stream), {})
        found = [kept[bucket] for bucket in range(begin, begin + len(kept))]
        return Kept(begin, tuple(content for content, _ in found), tuple(time for _, time in found))
