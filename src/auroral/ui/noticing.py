"""What happened to processes that none of them tells as an event, from what they say of themselves: who went away, and whom each reads from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from auroral.dpc.assembly import node_of
from auroral.ui.conditions import Status


@dataclass(slots=True)
class Noticing:
    _up: dict[str, bool] = field(default_factory=dict)
    _reads: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def noticed(self, told: Sequence[Mapping[str, Any]], status: Status, now: float) -> list[Mapping[str, Any]]:
        """What was told, and what was not."""
        new = list(told)
        about = {event["process"] for event in told if event["event"] in ("started", "killed", "ending")}
        for name, found in status.items():
            # Whoever was ended from outside could not say so.
            up = found is not None
            if up != self._up.get(name, True) and (name not in about or name not in self._up):
                new.append({"at": now, "process": name, "event": "seen up" if up else "seen down"})
            self._up[name] = up
        for process, stream, producers in _choices(status):
            before = self._reads.get((process, stream))
            if producers and producers != before:
                self._reads[process, stream] = producers
                if before is not None:
                    said = {"stream": stream, "producers": " and ".join(producers)}
                    new.append({"at": now, "process": process, "event": "reads", **said})
        return new


def _choices(status: Status) -> list[tuple[str, str, list[str]]]:
    """Whom each process reads a stream from."""
    found = []
    for process, said in status.items():
        mine: dict[str, Mapping[str, str]] = {}
        for key in ("outputs", "streams"):
            for one in ((said or {}).get(key) or {}).values():
                mine |= one.get("reads", {})
        found += [(process, stream, sorted(map(_spoken, lanes.items()))) for stream, lanes in mine.items()]
    return found


def _spoken(chosen: tuple[str, str]) -> str:
    """Curr gives what is new, Bck what corrects."""
    core, lane = chosen
    return node_of(core) + {"fresh": " (Curr)", "correct": " (Bck)"}.get(lane, "")
