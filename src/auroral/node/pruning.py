"""Removing what a run folder no longer needs: rows that were verified and that nothing still to come reads.

What stays is what the next piece of a verification begins with (see `pieces`); resuming needs no more than that, since
it can begin with the same fold state. Outputs are the user's, and stay. Each step may be interrupted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from auroral.edge.logpruning import Removed, prune_log
from auroral.model.errors import AuroralError
from auroral.node import verified
from auroral.node.account import Account
from auroral.node.ranges import Limits, piece_start
from auroral.node.runfolder import RunFolder
from auroral.node.snapshots import Snapshots
from auroral.node.verified import Verified
from auroral.node.verifylock import pruning


class PruneError(AuroralError):
    """A run folder that may not be pruned."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """Batches of rows that lie before stime `below` as a whole are gone; the run is verified up to `verified`.

    `inputs` is what was removed from each source log, `states` the bytes of fold states.
    """

    below: int
    verified: int
    inputs: Mapping[str, Removed]
    states: int

    @property
    def rows(self) -> int:
        return sum(removed.rows for removed in self.inputs.values())

    @property
    def freed(self) -> int:
        return sum(removed.bytes for removed in self.inputs.values()) + self.states


def prune_folder(path: Path) -> Pruned:
    """Prune the run in `path`. Loads the folder's pickle: open only folders you trust."""
    with RunFolder.resume(path) as folder, pruning(path):
        limits = Limits.of(folder.checked)
        found = _verified(folder, limits)
        _, below = piece_start(found.start, found.until, limits)
        inputs = {
            given.stream: prune_log(
                folder.source(given.stream), given.schema, given.stream, below, found.logged[given.stream].records
            )
            for given in folder.checked.diagram.inputs
        }
        snapshots = Snapshots(folder.state)
        # A snapshot needs one horizon of rows before it.
        states = snapshots.remove(s for s in snapshots.stimes() if max(found.start, s - limits.past) < below)
        return Pruned(below, found.until, inputs, states)


def _verified(folder: RunFolder, limits: Limits) -> Verified:
    found = verified.load(folder)
    if found is None:
        raise PruneError(
            f"{folder.path} was never verified, so that nothing of it may be removed\n"
            "    allowed: a run that a verification found equal\n"
            f"    next: auroral verify {folder.path}"
        )
    if limits.folds and not limits.restorable:
        raise PruneError(
            f"{folder.path}: a fold of its diagram reads windows or joins over another fold's results, and can only be "
            "evaluated from the run's first row on\n    allowed: diagrams without such a fold\n"
            "    next: keep the source logs for as long as the run goes on"
        )
    # From here on the rows that gave it are gone: it must be what it was.
    verified.load_state(folder, found)
    frontier = Account.load(folder.account).frontier
    if frontier is None or frontier < found.until:
        raise PruneError(
            f"{folder.path} is at stime {frontier}, but was verified up to {found.until}: parts of it were put back\n"
            "    allowed: a run that has gone on since it was verified\n"
            "    next: restore the whole run folder from one copy"
        )
    return found
