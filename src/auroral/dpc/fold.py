"""The state of a fold: an output that depends on all of the past (D67).

The stable state stands where the output's frontier does. A tentative chain goes on from there, bucket by bucket, and is thrown away
when it is corrected. Snapshots of the stable state are kept: the oldest is where a replica that lost everything begins again, so it
is at or before all that readers may ask for, and inputs are kept from there on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from auroral.dpc.coverage import NOTHING, Coverage
from auroral.dpc.events import DropStates, Effect, SaveState
from auroral.dpc.values import Snapshot

NO_STATE = Snapshot(0, None)


@dataclass(slots=True)
class Fold:
    stream: str
    snapshot_every: int
    """Buckets."""
    rebuilt_within: int
    """A chain is built anew from a corrected state where that takes no more buckets than so many."""
    stable: Snapshot = NO_STATE
    kept: list[Snapshot] = field(default_factory=lambda: [NO_STATE])
    """Snapshots, the oldest first."""
    chain: Snapshot | None = None
    chain_began: int = 0
    """The frontier that the chain was begun at."""
    chain_coverage: Coverage = NOTHING

    def advance(self, state: Snapshot) -> Iterator[Effect]:
        self.stable = state
        if self.chain is not None and self.chain.bucket <= state.bucket:
            self.chain = None
        if state.bucket >= self.next_snapshot:
            if self.kept[-1] == NO_STATE:
                # What is on disk is what is kept: it may have to begin with nothing though there is a snapshot.
                yield SaveState(self.stream, NO_STATE)
            self.kept.append(state)
            yield SaveState(self.stream, state)

    @property
    def next_snapshot(self) -> int:
        """The first bucket whose state is to be written down again."""
        return self.kept[-1].bucket + self.snapshot_every

    def guess(self, state: Snapshot, began: int, coverage: Coverage) -> None:
        """The chain goes on to here. A chain's coverage is that of all that is in it."""
        if state.bucket > self.stable.bucket:
            self.chain, self.chain_began, self.chain_coverage = state, began, coverage

    def start(self, begin: int) -> Snapshot:
        """The state that a tentative job for these buckets begins with: the chain's, or the stable one where the chain is past them or
        stands on what was corrected since."""
        chain = self.chain
        if chain is None or chain.bucket > begin:
            return self.stable
        rebuilt = self.chain_began < self.stable.bucket and begin - self.stable.bucket <= self.rebuilt_within
        return self.stable if rebuilt else chain

    def began(self, begin: int) -> int:
        """The bucket that the state that a tentative job begins with was last stable at."""
        return self.chain_began if self.start(begin) is self.chain else self.stable.bucket

    def covered(self, begin: int) -> Coverage:
        """What is in the state that a tentative job begins with, beyond what is stable."""
        return self.chain_coverage if self.start(begin) is self.chain else NOTHING

    @property
    def restarts_from(self) -> Snapshot:
        return self.kept[0]

    def forget(self, need: int) -> Iterator[Effect]:
        """Snapshots older than the last one that is at or before what may be asked for."""
        useful = [snapshot for snapshot in self.kept if snapshot.bucket <= need]
        if len(useful) > 1:
            self.kept = self.kept[len(useful) - 1 :]
            yield DropStates(self.stream, self.kept[0].bucket)

    def begin(self, snapshot: Snapshot) -> None:
        """Again, from a snapshot of its own or of another replica."""
        self.stable, self.kept, self.chain = snapshot, [snapshot], None
