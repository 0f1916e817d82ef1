"""Recordings: what processes said of themselves, what happened to them, and what the client was given, each with its time.

A trace is a file of JSON lines. The first has the stage; each of the others a time, `process`, and one of `status`, `event` or `delivery`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from auroral.model.errors import AuroralError
from auroral.node.fleet.eventlog import events_in
from auroral.node.fleet.recording import EVERY, recorded_in
from auroral.ui.picture import Group
from auroral.ui.stage import Stage, deployed_in
from auroral.ui.timeline import DOWN

FORMAT = 1
HEAD = "auroral trace"
MOST = 512 << 20
"""Bytes of a trace that are read."""
_STALE = 5 * EVERY
"""Seconds without a word from a process of a deployment after which it was not there."""


class NoRecording(AuroralError):
    """Nothing that could be shown."""


@dataclass(frozen=True, slots=True)
class Recording:
    stage: Stage
    moments: Sequence[dict[str, Any]]
    """In the order of their times; there is one at least."""
    processes: tuple[str, ...]
    stale_after: float | None = None
    """Seconds; None where processes speak only when something changes."""
    groups: Sequence[Group] = ()
    """Where there is a diagram."""

    @property
    def begin(self) -> float:
        return float(self.moments[0]["at"])

    @property
    def end(self) -> float:
        return float(self.moments[-1]["at"])


def open_recording(path: Path) -> Recording:
    return _of_folder(path) if path.is_dir() else _of_trace(path)


def _of_folder(folder: Path) -> Recording:
    deployed, groups, stage = deployed_in(folder)
    moments = _sorted([*recorded_in(folder), *events_in(folder)])
    if not any("status" in one for one in moments):
        raise NoRecording(
            f"{folder} has nothing recorded: its processes have not run yet\n    allowed: the folder of a deployment that has run\n"
            f"    next: auroral up --folder {folder}"
        )
    # Events may go back further than what was recorded of the rest.
    begin = next(float(one["at"]) for one in moments if "status" in one)
    kept = [one for one in moments if one["at"] >= begin - _STALE]
    kept = _sorted([*kept, *_fell_silent(kept)])
    # What a source said is older than that of one that is asked: it is not silent for it.
    patient = replace(stage, patience={source: seconds + EVERY for source, seconds in stage.patience.items()})
    return Recording(patient, kept, deployed.here, _STALE, groups)


def _fell_silent(moments: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Who was ended from outside could not say so: from when on each process that said nothing any more was not there."""
    said: dict[str, float] = {}
    for one in moments:
        process, at, event = str(one["process"]), float(one["at"]), one.get("event")
        if event in DOWN:
            said.pop(process, None)
        elif "status" in one or event == "started":
            if at - said.get(process, at) > _STALE:
                yield {"at": said[process] + _STALE, "process": process, "status": None}
            said[process] = at
    for process, at in said.items():
        if moments[-1]["at"] - at > _STALE:
            yield {"at": at + _STALE, "process": process, "status": None}


def _of_trace(file: Path) -> Recording:
    try:
        if file.stat().st_size > MOST:
            raise NoRecording(f"{file} has more than {MOST >> 20} MB\n    next: trace a shorter run")
        head, *lines = file.read_bytes().splitlines()
        said = json.loads(head)
        if said.get(HEAD) != FORMAT:
            raise ValueError(f"it does not begin with {HEAD!r}")
        stage, processes = Stage.from_json(said["stage"]), tuple(said["processes"])
        moments = _sorted(json.loads(line) for line in lines)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise NoRecording(
            f"{file} is no recording: {error}\n    allowed: the folder of a deployment, or a trace in a file that is called *.jsonl\n"
            "    next: auroral simulate dpc --seeds 17 --trace FILE.jsonl writes one"
        ) from error
    if not moments:
        raise NoRecording(f"{file} is empty: nothing happened in it\n    next: trace another run")
    return Recording(stage, moments, processes)


def _sorted(moments: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(moments, key=lambda one: float(one["at"]))
