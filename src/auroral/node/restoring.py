"""How an engine that knows nothing is brought to a run's frontier: from where, and with which fold state."""

from __future__ import annotations

from auroral.engine.foldstates import FoldStates, from_bytes
from auroral.node import verified
from auroral.node.ranges import Limits, Rebuild, rebuild
from auroral.node.runfolder import RunFolder, RunFolderError
from auroral.node.snapshots import Snapshots


def restore(
    folder: RunFolder, start: int, frontier: int, limits: Limits, snapshots: Snapshots, kept_from: int | None
) -> tuple[Rebuild, FoldStates | None]:
    """The plan, and the state to load at its snapshot. Rows before `kept_from` may have been pruned."""
    candidates = {*snapshots.stimes()} if limits.snapshots else set()
    verified_states = _verified_state(folder, snapshots.notes) if limits.snapshots and kept_from is not None else {}
    while True:
        plan = rebuild(start, frontier, limits, candidates | verified_states.keys(), kept_from)
        if plan.snapshot is None:
            states = None
            break
        states = _state_at(plan.snapshot, candidates, snapshots, verified_states)
        if states is not None:
            break
        candidates.discard(plan.snapshot)
    if kept_from is not None and plan.begin < kept_from:
        told = "".join(f"\n    {note}" for note in snapshots.notes)
        raise RunFolderError(
            f"{folder.path} cannot go on: rows before stime {kept_from} were pruned, and no fold state is there to go on "
            f"from{told}\n    allowed: a pruned run folder with verified.json and verified/, or with its state/\n"
            "    next: restore these from a copy, or start a new run folder from the original input"
        )
    return plan, states


def _state_at(
    stime: int, candidates: set[int], snapshots: Snapshots, verified_states: dict[int, FoldStates]
) -> FoldStates | None:
    found = snapshots.read(stime) if stime in candidates else None
    return found if found is not None else verified_states.get(stime)


def _verified_state(folder: RunFolder, notes: list[str]) -> dict[int, FoldStates]:
    """The state of the last verification: what was pruned was pruned up to there."""
    try:
        return _load_state(folder)
    except verified.VerifiedError:
        # A verification that ends just now puts a newer state in its place, and the record first.
        try:
            return _load_state(folder)
        except verified.VerifiedError as error:
            notes.append(str(error).splitlines()[0])
            return {}


def _load_state(folder: RunFolder) -> dict[int, FoldStates]:
    found = verified.load(folder)
    state = None if found is None else verified.load_state(folder, found)
    return {} if found is None or found.state_at is None or state is None else {found.state_at: from_bytes(state)}
